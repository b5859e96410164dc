package core

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func limits(most int) Limits { return Limits{MaxText: most, Count: utf8.RuneCountInString} }

// bare is the text without the lines that may be markers of fences.
func bare(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if _, rest := container(line); run(rest) == "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// content is what Split must keep of a text, cleared of the characters of
// which Split adds some.
func content(text string) string { return letters(bare(text)) }

// onlyFence reports whether a post is nothing but one bare marker line or
// two.
func onlyFence(part string) bool {
	lines := strings.FieldsFunc(part, func(r rune) bool { return r == '\n' })
	for _, line := range lines {
		if _, rest := container(line); run(rest) == "" || run(rest) != strings.TrimSpace(rest) {
			return false
		}
	}
	return len(lines) <= 2
}

// letters is the text without white space and the characters of fences and
// quotes.
func letters(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(">", "", "`", "", "~", "").Replace(text)), "")
}

// within reports whether the bytes of a are in b, in that order.
func within(a, b string) bool {
	for i := 0; i < len(b) && a != ""; i++ {
		if b[i] == a[0] {
			a = a[1:]
		}
	}
	return a == ""
}

// unbalanced reports whether a post leaves a fence open, by a reading of its
// own: marker lines without a container, the same character, at least as long.
func unbalanced(part string) bool {
	open := ""
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(strings.TrimLeft(line, " >"))
		mark := run(line)
		switch {
		case mark == "":
		case open == "" && !strings.Contains(strings.TrimLeft(line, mark[:1]), "`"):
			open = mark
		case open != "" && mark == line && mark[0] == open[0] && len(mark) >= len(open):
			open = ""
		}
	}
	return open != ""
}

func check(t interface{ Fatalf(string, ...any) }, text string, l Limits) []string {
	parts := Split(text, l)
	for i, p := range parts {
		if n := l.Count(p); n > l.MaxText {
			t.Fatalf("part %d of %q counts %d, more than %d: %q", i, text, n, l.MaxText, p)
		}
		if strings.TrimSpace(p) == "" {
			t.Fatalf("part %d of %q is blank", i, text)
		}
		if onlyFence(p) && content(text) != "" && !strings.Contains(bare(text), "```") && !strings.Contains(bare(text), "~~~") {
			t.Fatalf("part %d of %q shows nothing: %q", i, text, p)
		}
		if utf8.ValidString(text) && !utf8.ValidString(p) {
			t.Fatalf("part %d of %q is cut inside a character: %q", i, text, p)
		}
	}
	got, want := letters(strings.Join(parts, "")), content(text)
	if !within(want, got) || len(got) > len(letters(text))+len(parts)*maxReopen {
		t.Fatalf("text %q\nparts %q\ncontent %q\nwant    %q", text, parts, got, want)
	}
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		keepsMarks(t, text, parts)
	}
	return parts
}

// keepsMarks holds a text without fences to keep its backticks and markers of
// lists, and its markers of quotes but for those in whose place a part has one.
func keepsMarks(t interface{ Fatalf(string, ...any) }, text string, parts []string) {
	marks := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, ">", "")), "") }
	joined := strings.Join(parts, "")
	if got, want := marks(joined), marks(text); !within(want, got) {
		t.Fatalf("text %q\nparts %q\nmarks %q\nwant  %q", text, parts, got, want)
	}
	if got, want := strings.Count(joined, ">"), strings.Count(text, ">"); got < want-len(parts)*maxQuotes {
		t.Fatalf("text %q\nparts %q\nhave %d markers of quotes, want about %d", text, parts, got, want)
	}
}

func TestSplitCutsAtTheBestPlace(t *testing.T) {
	for _, c := range []struct {
		name, text string
		most       int
		want       []string
	}{
		{"fits", "short", 10, []string{"short"}},
		{"fits exactly", "0123456789", 10, []string{"0123456789"}},
		{"blank", " \n\t ", 10, nil},
		{"paragraphs", "one two.\n\nthree four", 14, []string{"one two.\n\n", "three four"}},
		{"lines", "one two\nthree four", 14, []string{"one two\n", "three four"}},
		{"sentences", "One two. Three four", 14, []string{"One two. ", "Three four"}},
		{"words", "one two three four", 14, []string{"one two three ", "four"}},
		{"no place", "0123456789abcdef", 10, []string{"0123456789", "abcdef"}},
		{"a good place too early", "a b\n\n" + strings.Repeat("x", 20), 20, []string{"a b\n\n" + strings.Repeat("x", 15), "xxxxx"}},
		{"wide punctuation", "语语语语语语。语语语语语语语", 10, []string{"语语语语语语。", "语语语语语语语"}},
		{"blank end", "0123456789\n\n\n", 10, []string{"0123456789"}},
		{"indentation stays", "- one two\n    - three", 13, []string{"- one two\n", "    - three"}},
		{"mention", "hello <@1234567>", 12, []string{"hello ", "<@1234567>"}},
		{"mention after a bracket", "greet (<@1234567>)", 12, []string{"greet (", "<@1234567>)"}},
		{"link", "see the [very good page](http://x.y/z) now", 34, []string{"see the ", "[very good page](http://x.y/z) now"}},
		{"code span", "run it: `rm -rf x y z` now", 18, []string{"run it: ", "`rm -rf x y z` now"}},
		{"emoji", "so nice <:party:12345>", 16, []string{"so nice ", "<:party:12345>"}},
		{"fence", "```go\naaaa\nbbbb\ncccc\n```", 22, []string{"```go\naaaa\nbbbb\n```", "```go\ncccc\n```"}},
		{"before a fence", "some more words\n```\naaaa\nbbbb\n```\n", 26, []string{"some more words\n", "```\naaaa\nbbbb\n```\n"}},
		{"tildes", "~~~~\naaaa\nbbbb\ncccc\ndddd\n~~~~", 24, []string{"~~~~\naaaa\nbbbb\ncccc\n~~~~", "~~~~\ndddd\n~~~~"}},
		{"fence in a quote", "> ```\n> aaaa\n> bbbb\n> cccc\n> ```", 30, []string{"> ```\n> aaaa\n> bbbb\n> ```", "> ```\n> cccc\n> ```"}},
		{"open fence", "```\naaaa", 20, []string{"```\naaaa\n```"}},
		{"long line in a fence", "```\n" + strings.Repeat("x", 30) + "\n```", 24, []string{"```\n" + strings.Repeat("x", 16) + "\n```", "```\n" + strings.Repeat("x", 14) + "\n```"}},
		{"stray marker", "it is ``` and more of it", 14, []string{"it is ``` and ", "more of it"}},
	} {
		got := check(t, c.text, limits(c.most))
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// The space for the closing line is kept whatever the size of the block.
func TestSplitKeepsRoomForTheFence(t *testing.T) {
	for _, mark := range []string{"```", "~~~", "  ```", "````", "1. ```"} {
		for size := 1900; size < 2100; size++ {
			text := mark + "python\n" + strings.Repeat("abcdefg h\n", size/10) + strings.Repeat("x", size%10) + "\n" + strings.TrimPrefix(mark, "1. ") + "\n"
			for i, p := range check(t, text, limits(2000)) {
				if unbalanced(strings.TrimPrefix(p, "1. ")) {
					t.Fatalf("%s %d: part %d is not closed: %q", mark, size, i, p)
				}
			}
		}
	}
}

func TestSplitDoesNotRepeatALongOpeningLine(t *testing.T) {
	text := "```" + strings.Repeat("info ", 50) + "\n" + strings.Repeat("line\n", 500) + "```"
	for i, p := range check(t, text, limits(1000)) {
		if i > 0 && strings.Contains(p, "info") {
			t.Fatalf("part %d repeats the long opening line: %q", i, p[:60])
		}
	}
}

func TestSplitKeepsCharactersWhole(t *testing.T) {
	for _, char := range []string{
		"e\u0301", "👩‍👩‍👧‍👦", "👍🏽", "🇦🇹", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "각", "क्ष", "1️⃣", "ก\u0E33", "\r\n",
	} {
		if n := cluster(char + char); n != len(char) && !hangul([]rune(char)[0]) {
			t.Errorf("%q: the first character has %d bytes, want %d", char, n, len(char))
		}
		text := "a" + strings.Repeat(char, 200)
		for i, p := range Split(text, limits(29)) {
			if strings.TrimPrefix(strings.ReplaceAll(p, char, ""), "a") != "" {
				t.Errorf("part %d cuts %q: %q", i, char, p)
			}
		}
	}
	if got := len(Split(strings.Repeat("語", 5000), limits(2000))); got != 3 {
		t.Errorf("5000 wide characters make %d parts, want 3", got)
	}
	check(t, "a"+strings.Repeat("\u0301", 5000), limits(100))
}

func TestSplitKeepsTokensWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(60, 200).Draw(t, "most")
		var text strings.Builder
		var tokens []string
		for i := range rapid.IntRange(1, 60).Draw(t, "tokens") {
			token := fmt.Sprintf(rapid.SampledFrom([]string{
				"<@%d>", "<:smile:%d>", "<a:wave:%d>", "<#%d>", "`code %d here`", "``a ` b %d``",
				"[a link %d](https://example.org/x_(y))", "![picture %d](x.png)", "https://example.org/%d/page",
				"<https://example.org/%d|with a label>", "word%d",
			}).Draw(t, "token"), 1000+i)
			tokens = append(tokens, token)
			text.WriteString(token)
			text.WriteString(rapid.SampledFrom([]string{" ", "\n", ". ", " (", ") ", "\n\n", ", then\n"}).Draw(t, "gap"))
		}
		parts := check(t, text.String(), limits(most))
		for _, token := range tokens {
			n := 0
			for _, p := range parts {
				n += strings.Count(p, token)
			}
			if n != 1 {
				t.Fatalf("%q is whole in %d parts of %q", token, n, parts)
			}
		}
		if got := strings.Join(parts, ""); got != text.String() && strings.TrimSpace(text.String()[len(got):]) != "" {
			t.Fatalf("parts joined are %q, want %q", got, text.String())
		}
	})
}

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"word ", "word", "\n", "\n\n", " ", "    ", ". ", "long line of words and more\n", "```\n", "```go\n", "~~~\n", "````\n", "> ", "> ```\n", "- ", "- ```\n", "1. ",
		"`code`", "`", "``", "[a](b)", "[", "](", ")", "<@1>", "<", ">", "語", "。", "👩‍👩‍👧", "e\u0301", "\t", "\\", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	}), 0, 80).Draw(t, "pieces"), "")
}

func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		l := limits(rapid.IntRange(24, 120).Draw(t, "most"))
		if rapid.Bool().Draw(t, "utf16") {
			l.Count = func(s string) int { return len(utf16.Encode([]rune(s))) }
		}
		check(t, text, l)
	})
}

func TestSplitBalancesFences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "blocks") {
			mark := rapid.SampledFrom([]string{"```", "~~~", "````"}).Draw(t, "mark")
			body := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"x", "some code\n", "\n", "  deep\n", "a long line of code that goes on and on"}), 1, 20).Draw(t, "body"), "")
			fmt.Fprintf(&text, "words here\n%s%s\n%s\n%s\n", mark, rapid.SampledFrom([]string{"", "go", "python"}).Draw(t, "info"), body, mark)
		}
		for _, p := range check(t, text.String(), limits(rapid.IntRange(32, 200).Draw(t, "most"))) {
			if unbalanced(p) {
				t.Fatalf("a part leaves a fence open: %q", p)
			}
		}
	})
}

// A platform may count more for the whole than for its pieces.
func TestSplitWithAnUnevenCount(t *testing.T) {
	l := Limits{MaxText: 100, Count: func(s string) int { return len(s) + len(s)/10 + 7 }}
	check(t, strings.Repeat("some words here and ", 50)+"```\n"+strings.Repeat("code\n", 100)+"```", l)
}

func TestSplitMost(t *testing.T) {
	l := limits(20)
	l.MaxParts = 2
	parts, rest := SplitMost("```\naaaaaaaaa\nbbbbbbbbb\nccccccccc\n```\n", l)
	if want := "```\nccccccccc\n```\n"; len(parts) != 2 || rest != want {
		t.Errorf("got %d parts and the rest %q, want 2 and %q", len(parts), rest, want)
	}
	if parts, rest := SplitMost("one two three four five six  \n\n", l); len(parts) != 2 || rest != "" {
		t.Errorf("got %q and the rest %q, want all in two parts", parts, rest)
	}
}

func TestSplitIsLinear(t *testing.T) {
	for _, piece := range []string{"x", "[", "](", "`", "``` ", "<a", "\n", "> ", "```\n", "```\nx\n```\n", "e\u0301", "\u0301", "http://", "(", "\\", "![", "~~~\n", " ", ">"} {
		counted := 0
		l := Limits{MaxText: 2000, Count: func(s string) int { counted += len(s); return utf8.RuneCountInString(s) }}
		text := strings.Repeat(piece, 1<<18/len(piece))
		Split(text, l)
		if counted > 20*len(text) {
			t.Errorf("%q: %d bytes measured for a text of %d", piece, counted, len(text))
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("words ```go\ncode\n``` [a](b) <@1> `x`", 20)
	f.Add("> ```\n> x\n> y\nz\n~~~\n", 24)
	f.Add("\xff\xfe\u0301\u200d🇦🇹", 16)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 16 || most > 4000 {
			return
		}
		check(t, text, limits(most))
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("Some words, a [link](https://example.org) and `code`.\n\n```go\nfunc main() {}\n```\n\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Split(text, limits(2000))
	}
}
