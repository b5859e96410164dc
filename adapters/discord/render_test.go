package discord

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"understudy/core"
)

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "**bold** | bar", "**bold** | bar"},
		{"table", "before\n| a | bb |\n|---|:--:|\n| long cell | `x` |\n| 1 | a\\|b |\nafter",
			"before\n```\na          bb\n---------  ---\nlong cell  x\n1          a|b\n```\nafter"},
		{"table without outer bars", "a | b\n--- | ---\n1 | 2", "```\na  b\n-  -\n1  2\n```"},
		{"table in code", "```\n| a | b |\n|---|---|\n```", "```\n| a | b |\n|---|---|\n```"},
		{"rule that is no table", "a\n---\nb", "a\n---\nb"},
	} {
		if got := render(core.Post{Kind: core.PostAnswer, Text: c.text}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := render(core.Post{Kind: core.PostNotice, Text: "one\n\ntwo"}); got != "-# one\n\n-# two" {
		t.Errorf("notice %q", got)
	}
}

func TestRenderedTextFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching("[|a-z語` ]{0,60}|\\|?-+(\\|-+)*\\|?|```|~~~")).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		if utf8.RuneCountInString(text) > maxText {
			return
		}
		for _, kind := range []core.PostKind{core.PostAnswer, core.PostNotice} {
			if n := utf8.RuneCountInString(render(core.Post{Kind: kind, Text: text})); n > maxText {
				t.Fatalf("%d characters", n)
			}
		}
	})
}

// However long a text is, each of its posts is one that Discord takes, and
// leaves no code block open.
func TestPostsOfALongTextFit(t *testing.T) {
	limits := core.Limits{MaxText: maxText, Count: utf8.RuneCountInString}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching("[a-z語.,!? `*|]{0,200}|> quoted [a-z ]{0,300}|- item [a-z ]{0,300}|\\|?-+(\\|-+)*\\|?|```(go)?|~~~")
		text := "begin\n" + strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "lines"), "\n")
		for _, part := range core.Split(text, limits) {
			shown := render(core.Post{Kind: core.PostAnswer, Text: part})
			if n := utf8.RuneCountInString(shown); n > maxText || strings.TrimSpace(shown) == "" {
				t.Fatalf("a post of %d characters: %q", n, shown)
			}
			if open := openFence(shown); open != "" {
				t.Fatalf("a post leaves %s open: %q", open, shown)
			}
		}
	})
}

// openFence is the mark of a code block that a text begins and does not close.
// A block without anything in it is no harm.
func openFence(text string) string {
	open, filled := "", false
	for _, line := range strings.Split(text, "\n") {
		switch mark := fenceMark(line); {
		case mark == "" || open != "" && !(strings.HasPrefix(mark, open) && strings.Trim(line, " `~") == ""):
			filled = filled || strings.TrimSpace(line) != ""
		case open == "":
			open, filled = mark, false
		default:
			open = ""
		}
	}
	if !filled {
		return ""
	}
	return open
}

func TestTyped(t *testing.T) {
	for text, want := range map[string]bool{
		"<@800> hi": true, "hi <@!800>": true, "<@8001>": false, "<@&800>": false, "`<@800>`": false,
		"``a ` <@800>``": false, "a ` stray <@800>": true, "```\n<@800>\n``` <@800>": true, "```\nopen <@800>": false,
	} {
		if got := typed(text, func(kind, id string) bool { return kind != "@&" && id == "800" }); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestProseKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("[`a\n <>@8]{0,40}").Draw(t, "text")
		if got := prose(text, func(s string) string { return s }); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestThreadName(t *testing.T) {
	for text, want := range map[string]string{
		"": unnamed, " **_** ": unnamed, "what\nis `this`?": "what is this?", "<@700> hello": "hello",
		"@every*one* look": "look", "@he\u202ere look": "look", "\u202egnp.exe": "gnp.exe", "\u200b\u2060": unnamed, "\u200b<@700>\u200d": unnamed,
		"👩\u200d👧 hi": "👩\u200d👧 hi",
	} {
		if got := threadName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := threadName(rapid.String().Draw(t, "text"))
		if n := utf8.RuneCountInString(name); n < 1 || n > 100 || strings.TrimSpace(name) != name {
			t.Fatalf("name %q", name)
		}
	})
}

func TestBounded(t *testing.T) {
	b := newBounded[int](3)
	for i, key := range []string{"a", "b", "c", "a", "d", "e"} {
		b.put(key, i)
	}
	if _, ok := b.get("b"); ok || len(b.all) != 3 {
		t.Errorf("kept %v", b.all)
	}
	b.drop("c")
	if _, ok := b.get("c"); ok {
		t.Error("dropped and still there")
	}
}
