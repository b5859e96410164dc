package llm

import (
	"net/http"
	"testing"
	"time"
)

// TestVendors holds answers of many vendors, gateways and languages, shaped as
// they send them: what each is put down to, how far it reaches where that is
// not plain, and the wait that it names.
func TestVendors(t *testing.T) {
	type header = map[string]string
	for _, c := range []struct {
		provider string
		status   int
		header   header
		body     string
		want     Reason
		wait     time.Duration // 0 for none
	}{
		// Mistral.
		{"mistral", 401, nil, `{"message":"Unauthorized","request_id":"8c1f0a"}`, Auth, 0},
		{"mistral", 429, header{"Ratelimitbysize-Remaining": "0", "Ratelimitbysize-Reset": "34"}, `{"message":"Requests rate limit exceeded","request_id":"8c1f0a"}`, RateLimit, 34 * time.Second},
		{"mistral", 400, nil, `{"object":"error","message":"Prompt contains 42000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`, ContextOverflow, 0},
		{"mistral", 400, nil, `{"object":"error","message":"Invalid model: mistral-foo","type":"invalid_model","param":null,"code":"1500"}`, ModelNotFound, 0},
		{"mistral", 422, nil, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted","input":"insufficient credits"}]},"type":"invalid_request_error","param":null,"code":null}`, Format, 0},
		{"mistral", 401, nil, `{"detail":"You cannot use this API without activating payments. Activate payments at https://console.mistral.ai/billing/"}`, Billing, 0},
		{"mistral", 503, nil, `{"object":"error","message":"Service unavailable.","type":"unreachable_backend","param":null,"code":"1100"}`, ServerError, 0},
		{"mistral", 400, nil, `{"object":"error","message":"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant","type":"invalid_request_message_order","param":null,"code":"3230"}`, Format, 0},
		{"mistral", 400, nil, `{"object":"error","message":"Not the same number of function calls and responses","type":"invalid_request_message_order","param":null,"code":"3230"}`, Format, 0},
		{"mistral", 500, nil, `{"object":"error","message":"Service unavailable.","type":"internal_server_error","param":null,"code":"1000"}`, ServerError, 0},

		// Groq.
		{"groq", 413, nil, "{\"error\":{\"message\":\"Request too large for model `llama-3.1-8b-instant` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9012, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", RateLimit, 0},
		{"groq", 429, nil, "{\"error\":{\"message\":\"Rate limit reached for model `qwen-qwq-32b` in organization `org_x` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 99500, Requested 1200. Please try again in 10m4.8s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", RateLimit, 604800 * time.Millisecond},
		{"groq", 498, nil, `{"error":{"message":"Flex tier capacity exceeded, please try again later.","type":"capacity_error","code":"flex_capacity_exceeded"}}`, Overloaded, 0},
		{"groq", 503, nil, `{"error":{"message":"llama-3.3-70b-versatile is currently over capacity. Please try again and back off exponentially. Visit https://groqstatus.com to see if there is an active incident.","type":"internal_server_error"}}`, Overloaded, 0},
		{"groq", 400, nil, `{"error":{"message":"Organization has been restricted. Please reach out to support if you believe this was in error.","type":"invalid_request_error","code":"organization_restricted"}}`, AuthPermanent, 0},
		{"groq", 403, nil, `{"error":{"message":"Access denied. Please check your network settings."}}`, Auth, 0},
		{"groq", 403, nil, "{\"error\":{\"message\":\"The model `openai/gpt-oss-120b` is blocked at the project level. Please have a project admin enable this model in the project settings at https://console.groq.com/settings/project/limits\",\"type\":\"permissions_error\",\"code\":\"model_permission_blocked_project\"}}", ModelNotFound, 0},
		{"groq", 400, nil, `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"rate limit exceeded, insufficient credits"}}`, Format, 0},
		{"groq", 400, nil, "{\"error\":{\"message\":\"The model `mixtral-8x7b-32768` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.\",\"type\":\"invalid_request_error\",\"code\":\"model_decommissioned\"}}", ModelNotFound, 0},

		// Together.
		{"together", 429, nil, `{"id":"nq","error":{"message":"You have reached the rate limit specific to this model meta-llama/Llama-3.3-70B-Instruct-Turbo-Free. The maximum rate limit for this model is 6.0 queries and 180000 tokens per minute. This limit differs from the general rate limits published at Together AI rate limits documentation (https://docs.together.ai/docs/rate-limits). For inquiries about increasing your model-specific rate limit, please contact our sales team (https://www.together.ai/forms/contact-sales)","type":"model_rate_limit","param":null,"code":null}}`, RateLimit, 0},
		{"together", 422, nil, "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`\",\"type\":\"invalid_request_error\",\"param\":\"max_tokens\",\"code\":null}}", ContextOverflow, 0},
		{"together", 402, nil, `{"error":{"message":"Credit limit exceeded, please navigate to https://api.together.ai/settings/billing to update the credit limit","type":"credit_limit","param":null,"code":null}}`, Billing, 0},
		{"together", 503, nil, `{"error":{"message":"The server is overloaded or not ready yet.","type":"service_unavailable","param":null,"code":null}}`, Overloaded, 0},
		{"together", 400, nil, `{"error":{"message":"Unable to access non-serverless model Qwen/Qwen2-7B. Please visit https://api.together.ai/models/Qwen/Qwen2-7B to create and start a new dedicated endpoint for the model.","type":"invalid_request_error","param":"model","code":"model_not_available"}}`, ModelNotFound, 0},
		{"together", 404, nil, `{"error":{"message":"Unable to access model foo/bar. Please visit https://api.together.ai/models to view the list of supported models.","type":"invalid_request_error","param":null,"code":null}}`, ModelNotFound, 0},

		// Fireworks.
		{"fireworks", 412, nil, `{"error":{"object":"error","type":"invalid_request_error","code":"PRECONDITION_FAILED","message":"Account ann-1 is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. Please go to https://fireworks.ai/account/billing for more information."}}`, Billing, 0},
		{"fireworks", 404, nil, `{"error":{"object":"error","type":"invalid_request_error","code":"NOT_FOUND","message":"Model not found, inaccessible, and/or not deployed"}}`, ModelNotFound, 0},
		{"fireworks", 400, nil, `{"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 140000, model maximum context length: 131071"}}`, ContextOverflow, 0},
		{"fireworks", 503, nil, `{"error":{"message":"Deployment is currently scaled to zero and is scaling up. Please retry your request in a few minutes.","code":"DEPLOYMENT_SCALING_UP","type":"error"}}`, Overloaded, 0},

		// Bedrock.
		{"bedrock", 429, header{"X-Amzn-Errortype": "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/"}, `{"message":"Too many tokens per day, please wait before trying again."}`, RateLimit, 0},
		{"bedrock", 400, header{"X-Amzn-Errortype": "ValidationException"}, `{"message":"Input is too long for requested model."}`, ContextOverflow, 0},
		{"bedrock", 403, header{"X-Amzn-Errortype": "AccessDeniedException"}, `{"message":"You don't have access to the model with the specified model ID."}`, ModelNotFound, 0},
		{"bedrock", 403, header{"X-Amzn-Errortype": "AccessDeniedException"}, `{"Message":"User: arn:aws:iam::123456789012:user/bot is not authorized to perform: bedrock:InvokeModelWithResponseStream on resource: arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3 because no identity-based policy allows the bedrock:InvokeModelWithResponseStream action"}`, Auth, 0},
		{"bedrock", 424, header{"X-Amzn-Errortype": "ModelErrorException"}, `{"message":"The system encountered an unexpected error during processing. Try your request again.","originalStatusCode":500,"resourceName":"x"}`, ServerError, 0},
		{"bedrock", 408, header{"X-Amzn-Errortype": "ModelTimeoutException"}, `{"message":"Model has timed out in processing the request. Try your request again."}`, Timeout, 0},
		{"bedrock", 200, nil, `{"modelStreamErrorException":{"message":"The system encountered an unexpected error during processing. Try your request again.","originalStatusCode":500}}`, ServerError, 0},
		{"bedrock", 200, nil, `{"throttlingException":{"message":"Your request rate is too high. Reduce the frequency of requests."}}`, RateLimit, 0},
		{"bedrock", 403, header{"X-Amzn-Errortype": "ExpiredTokenException"}, `{"message":"The security token included in the request is expired"}`, Auth, 0},
		{"bedrock", 400, header{"X-Amzn-Errortype": "ServiceQuotaExceededException"}, `{"message":"Your request exceeds the service quota for your account."}`, RateLimit, 0},
		{"bedrock", 400, header{"X-Amzn-Errortype": "ValidationException"}, `{"message":"Malformed input request: #: extraneous key [foo] is not permitted, please reformat your input and try again."}`, Format, 0},
		{"bedrock", 403, header{"X-Amzn-Errortype": "AccessDeniedException"}, `{"message":"Model access is denied due to IAM user or service role is not authorized to perform the required AWS Marketplace actions (aws-marketplace:ViewSubscriptions, aws-marketplace:Subscribe) to enable access to this model."}`, ModelNotFound, 0},
		{"bedrock", 503, header{"X-Amzn-Errortype": "ServiceUnavailableException"}, `{"message":"Too many connections, please wait before trying again."}`, Overloaded, 0},

		// Google, Vertex and gRPC.
		{"vertex", 429, nil, `[{"error":{"code":429,"message":"Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.","status":"RESOURCE_EXHAUSTED"}}]`, RateLimit, 0},
		{"vertex", 429, nil, `{"error":{"code":429,"message":"Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: anthropic-claude-sonnet-4. Please submit a quota increase request. https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.","status":"RESOURCE_EXHAUSTED"}}`, RateLimit, 0},
		{"vertex", 403, nil, `{"error":{"code":403,"message":"Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4' (or it may not exist).","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"IAM_PERMISSION_DENIED","domain":"aiplatform.googleapis.com"}]}}`, Auth, 0},
		{"vertex", 404, nil, "{\"error\":{\"code\":404,\"message\":\"Publisher Model `projects/p/locations/us-central1/publishers/google/models/gemini-9` was not found or your project does not have access to it. Please ensure you are using a valid model version.\",\"status\":\"NOT_FOUND\"}}", ModelNotFound, 0},
		{"google", 429, nil, `{"error":{"code":429,"message":"Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.","status":"RESOURCE_EXHAUSTED"}}`, Billing, 0},
		{"google", 400, nil, `{"error":{"code":400,"message":"Gemini API free tier is not available in your country. Please enable billing on your project in Google AI Studio.","status":"FAILED_PRECONDITION"}}`, Billing, 0},
		{"google", 403, nil, `{"error":{"code":403,"message":"This API method requires billing to be enabled. Please enable billing on project #123 by visiting https://console.developers.google.com/billing/enable?project=123 then retry. If you enabled billing for this project recently, wait a few minutes for the action to propagate to our systems and retry.","status":"PERMISSION_DENIED","details":[{"reason":"BILLING_DISABLED"}]}}`, Billing, 0},
		{"google", 400, nil, `{"error":{"code":400,"message":"Budget 0 is invalid. This model only works in thinking mode.","status":"INVALID_ARGUMENT"}}`, Format, 0},
		{"google", 504, nil, `{"error":{"code":504,"message":"The service was unable to finish processing within the deadline. Your prompt (or context) is too large to be processed in time.","status":"DEADLINE_EXCEEDED"}}`, Timeout, 0},
		{"google", 500, nil, `{"error":{"code":500,"message":"An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting","status":"INTERNAL"}}`, ServerError, 0},
		{"google", 429, nil, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaDimensions":{"location":"global","model":"gemini-2.5-pro"},"quotaValue":"50"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}}`, RateLimit, 37 * time.Second},
		{"google", 429, nil, `{"code":8,"details":"Resource has been exhausted (e.g. check quota).","metadata":{},"statusDetails":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":{"seconds":"34","nanos":500000000}}]}`, RateLimit, 34500 * time.Millisecond},
		{"google", 404, nil, `{"error":{"code":404,"message":"models/gemini-foo is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}`, ModelNotFound, 0},
		{"google", 0, nil, `google.api_core.exceptions.ResourceExhausted: 429 Resource has been exhausted (e.g. check quota).`, RateLimit, 0},
		{"google", 0, nil, `google.api_core.exceptions.ServiceUnavailable: 503 The model is overloaded. Please try again later.`, Overloaded, 0},
		{"google", 0, nil, `8 RESOURCE_EXHAUSTED: Quota exceeded for quota metric 'Generate Content API requests per minute'`, RateLimit, 0},
		{"google", 0, nil, `14 UNAVAILABLE: read ECONNRESET`, Timeout, 0},
		{"google", 0, nil, `4 DEADLINE_EXCEEDED: Deadline exceeded`, Timeout, 0},
		{"google", 0, nil, `16 UNAUTHENTICATED: Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.`, Auth, 0},
		{"google", 0, nil, `7 PERMISSION_DENIED: The caller does not have permission`, Auth, 0},
		{"other:grpc", 0, nil, `rpc error: code = ResourceExhausted desc = worker slots used up`, RateLimit, 0},
		{"other:grpc", 0, nil, `rpc error: code = Unavailable desc = backend restarting`, ServerError, 0},
		{"other:grpc", 0, nil, `rpc error: code = Unavailable desc = error reading from server: EOF`, Timeout, 0},
		{"other:grpc", 0, nil, `rpc error: code = DeadlineExceeded desc = took too long`, Timeout, 0},
		{"other:grpc", 0, nil, `rpc error: code = Unauthenticated desc = who are you`, Auth, 0},
		{"other:grpc", 0, nil, `rpc error: code = PermissionDenied desc = no`, Auth, 0},
		{"other:grpc", 0, nil, `rpc error: code = Internal desc = stream terminated by RST_STREAM with error code: INTERNAL_ERROR`, Timeout, 0},
		{"other:grpc", 0, nil, `rpc error: code = InvalidArgument desc = field messages is missing`, Format, 0},
		{"other:grpc", 0, nil, `rpc error: code = Internal desc = oops`, ServerError, 0},

		// Azure.
		{"azure", 429, nil, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-02-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 2 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit."}}`, RateLimit, 2 * time.Second},
		{"azure", 401, nil, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}`, Auth, 0},
		{"azure", 403, nil, `{"error":{"code":"403","message":"Access denied due to Virtual Network/Firewall rules."}}`, Auth, 0},
		{"azure", 429, nil, `{"error":{"code":"NoCapacity","message":"The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load. For improved capacity reliability, consider switching to Provisioned Throughput."}}`, Overloaded, 0},
		{"azure", 404, nil, `{"error":{"code":"404","message":"Resource not found"}}`, ModelNotFound, 0},
		{"azure", 403, nil, `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 02:15:30."}`, RateLimit, 2*time.Hour + 15*time.Minute + 30*time.Second},
		{"azure", 403, nil, `{"error":{"code":"403","message":"Out of call volume quota for OpenAI.S0 pricing tier. Quota will be replenished in 1.17:05:14."}}`, RateLimit, 41*time.Hour + 5*time.Minute + 14*time.Second},
		{"azure", 429, nil, `{"statusCode":429,"message":"Rate limit is exceeded. Try again in 55 seconds."}`, RateLimit, 55 * time.Second},
		{"azure", 401, nil, `{"statusCode":401,"message":"Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), or have expired."}`, Auth, 0},
		{"azure", 408, nil, `{"error":{"code":"Timeout","message":"The operation was timeout."}}`, Timeout, 0},
		{"azure", 400, nil, `{"error":{"code":"OperationNotSupported","message":"The chatCompletion operation does not work with the specified model, gpt-3.5-turbo-instruct. Please choose different model and try again."}}`, ModelNotFound, 0},
		{"azure", 400, nil, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}}}`, Refusal, 0},

		// DeepSeek, Moonshot.
		{"deepseek", 402, nil, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, Billing, 0},
		{"deepseek", 401, nil, `{"error":{"message":"Authentication Fails (governor)","type":"authentication_error","param":null,"code":"invalid_request_error"}}`, Auth, 0},
		{"deepseek", 503, nil, `Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.`, Overloaded, 0},
		{"deepseek", 400, nil, `{"error":{"message":"deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input). You should interleave the user/assistant messages in the message sequence.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, Format, 0},
		{"moonshot", 429, nil, `{"error":{"message":"Your account org-x<ak-y> request reached organization max concurrency: 1, please try again after 1 seconds","type":"rate_limit_reached_error"}}`, RateLimit, time.Second},
		{"moonshot", 429, nil, `{"error":{"message":"Your account org-x<ak-y> request reached organization TPD rate limit, current:1510000, limit:1500000","type":"rate_limit_reached_error"}}`, RateLimit, 0},
		{"moonshot", 403, nil, `{"error":{"message":"Your account org-x<ak-y> is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, Billing, 0},
		{"moonshot", 429, nil, `{"error":{"message":"Your account org-x<ak-y> is not active, current state: suspended, consider checking your plan and billing details","type":"exceeded_current_quota_error"}}`, Billing, 0},
		{"moonshot", 404, nil, `{"error":{"message":"Not found the model moonshot-foo or Permission denied","type":"resource_not_found_error"}}`, ModelNotFound, 0},
		{"moonshot", 400, nil, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)","type":"invalid_request_error"}}`, ContextOverflow, 0},

		// xAI, Cohere.
		{"xai", 429, nil, `{"code":"Some resource has been exhausted","error":"Too many requests for team 0a1b and model grok-4-0709. Your team's rate limit is: Requests per Minute (actual/limit): 61/60."}`, RateLimit, 0},
		{"xai", 403, nil, `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai/team/0a1b."}`, Billing, 0},
		{"xai", 429, nil, `{"code":"Some resource has been exhausted","error":"Your team 0a1b has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."}`, Billing, 0},
		{"xai", 400, nil, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai."}`, Auth, 0},
		{"xai", 404, nil, `{"code":"Some requested entity was not found","error":"The model grok-9 does not exist or your team 0a1b does not have access to it. Please ensure you're using the correct API key associated with a team that has access."}`, ModelNotFound, 0},
		{"xai", 403, nil, `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Team: 0a1b, API key ID: 1, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO"}`, Refusal, 0},
		{"xai", 503, nil, `{"code":"The service is currently unavailable","error":"Service temporarily unavailable. The model is at capacity and currently cannot serve this request. Please try again later."}`, Overloaded, 0},
		{"cohere", 429, nil, `{"message":"You are using a Trial key, which is limited to 10 API calls / minute. You can continue to use the Trial key for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'. Contact us on 'https://discord.gg/XW44jPfYJu' or email us at support@cohere.com with any questions"}`, RateLimit, 0},
		{"cohere", 401, nil, `{"message":"invalid api token"}`, Auth, 0},
		{"cohere", 400, nil, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt, or enabling prompt truncating. See https://docs.cohere.com for more details."}`, ContextOverflow, 0},
		{"cohere", 404, nil, `{"message":"model 'foo' not found, make sure the correct model ID was used and that you have access to the model."}`, ModelNotFound, 0},
		{"cohere", 404, nil, `{"message":"model 'command' was removed on September 15, 2025. See https://docs.cohere.com/docs/deprecations"}`, ModelNotFound, 0},
		{"cohere", 402, nil, `{"message":"Please add or update your payment method at https://dashboard.cohere.com/billing?tab=payment to continue"}`, Billing, 0},

		// OpenRouter around others.
		{"openrouter", 429, nil, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"google/gemini-2.0-flash-exp:free is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations","provider_name":"Google"}},"user_id":"user_x"}`, RateLimit, 0},
		{"openrouter", 400, nil, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens\",\"type\":\"BadRequestError\",\"code\":400}}","provider_name":"Chutes"}}}`, ContextOverflow, 0},
		{"openrouter", 502, nil, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}","provider_name":"Anthropic"}}}`, Overloaded, 0},
		{"openrouter", 402, nil, `{"error":{"message":"Prompt tokens limit exceeded: 30000 > 20000. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account","code":402}}`, Billing, 0},
		{"openrouter", 404, nil, `{"error":{"message":"No endpoints found matching your data policy (Free model training). Configure: https://openrouter.ai/settings/privacy","code":404}}`, ModelNotFound, 0},
		{"openrouter", 200, nil, `{"id":"gen-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"error","native_finish_reason":null}],"error":{"code":502,"message":"Provider disconnected unexpectedly"}}`, ServerError, 0},
		{"openrouter", 200, nil, `{"error":{"code":"server_error","message":"Upstream idle timeout exceeded"},"choices":[]}`, Timeout, 0},
		{"openrouter", 429, nil, `{"error":{"message":"Rate limit exceeded: limit_rpm/deepseek/deepseek-chat-v3:free. High demand for deepseek/deepseek-chat-v3:free on OpenRouter - limited to 20 requests per minute. Please retry shortly.","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"20","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1774008030000"}}}}`, RateLimit, 30 * time.Second},

		// Edges and gateways.
		{"any", 504, nil, "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>", Timeout, 0},
		{"any", 429, nil, `error code: 1015`, RateLimit, 0},
		{"any", 524, nil, `{"type":"https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/error-524/","title":"Error 524: A timeout occurred","status":524,"detail":"The origin web server timed out responding to this request.","error_code":524,"error_name":"origin_response_timeout","retryable":true,"retry_after":120}`, Timeout, 120 * time.Second},
		{"any", 302, header{"Location": "https://login.test/"}, ``, Unclassified, 0},
		{"any", 301, nil, `<html><head><title>301 Moved Permanently</title></head></html>`, Timeout, 0},
		{"any", 503, nil, `no healthy upstream`, ServerError, 0},
		{"any", 503, nil, `upstream connect error or disconnect/reset before headers. reset reason: overflow`, Timeout, 0},
		{"any", 504, nil, `{"error":{"code":"FUNCTION_INVOCATION_TIMEOUT","message":"An error occurred with your deployment"}}`, Timeout, 0},
		{"any", 429, nil, `{"fault":{"faultstring":"Rate limit quota violation. Quota limit  exceeded. Identifier : _default","detail":{"errorcode":"policies.ratelimit.QuotaViolation"}}}`, RateLimit, 0},
		{"any", 503, nil, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>", RateLimit, 0},
		{"any", 429, nil, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"This request would exceed your organization's rate limit of 30,000 input tokens per minute\"}}\n\n", RateLimit, 0},
		{"anthropic", 200, nil, "event: error\ndata: {\"type\":\"error\",\"error\":{\"details\":null,\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_1\"}\n\n", Overloaded, 0},
		{"openai", 0, nil, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-a on tokens per min (TPM): Limit 30000, Used 29`, RateLimit, 0},
		{"anthropic", 0, nil, `{"type":"error","error":{"type":"overloaded_er`, Overloaded, 0},
		{"openai", 200, nil, `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"rate_limit_exceeded","message":"Rate limit reached for gpt-5 in organization org-a on tokens per min (TPM): Limit 30000, Used 29000, Requested 6027. Please try again in 11.054s."}}}`, RateLimit, 11054 * time.Millisecond},
		{"openai", 200, nil, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`, Refusal, 0},

		// Servers at home.
		{"vllm", 400, nil, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","param":null,"code":400}`, ContextOverflow, 0},
		{"sglang", 400, nil, `{"object":"error","message":"The input (130000 tokens) is longer than the model's context length (128000 tokens).","type":"BadRequestError","param":null,"code":400}`, ContextOverflow, 0},
		{"tgi", 429, nil, `{"error":"Model is overloaded","error_type":"overloaded"}`, Overloaded, 0},
		{"tgi", 424, nil, `{"error":"Request failed during generation: Server error: CUDA out of memory","error_type":"generation"}`, ServerError, 0},
		{"huggingface", 402, nil, `{"error":"You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits."}`, Billing, 0},
		{"litellm", 400, nil, `{"error":{"message":"ExceededBudget: User=default_user_id over budget. Spend: 10.1, Budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`, Billing, 0},
		{"litellm", 429, nil, `{"error":{"message":"litellm.RateLimitError: Max parallel request limit reached. Crossed TPM / RPM / Max Parallel Request Limit for api_key: x. current rpm: 11, rpm limit: 10","type":"None","param":"None","code":"429"}}`, RateLimit, 0},

		// Others.
		{"replicate", 429, nil, `{"detail":"Request was throttled. Your rate limit for creating predictions is reduced to 6 requests per minute with a burst of 1 requests while you have less than $5.0 in credit. Your rate limit resets in ~30s.","status":429,"retry_after":30}`, RateLimit, 30 * time.Second},
		{"replicate", 402, nil, `{"title":"Insufficient credit","detail":"You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit. Once you purchase credit, please wait a few minutes before trying again.","status":402}`, Billing, 0},
		{"nvidia", 402, nil, `{"type":"urn:nvcf-service:problem-details:payment-required","title":"Payment Required","status":402,"detail":"Account 'x': Cloud credits expired - Please contact NVIDIA representatives","instance":"/v2/nvcf/pexec/functions/1"}`, Billing, 0},
		{"nvidia", 404, nil, `{"status":404,"title":"Not Found","detail":"Function 'abc': Not found for account 'x'"}`, ModelNotFound, 0},
		{"cerebras", 429, nil, `{"message":"We're experiencing high traffic right now! Please try again soon.","type":"too_many_requests_error","param":"queue","code":"queue_exceeded"}`, Overloaded, 0},
		{"cerebras", 429, header{"X-Ratelimit-Remaining-Requests-Day": "0", "X-Ratelimit-Reset-Requests-Day": "33011.38"}, `{"message":"Requests per day limit exceeded - too many requests sent.","type":"too_many_requests_error","param":"quota","code":"request_quota_exceeded"}`, RateLimit, 33011380 * time.Millisecond},
		{"cerebras", 429, nil, `{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}`, RateLimit, 0},
		{"sambanova", 400, nil, `{"error":{"message":"Requested generation length 4096 is not possible! The provided prompt is 16384 tokens long, so generating 4096 tokens requires a sequence length of 20480, but the maximum supported sequence length is just 16384!","type":"invalid_request_error"}}`, ContextOverflow, 0},
		{"github", 429, nil, `{"error":{"code":"RateLimitReached","message":"Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 34252 seconds before retrying.","details":"Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 34252 seconds before retrying."}}`, RateLimit, 34252 * time.Second},
		{"github", 413, nil, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens.","details":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}`, ContextOverflow, 0},
		{"cloudflare", 429, nil, `{"errors":[{"message":"AiError: AiError: Capacity temporarily exceeded, please try again.","code":3040}],"success":false,"result":{},"messages":[]}`, Overloaded, 0},
		{"cloudflare", 429, nil, `{"errors":[{"message":"AiError: you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage.","code":4006}],"success":false,"result":{},"messages":[]}`, RateLimit, 0},
		{"cloudflare", 401, nil, `{"result":null,"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[]}`, Auth, 0},
		{"cloudflare", 400, nil, `{"errors":[{"message":"AiError: AiError: No such model @cf/foo/bar or task","code":5007}],"success":false,"result":{},"messages":[]}`, ModelNotFound, 0},
		{"cloudflare", 413, nil, `{"errors":[{"message":"AiError: The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).","code":5021}],"success":false}`, ContextOverflow, 0},
		{"deepinfra", 429, nil, `{"detail":{"error":"Model busy, retry later"}}`, Overloaded, 0},
		{"deepinfra", 403, nil, `{"detail":{"error":"inference prohibited, please enter a valid payment method or add balance"}}`, Billing, 0},
		{"novita", 403, nil, `{"code":403,"reason":"NOT_ENOUGH_BALANCE","message":"not enough balance","metadata":{}}`, Billing, 0},
		{"chutes", 402, nil, `{"detail":"Account balance is $0.0, please send tao to 5Gx"}`, Billing, 0},
		{"chutes", 429, nil, `{"detail":"Infrastructure is at maximum capacity, try again later"}`, Overloaded, 0},
		{"openai", 401, nil, `{"error":{"message":"You have insufficient permissions for this operation. Missing scopes: model.request. Check that you have the correct role in your organization (Reader, Writer, Owner) and project (Member, Owner), and if you're using a restricted API key, that it has the necessary scopes.","type":"invalid_request_error","param":null,"code":null}}`, Auth, 0},
		{"openai", 401, nil, `{"error":{"message":"You must be a member of an organization to use the API. Please contact us through our help center at help.openai.com.","type":"invalid_request_error","param":null,"code":null}}`, Auth, 0},
		{"openai", 403, nil, "{\"error\":{\"message\":\"Project `proj_x` does not have access to model `gpt-5`\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}", ModelNotFound, 0},
		{"openai", 400, nil, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`, Format, 0},
		{"openai", 503, nil, `{"error":{"message":"That model is currently overloaded with other requests. You can retry your request, or contact us through our help center at help.openai.com if the error persists. (Please include the request ID req_x in your message.)","type":"server_error","param":null,"code":null}}`, Overloaded, 0},
		{"anthropic", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022"}}`, Format, 0},
		{"anthropic", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, Refusal, 0},
		{"anthropic", 429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"Number of concurrent connections has exceeded your rate limit. Please try again later or contact sales at https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."}}`, RateLimit, 0},

		{"openai", 400, nil, `{"error":{"message":"Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 64 instead.","type":"invalid_request_error","param":"messages[3].tool_calls[0].id","code":"string_above_max_length"}}`, Format, 0},
		{"openai", 400, nil, `{"error":{"message":"Invalid 'input[2].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.","type":"invalid_request_error","code":"string_above_max_length"}}`, ContextOverflow, 0},
		{"bedrock", 429, nil, `{"message":"Your account is currently blocked from using this model because of Free plan limits."}`, ModelNotFound, 0},
		{"bedrock", 400, nil, `{"message":"Could not resolve the foundation model from the provided model identifier."}`, ModelNotFound, 0},
		{"azure", 403, nil, `{"error":{"code":"SubscriptionDisabled","message":"The subscription is disabled and therefore marked as read only."}}`, AuthPermanent, 0},
		{"siliconflow", 400, nil, `{"code":20015,"message":"length of prompt_tokens (40000) must be less than max_seq_len (32768).","data":null}`, ContextOverflow, 0},
		{"lmstudio", 0, nil, `The model has crashed without additional information. (Exit code: 6)`, ServerError, 0},
		{"llama.cpp", 503, nil, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, Overloaded, 0},
		{"any", 0, nil, `http2: server sent GOAWAY and closed the connection; LastStreamID=1999, ErrCode=NO_ERROR`, Timeout, 0},
		{"any", 0, nil, `stream error: stream ID 5; INTERNAL_ERROR; received from peer`, Timeout, 0},
		{"any", 0, nil, `SSL routines: wrong version number`, Timeout, 0},
		{"any", 0, nil, `httpx.ReadTimeout`, Timeout, 0},

		// China.
		{"qwen", 403, nil, `{"code":"AccessDenied.Unpurchased","message":"Access to model denied. Please make sure you are eligible for using the model.","request_id":"x"}`, ModelNotFound, 0},
		{"qwen", 400, nil, `{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing.","request_id":"x"}`, Billing, 0},
		{"qwen", 429, nil, `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded, please try again later.","request_id":"x"}`, RateLimit, 0},
		{"qwen", 400, nil, `{"code":"InvalidParameter","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]","request_id":"x"}`, ContextOverflow, 0},
		{"volcengine", 403, nil, `{"error":{"code":"AccountOverdueError","message":"The request failed because your account has an overdue balance. Request id: 02","param":"","type":"Forbidden"}}`, Billing, 0},
		{"volcengine", 429, nil, `{"error":{"code":"ServerOverloaded","message":"The service is currently unable to handle additional requests due to server overload. Please try again later.","type":"TooManyRequests"}}`, Overloaded, 0},
		{"volcengine", 404, nil, `{"error":{"code":"ModelNotOpen","message":"Your account 2100000000 has not activated the model doubao-pro. Please activate the model service in the Ark Console. Request id: 02","type":"NotFound"}}`, ModelNotFound, 0},
		{"baidu", 200, nil, `{"error_code":18,"error_msg":"Open api qps request limit reached","id":"as-1"}`, RateLimit, 0},
		{"baidu", 200, nil, `{"error_code":17,"error_msg":"Open api daily request limit reached","id":"as-1"}`, RateLimit, 0},
		{"baidu", 200, nil, `{"error_code":110,"error_msg":"Access token invalid or no longer valid"}`, Auth, 0},
		{"hunyuan", 200, nil, `{"Response":{"RequestId":"x","Error":{"Code":"ResourceInsufficient.ChargeResourceExhaust","Message":"账号当前无可用资源，资源包余量已用尽，请前往购买"}}}`, Billing, 0},
		{"hunyuan", 200, nil, `{"Response":{"RequestId":"x","Error":{"Code":"FailedOperation.ServiceStopByArrears","Message":"Service stopped."}}}`, Billing, 0},
		{"hunyuan", 200, nil, `{"Response":{"RequestId":"x","Error":{"Code":"LimitExceeded","Message":"并发超过限制，请稍后重试"}}}`, RateLimit, 0},
		{"hunyuan", 200, nil, `{"Response":{"RequestId":"x","Error":{"Code":"FailedOperation.EngineRequestTimeout","Message":"引擎层请求超时"}}}`, Timeout, 0},
		{"other:relay", 403, nil, `{"error":{"message":"用户额度不足, 剩余额度: ＄0.000000 (request id: 2025)","type":"new_api_error","param":"","code":"insufficient_user_quota"}}`, Billing, 0},
		{"other:relay", 500, nil, `{"error":{"message":"当前分组上游负载已饱和，请稍后再试 (request id: 2025)","type":"one_api_error"}}`, Overloaded, 0},
		{"other:relay", 429, nil, `{"error":{"message":"您已达到请求限制：3分钟内最多请求10次，请45秒后重试"}}`, RateLimit, 45 * time.Second},
		{"other:relay", 401, nil, `{"error":{"message":"该令牌已过期","type":"one_api_error"}}`, Auth, 0},
		{"other:relay", 400, nil, `{"error":{"message":"请求内容超过模型上下文长度限制","type":"invalid_request_error"}}`, ContextOverflow, 0},

		// Other languages; the status leads astray.
		{"any", 403, nil, `{"error":"Ihr Guthaben ist aufgebraucht. Bitte laden Sie Ihr Konto auf."}`, Billing, 0},
		{"any", 403, nil, `{"error":"Guthaben nicht ausreichend"}`, Billing, 0},
		{"any", 400, nil, `{"error":"Zu viele Anfragen. Bitte versuchen Sie es in 30 Sekunden erneut."}`, RateLimit, 30 * time.Second},
		{"any", 500, nil, `{"error":"Der Server ist derzeit überlastet. Bitte versuchen Sie es später erneut."}`, Overloaded, 0},
		{"any", 400, nil, `{"error":"Ungültiger API-Schlüssel"}`, Auth, 0},
		{"any", 400, nil, `{"error":"Das Modell wurde nicht gefunden."}`, ModelNotFound, 0},
		{"any", 400, nil, `{"error":"Die Eingabe ist zu lang für dieses Modell."}`, ContextOverflow, 0},
		{"any", 403, nil, `{"error":"Saldo insuficiente. Recargue su cuenta para continuar."}`, Billing, 0},
		{"any", 400, nil, `{"error":"Demasiadas solicitudes. Inténtelo de nuevo en 20 segundos."}`, RateLimit, 20 * time.Second},
		{"any", 500, nil, `{"error":"El servidor está sobrecargado. Inténtelo más tarde."}`, Overloaded, 0},
		{"any", 400, nil, `{"error":"Clave de API no válida"}`, Auth, 0},
		{"any", 400, nil, `{"error":"El modelo no existe"}`, ModelNotFound, 0},
		{"any", 403, nil, `{"error":"Crédits insuffisants. Veuillez recharger votre compte."}`, Billing, 0},
		{"any", 400, nil, `{"error":"Trop de requêtes. Réessayez dans 15 secondes."}`, RateLimit, 15 * time.Second},
		{"any", 500, nil, `{"error":"Le serveur est surchargé."}`, Overloaded, 0},
		{"any", 400, nil, `{"error":"Clé API invalide"}`, Auth, 0},
		{"any", 403, nil, `{"error":"残高が不足しています。チャージしてください。"}`, Billing, 0},
		{"any", 400, nil, `{"error":"リクエストが多すぎます。30秒後に再試行してください。"}`, RateLimit, 30 * time.Second},
		{"any", 500, nil, `{"error":"サーバーが混雑しています。しばらくしてからもう一度お試しください。"}`, Overloaded, 0},
		{"any", 400, nil, `{"error":"APIキーが無効です。"}`, Auth, 0},
		{"any", 400, nil, `{"error":"入力が長すぎます。コンテキスト長の上限を超えています。"}`, ContextOverflow, 0},
		{"any", 400, nil, `{"error":"指定されたモデルが見つかりません。"}`, ModelNotFound, 0},
		{"any", 403, nil, `{"error":"잔액이 부족합니다."}`, Billing, 0},
		{"any", 400, nil, `{"error":"요청이 너무 많습니다. 30초 후에 다시 시도해 주세요."}`, RateLimit, 30 * time.Second},
		{"any", 403, nil, `{"error":"Credito insufficiente"}`, Billing, 0},
		{"any", 403, nil, `{"error":"Saldo insuficiente. Adicione créditos à sua conta."}`, Billing, 0},
		{"any", 400, nil, `{"error":"Muitas solicitações. Tente novamente em 10 segundos."}`, RateLimit, 10 * time.Second},

		{"google", 403, nil, `{"error":{"code":403,"message":"Requests from referer <empty> are blocked.","status":"PERMISSION_DENIED","details":[{"reason":"API_KEY_HTTP_REFERRER_BLOCKED"}]}}`, Auth, 0},
		{"litellm", 401, nil, `{"error":{"message":"Authentication Error, ExceededTokenBudget: Current spend for token: 7.2e-05; Max Budget for Token: 2e-07","type":"auth_error","code":"401"}}`, Billing, 0},
		{"any", 0, nil, `Post "https://host.test/v1": tls: failed to verify certificate: x509: certificate signed by unknown authority`, Timeout, 0},
		{"any", 402, nil, `{"error":"本月用量已达上限，下月1日重置"}`, RateLimit, 0},
		{"any", 402, nil, `{"error":"Monatliches Limit erreicht"}`, RateLimit, 0},
		{"any", 402, nil, `{"error":"Límite mensual alcanzado"}`, RateLimit, 0},
		{"any", 400, nil, `{"error":"API密钥已过期"}`, Auth, 0},
		{"any", 400, nil, `{"error":"该模型已下架"}`, ModelNotFound, 0},
		{"any", 403, nil, `{"error":"Su clave de API ha sido revocada"}`, AuthPermanent, 0},
		{"any", 403, nil, `{"error":"Ihr API-Schlüssel wurde deaktiviert"}`, AuthPermanent, 0},
		{"any", 403, nil, `{"error":"アカウントが停止されています"}`, AuthPermanent, 0},
		{"any", 0, nil, `Zeitüberschreitung der Anforderung`, Timeout, 0},
		{"any", 0, nil, `Tiempo de espera agotado`, Timeout, 0},

		// Waits in odd units and places.
		{"any", 429, header{"Retry-After": "1m30s"}, ``, RateLimit, 90 * time.Second},
		{"any", 429, header{"X-Ratelimit-Reset-After": "4.5"}, ``, RateLimit, 4500 * time.Millisecond},
		{"any", 429, header{"Ratelimit": `limit=100, remaining=0, reset=30`}, ``, RateLimit, 30 * time.Second},
		{"any", 429, header{"Ratelimit": `"default";r=0;t=42`}, ``, RateLimit, 42 * time.Second},
		{"any", 429, header{"Ratelimit": `"burst";r=7;t=3, "daily";r=0;t=600`}, ``, RateLimit, 600 * time.Second},
		{"any", 429, header{"X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "17"}, ``, RateLimit, 17 * time.Second},
		{"azure", 429, header{"X-Ms-Retry-After-Ms": "2500"}, ``, RateLimit, 2500 * time.Millisecond},
		{"any", 429, nil, `{"error":{"message":"slow","retry_after_ms":"1500"}}`, RateLimit, 1500 * time.Millisecond},
		{"any", 429, nil, `{"error":{"message":"slow","retryAfter":"PT1M30S"}}`, RateLimit, 90 * time.Second},
		{"any", 429, nil, `{"error":{"message":"slow","retry_in":12}}`, RateLimit, 12 * time.Second},
		{"any", 429, nil, `{"error":{"message":"slow","retry_at":"2026-03-20T12:05:00Z"}}`, RateLimit, 5 * time.Minute},
		{"any", 429, nil, `{"error":{"message":"slow","reset_time":1774008060}}`, RateLimit, time.Minute},
		{"any", 429, nil, `{"error":{"message":"slow","resetAfter":"2h"}}`, RateLimit, 2 * time.Hour},
		{"any", 429, nil, `{"error":{"message":"slow","wait_seconds":8}}`, RateLimit, 8 * time.Second},
		{"any", 429, nil, `Too many requests. Try again in 00:01:30.`, RateLimit, 90 * time.Second},
		{"any", 429, nil, `Too many requests. Try again in an hour.`, RateLimit, time.Hour},
		{"any", 429, nil, `Too many requests. Please wait one minute.`, RateLimit, time.Minute},
		{"any", 429, nil, `Rate limited: resets in 1 day, 3 hours.`, RateLimit, 27 * time.Hour},
		{"any", 429, nil, `Quota resets at 14:00 UTC.`, RateLimit, 2 * time.Hour},
		{"any", 429, nil, `Try again in 1 hr 12 mins`, RateLimit, 72 * time.Minute},
		{"any", 429, nil, `{"error":"quota exceeded","message":"You can retry after 2026-03-20 12:30:00"}`, RateLimit, 30 * time.Minute},
		{"any", 429, nil, `Limit reached; the next request is allowed again in 45 seconds`, RateLimit, 45 * time.Second},
		{"any", 429, nil, `30 秒后重试`, RateLimit, 30 * time.Second},
		{"any", 429, nil, `请求过于频繁，请等待 2 分钟后再试`, RateLimit, 2 * time.Minute},
		{"huggingface", 503, nil, `{"error":"Model meta-llama/x is currently loading","estimated_time":20.0}`, Overloaded, 20 * time.Second},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h[k] = []string{v}
		}
		e := Classify(Failure{Provider: c.provider, Model: "m1", Status: c.status, Header: h, Body: []byte(c.body), Now: noon})
		same := e.Reason == c.want
		if c.status >= 500 && (c.want == Timeout || c.want == ServerError) {
			same = e.Reason == Timeout || e.Reason == ServerError
		}
		if !same {
			t.Errorf("%s %d %s\n\treason %q (%s), want %q", c.provider, c.status, c.body, e.Reason, e.Evidence, c.want)
			continue
		}
		var want time.Time
		if c.wait > 0 {
			want = noon.Add(c.wait)
		}
		if !e.ResetAt.Equal(want) {
			t.Errorf("%s %d %v %s\n\treset at %v, want %v", c.provider, c.status, c.header, c.body, e.ResetAt, want)
		}
	}
}
