package llm

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestRepairFor(t *testing.T) {
	for text, want := range map[string]Repair{
		"messages.3.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'":                                    RepairToolIDs,
		"Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.":                                            RepairToolIDs,
		"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. tool_call_id does not match": RepairToolIDs,
		"messages.1.content.0: Invalid `signature` in `thinking` block":                                                       RepairReasoning,
		"The encrypted content gAAA could not be verified":                                                                    RepairReasoning,
		"messages: text content blocks must be non-empty":                                                                     RepairEmpty,
		"all messages must have non-empty content except for the optional final assistant message":                            RepairEmpty,
		"Conversation roles must alternate user/assistant/user/assistant/...":                                                 RepairRoles,
		"After the optional system message, user and assistant roles should be alternating.":                                  RepairRoles,
		"temperature: range: 0..1": "",
	} {
		got, ok := RepairFor(&Error{Reason: Format, Detail: text})
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", text, got, ok, want)
		}
	}
	if _, ok := RepairFor(&Error{Reason: Timeout, Detail: "signature"}); ok {
		t.Error("a time-out is repaired")
	}
}

func TestRepairsMendAndLeaveTheRest(t *testing.T) {
	history := []Message{
		TextMessage(User, "hi"),
		{Role: Assistant, Parts: []Part{{Opaque: &Opaque{Data: json.RawMessage(`{}`)}}, {Call: &Call{ID: "call:1/odd", Name: "x"}}, {Text: " "}}},
		{Role: ToolRole, Parts: []Part{{Result: &Result{ID: "call:1/odd", Text: ""}}}},
		{Role: Assistant, Parts: []Part{{Text: ""}}},
	}
	ids, changed := RepairToolIDs.Apply(history)
	if c, r := ids[1].Parts[1].Call.ID, ids[2].Parts[0].Result.ID; !changed || c != r || len(c) != 9 {
		t.Errorf("ids %q and %q", c, r)
	}
	if again, changed := RepairToolIDs.Apply(ids); changed || !reflect.DeepEqual(again, ids) {
		t.Error("mending what is whole changes it")
	}
	if m, changed := RepairReasoning.Apply(history); !changed || len(m[1].Parts) != 2 {
		t.Errorf("%+v", m)
	}
	if m, changed := RepairEmpty.Apply(history); !changed || len(m) != 3 || len(m[1].Parts) != 2 || m[2].Parts[0].Result == nil {
		t.Errorf("%+v", m)
	}
	row := append([]Message{TextMessage(User, "before"), TextMessage(User, "and")}, history...)
	m, changed := RepairRoles.Apply(row)
	if !changed || len(m) != len(history)+4 || m[0].Text() != "before" || m[1].Role != Assistant || m[2].Text() != "and" || m[3].Role != Assistant || m[4].Text() != "hi" {
		t.Errorf("%+v", m)
	}
	if m, changed := RepairRoles.Apply([]Message{TextMessage(User, "hi"), TextMessage(Assistant, "one"), TextMessage(Assistant, "two")}); !changed || len(m) != 2 || m[1].Text() != "one\n\ntwo" {
		t.Errorf("%+v", m)
	}
	if again, changed := RepairRoles.Apply(m); changed || !reflect.DeepEqual(again, m) || len(row[0].Parts) != 1 {
		t.Error("roles that take turns are changed, or what was given is")
	}
	if history[1].Parts[1].Call.ID != "call:1/odd" || len(history) != 4 || len(history[1].Parts) != 3 {
		t.Error("the history itself was changed")
	}
}
