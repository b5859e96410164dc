package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Repair is a known fault of a request's history that can be mended, so that
// the same model can be asked once more.
type Repair string

// The repairs. Each is tried once per candidate and call.
const (
	// RepairToolIDs gives every tool call an id that all vendors accept.
	RepairToolIDs Repair = "tool_call_ids"
	// RepairReasoning leaves out signed or encrypted reasoning.
	RepairReasoning Repair = "reasoning"
	// RepairEmpty leaves out empty texts, and messages of nothing else.
	RepairEmpty Repair = "empty_blocks"
	// RepairRoles puts a word of the model between messages that were not answered,
	// for models whose templates want the roles to take turns.
	RepairRoles Repair = "roles"
)

// repairs are the words by which a refused request shows which repair it
// needs, in the order in which they are looked for. allowFormatRetry says
// whether the repair is worth another request by itself.
var repairs = []struct {
	repair           Repair
	words            []string
	allowFormatRetry bool
}{
	{RepairToolIDs, []string{
		"tool_call_id", "tool call id", "tool_use_id", "tool_use.id", "toolu_", "tool_calls[", "tool_calls.", "tooluseid",
		"tool_use ids", "call_id", "function call id",
	}, true},
	{RepairReasoning, []string{
		"signature", "thinking block", "thinking_block", "`thinking`", "redacted_thinking", "encrypted content", "encrypted_content",
		"reasoning item", "reasoning_content", "thought_signature", "thought signature",
	}, true},
	{RepairEmpty, []string{
		"must be non-empty", "non-whitespace text", "must not be empty", "cannot be empty", "empty content", "content is empty",
		"content field is required", "have non-empty content", "empty text", "should be non-empty",
	}, true},
	{RepairRoles, []string{"must alternate", "should alternate", "alternating", "alternate between", "alternate user/assistant"}, true},
}

// RepairFor is the repair that a refused request calls for; ok is false when
// there is none, or when it is not worth a request.
func RepairFor(e *Error) (r Repair, ok bool) {
	if e.Reason != Format {
		return "", false
	}
	text := strings.ToLower(e.Detail)
	for _, x := range repairs {
		if slices.ContainsFunc(x.words, func(w string) bool { return strings.Contains(text, w) }) {
			return x.repair, x.allowFormatRetry
		}
	}
	return "", false
}

// Apply mends messages. changed is false when there was nothing to mend; the
// messages given are left as they are.
func (r Repair) Apply(messages []Message) (mended []Message, changed bool) {
	if r == RepairRoles {
		return inTurns(messages)
	}
	for _, m := range messages {
		parts := make([]Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			q, keep := r.part(p)
			if keep {
				parts = append(parts, q)
			}
			changed = changed || !keep || q != p
		}
		if len(parts) > 0 {
			mended = append(mended, Message{Role: m.Role, Parts: parts})
		} else {
			changed = true
		}
	}
	return mended, changed
}

// notAnswered stands between two messages of users. (Two in one would hide who
// speaks in the second.)
const notAnswered = "(not answered)"

// inTurns lets the sides take turns; results of tools stand for themselves.
func inTurns(messages []Message) (mended []Message, changed bool) {
	for _, m := range messages {
		n := len(mended)
		switch {
		case n == 0 || mended[n-1].Role != m.Role || m.Role == ToolRole:
			mended = append(mended, m)
			continue
		case m.Role == User:
			mended = append(mended, TextMessage(Assistant, notAnswered), m)
		default:
			last := &mended[n-1]
			last.Parts = slices.Concat(last.Parts, []Part{{Text: "\n\n"}}, m.Parts)
		}
		changed = true
	}
	return mended, changed
}

func (r Repair) part(p Part) (q Part, keep bool) {
	switch {
	case r == RepairToolIDs && p.Call != nil:
		c := *p.Call
		if c.ID = plainID(c.ID); c.ID != p.Call.ID {
			p.Call = &c
		}
	case r == RepairToolIDs && p.Result != nil:
		x := *p.Result
		if x.ID = plainID(x.ID); x.ID != p.Result.ID {
			p.Result = &x
		}
	case r == RepairReasoning && p.Opaque != nil:
		return p, false
	case r == RepairEmpty && p.Image == nil && p.Document == nil && p.Call == nil && p.Result == nil && p.Opaque == nil && strings.TrimSpace(p.Text) == "":
		return p, false
	}
	return p, true
}

// plainID is nine letters and digits, which is what the strictest vendor asks
// for, and the same for the same id.
func plainID(id string) string {
	if len(id) == 9 && !strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}) {
		return id
	}
	h := sha256.Sum256([]byte(id))
	return hex.EncodeToString(h[:])[:9]
}
