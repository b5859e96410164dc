package llm

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMask(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"nothing to hide", "nothing to hide"},
		{"Incorrect API key provided: sk-proj-abc123DEF456ghi789.", "Incorrect API key provided: [secret]"},
		{"Incorrect API key provided: sk-proj-****abcd. You can", "Incorrect API key provided: [secret] You can"},
		{"key gsk_abcdefghijklmnop1234 is bad", "key [secret] is bad"},
		{"Authorization: Bearer abc.def-ghi", "Authorization: Bearer [secret]"},
		{"bearer tokens are fine", "bearer tokens are fine"},
		{"xoxb-123456789012-abcdef and xapp-1-A123-456-abcdef", "[secret] and [secret]"},
		{"AIzaSyA1234567890abcdefghijklmnopqrstuv", "[secret]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi", "[secret]"},
		{"hash 0123456789abcdef0123456789abcdef end", "hash [secret] end"},
		{"blob QWxhZGRpbjpvcGVuIHNlc2FtZTEyMzQ1Njc4OTA= end", "blob [secret]= end"},
		{"x-api-key: abcd1234 and more", "x-api-key: [secret] and more"},
		{"OPENAI_API_KEY: abcd1234 and more", "OPENAI_API_KEY: [secret] and more"},
		{"access_token: sk-short and more", "access_token: [secret] and more"},
		{"Authorization: Basic dXNlcjpwYXNzd29yZDE= and more", "Authorization: Basic [secret]= and more"},
		{"password: hunter and more", "password: [secret] and more"},
		{"invalid_auth: copy the bot token", "invalid_auth: copy the bot token"},
		{"missing_auth: no credential", "missing_auth: no credential"},
		{"invalid_token: error-404 of the page", "invalid_token: error-404 of the page"},
		{"invalid_api_key: Incorrect API key provided", "invalid_api_key: Incorrect API key provided"},
		{"authorization: required", "authorization: required"},
		{"?api_key=abc123&x=1", "?api_key=[secret]&x=1"},
		{`{"access_token": "abc 123"}`, `{"access_token": "[secret] 123"}`},
		{"see https://a.test/path?key=abc#frag now", "see https://a.test/path now"},
		{"see https://user:pass@a.test/path", "see https://[secret]"},
		{"post https://discord.com/api/webhooks/1/abcdef", "post https://discord.com/api/[secret]"},
		{"post https://discord.com/api/v9/interactions/12/aW50ZXJhY3Rpb24/callback: EOF", "post https://discord.com/api/v9/[secret] EOF"},
		{"post https://hooks.slack.com/commands/T1/2/abc", "post https:///[secret]"},
		{"store=/tmp/TestReplyLinkInThreads1873620945/001/store/understudy.db", "store=/tmp/TestReplyLinkInThreads1873620945/001/store/understudy.db"},
		{"/home/ann/UnderstudyBackupsOf2026November30/understudy.db.v1", "/home/ann/UnderstudyBackupsOf2026November30/understudy.db.v1"},
		{"TestReplyLinkInThreads1873620945xY", "[secret]"}, // no path, so it may be one
		{"/tmp/qL7xR2vB9nK4mT8wZ1cY6hJ3fD5gS0pA", "[secret]"},
		{"/9j4AAQSkZJRgABAQAAAQABAAD2wBDAAgGBgcGBQgHBwcJCQg", "[secret]"},
		{"/run/3f9a0c7e5b1d2846a9c0e7f3b5d18264/store", "[secret]"},
		{"the key: please check it", "the key: please check it"},
		{"model claude-sonnet-4-5-20250929 on anthropic.claude-3-5-sonnet-20240620-v1", "model claude-sonnet-4-5-20250929 on anthropic.claude-3-5-sonnet-20240620-v1"},
		{"GenerateContentPaidTierInputTokensPerModelPerMinute", "GenerateContentPaidTierInputTokensPerModelPerMinute"},
		{"您的账户已欠费", "您的账户已欠费"},
	} {
		if got := Mask(c.in); got != c.want {
			t.Errorf("Mask(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(" a\n\tb\x00\x1b[31m  c "); got != "a b [31m c" {
		t.Errorf("%q", got)
	}
	long := oneLine(strings.Repeat("é ", 4000))
	if n := utf8.RuneCountInString(long); n != maxDetail || !strings.HasSuffix(long, "…") || !utf8.ValidString(long) {
		t.Errorf("%d runes: %q", n, long)
	}
	// A secret that the cut would divide is gone as a whole.
	if got := oneLine(strings.Repeat("x ", 140) + "sk-" + strings.Repeat("aB3", 400)); strings.Contains(got, "aB3") {
		t.Errorf("%q", got)
	}
}

// No credential that a provider echoes gets into what is logged.
func TestErrorHoldsNoSecret(t *testing.T) {
	const secret = "sk-ant-api03-abcdefABCDEF0123456789"
	for _, body := range []string{
		`{"error":{"message":"Incorrect API key provided: ` + secret + `","type":"` + secret + `","code":"` + secret + `"}}`,
		`bad key ` + secret,
		`{"error":"` + secret + `"}`,
		`{"error":{"message":"x","code":"bad","param":"?key=` + secret + `"}}`,
		`Post "https://a.test/v1?key=` + secret + `": EOF`,
	} {
		e := Classify(Failure{Provider: "openai", Model: "m", Status: 401, Body: []byte(body)})
		if s := e.Error() + e.Detail + e.Code + e.Evidence; strings.Contains(s, "0123456789") {
			t.Errorf("%s\n\t%s", body, s)
		}
	}
}
