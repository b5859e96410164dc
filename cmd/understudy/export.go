package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"understudy/core/llm"
	"understudy/sessions"
	"understudy/store"
)

// exportPage is how many entries are held at a time.
const exportPage = 500

// exportSession writes one transcript of a session.
func (s *setup) exportSession(ctx context.Context, c console, st *store.Store, name, transcript, format string) error {
	key, ok := parseKey(name)
	if !ok {
		return misuse("found the key %q; want one that understudy sessions list prints", name)
	}
	record, err := st.Session(ctx, key)
	if err != nil {
		return err
	}
	ids, err := st.Transcripts(ctx, key)
	if err != nil {
		return err
	}
	switch {
	case record.Transcript == "" && len(ids) == 0:
		return misuse("there is no session %s; understudy sessions list shows all", name)
	case transcript != "" && transcript != record.Transcript && !slices.Contains(ids, transcript):
		return misuse("%s has no transcript %q; it has: %s", name, transcript, strings.Join(ids, ", "))
	case transcript == "":
		transcript = record.Transcript
	}
	w := bufio.NewWriter(c.out)
	x := exporter{Writer: w, hide: s.hide}
	begin, entry, end := x.beginMarkdown, x.markdown, func() {}
	if format == "json" {
		begin, entry, end = x.beginJSON, x.json, x.endJSON
	}
	begin(record, transcript)
	for after := int64(0); ; {
		page, err := st.Following(ctx, key, transcript, after, exportPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if entry(e); x.err != nil {
				return x.err
			}
			after = e.Seq
		}
	}
	end()
	return w.Flush()
}

// hide masks what looks like a credential, or is one of this program's.
func (s *setup) hide(text string) string {
	for _, list := range s.keys {
		for _, k := range list {
			if k.Set() {
				text = strings.ReplaceAll(text, k.Reveal(), "[secret]")
			}
		}
	}
	return llm.Mask(text)
}

// exporter writes entries in one format or the other. It remembers the first
// error.
type exporter struct {
	io.Writer
	hide func(string) string
	n    int
	err  error
}

func (x *exporter) print(format string, args ...any) {
	if x.err == nil {
		_, x.err = fmt.Fprintf(x.Writer, format, args...)
	}
}

// exportedEntry is an entry with its cost in dollars; null is not known.
type exportedEntry struct {
	sessions.Entry
	USD *float64 `json:"usd"`
}

func (x *exporter) value(v any) {
	if x.err != nil {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		x.err = err
		return
	}
	x.print("%s", b)
}

func (x *exporter) beginJSON(s sessions.Session, transcript string) {
	x.print("{\"key\":")
	x.value(s.Key.String())
	x.print(",\"transcript\":")
	x.value(transcript)
	x.print(",\"session\":")
	if s.Summary != nil {
		hidden := *s.Summary
		hidden.Text = x.hide(hidden.Text)
		s.Summary = &hidden
	}
	x.value(s)
	x.print(",\"entries\":[")
}

func (x *exporter) json(e sessions.Entry) {
	out := exportedEntry{Entry: x.masked(e)}
	if e.Priced {
		usd := e.Cost.USD()
		out.USD = &usd
	}
	if x.n++; x.n > 1 {
		x.print(",")
	}
	x.print("\n")
	x.value(out)
}

func (x *exporter) endJSON() { x.print("\n]}\n") }

// masked is the entry without credentials in what was said.
func (x *exporter) masked(e sessions.Entry) sessions.Entry {
	e.Speaker = x.hide(e.Speaker)
	e.Message.Parts = slices.Clone(e.Message.Parts)
	for i := range e.Message.Parts {
		p := &e.Message.Parts[i]
		p.Text = x.hide(p.Text)
		if p.Call != nil {
			call := *p.Call
			if args := x.hide(string(call.Args)); json.Valid([]byte(args)) {
				call.Args = json.RawMessage(args)
			} else {
				call.Args, _ = json.Marshal(args)
			}
			p.Call = &call
		}
		if p.Result != nil {
			r := *p.Result
			r.Text = x.hide(r.Text)
			p.Result = &r
		}
		p.Opaque = nil // for the model that made it, and for nobody else
	}
	e.Message.Parts = slices.DeleteFunc(e.Message.Parts, func(p llm.Part) bool { return p == llm.Part{} })
	return e
}

func (x *exporter) beginMarkdown(s sessions.Session, transcript string) {
	x.print("# %s\n\nTranscript %s", s.Key, transcript)
	if s.Choice.Model != (llm.Ref{}) {
		x.print(", set to %s", s.Choice.Model)
	}
	if s.Active != (llm.Ref{}) {
		x.print(", last answered by %s", s.Active)
	}
	used := s.Spent.Since.Sum()
	x.print(". Used: %s tokens, %s.\n", llm.Count(used.Tokens()), used.CostText())
	if s.Summary != nil && transcript == s.Transcript {
		x.print("\nSummarised by %s, up to what was said at %s:\n\n", s.Summary.Model, s.Summary.Said.UTC().Format("2006-01-02 15:04:05Z"))
		x.quote(x.hide(s.Summary.Text))
	}
}

// markdown writes an entry as a heading and a quote: nothing in it can pass for
// another entry.
func (x *exporter) markdown(e sessions.Entry) {
	e = x.masked(e)
	x.print("\n### %s, %s", heading(e), e.At.UTC().Format("2006-01-02 15:04:05Z"))
	if e.Usage != (llm.Usage{}) {
		cost := "price not known"
		if e.Priced {
			cost = e.Cost.String()
		}
		x.print(" (%s tokens in, %s out, %s)", llm.Count(e.Usage.In), llm.Count(e.Usage.Out), cost)
	}
	x.print("\n\n")
	for i, p := range e.Message.Parts {
		if i > 0 {
			x.print(">\n")
		}
		text := p.Text
		switch {
		case p.Call != nil:
			text = fmt.Sprintf("Calls the tool %s with %s", p.Call.Name, p.Call.Args)
		case p.Result != nil:
			text = p.Result.Text
		case p.Image != nil:
			text = fmt.Sprintf("[a picture, %s, %s bytes]", p.Image.MIME, llm.Count(len(p.Image.Data)))
		case p.Document != nil:
			text = fmt.Sprintf("[the PDF %s, %s bytes]", p.Document.Name, llm.Count(len(p.Document.Data)))
		}
		x.quote(text)
	}
}

// quote marks each line of a text as one.
func (x *exporter) quote(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		x.print("%s\n", strings.TrimRight("> "+line, " \r"))
	}
}

// heading says who an entry is from.
func heading(e sessions.Entry) string {
	switch e.Message.Role {
	case llm.Assistant:
		if e.Model == (llm.Ref{}) {
			return "The bot"
		}
		if e.Profile != "" {
			return e.Model.String() + " with " + e.Profile
		}
		return e.Model.String()
	case llm.ToolRole:
		return "A tool"
	}
	if name := strings.Join(strings.Fields(e.Speaker), " "); name != "" {
		return name
	}
	if e.Author != "" {
		return e.Author
	}
	return "A user"
}
