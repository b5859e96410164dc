package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"understudy/core/llm"
)

// Dialect speaks for the servers of one wire format.
type Dialect interface {
	// Name is for logs.
	Name() string
	// Path is how the paths of its requests end.
	Path() string
	// Open begins an answer.
	Open(model string) Answer
	// Error is the body of a failing answer.
	Error(status int, code, message string) string
	// Read takes a request apart, for what a test wants to know about it.
	Read(body []byte) (Asked, error)
}

// Answer writes one streamed answer; each method gives the bytes for the wire.
// Finish, Refuse and Fail end it.
type Answer interface {
	Say(text string) string
	Think(text string) string
	Use(call llm.Call) string
	Ping() string
	Finish(stop llm.Stop, usage llm.Usage) string
	Refuse() string
	Fail(code, message string) string
}

// Asked is a request in the words of package llm.
type Asked struct {
	Model     string
	System    string
	Messages  []llm.Message
	Tools     []llm.Tool
	MaxTokens int
	Stream    bool
}

// dialects are those that a [Server] speaks.
var dialects = []Dialect{Chat, Messages}

// object is JSON in the making.
type object = map[string]any

// event is one event of a stream.
func event(name string, data any) string {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("llmtest: an event that is no JSON: %v", err)) // only values of this package are encoded
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	return name + "data: " + string(raw) + "\n\n"
}

// halves splits a text, so that no client can rely on getting it at once.
func halves(s string) []string {
	runes := []rune(s)
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}

// dataURL takes "data:<mime>;base64,<data>" apart.
func dataURL(s string) (llm.Image, error) {
	mime, data, ok := strings.Cut(strings.TrimPrefix(s, "data:"), ";base64,")
	if !ok {
		return llm.Image{}, fmt.Errorf("%.40q is no data URL", s)
	}
	return image(mime, data)
}

func image(mime, data string) (llm.Image, error) {
	var raw []byte
	quoted, _ := json.Marshal(data)
	if err := json.Unmarshal(quoted, &raw); err != nil {
		return llm.Image{}, fmt.Errorf("an image is no base64: %w", err)
	}
	return llm.Image{MIME: mime, Data: raw}, nil
}
