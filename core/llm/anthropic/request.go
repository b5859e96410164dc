package anthropic

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"understudy/core/llm"
)

func (c *client) encode(req llm.Request) sdk.MessageNewParams {
	out := sdk.MessageNewParams{
		Model:     req.Model,
		MaxTokens: int64(req.MaxTokens),
	}
	if out.MaxTokens == 0 {
		out.MaxTokens = DefaultMaxTokens
	}
	if req.System != "" {
		out.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	if c.vendor {
		out.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	self := llm.Ref{Provider: c.cfg.Provider, Model: req.Model}
	for _, m := range req.Messages {
		blocks := encodeParts(m.Parts, self)
		switch {
		case len(blocks) == 0:
		case m.Role == llm.Assistant:
			out.Messages = append(out.Messages, sdk.NewAssistantMessage(blocks...))
		default:
			out.Messages = append(out.Messages, sdk.NewUserMessage(blocks...))
		}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, encodeTool(t))
	}
	return out
}

func encodeTool(t llm.Tool) sdk.ToolUnionParam {
	tool := &sdk.ToolParam{Name: t.Name}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	if len(t.Schema) > 0 {
		tool.InputSchema = param.Override[sdk.ToolInputSchemaParam](t.Schema)
	}
	return sdk.ToolUnionParam{OfTool: tool}
}

// encodeParts gives the blocks of one message. Reasoning alone is no message:
// without an answer after it the API refuses it.
func encodeParts(parts []llm.Part, self llm.Ref) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	said := false
	for _, p := range parts {
		if p.Opaque != nil {
			if b, ok := encodeThought(p.Opaque, self); ok {
				blocks = append(blocks, b)
			}
			continue
		}
		if b, ok := encodePart(p); ok {
			blocks = append(blocks, b)
			said = true
		}
	}
	if !said {
		return nil
	}
	return blocks
}

func encodePart(p llm.Part) (sdk.ContentBlockParamUnion, bool) {
	switch {
	case p.Result != nil:
		return encodeResult(*p.Result), true
	case p.Call != nil:
		args := p.Call.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		return sdk.NewToolUseBlock(callID(p.Call.ID), args, p.Call.Name), true
	case p.Image != nil:
		return sdk.NewImageBlockBase64(p.Image.MIME, base64.StdEncoding.EncodeToString(p.Image.Data)), true
	case p.Document != nil:
		return encodeDocument(*p.Document), true
	case strings.TrimSpace(p.Text) != "": // the API refuses blank blocks
		return sdk.NewTextBlock(p.Text), true
	}
	return sdk.ContentBlockParamUnion{}, false
}

func encodeDocument(d llm.Document) sdk.ContentBlockParamUnion {
	block := sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(d.Data)})
	if d.Name != "" {
		block.OfDocument.Title = param.NewOpt(d.Name)
	}
	return block
}

func encodeResult(r llm.Result) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: callID(r.ID)}
	if r.IsError {
		block.IsError = param.NewOpt(true)
	}
	if strings.TrimSpace(r.Text) != "" {
		block.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Text}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}

// thought is one block of reasoning as the history keeps it.
type thought struct {
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// encodeThought gives reasoning back to the model that made it.
func encodeThought(o *llm.Opaque, self llm.Ref) (sdk.ContentBlockParamUnion, bool) {
	var t thought
	if o.Origin != self || json.Unmarshal(o.Data, &t) != nil {
		return sdk.ContentBlockParamUnion{}, false
	}
	switch {
	case t.Redacted != "":
		return sdk.NewRedactedThinkingBlock(t.Redacted), true
	case t.Signature != "":
		return sdk.NewThinkingBlock(t.Signature, t.Thinking), true
	}
	return sdk.ContentBlockParamUnion{}, false
}

// callID makes an id that another provider gave acceptable to this API, which
// takes letters, digits, "_" and "-". The same id always becomes the same, so
// that call and result still belong together.
func callID(id string) string {
	foreign := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '_' && c != '-'
	}
	if id != "" && len(id) <= 64 && !strings.ContainsFunc(id, foreign) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "toolu_" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15])
}
