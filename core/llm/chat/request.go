package chat

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"understudy/core/llm"
)

type request struct {
	Model         string         `json:"model"`
	Messages      []message      `json:"messages"`
	Tools         []tool         `json:"tools,omitempty"`
	MaxTokens     int            `json:"max_tokens,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a string, []piece, or nil beside tool calls
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	thought
}

// thought is reasoning under the names that servers use for it. It is given
// back under the name that it came with.
type thought struct {
	Reasoning        string            `json:"reasoning,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type piece struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
	File     *file     `json:"file,omitempty"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

func (c *client) encode(req llm.Request) request {
	out := request{
		Model:       req.Model,
		MaxTokens:   req.MaxTokens,
		Temperature: req.Temperature,
		Stream:      true,
	}
	if !c.house.noStreamOptions {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if req.System != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: req.System})
	}
	self := llm.Ref{Provider: c.cfg.Provider, Model: req.Model}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, c.house.encodeMessage(m, self)...)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, tool{"function", function{t.Name, t.Description, schema(t.Schema)}})
	}
	return out
}

// schema is the tool's own, or that of a tool without parameters.
func schema(s json.RawMessage) json.RawMessage {
	if len(s) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return s
}

// encodeMessage turns one message into those that the dialect needs: each tool
// result is a message of its own. A message of which nothing is left gives none.
func (h house) encodeMessage(m llm.Message, self llm.Ref) []message {
	var results []message
	rest := message{Role: string(m.Role)}
	var pieces []piece
	for _, p := range m.Parts {
		switch {
		case p.Result != nil:
			results = append(results, message{
				Role: "tool", ToolCallID: h.callID(p.Result.ID), Content: resultText(*p.Result),
			})
		case p.Call != nil:
			rest.ToolCalls = append(rest.ToolCalls, toolCall{
				h.callID(p.Call.ID), "function", functionCall{p.Call.Name, arguments(p.Call.Args)},
			})
		case p.Opaque != nil:
			if p.Opaque.Origin == self {
				// What does not fit is from another version of this client.
				_ = json.Unmarshal(p.Opaque.Data, &rest.thought)
			}
		case p.Image != nil:
			pieces = append(pieces, piece{Type: "image_url", ImageURL: &imageURL{dataURL(p.Image.MIME, p.Image.Data)}})
		case p.Document != nil:
			pieces = append(pieces, h.encodeDocument(*p.Document))
		case p.Text != "":
			pieces = append(pieces, piece{Type: "text", Text: p.Text})
		}
	}
	rest.Content = content(pieces)
	if rest.Content == nil && rest.ToolCalls == nil {
		return results
	}
	return append(results, rest)
}

func (h house) encodeDocument(d llm.Document) piece {
	if !h.documents {
		return piece{Type: "text", Text: d.Unread()}
	}
	return piece{Type: "file", File: &file{cmp.Or(d.Name, "document.pdf"), dataURL("application/pdf", d.Data)}}
}

func dataURL(mime string, data []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// content is a plain string where that is enough: not every server takes lists.
func content(pieces []piece) any {
	var text strings.Builder
	for _, p := range pieces {
		if p.Type != "text" {
			return pieces
		}
		text.WriteString(p.Text)
	}
	if text.Len() == 0 {
		return nil
	}
	return text.String()
}

// resultText marks a failed tool in words: the dialect has no field for it.
func resultText(r llm.Result) string {
	if r.IsError {
		return "Error: " + r.Text
	}
	return r.Text
}

func arguments(args json.RawMessage) string {
	if len(args) == 0 {
		return "{}"
	}
	return string(args)
}
