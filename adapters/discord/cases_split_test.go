package discord_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"understudy/core"
)

// shown posts a text as an answer and returns the posts that Discord shows. One
// that it refuses fails the test.
func (h *house) shown(text string) (posts []string) {
	h.t.Helper()
	before := len(h.fake.Posts("100"))
	parts := core.Split(text, h.Limits(in("100").Thread))
	for i, part := range parts {
		h.post(in("100"), core.PostAnswer, part, fmt.Sprint(before+i), i == 0)
	}
	for _, m := range h.fake.Posts("100")[before:] {
		posts = append(posts, m.Content)
	}
	if len(posts) != len(parts) {
		h.t.Errorf("%d parts became %d posts", len(parts), len(posts))
	}
	for _, p := range posts {
		if n := utf8.RuneCountInString(p); n > 2000 || n == 0 || !utf8.ValidString(p) {
			h.t.Errorf("a post has %d characters", n)
		}
	}
	return posts
}

// fenced counts the marker lines of a post.
func fenced(post, mark string) (n int) {
	for _, line := range strings.Split(post, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), mark) {
			n++
		}
	}
	return n
}

func TestCasesOfSplitting(t *testing.T) {
	t.Parallel()
	t.Run("p131", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		for _, mark := range []string{"```", "~~~", "  ```"} {
			for size := 1900; size <= 2100; size++ {
				body := strings.Repeat("x = 1; y\n", size/9) + strings.Repeat("z", size%9) + "\n"
				text := mark + "go\n" + body + mark + "\nend"
				posts := core.Split(text, h.Limits(in("100").Thread))
				if size%40 == 0 { // and what Discord says to them
					posts = h.shown(text)
				}
				for i, p := range posts {
					if n := utf8.RuneCountInString(p); n > 2000 || n == 0 {
						t.Fatalf("%s with %d characters: post %d has %d", mark, size, i, n)
					}
					if fenced(p, strings.TrimSpace(mark))%2 != 0 {
						t.Fatalf("%s with %d characters: post %d leaves a fence open:\n%s", mark, size, i, p)
					}
				}
				if strings.Count(strings.Join(posts, ""), "y") != size/9 {
					t.Fatalf("%s with %d characters: something is lost", mark, size)
				}
			}
		}
	})
	t.Run("p132", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		span := "`" + strings.Repeat("command --flag ", 8) + "`"
		posts := h.shown(strings.Repeat("words and ", 199) + span + "\n\n> quoted\n\n- item\n\n  second paragraph")
		whole := false
		for _, p := range posts {
			if strings.Count(p, "`")%2 != 0 {
				t.Errorf("a post has half of a code span: %q", p)
			}
			whole = whole || strings.Contains(p, span)
		}
		if !whole || len(posts) != 2 {
			t.Errorf("%d posts; the code span is whole: %v", len(posts), whole)
		}
		// What a cut goes through has its marker in the next post as well.
		for _, marker := range []string{"> ", "- ", "1. ", "> - "} {
			posts := h.shown("As they say:\n\n" + marker + strings.Repeat("many words ", 300))
			if len(posts) < 2 {
				t.Errorf("%q: %d posts", marker, len(posts))
			}
			for i, p := range posts[1:] {
				if !strings.HasPrefix(p, marker+"many") && !strings.HasPrefix(p, marker+"words") {
					t.Errorf("post %d of %q begins with %.20q", i+1, marker, p)
				}
			}
		}
		nonces := map[string]bool{}
		for _, m := range h.fake.Posts("100") {
			if nonces[m.Nonce] {
				t.Errorf("two posts have the nonce %s", m.Nonce)
			}
			nonces[m.Nonce] = true
		}
	})
	t.Run("p135", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		const family, combined = "👨‍👩‍👧‍👦", "e\u0301\u0323"
		const most = 2000
		for _, c := range []struct {
			unit string
			n    int
		}{{"語", 5000}, {family, 700}, {combined, 1700}, {"語", most}} {
			posts := h.shown(strings.Repeat(c.unit, c.n))
			size := c.n * utf8.RuneCountInString(c.unit)
			if want := (size + most - 1) / most; len(posts) < want || len(posts) > want+1 {
				t.Errorf("%d times %q became %d posts, want about %d", c.n, c.unit, len(posts), want)
			}
			for _, p := range posts {
				if strings.ReplaceAll(p, c.unit, "") != "" {
					t.Errorf("%q was cut", c.unit)
				}
			}
			if size == most && len(posts) != 1 {
				t.Errorf("a text that just fits became %d posts", len(posts))
			}
		}
	})
}
