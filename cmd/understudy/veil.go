package main

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"runtime/debug"

	"understudy/core/llm"
)

// veiledWriter hides every known credential in what is written. Each call is
// looked at by itself: a line goes out in one.
type veiledWriter struct {
	io.Writer
	veil *llm.Veil
}

// Write reports len(p) also where less or more was written in its place.
func (w *veiledWriter) Write(p []byte) (int, error) {
	text := string(p)
	hidden := w.veil.Hide(text)
	if hidden == text {
		return w.Writer.Write(p)
	}
	if _, err := io.WriteString(w.Writer, hidden); err != nil {
		return 0, err
	}
	return len(p), nil
}

// maskedWriter hides what looks like a credential.
type maskedWriter struct{ io.Writer }

// Write reports len(p) also where less was written in its place.
func (w maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, llm.Mask(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// veiled is the console of a command with the credentials of this process
// hidden in both outputs.
func veiled(c console, veil *llm.Veil) console {
	return console{c.in, &veiledWriter{c.out, veil}, &veiledWriter{c.err, veil}}
}

// survive reports a mistake of the program in the words of its log: what the
// runtime would print of it nobody masks.
func survive(c console, name string, code *int) {
	p := recover()
	if p == nil {
		return
	}
	fmt.Fprintf(c.err, "understudy %s: a mistake of this program; please report it: %s\n%s", name, llm.Mask(fmt.Sprint(p)), debug.Stack())
	*code = 1
}

// logger is the program's log. Texts are masked by shape, so that a credential
// in somebody else's error text does not get through; that of the console hides
// those that are known, wherever they stand.
func logger(out io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) != nil {
		l = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: l, ReplaceAttr: maskAttr}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(out, o))
	}
	return slog.New(slog.NewTextHandler(out, o))
}

// maskAttr masks one attribute. What is no text is written as one only if there
// is something in it to be masked.
func maskAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(llm.Mask(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case slog.Level:
		case error:
			if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
				break // a nil of some type, which may not know its text
			}
			a.Value = slog.StringValue(llm.Mask(v.Error()))
		case []byte:
			a.Value = slog.StringValue(llm.Mask(string(v)))
		default:
			text := fmt.Sprintf("%+v", v)
			if hidden := llm.Mask(text); hidden != text {
				a.Value = slog.StringValue(hidden)
			}
		}
	}
	return a
}
