package slack

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

func TestMrkdwn(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"**bold** & <tag> [w](https://e.invalid/Nile_(river))", "*bold* &amp; &lt;tag&gt; <https://e.invalid/Nile_(river)|w>"},
		{"> quote", "> quote"},
		{">> deep\n> > deep", "> deep\n> deep"},
		{"***bi***", "*_bi_*"},
		{"AT&amp;T &lt;b&gt; &nbsp;", "AT&amp;T &lt;b&gt; &amp;nbsp;"},
		{"`AT&amp;T`", "`AT&amp;amp;T`"},
		{"**Status:**OK", "*Status:*\u200bOK"},
		{"in**side**", "in\u200b*side*"},
		{"Question 1: `a` and 10 `b` 2", "Question 1: `a` and 10 `b` 2"},
		{"**[PR](https://e.invalid/1)** and **<https://e.invalid/2**>", "*<https://e.invalid/1|PR>* and *<https://e.invalid/2>*"},
		{"*it* _it_ ~~gone~~", "_it_ _it_ ~gone~"},
		{"**bold *and it* more**", "*bold _and it_ more*"},
		{"*it **and bold** more*", "_it *and bold* more_"},
		{"snake_case_name and 2*3*4 = 24", "snake_case_name and 2\u200b_3_\u200b4 = 24"},
		{"2 * 3 * 4", "2 * 3 * 4"},
		{"**not closed", "**not closed"},
		{"`not closed **b**", "`not closed *b*"},
		{"``a ` b``", "`a ˋ b`"},
		{"**`code`**", "*`code`*"},
		{"`**no**` **yes**", "`**no**` *yes*"},
		{"# Title", "*Title*"},
		{"## A **bold** `x` title ##", "*A bold `x` title*"},
		{"- one\n  * two\n+ three", "• one\n  • two\n• three"},
		{"1. one\n2) **two**", "1. one\n2) *two*"},
		{"---\n***\n_ _ _", "———\n———\n———"},
		{"see https://e.invalid/a_b_c?x=1&y=2.", "see <https://e.invalid/a_b_c?x=1&amp;y=2>."},
		{"(https://e.invalid/x)", "(<https://e.invalid/x>)"},
		{"**https://e.invalid/x**", "*<https://e.invalid/x>*"},
		{"<https://e.invalid/?a&b>", "<https://e.invalid/?a&amp;b>"},
		{"![cat](https://e.invalid/c.png \"a cat\")", "<https://e.invalid/c.png|cat>"},
		{"[a|b>](https://e.invalid/%7C)", "<https://e.invalid/%7C|a¦b&gt;>"},
		{"[x](!channel) [y](@U1) [z](/rel)", "[x](!channel) [y](@U1) [z](/rel)"},
		{"[**b** `c`](https://e.invalid)", "<https://e.invalid|b c>"},
		{"\\*not it\\* \\<", "*not it* &lt;"},
		{"<b></b>", "&lt;b&gt;&lt;/b&gt;"},
		{"<!channel> <@U1> <#C1|x> <!subteam^S1>", "&lt;!channel&gt; &lt;@U1&gt; &lt;#C1|x&gt; &lt;!subteam^S1&gt;"},
		{"```go\na < b && **c**\n```\nafter", "```\na &lt; b &amp;&amp; **c**\n```\nafter"},
		{"~~~\n```\nx\n```\n~~~", "```\n``\u200b`\nx\n``\u200b`\n```"},
		{"```\nopen", "```\nopen\n```"},
		{"````\n```\n````", "```\n``\u200b`\n```"},
		{"| Name | **Speed** |\n|---|:-:|\n| `a|b` | <1> |\n| long name | |", "```\nName      | Speed\n----------|------\na|b       | &lt;1&gt;\nlong name |\n```"},
		{"```\n| a | b |\n|---|---|\n```", "```\n| a | b |\n|---|---|\n```"},
		{"a|b\n-|-\n[x](https://e.invalid) &amp; y|https://e.invalid", "```\na                         | b\n--------------------------|------------------\nx (https://e.invalid) &amp; y | https://e.invalid\n```"},
		{"a | b\nno table", "a | b\nno table"},
		{"trailing  \nspace", "trailing\nspace"},
		{"line\r\nline", "line\nline"},
		{"", ""},
	} {
		if got := mrkdwn(c.in); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// markdown draws text with everything in it that the converter knows, whole and
// broken.
func markdown() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"word", "Q1", "10", "é", "日本", "👍", " ", "  ", "\n", "\n\n", "*", "**", "***", "_", "__", "~~", "`", "``", "```", "\n```\n", "~~~\n", "\\", "\\*",
		"<", ">", "&", "&amp;", "&lt;", "<!channel>", "<@U1>", "<#C1>", "[", "](", ")", "]", "(", "![", "[a1](https://e.invalid/x)", "https://e.invalid/y_1",
		"<https://e.invalid/z>", "# ", "\n## h2 ", "- ", "\n* ", "1. ", "\n> ", "|", "\n|---|---|\n", "| a | b |\n|-|-|\n| c | d |\n", "---", "**b1**", "`c1`", "'", "\"", "!",
	})
	return rapid.Map(rapid.SliceOfN(piece, 0, 40), func(p []string) string { return strings.Join(p, "") })
}

// TestMrkdwnLosesNothing: every letter and digit comes through, in order. Words
// beside a code fence are its language, which is left out.
func TestMrkdwnLosesNothing(t *testing.T) {
	language := regexp.MustCompile("(?m)^ {0,3}(?:`{3,}|~{3,})[^`\n]*$")
	title := regexp.MustCompile(`\s+(?:"[^"]*"|'[^']*')\s*\)`)
	rapid.Check(t, func(t *rapid.T) {
		in := title.ReplaceAllString(language.ReplaceAllString(markdown().Draw(t, "markdown"), "```"), ")")
		want, got := letters(seen(in)), letters(seen(mrkdwn(in)))
		if sortedLinks(want) != sortedLinks(got) {
			t.Fatalf("%q\nbecame %q\nletters %q, want %q", in, mrkdwn(in), got, want)
		}
	})
}

// seen takes out the names of entities, which an escape adds.
func seen(s string) string { return entities.ReplaceAllString(s, "") }

var entities = regexp.MustCompile(`&(?:amp;)*(?:amp|lt|gt);|%3C|%3E|%7C`)

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// sortedLinks forgets the order, since a link's address moves before its label.
func sortedLinks(s string) string {
	counts := map[rune]int{}
	for _, r := range s {
		counts[r]++
	}
	var b strings.Builder
	for r := rune(0); r <= unicode.MaxLatin1; r++ {
		b.WriteString(strings.Repeat(string(r), counts[r]))
		delete(counts, r)
	}
	for _, r := range "日本" {
		b.WriteString(strings.Repeat(string(r), counts[r]))
	}
	return b.String()
}

// TestMrkdwnIsSafe: nothing in the result can ring, and every bracket that is
// not a link is escaped.
func TestMrkdwnIsSafe(t *testing.T) {
	link := regexp.MustCompile(`<(?:https?://|mailto:)[^<>|\s]+(?:\|[^<>]*)?>`)
	rapid.Check(t, func(t *rapid.T) {
		in := markdown().Draw(t, "markdown")
		out := mrkdwn(in)
		rest := link.ReplaceAllString(out, "")
		for line := range strings.SplitSeq(rest, "\n") {
			line = strings.TrimLeft(line, "> ") // quotes stay raw
			if strings.ContainsAny(line, "<>") {
				t.Fatalf("%q\nbecame %q", in, out)
			}
		}
		if bad := regexp.MustCompile(`&(?:[^agl]|$)|&amp;(?:amp;){2}`).FindString(rest); bad != "" {
			t.Fatalf("%q\nbecame %q with %q", in, out, bad)
		}
		if strings.Count(out, "```")%2 != 0 {
			t.Fatalf("%q\nbecame %q with an open fence", in, out)
		}
	})
}

// TestMrkdwnTakesLittleTime: open markers without end do not make it slow. The
// limit is far from what it takes, and near to what a search of the whole rest
// at each marker within each marker would.
func TestMrkdwnTakesLittleTime(t *testing.T) {
	for _, unit := range []string{"*a ", "**a ", "_a ", "`", "``a`", "[", "[a](", "<", "~~a", "**a *b __c ", "![", "| a ", "https://", "\\", "**a** ", "*_"} {
		began := time.Now()
		mrkdwn(strings.Repeat(unit, 2*maxText/len(unit)))
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("%q repeated takes %s", unit, d)
		}
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]int{"": 0, "a": 1, "é": 1, "日": 1, "👍": 2, "&": 5, "<>": 8, "a<b": 6} {
		if got := count(in); got != want {
			t.Errorf("%q counts %d, want %d", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := markdown().Draw(t, "a"), markdown().Draw(t, "b")
		if count(a)+count(b) != count(a+b) || count(a) != units(escape.Replace(a)) {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
