package llm

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// plain has the shape of no credential, and characters that are escaped.
const plain = `correct horse/battery+staple&"pin"=seven`

func TestVeilHidesEveryForm(t *testing.T) {
	v := NewVeil(plain)
	doc, _ := json.Marshal(plain)
	forms := map[string]string{
		"as it is": plain, "query": url.QueryEscape(plain), "path": url.PathEscape(plain), "go": strconv.Quote(plain), "json": string(doc),
		"hex": hex.EncodeToString([]byte(plain)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(plain))),
		"the first half": plain[:20], "the second half": plain[20:], "cut": plain[3:30] + "…",
	}
	for _, before := range []string{"", "u:", "bot:", "user:"} {
		for _, after := range []string{"", "x", "yz"} {
			forms["basic "+before+after] = base64.StdEncoding.EncodeToString([]byte(before + plain + after))
			forms["base64 url "+before+after] = base64.RawURLEncoding.EncodeToString([]byte(before + plain + after))
		}
	}
	for name, form := range forms {
		text := v.Hide("the key <" + form + "> is wrong")
		if !strings.HasPrefix(text, "the key <") || !strings.HasSuffix(text, "> is wrong") {
			t.Errorf("%s: more than the key is gone: %s", name, text)
		}
		// Of base64 a few letters at the edges belong to what stands there, too.
		for i := 6; i+veilPiece <= len(form)-6; i++ {
			if strings.Contains(text, form[i:i+veilPiece]) {
				t.Errorf("%s: %q is left in %q", name, form[i:i+veilPiece], text)
				break
			}
		}
	}
}

func TestVeilLeavesOtherTexts(t *testing.T) {
	v := NewVeil("short", "secret-word", "k", "")
	for in, want := range map[string]string{
		"a short text of k":                  "a short text of k",
		"secret-words and a secret-wor":      "secret-words and a secret-wor",
		"it is (secret-word), secret-word!":  "it is ([secret]), [secret]!",
		"model=anthropic/claude-sonnet-4-5":  "model=anthropic/claude-sonnet-4-5",
		"您的账户已欠费 secret-word":                "您的账户已欠费 [secret]",
		"":                                   "",
		"[secret] stays as it is, also here": "[secret] stays as it is, also here",
	} {
		if got := v.Hide(in); got != want {
			t.Errorf("Hide(%q) = %q, want %q", in, got, want)
		}
	}
	if got := new(Veil).Hide("anything at all that is long"); got != "anything at all that is long" {
		t.Errorf("the zero value hides: %q", got)
	}
}

func TestVeilGrowsWhileItIsUsed(t *testing.T) {
	v := NewVeil()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				v.Hide("nothing to hide in this text")
				v.Add("the-word-of-somebody")
			}
		})
	}
	wg.Wait()
	if got := v.Hide("<the-word-of-somebody>"); got != "<[secret]>" {
		t.Error(got)
	}
}

func FuzzVeil(f *testing.F) {
	f.Add(plain, "before ", " after")
	f.Add("0123456789abcdef", "", "")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		got := NewVeil(secret).Hide(before + secret + after)
		if len(secret) >= veilPiece && strings.Contains(got, secret) && !strings.Contains("[secret]", secret) {
			t.Errorf("%q is left in %q", secret, got)
		}
	})
}
