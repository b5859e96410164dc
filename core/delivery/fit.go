package delivery

import (
	"strings"

	"understudy/core"
)

// The remarks after a text that goes on where it cannot be seen, or not at all.
const (
	cutMark  = "… (the rest is too long for this place)"
	fileMark = "… (the rest is in the file; it holds the whole answer)"
)

// answerFile is the name of the file with an answer that is too long.
const answerFile = "answer.md"

// Split cuts a text into the posts that it takes in a thread. What is too long
// for the place is cut off with a remark.
func (s *Sender) Split(t core.Thread, text string) []string {
	p, ok := s.c.Platform(t)
	if !ok {
		return core.Split(text, core.Limits{})
	}
	texts, _ := fit(text, p.Limits(t), cutMark)
	return texts
}

// fit splits a text; of one that is too long for the place the end is cut off,
// with a remark.
func fit(text string, l core.Limits, mark string) (texts []string, cut bool) {
	texts, rest := core.SplitMost(text, l)
	if rest == "" {
		return texts, false
	}
	last := len(texts) - 1
	for one := (core.Limits{MaxText: l.MaxText, Count: l.Count, MaxParts: 1}); one.MaxText > 0; one.MaxText -= max(1, l.MaxText/16) {
		head, _ := core.SplitMost(texts[last], one)
		if cut := strings.TrimRight(head[0], " \n") + "\n\n" + mark; fits(cut, l) {
			texts[last] = cut
			break
		}
	}
	return texts, true
}

// attached is the file with a whole answer, where the place takes one of that
// size.
func attached(text string, l core.Limits) []core.File {
	if len(text) > l.MaxFile {
		return nil
	}
	return []core.File{{Name: answerFile, MIME: "text/markdown", Data: []byte(text)}}
}

func fits(text string, l core.Limits) bool { return len(core.Split(text, l)) == 1 }
