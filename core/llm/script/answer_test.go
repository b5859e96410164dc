package script

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"understudy/core/llm"
)

func TestParseAnswer(t *testing.T) {
	open, done := step{kind: stepOpen}, step{kind: stepDone}
	chunk := func(s string) step { return step{kind: stepText, text: s} }
	wait := func(d time.Duration) step { return step{kind: stepWait, wait: d} }
	tests := []struct {
		text string
		want []step
	}{
		{`text "hello"`, []step{open, chunk("hello"), done}},
		{`  text   "a \"b\"\n\u00e4 \/"  `, []step{open, chunk("a \"b\"\nä /"), done}},
		{`stream "par" pause 3s "tial"`, []step{open, chunk("par"), wait(3 * time.Second), chunk("tial"), done}},
		{`stream "par" then 529 "overloaded_error"`, []step{open, chunk("par"), {kind: stepStatus, status: 529, text: "overloaded_error"}}},
		{`stream then reset`, []step{open, {kind: stepReset}}},
		{`stream "a" then slow 5s hang`, []step{open, chunk("a"), wait(5 * time.Second), {kind: stepHang}}},
		{`stream "a" then stream "b" then finish abort`, []step{open, chunk("a"), open, chunk("b"), {kind: stepFinish, text: "abort"}}},
		{`429`, []step{{kind: stepStatus, status: 429}}},
		{`400 invalid_grant`, []step{{kind: stepStatus, status: 400, text: "invalid_grant"}}},
		{`429 retry-after=120 x-a="1 2" x-b= {"error":{"message":"a = b"}}`, []step{{
			kind: stepStatus, status: 429, body: []byte(`{"error":{"message":"a = b"}}`),
			header: map[string][]string{"Retry-After": {"120"}, "X-A": {"1 2"}, "X-B": {""}},
		}}},
		{`429 [{"error": 1}]`, []step{{kind: stepStatus, status: 429, body: []byte(`[{"error": 1}]`)}}},
		{`502 "<html>bad</html>"`, []step{{kind: stepStatus, status: 502, body: []byte(`<html>bad</html>`)}}},
		{`401 "invalid x-api-key"`, []step{{kind: stepStatus, status: 401, text: "invalid x-api-key"}}},
		{`tool echo {"x":1}`, []step{open, {kind: stepCall, call: llm.Call{Name: "echo", Args: []byte(`{"x":1}`)}}, done}},
		{`tool a tool b {}`, []step{open, {kind: stepCall, call: llm.Call{Name: "a", Args: []byte(`{}`)}}, {kind: stepCall, call: llm.Call{Name: "b", Args: []byte(`{}`)}}, done}},
		{`hang`, []step{{kind: stepHang}}},
		{`reset`, []step{{kind: stepReset}}},
		{`empty`, []step{{kind: stepEmpty}}},
		{`finish abort`, []step{{kind: stepFinish, text: "abort"}}},
		{`slow 45s text "hi"`, []step{wait(45 * time.Second), open, chunk("hi"), done}},
	}
	for _, tt := range tests {
		a, err := ParseAnswer(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if !reflect.DeepEqual(a.steps, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.text, a.steps, tt.want)
		}
		if a.String() != strings.TrimSpace(tt.text) {
			t.Errorf("%s: String is %q", tt.text, a)
		}
	}
}

func TestParseAnswerErrors(t *testing.T) {
	tests := []struct {
		text   string
		column int
		want   string // part of what is asked for
	}{
		{``, 1, "text, stream"},
		{`say "x"`, 1, "text, stream"},
		{`text`, 5, "a quoted text"},
		{`text hello`, 6, "a quoted text"},
		{`text "open`, 6, "closing quote"},
		{`text "a\q"`, 6, "escapes"},
		{`text "a" "b"`, 10, "nothing more"},
		{`stream "a" pause x "b"`, 18, "a duration"},
		{`stream "a" pause -1s`, 18, "a duration"},
		{`stream "a" than reset`, 12, "then"},
		{`stream "a" then`, 16, "text, stream"},
		{`slow`, 5, "a duration"},
		{`slow 5s`, 8, "text, stream"},
		{`slow 9999h hang`, 6, "a duration"},
		{`tool {"x":1}`, 13, "name of a tool"},
		{`tool`, 5, "name of a tool"},
		{`tool echo {"x":}`, 16, "valid JSON"},
		{`429 {"a":`, 10, "valid JSON"},
		{`429 (busy)`, 5, "JSON body"},
		{`4290`, 1, "text, stream"},
		{`finish`, 7, "finish reason"},
		{`hang now`, 6, "nothing more"},
	}
	for _, tt := range tests {
		_, err := ParseAnswer(tt.text)
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("%q: error is %v", tt.text, err)
			continue
		}
		if pe.Column != tt.column || !strings.Contains(pe.Want, tt.want) {
			t.Errorf("%q: column %d, want %q; expected column %d, %q", tt.text, pe.Column, pe.Want, tt.column, tt.want)
		}
	}
}

// FuzzParseAnswer: whatever can be read can be played, and keeps the contract
// of a client.
func FuzzParseAnswer(f *testing.F) {
	for _, s := range []string{
		`text "hello"`, `stream "par" pause 3s "tial" then 529 "overloaded_error"`, `429 retry-after=120 {"error":{"message":"x"}}`,
		`401 "invalid x-api-key"`, `tool echo {"x":1} tool b`, `hang`, `reset`, `empty`, `finish abort`, `slow 45s text "hi"`,
		`stream "a" then slow 5s stream then hang`, `502 "<html>"`, `stream then 500 []`, `200 x= "{"`, `text ""`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAnswer(text)
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || pe.Column < 1 || pe.Column > len(text)+1 {
				t.Fatalf("bad error %#v", err)
			}
			return
		}
		for _, provider := range []string{"a", "anthropic", "google", "bedrock"} {
			s := &Script{}
			fastTime(s)
			ref := llm.Ref{Provider: provider, Model: "m"}
			s.Push(ref, "", a)
			ask(t, context.Background(), New(s, provider, ""), "m")
		}
	})
}
