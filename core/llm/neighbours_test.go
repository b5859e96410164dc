package llm

import "testing"

// TestNeighbours holds other wordings, providers and shapes of what the
// payloads show, most of them read as something else at first sight.
func TestNeighbours(t *testing.T) {
	for _, c := range []struct {
		provider string
		status   int
		body     string
		want     Reason
	}{
		// A window that is full, and what only looks like it.
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, ContextOverflow},
		{"anthropic", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, ContextOverflow},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 188240 + 21333 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, ContextOverflow},
		{"openai", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, ContextOverflow},
		{"openai", 200, `{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}}`, ContextOverflow},
		{"google", 400, `{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`, ContextOverflow},
		{"google", 400, `[{"error":{"code":400,"message":"Unable to submit request because the input token count is 40000 but model only supports up to 32768.","status":"INVALID_ARGUMENT"}}]`, ContextOverflow},
		{"other:xai", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, ContextOverflow},
		{"other:moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)","type":"invalid_request_error"}}`, ContextOverflow},
		{"other:minimax", 400, `{"base_resp":{"status_code":2013,"status_msg":"invalid params, context window exceeds limit"}}`, ContextOverflow},
		{"other:zhipu", 400, `{"error":{"code":"1261","message":"Prompt 超长"}}`, ContextOverflow},
		{"other:zhipu", 400, `{"error":{"code":"1210","message":"输入长度超过最大长度"}}`, ContextOverflow},
		{"other:zhipu", 400, `{"error":{"code":"1210","message":"API 调用参数有误，请检查文档。"}}`, Format},
		{"ollama", 400, `{"error":"prompt too long; exceeded max context length by 1024 tokens"}`, ContextOverflow},
		{"ollama", 0, `ollama error: context length exceeded`, ContextOverflow},
		{"bedrock", 400, `{"message":"Input is too long for requested model."}`, ContextOverflow},
		{"bedrock", 400, `ValidationException: input length and max_tokens exceed context limit`, ContextOverflow},
		{"other:mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, ContextOverflow},
		{"other:together", 422, `{"error":{"message":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000" + `","type":"invalid_request_error"}}`, ContextOverflow},
		{"other:copilot", 400, `{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, ContextOverflow},
		{"openrouter", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This endpoint's maximum context length is 131072 tokens.\"}}","provider_name":"DeepInfra"}}}`, ContextOverflow},
		{"other:vllm", 400, `{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}`, ContextOverflow},
		{"other:qwen", 400, `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]","type":"invalid_request_error","code":"invalid_parameter_error"}}`, ContextOverflow},
		{"any", 413, ``, ContextOverflow},
		{"openai", 400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 4096 completion tokens, whereas you provided 100000.","type":"invalid_request_error","param":"max_tokens","code":null}}`, Format},
		{"any", 503, `upstream connect error or disconnect/reset before headers. reset reason: overflow`, Timeout},
		{"any", 0, `too many tokens in the prompt`, ContextOverflow},
		{"any", 400, `Too many tokens`, ContextOverflow},
		{"any", 429, `Too many tokens`, RateLimit},

		// A model that reads no images is there all the same.
		{"openrouter", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, Format},
		{"openrouter", 404, `{"error":{"message":"No endpoints found for some/model.","code":404}}`, ModelNotFound},
		{"any", 400, `{"error":{"message":"This model does not support image inputs"}}`, Format},

		// Empty accounts.
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`, Billing},
		{"openai", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, Billing},
		{"openai", 429, `{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","code":"billing_not_active"}}`, Billing},
		{"openai", 400, `{"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","code":"billing_hard_limit_reached"}}`, Billing},
		{"google", 429, `{"error":{"code":429,"message":"Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.","status":"RESOURCE_EXHAUSTED"}}`, Billing},
		{"other:deepseek", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, Billing},
		{"other:moonshot", 429, `{"error":{"message":"Your account org-test<ak-test> is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, Billing},
		{"other:some-relay", 429, `{"error":{"message":"Your account org-test is suspended due to insufficient balance, please recharge your account"}}`, Billing},
		{"other:siliconflow", 403, `{"code":30011,"message":"Sorry, your account balance is insufficient","data":null}`, Billing},
		{"other:siliconflow", 403, `{"code":30001,"message":"","data":null}`, Billing},
		{"other:minimax", 500, `{"type":"error","error":{"type":"api_error","message":"insufficient balance (1008)"}}`, Billing},
		{"other:one-api", 403, `{"error":{"message":"用户额度不足, 剩余额度: 0","type":"new_api_error"}}`, Billing},
		{"other:qwen", 400, `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`, Billing},
		{"other:qwen", 403, `{"error":{"code":"AllocationQuota.FreeTierOnly","message":"The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please disable the use free tier only mode."}}`, Billing},
		{"openrouter", 403, `{"error":{"message":"Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys","code":403}}`, Billing},
		{"other:custom", 403, `{"error":{"message":"Key limit exceeded (total limit).","code":403}}`, Auth},
		{"other:huggingface", 402, `{"error":"You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits."}`, Billing},
		{"any", 402, ``, Billing},
		{"any", 0, `HTTP 402 Payment Required`, Billing},
		{"any", 400, `Please top up your account to continue`, Billing},

		// Windows that end by themselves, told as 402, 403 or 400.
		{"any", 402, `weekly usage limit exhausted`, RateLimit},
		{"any", 403, `daily limit reached, resets tomorrow`, RateLimit},
		{"any", 402, `organization spending limit exceeded`, RateLimit},
		{"any", 403, `Your workspace has reached its monthly spending limit`, RateLimit},
		{"any", 402, `Monthly limit reached. Add more credits to continue`, Billing},
		{"openai-codex", 429, `You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at 7:07 PM.`, RateLimit},
		{"anthropic", 0, `You're out of extra usage · resets 4pm (America/New_York)`, RateLimit},
		{"anthropic", 0, `Claude usage limit reached. Your limit will reset at 3pm (UTC).`, RateLimit},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified workspace API usage limits. You will regain access on 2026-04-01 at 00:00 UTC."}}`, RateLimit},
		{"anthropic", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}`, RateLimit},
		{"other:zhipu", 429, `{"error":{"code":"1308","message":"已达到 5 小时的使用上限。您的限额将在 2026-03-20 22:19:54 重置。"}}`, RateLimit},
		{"other:zhipu", 429, `{"error":{"code":"1310","message":"Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-03-26 22:19:54"}}`, RateLimit},
		{"any", 402, `You have exceeded your monthly quota`, RateLimit},
		{"other:qwen", 429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details. For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit","type":"insufficient_quota"}}`, RateLimit},
		{"other:unknown-qwen", 429, `{"error":{"code":"insufficient_quota","message":"Allocated quota exceeded, please increase your quota limit.","type":"insufficient_quota"}}`, RateLimit},
		{"openrouter", 429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"code\":429,\"message\":\"You exceeded your current quota, please check your plan and billing details.\",\"status\":\"RESOURCE_EXHAUSTED\"}}"}}}`, RateLimit},

		{"any", 402, `Monthly spend limit reached. Please visit your billing settings.`, RateLimit},
		{"any", 402, `insufficient credits. Monthly spend limit reached.`, Billing},
		{"any", 402, `HTTP 402 Payment Required: Weekly/Monthly Limit Exhausted`, RateLimit},
		{"any", 403, `Payment required`, Billing},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"You're out of extra usage. Add more at claude.ai/settings/usage and keep going."}}`, Billing},
		{"anthropic", 402, `{"type":"error","error":{"type":"billing_error","message":"Your weekly usage limit is exhausted"}}`, RateLimit},
		{"anthropic", 402, `{"type":"error","error":{"type":"billing_error","message":"x"}}`, Billing},
		{"other:litellm", 429, `No deployments available for selected model, Try again in 5 seconds. Passed model=gpt-4. cooldown_list=[]`, RateLimit},

		// Throttles.
		{"openai", 429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-test on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s. Visit https://platform.openai.com/account/rate-limits to learn more. You can increase your rate limit by adding a payment method to your account at https://platform.openai.com/account/billing.","type":"requests","code":"rate_limit_exceeded"}}`, RateLimit},
		{"any", 403, `too many concurrent requests`, RateLimit},
		{"bedrock", 0, `An error occurred (ThrottlingException) when calling the ConverseStream operation (reached max retries: 4): Too many requests, please wait before trying again.`, RateLimit},
		{"bedrock", 400, `{"__type":"com.amazon.coral.service#ThrottlingException","message":"Rate exceeded"}`, RateLimit},
		{"other:github", 403, `You have exceeded a secondary rate limit. Please wait a few minutes before you try again.`, RateLimit},
		{"any", 500, `{"error":{"message":"Error code: 429 - {'error': {'message': \"Too many requests, it's busy\", 'type': 'requests'}}"}}`, RateLimit},
		{"other:zhipu", 429, `{"error":{"code":"1302","message":"您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。"}}`, RateLimit},
		{"any", 0, `resource exhausted`, RateLimit},
		{"any", 0, `Request was throttled. Expected available in 3 seconds.`, RateLimit},

		// Busy providers.
		{"other:zhipu", 429, `{"error":{"code":"1305","message":"The service may be temporarily overloaded, please try again later"}}`, Overloaded},
		{"other:some-relay", 429, `{"error":{"code":"1305","message":"该模型当前访问量过大，请您稍后再试"}}`, Overloaded},
		{"other:mistral", 429, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}`, Overloaded},
		{"bedrock", 0, `ModelNotReadyException: The model is not ready for inference`, Overloaded},
		{"any", 503, `The server is currently at capacity`, Overloaded},
		{"any", 503, `Server busy, please try again later`, Overloaded},
		{"other:moonshot", 429, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, Overloaded},
		{"openai", 503, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error"}}`, Overloaded},
		{"openai", 503, `{"error":{"code":"slow_down","message":"x"}}`, Overloaded},
		{"other:huggingface", 503, `{"error":"Model meta-llama/x is currently loading","estimated_time":20.0}`, Overloaded},
		{"any", 529, ``, Overloaded},
		{"other:x", 500, `{"error":{"type":"ModelOverloadedError","message":"x y z"}}`, Overloaded},

		// Credentials.
		{"openai", 401, `{"error":{"message":"Incorrect API key provided: sk-test. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, Auth},
		{"google", 400, `API key not valid. Please pass a valid API key.`, Auth},
		{"google", 400, `{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, Auth},
		{"google", 403, `{"error":{"code":403,"message":"Permission denied: Consumer 'api_key:test' has been suspended.","status":"PERMISSION_DENIED","details":[{"reason":"CONSUMER_SUSPENDED"}]}}`, AuthPermanent},
		{"google", 400, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`, AuthPermanent},
		{"google", 400, `{"error":"invalid_grant","error_description":"Bad Request"}`, AuthPermanent},
		{"openai", 401, `{"error":{"message":"Your account has been deactivated.","code":"account_deactivated"}}`, AuthPermanent},
		{"any", 401, `This API key has been revoked`, AuthPermanent},
		{"any", 410, `Your login has expired. Please sign in again.`, AuthPermanent},
		{"any", 410, `session expired`, AuthPermanent},
		{"any", 410, `OAuth token has expired`, AuthPermanent},
		{"any", 410, `gone`, Unclassified},
		{"any", 401, ``, Auth},
		{"any", 403, ``, Auth},
		{"openai", 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","type":"request_forbidden"}}`, Auth},
		{"openrouter", 401, `{"error":{"message":"No auth credentials found","code":401}}`, Auth},
		{"bedrock", 403, `{"message":"The security token included in the request is invalid."}`, Auth},
		{"other:zhipu", 401, `{"error":{"code":"1000","message":"身份验证失败。"}}`, Auth},
		{"other:new-api", 401, `{"error":{"message":"无效的令牌","type":"new_api_error"}}`, Auth},
		{"other:new-api", 403, `{"error":{"message":"该令牌已被禁用","type":"new_api_error"}}`, AuthPermanent},

		{"openai", 401, `The API key you provided has been deactivated`, AuthPermanent},
		{"anthropic", 403, `{"type":"error","error":{"type":"permission_error","message":"OAuth token has been revoked. Please obtain a new token."}}`, AuthPermanent},
		{"anthropic", 401, `{"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired. Please obtain a new token or refresh your existing token."}}`, Auth},
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"This credential is only authorized for use with Claude Code and cannot be used for other API requests."}}`, Auth},
		{"google", 403, `{"error":{"code":403,"message":"Generative Language API has not been used in project 123 before or it is disabled. Enable it by visiting https://x then retry.","status":"PERMISSION_DENIED","details":[{"reason":"SERVICE_DISABLED"}]}}`, Auth},

		// Models.
		{"openai", 404, `{"error":{"message":"Your organization must be verified to use the model ` + "`o3`" + `.","type":"invalid_request_error"}}`, ModelNotFound},
		{"openai-codex", 400, `{"detail":"The 'gpt-5-codex' model is not supported when using Codex with a ChatGPT account."}`, ModelNotFound},
		{"other:deepseek", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, ModelNotFound},
		{"other:groq", 0, `model_is_deactivated`, ModelNotFound},
		{"bedrock", 404, `ResourceNotFoundException: This Model is marked by provider as Legacy and you have not been actively using the model in the last 15 days.`, ModelNotFound},
		{"google", 404, `{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}`, ModelNotFound},
		{"openai", 404, `{"error":{"message":"The model ` + "`gpt-9`" + ` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, ModelNotFound},
		{"anthropic", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, ModelNotFound},
		{"ollama", 404, `{"error":"model 'llama9' not found, try pulling it first"}`, ModelNotFound},
		{"bedrock", 400, `{"message":"The provided model identifier is invalid."}`, ModelNotFound},
		{"bedrock", 400, `Invocation of model ID anthropic.claude-x with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.`, ModelNotFound},
		{"openrouter", 400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, ModelNotFound},
		{"other:one-api", 503, `{"error":{"message":"当前分组 default 下对于模型 gpt-9 无可用渠道","type":"one_api_error"}}`, ModelNotFound},
		{"other:azure", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, ModelNotFound},
		{"other:groq", 400, `{"error":{"message":"The model x has been decommissioned and is no longer supported.","type":"invalid_request_error","code":"model_decommissioned"}}`, ModelNotFound},
		{"any", 404, `<html><body>404</body></html>`, ModelNotFound},

		// Requests that no retry cures.
		{"openai", 400, `{"error":{"message":"Invalid schema for function 'x': In context=('properties', 'a'), array schema missing items.","type":"invalid_request_error","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}`, Format},
		{"openai", 400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.","type":"invalid_request_error"}}`, Format},
		{"google", 400, `{"error":{"code":400,"message":"Please ensure that function call turn comes immediately after a user turn or after a function response turn.","status":"INVALID_ARGUMENT"}}`, Format},
		{"any", 422, `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{"prompt":"I have insufficient credits, quota exceeded, overloaded"}}]}`, Format},
		{"any", 400, `{"detail":"Unsupported parameter: max_output_tokens"}`, Format},
		{"any", 409, `conflict`, Unclassified},
		{"any", 418, ``, Unclassified},

		// Refusals.
		{"other:azure", 400, `{"error":{"code":"content_filter","message":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, Refusal},
		{"other:minimax", 200, `{"base_resp":{"status_code":1026,"status_msg":"input new_sensitive"}}`, Refusal},
		{"other:deepseek", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}`, Refusal},
		{"other:qwen", 400, `{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content."}}`, Refusal},
		{"other:zhipu", 400, `{"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容"}}`, Refusal},
		{"openrouter", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged for \"violence\". No credits were charged.","metadata":{"reasons":["violence"],"flagged_input":"..."}}}`, Refusal},
		{"google", 200, `{"promptFeedback":{"blockReason":"SAFETY"}}`, Refusal},
		{"any", 200, `{"choices":[{"finish_reason":"content_filter","message":{"content":"insufficient credits"}}]}`, Refusal},
		{"other:cohere", 498, `blocked`, Refusal},
		{"any", 403, `Your account has been suspended for violating our usage policy`, AuthPermanent},

		// Broken connections and passing faults.
		{"anthropic", 500, `{"type":"error","error":{"type":"api_error","message":"Internal error during token generation"}}`, Timeout},
		{"anthropic", 0, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, Timeout},
		{"any", 0, `{"type":"error","error":{"type":"api_error","message":"upstream error"}}`, Timeout},
		{"any", 0, `{"type":"error","error":{"type":"api_error","message":"backend error"}}`, Timeout},
		{"any", 0, `{"type":"error","error":{"type":"api_error","message":"unknown error"}}`, Timeout},
		{"any", 0, `An unknown error occurred`, Timeout},
		{"any", 0, `An unknown error occurred in the garden`, Unclassified},
		{"google", 499, `{"error":{"code":499,"message":"The operation was cancelled.","status":"CANCELLED"}}`, Timeout},
		{"any", 408, ``, Timeout},
		{"any", 502, `<html><head><title>502 Bad Gateway</title></head><body>billing rate limit overloaded</body></html>`, Timeout},
		{"any", 429, `<html><head><title>Too many</title></head><body>insufficient credits</body></html>`, RateLimit},
		{"any", 401, `<!DOCTYPE html><html><body>quota exceeded</body></html>`, Auth},
		{"any", 200, `<!DOCTYPE html><html><body>Welcome</body></html>`, Timeout},
		{"any", 0, `Provider finish_reason: network_error`, Timeout},
		{"any", 0, `Provider finish_reason: abort`, Timeout},
		{"any", 0, `Unhandled stop reason: malformed_response`, Timeout},
		{"any", 0, `stop reason: error`, ServerError},
		{"any", 0, `reason: error`, ServerError},
		{"any", 0, `read tcp 10.0.0.1:443: connection reset by peer`, Timeout},
		{"any", 0, `dial tcp: lookup api.test: no such host`, Timeout},
		{"any", 0, `TypeError: fetch failed`, Timeout},
		{"any", 0, `stream disconnected before completion`, Timeout},
		{"any", 500, ``, ServerError},
		{"any", 503, `service unavailable`, ServerError},
		{"openrouter", 502, `{"error":{"message":"Provider returned error","code":502}}`, Timeout},
		{"openrouter", 200, `{"error":{"message":"Provider returned error","code":429}}`, RateLimit},
		{"any", 200, `{"choices":[],"error":{"message":"Upstream worker is at capacity","code":502}}`, Overloaded},
		{"any", 200, `{"error":{"upstream_error":{"error":{"message":"overloaded"}}}}`, Overloaded},
		{"any", 0, `{"body":{"error":{"type":"rate_limit_error","message":"slow"}}}`, RateLimit},

		{"any", 0, `This operation was aborted`, Timeout},
		{"any", 0, `Request was aborted.`, Timeout},
		{"any", 0, `context canceled`, Timeout},
		{"any", 0, `terminated`, Timeout},
		{"any", 0, `Connection error.`, Timeout},
		{"any", 0, `error code: 522`, Timeout},
		{"any", 0, `stream closed before response.completed`, Timeout},
		{"ollama", 500, `{"error":"model requires more system memory (8.2 GiB) than is available (5.0 GiB)"}`, ServerError},
		{"bedrock", 0, `InternalServerException: The system encountered an unexpected error during processing. Try your request again.`, ServerError},
		{"openai", 200, `{"type":"error","error":{"type":"server_error","code":"server_error","message":"An error occurred while processing your request. You can retry your request."}}`, ServerError},
		{"other:llama.cpp", 500, `{"error":{"code":500,"message":"Conversation roles must alternate user/assistant/user/assistant/...","type":"server_error"}}`, Format},
		{"any", 500, `{"error":{"message":"Request failed with status code 402"}}`, Billing},

		// Nothing.
		{"any", 0, `LLM request failed with an unknown error.`, Unclassified},
		{"any", 200, `{"choices":[{"message":{"content":"402 payment required, insufficient credits, rate limit"}}]}`, EmptyResponse},
		{"any", 200, `{"type":"message","role":"assistant","content":[{"type":"text","text":"You are out of credits"}]}`, EmptyResponse},
	} {
		e := Classify(Failure{Provider: c.provider, Model: "m1", Status: c.status, Body: []byte(c.body)})
		same := e.Reason == c.want
		if c.status >= 500 && (c.want == Timeout || c.want == ServerError) {
			same = e.Reason == Timeout || e.Reason == ServerError
		}
		if !same {
			t.Errorf("%s %d %s\n\treason %q (%s), want %q", c.provider, c.status, c.body, e.Reason, e.Evidence, c.want)
		}
	}
}
