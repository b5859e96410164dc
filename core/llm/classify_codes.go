package llm

import "strings"

// family is a provider with a table of its own. Many ids name the same one.
type family string

const (
	familyAnthropic   family = "anthropic"
	familyOpenAI      family = "openai"
	familyGoogle      family = "google"
	familyOpenRouter  family = "openrouter"
	familyZhipu       family = "zhipu"
	familyMiniMax     family = "minimax"
	familyQwen        family = "qwen"
	familyMoonshot    family = "moonshot"
	familyMistral     family = "mistral"
	familySiliconFlow family = "siliconflow"
	familyVolcengine  family = "volcengine"
	familyCohere      family = "cohere"
	familyBedrock     family = "bedrock"
	familyCopilot     family = "github-copilot"
)

var families = map[string]family{
	"anthropic": familyAnthropic, "claude": familyAnthropic, "claude-cli": familyAnthropic,
	"openai": familyOpenAI, "openai-codex": familyOpenAI, "codex": familyOpenAI, "chatgpt": familyOpenAI,
	"google": familyGoogle, "gemini": familyGoogle, "google-gemini": familyGoogle, "google-gemini-cli": familyGoogle,
	"google-vertex": familyGoogle, "vertex": familyGoogle, "vertexai": familyGoogle, "vertex-ai": familyGoogle,
	"google-antigravity": familyGoogle, "antigravity": familyGoogle,
	"openrouter": familyOpenRouter,
	"zhipu":      familyZhipu, "zhipuai": familyZhipu, "zai": familyZhipu, "z.ai": familyZhipu, "z-ai": familyZhipu,
	"glm": familyZhipu, "bigmodel": familyZhipu, "zai-coding": familyZhipu,
	"minimax": familyMiniMax, "minimax-cn": familyMiniMax, "minimax-portal": familyMiniMax, "minimaxi": familyMiniMax,
	"qwen": familyQwen, "dashscope": familyQwen, "alibaba": familyQwen, "bailian": familyQwen, "aliyun": familyQwen,
	"modelstudio": familyQwen, "qwen-portal": familyQwen,
	"moonshot": familyMoonshot, "moonshotai": familyMoonshot, "kimi": familyMoonshot, "kimi-code": familyMoonshot, "kimi-coding": familyMoonshot,
	"mistral": familyMistral, "mistralai": familyMistral,
	"siliconflow": familySiliconFlow, "siliconcloud": familySiliconFlow,
	"volcengine": familyVolcengine, "doubao": familyVolcengine, "ark": familyVolcengine,
	"cohere":  familyCohere,
	"bedrock": familyBedrock, "amazon-bedrock": familyBedrock, "aws-bedrock": familyBedrock,
	"copilot": familyCopilot, "github-copilot": familyCopilot,
}

// familyOf finds the table of a provider id. Ids of custom providers may have a
// prefix up to a colon ("custom:zhipu"); what follows it counts.
func familyOf(provider string) family {
	if f, ok := families[provider]; ok {
		return f
	}
	provider = lower(provider)
	return families[provider[strings.LastIndexByte(provider, ':')+1:]]
}

// vendorCodes are the codes that decide by themselves when they come from the
// provider that defines them.
var vendorCodes = map[family]map[string]Reason{
	familyAnthropic: {
		"overloaded_error":             Overloaded,
		"request_too_large":            ContextOverflow,
		"enforced_spend_limit_reached": RateLimit,
		"contract_spend_limit_reached": RateLimit,
		"ramp_limit_exceeded":          RateLimit,
	},
	familyOpenAI: {
		"insufficient_quota":                        Billing,
		"billing_not_active":                        Billing,
		"billing_hard_limit_reached":                Billing,
		"usage_not_included":                        Billing,
		"usage_limit_reached":                       RateLimit,
		"rate_limit_exceeded":                       RateLimit,
		"subscription_sharing_usage_limit_exceeded": RateLimit,
		"subscription_sharing_user_not_eligible":    Auth,
		"account_deactivated":                       AuthPermanent,
		"deactivated_workspace":                     AuthPermanent,
		"invalid_refresh_token":                     AuthPermanent,
		"refresh_token_expired":                     AuthPermanent,
		"refresh_token_invalidated":                 AuthPermanent,
		"refresh_token_reused":                      Auth,
		"token_expired":                             Auth,
		"token_invalidated":                         Auth,
		"unsupported_country_region_territory":      Auth,
		"server_is_overloaded":                      Overloaded,
		"slow_down":                                 Overloaded,
		"engine_overloaded":                         Overloaded,
		"invalid_prompt":                            Refusal,
		"content_policy_violation":                  Refusal,
		"moderation_blocked":                        Refusal,
		"context_length_exceeded":                   ContextOverflow,
		"model_not_found":                           ModelNotFound,
	},
	familyGoogle: {
		"api_key_invalid":               Auth,
		"api_key_expired":               Auth,
		"api_key_service_blocked":       Auth, // the key may not do this, but lives
		"api_key_http_referrer_blocked": Auth,
		"api_key_ip_address_blocked":    Auth,
		"access_token_expired":          Auth,
		"access_token_type_unsupported": Auth,
		"credentials_missing":           Auth,
		"account_state_invalid":         AuthPermanent,
		"consumer_suspended":            AuthPermanent,
		"tos_violation":                 AuthPermanent,
		"billing_disabled":              Billing,
		"quota_exhausted":               RateLimit,
		"model_capacity_exhausted":      Overloaded,
	},
	familyZhipu: {
		"1000": Auth, "1001": Auth, "1002": Auth, "1003": Auth, "1004": Auth,
		"1110": AuthPermanent, "1111": AuthPermanent, "1112": AuthPermanent, "1120": Auth,
		"1113": Billing, "1309": Billing,
		"1211": ModelNotFound, "1212": ModelNotFound, "1220": ModelNotFound, "1221": ModelNotFound, "1222": ModelNotFound, "1311": ModelNotFound,
		"1213": Format, "1215": Format,
		"1261": ContextOverflow,
		"1300": Refusal, "1301": Refusal,
		"1302": RateLimit, "1303": RateLimit, "1304": RateLimit, "1308": RateLimit, "1310": RateLimit, "1313": RateLimit,
		"1305": Overloaded, "1312": Overloaded,
		"1234": Timeout, "1230": ServerError,
	},
	familyMiniMax: {
		"1000": Timeout, "1001": Timeout,
		"1002": RateLimit, "1039": RateLimit, "1041": RateLimit, "2045": RateLimit, "2056": RateLimit,
		"1004": Auth, "2049": Auth,
		"1008": Billing,
		"1013": ServerError, "1024": ServerError, "1033": ServerError,
		"1026": Refusal, "1027": Refusal,
		"2061": ModelNotFound,
	},
	familyQwen: {
		"arrearage":                    Billing,
		"prepaidbilloverdue":           Billing,
		"postpaidbilloverdue":          Billing,
		"allocationquota_freetieronly": Billing,
		"throttling":                   RateLimit,
		"throttling_ratequota":         RateLimit,
		"throttling_burstrate":         RateLimit,
		"throttling_allocationquota":   RateLimit,
		"limitrequests":                RateLimit,
		"limit_requests":               RateLimit,
		"limit_burst_rate":             RateLimit,
		"datainspectionfailed":         Refusal,
		"data_inspection_failed":       Refusal,
		"invalidapikey":                Auth,
		"modelnotfound":                ModelNotFound,
		"model_accessdenied":           ModelNotFound,
	},
	familyMoonshot: {
		"exceeded_current_quota_error": Billing,
		"engine_overloaded_error":      Overloaded,
		"rate_limit_reached_error":     RateLimit,
		"access_terminated_error":      AuthPermanent,
		"invalid_authentication_error": Auth,
		"incorrect_api_key_error":      Auth,
		"resource_not_found_error":     ModelNotFound,
	},
	familyMistral: {
		"3505":                           Overloaded,
		"service_tier_capacity_exceeded": Overloaded,
		"3280":                           Format,
		"invalid_model":                  ModelNotFound,
	},
	familySiliconFlow: {
		"30001": Billing, "30011": Billing,
		"20012": ModelNotFound,
		"50505": Overloaded, "50603": Overloaded, "50604": Overloaded,
	},
	familyVolcengine: {
		"accountoverdueerror":             Billing,
		"serveroverloaded":                Overloaded,
		"modelnotopen":                    ModelNotFound,
		"sensitivecontentdetected":        Refusal,
		"inputtextsensitivecontent":       Refusal,
		"invalidendpointormodel_notfound": ModelNotFound,
	},
}

// vendorSignals are codes that a provider uses in a sense of its own, but that
// leave the last word to the message.
var vendorSignals = map[family]map[string]signal{
	familyQwen:    {"insufficient_quota": sigThrottle}, // a throttle of minutes, whatever the name says
	familyZhipu:   {"1210": sigInvalid, "1214": sigInvalid},
	familyMiniMax: {"2013": sigInvalid},
	familyMistral: {"1300": sigThrottle},
}

// codeOrder settles several codes in one answer: the more exact reason first.
var codeOrder = map[Reason]int{
	AuthPermanent: 11, Billing: 10, ContextOverflow: 9, Refusal: 8, ModelNotFound: 7, Overloaded: 6,
	RateLimit: 5, Auth: 4, Timeout: 3, Format: 2, ServerError: 1,
}

// commonCodes are codes and exception names that mean the same wherever they
// come from. They weigh like words, because gateways copy them without care.
var commonCodes = codesOf(map[signal]string{
	sigOverflow: `context_length_exceeded exceed_context_size_error model_context_window_exceeded context_window_exceeded
		contextwindowexceedederror request_too_large string_above_max_length context_overflow prompt_too_long input_too_long`,
	sigThrottle: `rate_limit_exceeded ratelimitexceeded rate_limit_reached ratelimitreached rate_limited too_many_requests toomanyrequests
		throttlingexception throttling throttling_error throttlederror toomanyrequestsexception servicequotaexceededexception
		requestlimitexceeded concurrency_limit_exceeded resource_exhausted userratelimitexceeded quotaexceeded
		usage_limit_reached usage_limit_exceeded quota_exhausted`,
	sigLimited:   `rate_limit_error ratelimiterror rate_limit tokens requests quota_exceeded limit_exceeded`,
	sigPlanQuota: `insufficient_quota`,
	sigBroke: `insufficient_balance insufficient_credits insufficient_funds billing_not_active
		billing_hard_limit_reached credits_exhausted credit_balance_too_low out_of_credits balance_not_enough arrearage
		no_credits`,
	sigDue:      `payment_required billing_error`,
	sigOverload: `overloaded_error overloaded server_is_overloaded server_overloaded engine_overloaded engine_overloaded_error modelnotreadyexception model_capacity_exhausted over_capacity capacity_exceeded server_busy system_busy`,
	sigDead: `account_deactivated deactivated_workspace account_disabled account_suspended organization_disabled organization_restricted
		organization_deactivated workspace_disabled workspace_deactivated invalid_grant access_terminated_error user_deactivated key_revoked
		api_key_revoked token_revoked api_key_disabled account_closed account_banned consumer_suspended
		subscriptiondisabled subscription_disabled`,
	sigModel: `model_not_found modelnotfound model_not_supported model_not_available unsupported_model invalid_model unknown_model
		deploymentnotfound model_not_found_error modelnotfoundexception modelnotfounderror model_decommissioned model_terms_required
		model_not_active model_permission_denied model_is_deactivated model_deactivated
		model_permission_blocked_project model_permission_blocked_org`,
	sigRefusal: `content_filter content_policy_violation contentpolicyviolationerror responsibleaipolicyviolation invalid_prompt
		content_filtered data_inspection_failed datainspectionfailed prohibited_content moderation_blocked content_blocked
		safety_error guardrail_intervened`,
	sigFormat: `invalid_function_call invalid_tool_call invalid_function_parameters invalid_image unsupported_parameter unsupported_value`,
	sigAuth: `invalid_api_key invalid_api_key_error incorrect_api_key invalid_token token_expired expired_token expired_api_key
		api_key_invalid expiredtokenexception expiredtoken unrecognizedclientexception invalidsignatureexception
		signaturedoesnotmatch invalidclienttokenid missingauthenticationtoken missingauthenticationtokenexception
		invalid_authentication invalid_authentication_error invalidauthenticationtoken invalid_credentials missing_api_key
		unsupported_country_region_territory`,
	sigAPIError: `api_error`,
	sigTimeout: `timeout_error apitimeouterror timeouterror apiconnectionerror connectionerror deadline_exceeded timeout
		modeltimeoutexception serviceunavailableexception cancelled aborterror connect_timeout request_timeout gateway_timeout
		upstream_timeout connection_error stream_error`,
	sigServer: `server_error internal_error internalservererror internal_server_error internalserverexception internalfailure internal
		unavailable service_unavailable service_unavailable_error serviceunavailableerror serviceunavailable modelerrorexception
		modelstreamerrorexception bad_gateway upstream_error badgateway`,
	sigDenied: `authentication_error authenticationerror permission_error permissiondeniederror permission_denied unauthenticated
		unauthorized forbidden access_denied accessdenied accessdeniedexception permission_denied_error`,
	sigNotFound: `not_found_error notfounderror not_found notfound resourcenotfoundexception resource_not_found resource_not_found_error`,
	sigInvalid: `invalid_request_error invalid_argument failed_precondition bad_request badrequesterror badrequest badrequestexception validationexception
		validation_error unprocessable_entity unprocessableentityerror invalid_request invalid_parameter invalid_parameter_error
		invalidparameter invalid_value missing_required_parameter out_of_range`,
})

func codesOf(rows map[signal]string) map[string]signal {
	m := make(map[string]signal, 256)
	for sig, codes := range rows {
		for c := range strings.FieldsSeq(codes) {
			m[c] = sig
		}
	}
	return m
}

// normalCode is a code as the tables write it: lower case, words joined by "_",
// without a namespace before "#" and without a link after it.
func normalCode(s string) string {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[i+1:]
	}
	if i := strings.Index(s, ":http"); i > 0 {
		s = s[:i]
	}
	if i := strings.LastIndex(s, "com.amazon"); i >= 0 {
		s = s[strings.LastIndexByte(s, '.')+1:]
	}
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		c := s[i]
		clean = isDigit(c) || isLetter(c) && (c < 'A' || c > 'Z')
	}
	if clean {
		return s
	}
	var onStack [64]byte
	b := onStack[:0]
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z':
			b = append(b, c+'a'-'A')
		case c == ' ', c == '-', c == '.', c == ':', c == '/':
			b = append(b, '_')
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// wordsOfCode takes an unknown code apart, so that "ModelOverloadedError" and
// "monthly-limit-exceeded" are read like sentences.
func wordsOfCode(s string) []word {
	out := make([]word, 0, 8)
	start := 0
	flush := func(end int) {
		if end > start {
			out = append(out, word{hashOf(s[start:end]), s[start:end]})
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			if i > 0 && 'a' <= s[i-1] && s[i-1] <= 'z' {
				flush(i)
				start = i
			}
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		default:
			flush(i)
			start = i + 1
		}
	}
	flush(len(s))
	return out
}
