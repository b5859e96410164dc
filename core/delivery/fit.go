package delivery

import "understudy/core"

// cutMark goes after a text of which the end was cut off.
const cutMark = "… (the rest is too long for this place)"

// Split cuts a text into the posts that it takes in a thread. What is too long
// for the place is cut off with a remark.
func (s *Sender) Split(t core.Thread, text string) []string {
	p, ok := s.c.Platform(t)
	if !ok {
		return core.Split(text, core.Limits{})
	}
	return fit(text, p.Limits(t))
}

// fit splits a text; of one that is too long for the place the end is cut off,
// with a remark.
func fit(text string, l core.Limits) []string {
	texts, rest := core.SplitMost(text, l)
	if rest == "" {
		return texts
	}
	last := len(texts) - 1
	for one := (core.Limits{MaxText: l.MaxText, Count: l.Count, MaxParts: 1}); one.MaxText > 0; one.MaxText -= max(1, l.MaxText/16) {
		head, _ := core.SplitMost(texts[last], one)
		if cut := head[0] + "\n\n" + cutMark; fits(cut, l) {
			texts[last] = cut
			break
		}
	}
	return texts
}

func fits(text string, l core.Limits) bool { return len(core.Split(text, l)) == 1 }
