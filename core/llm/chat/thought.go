package chat

import (
	"encoding/json"
	"strings"

	"understudy/core/llm"
)

// thoughts collects reasoning under the names that it came with.
type thoughts struct {
	reasoning strings.Builder
	content   strings.Builder
	details   []*detail
}

// detail is one entry of reasoning_details. Its texts arrive in pieces, every
// other member whole.
type detail struct {
	members map[string]json.RawMessage
	texts   map[string]*strings.Builder
}

// add takes the reasoning of one delta in and gives its text. Servers that send
// it under two names send the same text twice.
func (t *thoughts) add(d delta) string {
	t.reasoning.WriteString(d.Reasoning)
	t.content.WriteString(d.ReasoningContent)
	for _, raw := range d.ReasoningDetails {
		var piece map[string]json.RawMessage
		if json.Unmarshal(raw, &piece) == nil && len(piece) > 0 {
			t.addDetail(piece)
		}
	}
	if d.ReasoningContent != "" {
		return d.ReasoningContent
	}
	return d.Reasoning
}

// addDetail joins a piece to the last detail if index and type say that it
// belongs there.
func (t *thoughts) addDetail(piece map[string]json.RawMessage) {
	n := len(t.details)
	if n == 0 || !t.details[n-1].owns(piece) {
		t.details = append(t.details, &detail{map[string]json.RawMessage{}, map[string]*strings.Builder{}})
		n++
	}
	last := t.details[n-1]
	for name, value := range piece {
		var text *string
		switch {
		case string(value) == "null":
		case (name == "text" || name == "summary" || name == "data") && json.Unmarshal(value, &text) == nil:
			if last.texts[name] == nil {
				last.texts[name] = &strings.Builder{}
			}
			last.texts[name].WriteString(*text)
		default:
			last.members[name] = value
		}
	}
}

func (d *detail) owns(piece map[string]json.RawMessage) bool {
	return string(d.members["index"]) == string(piece["index"]) && string(d.members["type"]) == string(piece["type"])
}

func (d *detail) marshal() (json.RawMessage, error) {
	all := map[string]any{}
	for name, value := range d.members {
		all[name] = value
	}
	for name, text := range d.texts {
		all[name] = text.String()
	}
	return json.Marshal(all)
}

// opaque is the reasoning for the history, nil without any. Where the server
// sent details they stand for the plain text.
func (t *thoughts) opaque(origin llm.Ref) *llm.Opaque {
	all := thought{Reasoning: t.reasoning.String(), ReasoningContent: t.content.String()}
	for _, d := range t.details {
		if raw, err := d.marshal(); err == nil {
			all.ReasoningDetails = append(all.ReasoningDetails, raw)
		}
	}
	if all.ReasoningDetails != nil {
		all.Reasoning = ""
	}
	data, err := json.Marshal(all)
	if err != nil || string(data) == "{}" {
		return nil
	}
	return &llm.Opaque{Origin: origin, Data: data}
}
