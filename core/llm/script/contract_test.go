package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"

	"understudy/core/llm"
	"understudy/core/llm/llmtest"
	"understudy/core/llm/script"
)

// The scripted client keeps what the clients with a wire keep.
func TestContract(t *testing.T) {
	llmtest.Contract(t, func(t *testing.T, r llmtest.Response) llm.Client {
		a, err := script.ParseAnswer(translate(t, r))
		if err != nil {
			t.Fatal(err)
		}
		s := &script.Script{}
		s.Push(llm.Ref{Provider: "anthropic", Model: llmtest.Model}, "", a)
		return renamed{script.New(s, "anthropic", "anthropic:default"), callIDs(r)}
	})
}

// translate writes a response in the script's language. What that language has
// no words for, reasoning above all, is left to the clients with a wire.
func translate(t *testing.T, r llmtest.Response) string {
	if r.Status != 0 {
		return fmt.Sprintf("%d%s %s", r.Status, headers(r.Header), errorText(r))
	}
	var chunks, tools, end string
	for _, s := range r.Steps {
		switch s.Do {
		case "say":
			chunks += " " + strconv.Quote(s.Text)
		case "use":
			tools += fmt.Sprintf(" tool %s %s", s.Call.Name, s.Call.Args)
		case "think": // comes to nothing, as for everybody who shows no reasoning
		case "finish":
			end = map[llm.Stop]string{llm.StopEnd: "finish stop", llm.StopLength: "finish length"}[s.Stop]
			if s.Usage.In > 0 {
				t.Skip("a script counts tokens itself")
			}
		case "refuse":
			end = "finish refusal"
		case "fail":
			end = "200 " + errorBody(s.Text, s.Message)
		case "hang", "reset":
			end = s.Do
		case "drop":
			end = "reset"
		case "cut":
			end = "empty"
		default:
			t.Fatalf("no translation for %q", s.Do)
		}
	}
	switch {
	case tools != "" && end != "":
		t.Skip("a script has no answer that breaks off after a tool call")
	case strings.Contains(t.Name(), "/thinking"):
		t.Skip("a script does not reason aloud")
	case tools != "":
		end = tools
	}
	switch {
	case chunks == "" && end == "":
		return "empty"
	case chunks == "" && strings.HasPrefix(end, "200 "):
		return "stream then " + end
	case chunks == "":
		return end
	case end == "":
		return "stream" + chunks
	}
	return "stream" + chunks + " then " + end
}

func headers(h map[string]string) string {
	text := ""
	for name, value := range h {
		text += fmt.Sprintf(" %s=%s", name, strconv.Quote(value))
	}
	return text
}

func errorText(r llmtest.Response) string {
	switch {
	case r.Body == "":
		return errorBody(r.Code, r.Message)
	case json.Valid([]byte(r.Body)):
		return r.Body
	}
	return strconv.Quote(r.Body)
}

func errorBody(code, message string) string {
	b, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": code, "message": message}})
	if err != nil {
		panic(err) // strings only
	}
	return string(b)
}

func callIDs(r llmtest.Response) []string {
	var ids []string
	for _, s := range r.Steps {
		if s.Call != nil {
			ids = append(ids, s.Call.ID)
		}
	}
	return ids
}

// renamed gives the calls of an answer the ids that the suite looks for: a
// script makes its own.
type renamed struct {
	llm.Client
	ids []string
}

func (c renamed) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		names := map[string]string{}
		for ev, err := range c.Client.Stream(ctx, req) {
			if ev.Call != nil {
				if _, dup := names[ev.Call.ID]; dup {
					yield(ev, fmt.Errorf("two calls have the id %s", ev.Call.ID))
					return
				}
				names[ev.Call.ID] = c.ids[len(names)]
				call := *ev.Call
				call.ID = names[call.ID]
				ev.Call = &call
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
