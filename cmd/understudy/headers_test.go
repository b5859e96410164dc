package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHeaderSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"a provider": {`{"models": {"providers": {"gw": {"headers": {"X-Gate": "open sesame", "Authorization": "Bearer abcdef123", "X-Title": "our bot", // why
			"HTTP-Referer": "https://bot.example"}}}}}`, []string{"open sesame", "Bearer abcdef123", "abcdef123"}},
		"in the wrong place": {`{"Headers": {"X-Gate": ["open", {"deeper": "sesame"}]}, "other": "not this"}`, []string{"open", "sesame"}},
		"no header":          {`{"models": {"providers": {"gw": {"baseUrl": "http://127.0.0.1:1", "headers": 5}}}}`, nil},
		"broken":             {`{"models": {"providers": {"gw": {"headers": {"X-Gate": "open \"sesame", "X-Title": "our bot", "X-Other": "cut of`, []string{`open "sesame`, "cut of"}},
		"empty":              {``, nil},
		"deep":               {strings.Repeat(`{"headers":`, 300) + `{"X-Gate": "open sesame"}`, []string{"open sesame"}},
	} {
		if got := headerSecrets([]byte(c.file)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzHeaderSecrets(f *testing.F) {
	for _, seed := range []string{`{"headers": {"a": "b"}}`, `"headers":{"a":"b`, strings.Repeat("[", 500), "\ufeff{}", "{\"headers\": {\"\\ud800\": \"\\x\"}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { headerSecrets(data) })
}

// No command shows what a header holds, whatever is wrong with the file and
// wherever the text stands.
func TestNoCommandShowsAHeader(t *testing.T) {
	const secret = "plain words as a header"
	gateway := `"models": {"providers": {"gw": {"baseUrl": "http://127.0.0.1:1/v1", "headers": {"X-Gate": "` + secret + `"}}}}`
	for name, file := range map[string]string{
		"right":            `{` + gateway + `, "agents": {"defaults": {"model": "gw/m1"}}}`,
		"the same as text": `{` + gateway + `, "agents": {"defaults": {"model": "` + secret + `/` + secret + `", "systemPrompt": {"file": "` + secret + `"}}}}`,
		"in a wrong place": `{"headers": {"X-Gate": "` + secret + `"}, "store": {"synchronous": "` + secret + `"}}`,
		"a list":           `{"models": {"providers": {"gw": {"baseUrl": "` + secret + `", "headers": ["` + secret + `"]}}}}`,
		"broken":           `{` + gateway + `, ` + secret + `}`,
		"as a name":        `{"models": {"providers": {"` + secret + `": {"headers": {"X-Gate": "` + secret + `"}}}}}`,
	} {
		dir := setEnv(t, "GW_API_KEY=the-key-of-the-gateway")
		path := filepath.Join(dir, "c.jsonc")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, words := range [][2][]string{ // the flag stands between them
			{{"check"}, {"--json"}}, {{"check"}}, {{"explain"}, {"--if", "gw=auth"}}, {{"chat"}, {"-m", "hello", "--json"}}, {{"chat"}, {"-m", "hello"}}, {{"run"}},
			{{"sessions", "list"}}, {{"auth", "clear"}, {secret}}, {{"pairing", "approve"}, {secret}}, {{"store", "check"}},
		} {
			args := slices.Concat(words[0], []string{"--config", path}, words[1])
			out, errs, _ := command(t, "", args...)
			if strings.Contains(out+errs, "words as a header") || strings.Contains(out+errs, "the-key-of") {
				t.Errorf("%s: understudy %s shows it:\n%s%s", name, strings.Join(args, " "), out, errs)
			}
		}
		t.Setenv("UNDERSTUDY_CONFIG", path)
		if out, errs, _ := command(t, "", "check"); strings.Contains(out+errs, "words as a header") {
			t.Errorf("%s, named by the environment: check shows it:\n%s%s", name, out, errs)
		}
	}
}
