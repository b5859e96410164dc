package llmtest

import (
	"encoding/json"
	"fmt"

	"understudy/core/llm"
)

// Messages is Anthropic's Messages API.
var Messages Dialect = messagesDialect{}

type messagesDialect struct{}

func (messagesDialect) Name() string { return "messages" }
func (messagesDialect) Path() string { return "/messages" }

func (messagesDialect) Error(status int, code, message string) string {
	raw, _ := json.Marshal(object{"type": "error", "error": object{"type": code, "message": message}})
	return string(raw)
}

func (messagesDialect) Open(model string) Answer { return &messagesAnswer{model: model} }

// messagesAnswer keeps which block is open: pieces of one kind share a block.
type messagesAnswer struct {
	model string
	begun bool
	open  string
	index int
}

// head begins the message before the first event.
func (a *messagesAnswer) head() string {
	if a.begun {
		return ""
	}
	a.begun = true
	return event("message_start", object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": a.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 0, "output_tokens": 0},
	}})
}

// enter opens a block, or goes on in the open one of the same kind.
func (a *messagesAnswer) enter(kind string, start object) string {
	if a.open == kind && kind != "tool_use" {
		return ""
	}
	wire := a.head() + a.leave()
	a.open = kind
	start["type"] = kind
	return wire + event("content_block_start", object{
		"type": "content_block_start", "index": a.index, "content_block": start,
	})
}

func (a *messagesAnswer) leave() string {
	if a.open == "" {
		return ""
	}
	wire := ""
	if a.open == "thinking" {
		wire = a.delta(object{"type": "signature_delta", "signature": "c2lnbmVk"})
	}
	wire += event("content_block_stop", object{"type": "content_block_stop", "index": a.index})
	a.open = ""
	a.index++
	return wire
}

func (a *messagesAnswer) delta(delta object) string {
	return event("content_block_delta", object{"type": "content_block_delta", "index": a.index, "delta": delta})
}

func (a *messagesAnswer) Say(text string) string {
	return a.enter("text", object{"text": ""}) + a.delta(object{"type": "text_delta", "text": text})
}

func (a *messagesAnswer) Think(text string) string {
	return a.enter("thinking", object{"thinking": "", "signature": ""}) +
		a.delta(object{"type": "thinking_delta", "thinking": text})
}

func (a *messagesAnswer) Use(call llm.Call) string {
	wire := a.enter("tool_use", object{"id": call.ID, "name": call.Name, "input": object{}})
	for _, part := range halves(string(call.Args)) {
		wire += a.delta(object{"type": "input_json_delta", "partial_json": part})
	}
	return wire
}

func (a *messagesAnswer) Ping() string {
	return a.head() + event("ping", object{"type": "ping"})
}

func (a *messagesAnswer) Finish(stop llm.Stop, u llm.Usage) string {
	reason := map[llm.Stop]string{llm.StopLength: "max_tokens", llm.StopTools: "tool_use"}[stop]
	if reason == "" {
		reason = "end_turn"
	}
	return a.end(reason, nil, object{
		// The prompt's cached parts are counted apart here.
		"input_tokens": u.In - u.CacheRead - u.CacheWrite, "output_tokens": u.Out,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"output_tokens_details": object{"thinking_tokens": u.Reasoning},
	})
}

func (a *messagesAnswer) Refuse() string {
	details := object{"type": "refusal", "category": nil, "explanation": "This request was declined."}
	return a.end("refusal", details, object{"output_tokens": 1})
}

func (a *messagesAnswer) end(reason string, details any, usage object) string {
	return a.head() + a.leave() +
		event("message_delta", object{
			"type": "message_delta", "usage": usage,
			"delta": object{"stop_reason": reason, "stop_sequence": nil, "stop_details": details},
		}) +
		event("message_stop", object{"type": "message_stop"})
}

func (a *messagesAnswer) Fail(code, message string) string {
	return event("error", object{"type": "error", "error": object{"type": code, "message": message}})
}

func (messagesDialect) Read(body []byte) (Asked, error) {
	var in struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		Stream    bool
		System    messagesContent
		Tools     []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
		Messages []struct {
			Role    string
			Content messagesContent
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, fmt.Errorf("reading a messages request: %w", err)
	}
	out := Asked{Model: in.Model, MaxTokens: in.MaxTokens, Stream: in.Stream}
	for _, s := range in.System {
		out.System += s.Text
	}
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	for _, m := range in.Messages {
		message := llm.Message{Role: llm.Role(m.Role)}
		for _, b := range m.Content {
			part, err := b.part()
			if err != nil {
				return out, err
			}
			if part.Result != nil {
				message.Role = llm.ToolRole
			}
			message.Parts = append(message.Parts, part)
		}
		out.Messages = append(out.Messages, message)
	}
	return out, nil
}

// messagesContent is a list of blocks, or a string that stands for one of text.
type messagesContent []messagesBlock

func (c *messagesContent) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*c = messagesContent{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(raw, (*[]messagesBlock)(c))
}

type messagesBlock struct {
	Type, Text, ID, Name string
	Title                string
	Input                json.RawMessage
	ToolUseID            string `json:"tool_use_id"`
	IsError              bool   `json:"is_error"`
	Content              messagesContent
	Source               struct {
		MediaType string `json:"media_type"`
		Data      string
	}
	Thinking, Signature, Data string
}

func (b messagesBlock) part() (llm.Part, error) {
	switch b.Type {
	case "tool_use":
		return llm.Part{Call: &llm.Call{ID: b.ID, Name: b.Name, Args: b.Input}}, nil
	case "tool_result":
		text := ""
		for _, c := range b.Content {
			text += c.Text
		}
		return llm.Part{Result: &llm.Result{ID: b.ToolUseID, Text: text, IsError: b.IsError}}, nil
	case "image":
		img, err := image(b.Source.MediaType, b.Source.Data)
		return llm.Part{Image: &img}, err
	case "document":
		pdf, err := image(b.Source.MediaType, b.Source.Data)
		return llm.Part{Document: &llm.Document{Name: b.Title, Data: pdf.Data}}, err
	case "thinking", "redacted_thinking":
		data, err := json.Marshal(object{"thinking": b.Thinking, "signature": b.Signature, "data": b.Data})
		return llm.Part{Opaque: &llm.Opaque{Data: data}}, err
	}
	return llm.Part{Text: b.Text}, nil
}
