package llm

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

func TestResetHints(t *testing.T) {
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	epoch := func(d time.Duration) string { return strconv.FormatInt(noon.Add(d).Unix(), 10) }
	type header map[string]string
	for _, c := range []struct {
		name     string
		provider string
		status   int
		header   header
		body     string
		want     time.Time
	}{
		{"seconds", "any", 429, header{"Retry-After": "120"}, ``, at(2 * time.Minute)},
		{"date", "any", 429, header{"Retry-After": "Fri, 20 Mar 2026 12:05:00 GMT"}, ``, at(5 * time.Minute)},
		{"zero is no hint", "any", 429, header{"Retry-After": "0"}, ``, time.Time{}},
		{"past", "any", 429, header{"Retry-After": "Fri, 20 Mar 2026 11:05:00 GMT"}, ``, time.Time{}},
		{"garbage", "any", 429, header{"Retry-After": "soon"}, ``, time.Time{}},
		{"negative", "any", 429, header{"Retry-After": "-5"}, ``, time.Time{}},
		{"not a number", "any", 429, header{"Retry-After": "NaN"}, ``, time.Time{}},
		{"no end", "any", 429, header{"Retry-After": "1e300"}, ``, at(longestReset)},
		{"milliseconds first", "any", 429, header{"Retry-After": "120", "Retry-After-Ms": "1500"}, ``, at(1500 * time.Millisecond)},
		{"lower case", "any", 429, header{"retry-after": "7"}, ``, at(7 * time.Second)},
		{"longest believed", "any", 429, header{"Retry-After": "8000000"}, ``, at(longestReset)},
		{"overload", "any", 529, header{"Retry-After": "9"}, ``, at(9 * time.Second)},
		{"not for billing", "any", 402, header{"Retry-After": "9"}, ``, time.Time{}},
		{"not for auth", "any", 401, header{"Retry-After": "9"}, ``, time.Time{}},

		{"anthropic, the empty one", "anthropic", 429, header{
			"Anthropic-Ratelimit-Requests-Remaining": "10", "Anthropic-Ratelimit-Requests-Reset": "2026-03-20T12:00:50Z",
			"Anthropic-Ratelimit-Tokens-Remaining": "0", "Anthropic-Ratelimit-Tokens-Reset": "2026-03-20T12:00:20Z", "Retry-After": "25",
		}, ``, at(20 * time.Second)},
		{"anthropic plan", "anthropic", 429, header{
			"Anthropic-Ratelimit-Unified-Status": "rejected", "Anthropic-Ratelimit-Unified-Representative-Claim": "five_hour",
			"Anthropic-Ratelimit-Unified-5h-Reset": epoch(3 * time.Hour), "Anthropic-Ratelimit-Unified-Reset": epoch(4 * time.Hour), "Retry-After": "60",
		}, ``, at(3 * time.Hour)},
		{"anthropic plan, latest rejecting window", "anthropic", 429, header{
			"Anthropic-Ratelimit-Unified-Status":    "rejected",
			"Anthropic-Ratelimit-Unified-5h-Status": "rejected", "Anthropic-Ratelimit-Unified-5h-Reset": epoch(time.Hour),
			"Anthropic-Ratelimit-Unified-7d-Status": "rejected", "Anthropic-Ratelimit-Unified-7d-Reset": epoch(70 * time.Hour),
		}, ``, at(70 * time.Hour)},
		{"anthropic plan, a warning is none", "anthropic", 429, header{
			"Anthropic-Ratelimit-Unified-Status": "allowed_warning", "Anthropic-Ratelimit-Unified-Reset": epoch(70 * time.Hour),
		}, ``, time.Time{}},

		{"openai, full window", "openai", 429, header{
			"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "6m0s",
			"X-Ratelimit-Remaining-Tokens": "100", "X-Ratelimit-Reset-Tokens": "40ms",
		}, ``, at(6 * time.Minute)},
		{"openai, refill is no wait", "openai", 429, header{
			"X-Ratelimit-Remaining-Tokens": "100", "X-Ratelimit-Reset-Tokens": "6m0s",
		}, ``, time.Time{}},
		{"openai, in words", "openai", 429, nil, `{"error":{"message":"Rate limit reached for gpt-4o. Please try again in 1.971s. Visit x","code":"rate_limit_exceeded"}}`, at(1971 * time.Millisecond)},
		{"openai, milliseconds in words", "openai", 429, nil, `Rate limit reached. Please try again in 40ms.`, at(40 * time.Millisecond)},
		{"openai, refill is none for an empty account", "openai", 429, header{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "1s"}, `{"error":{"code":"insufficient_quota","message":"x"}}`, time.Time{}},
		{"codex body", "openai", 429, nil, `{"error":{"type":"usage_limit_reached","resets_at":` + epoch(5*time.Hour) + `}}`, at(5 * time.Hour)},
		{"codex, a moment as text", "openai", 429, nil, `{"error":{"type":"usage_limit_reached","resets_at":"2026-03-20T17:00:00Z"}}`, at(5 * time.Hour)},
		{"codex headers", "openai", 429, header{
			"X-Codex-Primary-Used-Percent": "100", "X-Codex-Primary-Reset-At": epoch(2 * time.Hour),
			"X-Codex-Secondary-Used-Percent": "100", "X-Codex-Secondary-Reset-After-Seconds": "36000",
		}, ``, at(10 * time.Hour)},
		{"codex, no window is full", "openai", 429, header{"X-Codex-Primary-Used-Percent": "30", "X-Codex-Primary-Reset-At": epoch(2 * time.Hour), "Retry-After": "3"}, ``, at(3 * time.Second)},
		{"codex in words", "openai", 429, nil, `You've hit your usage limit. Upgrade to Plus to continue using Codex, or try again in 5 days 2 hours.`, at(122 * time.Hour)},
		{"codex, a date", "openai", 429, nil, `You've hit your usage limit. Visit x to purchase more credits or try again at Mar 21st, 2026 5:47 PM.`, time.Date(2026, 3, 21, 17, 47, 0, 0, time.UTC)},

		{"google", "google", 429, nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"21599.960323804s"}]}}`, at(21599960323804)},
		{"google, metadata", "google", 429, nil, `{"error":{"code":429,"message":"x","details":[{"reason":"QUOTA_EXHAUSTED","metadata":{"quotaResetDelay":"5h59m59.5s","quotaResetTimeStamp":"2026-03-20T19:00:00Z"}}]}}`, at(6*time.Hour - 500*time.Millisecond)},
		{"google, timestamp alone", "google", 429, nil, `{"error":{"code":429,"message":"x","details":[{"metadata":{"quotaResetTimeStamp":"2026-03-20T19:00:00Z"}}]}}`, at(7 * time.Hour)},
		{"google, in words", "google", 429, nil, `Your quota will reset after 5h59m59s.`, at(6*time.Hour - time.Second)},
		{"azure", "azure", 429, nil, `Please retry after 86400 seconds.`, at(24 * time.Hour)},
		{"bare seconds", "any", 429, nil, `Too many requests, retry after 30`, at(30 * time.Second)},
		{"openrouter", "openrouter", 429, nil, `{"error":{"message":"Rate limit exceeded: free-models-per-day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"` + epoch(12*time.Hour) + `000"}}}}`, at(12 * time.Hour)},
		{"zhipu", "zhipu", 429, nil, `{"error":{"code":"1310","message":"Weekly limit exhausted. Your limit will reset at 2026-03-21 22:19:54"}}`, time.Date(2026, 3, 21, 14, 19, 54, 0, time.UTC)},
		{"zhipu in chinese", "zhipu", 429, nil, `{"error":{"code":"1308","message":"已达到 5 小时的使用上限。您的限额将在 2026-03-21 22:19:54 重置。"}}`, time.Date(2026, 3, 21, 14, 19, 54, 0, time.UTC)},
		{"chinese seconds", "any", 429, nil, `请求过于频繁，请在30秒后重试`, at(30 * time.Second)},
		{"copilot", "github-copilot", 429, nil, `rate limited, retrying in 2 weeks`, at(14 * 24 * time.Hour)},
		{"claude, today", "anthropic", 0, nil, `You've hit your limit · resets 3pm (America/New_York)`, at(7 * time.Hour)},
		{"claude, tomorrow", "anthropic", 0, nil, `You've hit your limit · resets 7:30am (America/New_York)`, time.Date(2026, 3, 21, 11, 30, 0, 0, time.UTC)},
		{"claude, a day", "anthropic", 0, nil, `You've hit your weekly limit · resets Mar 24 at 3pm (UTC)`, time.Date(2026, 3, 24, 15, 0, 0, 0, time.UTC)},
		{"claude, seconds behind a bar", "anthropic", 0, nil, `Claude AI usage limit reached|` + epoch(3*time.Hour), at(3 * time.Hour)},
		{"midnight", "any", 429, nil, `daily limit reached, resets at midnight UTC`, at(12 * time.Hour)},
		{"day without time", "any", 429, nil, `Quota exceeded, resets on April 1, 2026`, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)},
		{"offset", "any", 429, nil, `limit reached, available again at 2026-03-20T22:00:00+08:00`, at(2 * time.Hour)},
		{"field", "any", 429, nil, `{"error":{"message":"slow down","retry_after":4.5}}`, at(4500 * time.Millisecond)},
		{"field in ms", "any", 429, nil, `{"error":{"message":"slow down","retryAfterMs":4500}}`, at(4500 * time.Millisecond)},
		{"generic reset in seconds", "any", 429, header{"X-Ratelimit-Reset": "30"}, ``, at(30 * time.Second)},
		{"no time in sight", "any", 429, nil, `Rate limit exceeded. Reset your password and try again at your own risk.`, time.Time{}},
		{"never fits", "openai", 429, header{"Retry-After": "5"}, `Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389.`, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range c.header {
				h[k] = []string{v}
			}
			e := Classify(Failure{Provider: c.provider, Model: "m", Status: c.status, Header: h, Body: []byte(c.body), Now: noon})
			if !e.ResetAt.Equal(c.want) {
				t.Errorf("%s (%s): reset at %v, want %v", e.Reason, e.Evidence, e.ResetAt, c.want)
			}
		})
	}
}

func FuzzResetHints(f *testing.F) {
	for _, s := range []string{"120", "6m0s", "1772180859", "1772180859000", "Fri, 20 Mar 2026 12:05:00 GMT", "2026-03-20T19:00:00Z", "3pm (America/New_York)",
		"Sep 21st, 2026 5:47 PM", "5 days 2 hours", "2026-04-01 at 00:00 UTC", "midnight", "1e309", "99999999999w", "24:60", "0000-00-00", "May", "9999-12-31T23:59:59+14:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []Failure{
			{Status: 429, Header: http.Header{"Retry-After": {s}}},
			{Status: 429, Header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {s}}},
			{Status: 429, Body: []byte("rate limit, resets " + s)},
			{Status: 429, Body: []byte("rate limit, try again in " + s)},
			{Provider: "google", Status: 429, Body: []byte(`{"error":{"details":[{"retryDelay":"` + s + `"}]}}`)},
		} {
			c.Now = noon
			e := Classify(c)
			if !e.ResetAt.IsZero() && (!e.ResetAt.After(noon) || e.ResetAt.After(noon.Add(longestReset))) {
				t.Fatalf("%q: reset at %v", s, e.ResetAt)
			}
		}
	})
}
