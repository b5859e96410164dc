package script

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// KindOK takes back failures that were ordered before.
const KindOK = "ok"

// Kinds are the words that [Fault] understands: the reasons that a provider
// can give for a failure, what can happen to a connection, and [KindOK].
func Kinds() []string {
	return slices.Sorted(maps.Keys(plainFaults))
}

// faultText is the answer that a kind stands for, as the provider's vendor
// words it.
func faultText(provider, kind string) (string, bool) {
	if text, ok := vendorFaults[provider][kind]; ok {
		return text, true
	}
	if text, ok := plainFaults[kind]; ok {
		return text, true
	}
	status, err := strconv.Atoi(kind)
	if err != nil || status < 400 || status > 599 {
		return "", false
	}
	if status == 529 { // known to one vendor only
		return `529 "overloaded_error"`, true
	}
	return fmt.Sprintf("%d %q", status, http.StatusText(status)), true
}

// plainFaults are failures in the shape that most vendors share. A text that
// is no failure stands beside [KindOK], which is listed but never played.
var plainFaults = map[string]string{
	"auth":             `401 {"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
	"auth_permanent":   `401 {"error":{"message":"The account associated with this API key has been deactivated.","type":"invalid_request_error","param":null,"code":"account_deactivated"}}`,
	"billing":          `402 {"error":{"message":"Insufficient credits. Add more credits to continue.","code":402}}`,
	"rate_limit":       `429 {"error":{"message":"Rate limit reached for requests per minute.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
	"overloaded":       `503 {"error":{"message":"Our servers are currently overloaded. Please try again later.","type":"service_unavailable_error","param":null,"code":"server_is_overloaded"}}`,
	"timeout":          `408 {"error":{"message":"Request timed out.","type":"timeout","param":null,"code":null}}`,
	"server_error":     `500 {"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}`,
	"model_not_found":  `404 {"error":{"message":"The model does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`,
	"format":           `400 {"error":{"message":"Invalid value for 'temperature': expected a number between 0 and 2.","type":"invalid_request_error","param":"temperature","code":"invalid_value"}}`,
	"context_overflow": `400 {"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 140211 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
	"refusal":          `finish content_filter`,
	"empty_response":   `empty`,
	"no_error_details": `stream then 200 {"error":{"message":"Unknown error (no error details in response)"}}`,
	"unclassified":     `stream then 200 {"error":{"message":"The flux capacitor is out of tune."}}`,
	"hang":             `hang`,
	"reset":            `reset`,
	"empty":            `empty`,
	"interrupted":      `stream "This answer will brea" then reset`,
	KindOK:             `text "ok"`,
}

// vendorFaults are the failures that a vendor words in its own way.
var vendorFaults = map[string]map[string]string{
	"anthropic": {
		"auth":             `401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_script"}`,
		"auth_permanent":   `400 {"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."},"request_id":"req_script"}`,
		"billing":          `400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},"request_id":"req_script"}`,
		"rate_limit":       `429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 50 requests per minute."},"request_id":"req_script"}`,
		"overloaded":       `529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_script"}`,
		"timeout":          `504 {"type":"error","error":{"type":"timeout_error","message":"Request timed out"},"request_id":"req_script"}`,
		"server_error":     `500 {"type":"error","error":{"type":"api_error","message":"Something went wrong on our side."},"request_id":"req_script"}`,
		"model_not_found":  `404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-unknown"},"request_id":"req_script"}`,
		"format":           `400 {"type":"error","error":{"type":"invalid_request_error","message":"temperature: Input should be less than or equal to 1"},"request_id":"req_script"}`,
		"context_overflow": `400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 214501 tokens > 200000 maximum"},"request_id":"req_script"}`,
		"refusal":          `finish refusal`,
	},
	"openai": {
		"billing":    `429 {"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		"overloaded": `503 {"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error","param":null,"code":"server_is_overloaded"}}`,
	},
	"google": {
		"auth":             `400 {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`,
		"rate_limit":       `429 {"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`,
		"overloaded":       `503 {"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`,
		"timeout":          `504 {"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}`,
		"server_error":     `500 {"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`,
		"model_not_found":  `404 {"error":{"code":404,"message":"models/gemini-unknown is not found for API version v1beta.","status":"NOT_FOUND"}}`,
		"format":           `400 {"error":{"code":400,"message":"Invalid value at 'generation_config.temperature'.","status":"INVALID_ARGUMENT"}}`,
		"context_overflow": `400 {"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`,
		"refusal":          `finish SAFETY`,
	},
}
