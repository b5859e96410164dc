package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"understudy/core/llm"
)

// Chat is OpenAI's Chat Completions.
var Chat Dialect = chatDialect{}

type chatDialect struct{}

func (chatDialect) Name() string { return "chat" }
func (chatDialect) Path() string { return "/chat/completions" }

func (chatDialect) Error(status int, code, message string) string {
	raw, _ := json.Marshal(object{"error": object{"message": message, "type": code, "code": code, "param": nil}})
	return string(raw)
}

func (chatDialect) Open(model string) Answer { return &chatAnswer{model: model} }

type chatAnswer struct {
	model string
	calls int
}

func (a *chatAnswer) chunk(choices []object, usage any) string {
	return event("", object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": a.model,
		"choices": choices, "usage": usage,
	})
}

func (a *chatAnswer) delta(delta object, finish any) string {
	return a.chunk([]object{{"index": 0, "delta": delta, "finish_reason": finish}}, nil)
}

func (a *chatAnswer) Say(text string) string {
	return a.delta(object{"role": "assistant", "content": text}, nil)
}

func (a *chatAnswer) Think(text string) string {
	return a.delta(object{"role": "assistant", "content": "", "reasoning_content": text}, nil)
}

func (a *chatAnswer) Use(call llm.Call) string {
	piece := func(o object) string {
		o["index"] = a.calls
		return a.delta(object{"tool_calls": []object{o}}, nil)
	}
	wire := piece(object{"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""}})
	for _, part := range halves(string(call.Args)) {
		wire += piece(object{"function": object{"arguments": part}})
	}
	a.calls++
	return wire
}

func (a *chatAnswer) Ping() string { return ": keep-alive\n\n" }

func (a *chatAnswer) Finish(stop llm.Stop, u llm.Usage) string {
	reason := map[llm.Stop]string{llm.StopLength: "length", llm.StopTools: "tool_calls"}[stop]
	if reason == "" {
		reason = "stop"
	}
	usage := object{
		"prompt_tokens": u.In, "completion_tokens": u.Out, "total_tokens": u.In + u.Out,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
	return a.delta(object{}, reason) + a.chunk([]object{}, usage) + "data: [DONE]\n\n"
}

func (a *chatAnswer) Refuse() string {
	return a.delta(object{}, "content_filter") + "data: [DONE]\n\n"
}

func (a *chatAnswer) Fail(code, message string) string {
	return event("", object{"error": object{"message": message, "type": code, "code": code}})
}

func (chatDialect) Read(body []byte) (Asked, error) {
	var in struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		Stream    bool
		Tools     []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		Messages []chatMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Asked{}, fmt.Errorf("reading a chat request: %w", err)
	}
	out := Asked{Model: in.Model, MaxTokens: in.MaxTokens, Stream: in.Stream}
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	for _, m := range in.Messages {
		parts, err := m.parts()
		if err != nil {
			return out, err
		}
		if m.Role == "system" {
			out.System = llm.Message{Parts: parts}.Text()
			continue
		}
		out.Messages = append(out.Messages, llm.Message{Role: llm.Role(m.Role), Parts: parts})
	}
	return out, nil
}

type chatMessage struct {
	Role       string
	Content    json.RawMessage
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (m chatMessage) parts() ([]llm.Part, error) {
	parts, err := m.content()
	if err != nil {
		return nil, err
	}
	if m.Role == "tool" {
		text := llm.Message{Parts: parts}.Text()
		plain, failed := strings.CutPrefix(text, "Error: ")
		return []llm.Part{{Result: &llm.Result{ID: m.ToolCallID, Text: plain, IsError: failed}}}, nil
	}
	for _, c := range m.ToolCalls {
		args := json.RawMessage(c.Function.Arguments)
		parts = append(parts, llm.Part{Call: &llm.Call{ID: c.ID, Name: c.Function.Name, Args: args}})
	}
	return parts, nil
}

func (m chatMessage) content() ([]llm.Part, error) {
	var text *string
	if json.Unmarshal(m.Content, &text) == nil {
		if text == nil {
			return nil, nil
		}
		return []llm.Part{{Text: *text}}, nil
	}
	var pieces []chatPiece
	if err := json.Unmarshal(m.Content, &pieces); err != nil {
		return nil, fmt.Errorf("reading the content of a %s message: %w", m.Role, err)
	}
	var parts []llm.Part
	for _, p := range pieces {
		part, err := p.part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

type chatPiece struct {
	Type, Text string
	ImageURL   struct{ URL string } `json:"image_url"`
	File       struct {
		Filename string
		FileData string `json:"file_data"`
	}
}

func (p chatPiece) part() (llm.Part, error) {
	switch p.Type {
	case "image_url":
		img, err := dataURL(p.ImageURL.URL)
		return llm.Part{Image: &img}, err
	case "file":
		pdf, err := dataURL(p.File.FileData)
		return llm.Part{Document: &llm.Document{Name: p.File.Filename, Data: pdf.Data}}, err
	}
	return llm.Part{Text: p.Text}, nil
}
