package core

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWithoutDirectives(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"[[reply_to_current]] done", "done"},
		{"[[reply_to_current]]done", "done"},
		{"[[reply_to:1700000001.000100]]\n\ndone", "done"},
		{"[[ Reply_To : 17 ]] [[reply_to_current]] done", "done"},
		{"done [[reply_to_current]]", "done"},
		{"one [[reply_to_current]] two", "one two"},
		{"one[[reply_to_current]]two", "onetwo"},
		{"one\n[[reply_to:5]]\ntwo", "one\ntwo"},
		{"one\n[[reply_to:5]] two", "one\ntwo"},
		{"one [[reply_to:5]]\ntwo", "one\ntwo"},
		{"[[reply_to_current]]", ""},
		{"write `[[reply_to_current]]` for it", "write `[[reply_to_current]]` for it"},
		{"```\n[[reply_to_current]] x\n```\n[[reply_to_current]] y", "```\n[[reply_to_current]] x\n```\ny"},
		{"a [[wiki link]] and a [list][[1]]", "a [[wiki link]] and a [list][[1]]"},
		{"[[reply_to_currently]] [[reply to]] [[reply_to", "[[reply_to_currently]] [[reply to]] [[reply_to"},
		{"  indented\n\n    code", "  indented\n\n    code"},
		{"", ""},
	} {
		if got := WithoutDirectives(c.in, false); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestGrowingTextHidesHalfADirective(t *testing.T) {
	const text = "one [[reply_to: 1700000001.000100 ]] two [[reply_to_current]]"
	for i := range text {
		if got := WithoutDirectives(text[:i], true); strings.Contains(got, "[") || !strings.HasPrefix("one two", strings.TrimRight(got, " ")) {
			t.Errorf("%q shows %q", text[:i], got)
		}
	}
	for _, in := range []string{"see [1]", "a [[wiki", "a [[wiki]]", "[[reply_to_nobody", "x [link](https://e.invalid)"} {
		if got := WithoutDirectives(in, true); got != in {
			t.Errorf("%q shows %q", in, got)
		}
	}
}

// TestDirectivesOnly: nothing but directives, and spaces and line breaks around
// them, is taken out.
func TestDirectivesOnly(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", " ", "\n", "[", "]", "[[", "]]", "[[reply_to_current]]", "[[reply_to:x]]", "reply_to", "`", "```\n", "**", ":", "é"})
	marker := regexp.MustCompile(`\[\[reply_to(_current|:[^\[\]]*)?\]\]`)
	bare := func(s string) string {
		for s = strings.NewReplacer(" ", "", "\n", "").Replace(s); marker.MatchString(s); {
			s = marker.ReplaceAllString(s, "")
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
		out := WithoutDirectives(in, false)
		if bare(in) != bare(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if !regexp.MustCompile(`\[\[ *reply_to`).MatchString(in) && in != out {
			t.Fatalf("%q became %q without a directive in it", in, out)
		}
	})
}
