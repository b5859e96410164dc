package core

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestWithoutControls(t *testing.T) {
	for in, want := range map[string]string{
		"a\x00b\x1b[31mc\r\nd\te\x7f\u0085f": "ab[31mc\nd\tef",
		"\r\n":                               "\n", "\x00": "", "": "", "é 👍🏽 \u200d\u2028 \xff": "é 👍🏽 \u200d\u2028 \xff",
	} {
		if got := WithoutControls(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
}

// Nothing else goes, and a text that grows never changes what was there.
func TestControlsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		out := WithoutControls(text)
		if strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("%q became %q", text, out)
		}
		i := 0
		for _, r := range text {
			if !unicode.IsControl(r) || r == '\n' || r == '\t' {
				if !strings.HasPrefix(out[i:], string(r)) {
					t.Fatalf("%q became %q", text, out)
				}
				i += len(string(r))
			}
		}
		if i != len(out) {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
