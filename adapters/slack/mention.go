package slack

import "encoding/json"

// mentions reports whether a message mentions the user outside of code: in its
// text or in what people wrote with Slack's editor. The name of a group that the
// user is in, and the words for everybody here, are no mentions.
func (ev event) mentions(user string) bool {
	if mentions(ev.Text, user) {
		return true
	}
	blocks, err := decode[[]richText](ev.Blocks)
	if err != nil {
		return false
	}
	for _, b := range blocks {
		if b.Type == "rich_text" && b.names(user, maxNesting) {
			return true
		}
	}
	return false
}

// maxNesting bounds how deep lists and quotes are looked into.
const maxNesting = 8

// richText is a part of what Slack's editor makes: a block, a section, a list,
// a quote, code, or a piece of text with what it stands for.
type richText struct {
	Type  string `json:"type"`
	User  string `json:"user_id"`
	Style struct {
		Code bool `json:"code"`
	} `json:"style"`
	Elements []json.RawMessage `json:"elements"`
}

func (r richText) names(user string, depth int) bool {
	switch {
	case r.Type == "user":
		return r.User == user && !r.Style.Code
	case r.Type == "rich_text_preformatted", depth == 0:
		return false
	}
	for _, raw := range r.Elements {
		if e, err := decode[richText](raw); err == nil && e.names(user, depth-1) {
			return true
		}
	}
	return false
}
