package script

import (
	"bytes"
	"encoding/json"
	"strings"
)

// vendorBody writes the words of an error in the shape in which the provider's
// vendor sends errors. A word that looks like a code ("overloaded_error",
// "ThrottlingException") takes the place of the vendor's code as well. Nothing
// is made up beside the words: a made-up type would be evidence that nobody
// gave. Inside a stream the status itself is lost, so there it is told as a
// number in the error, as gateways do.
func vendorBody(provider, words string, status int, inStream bool) []byte {
	code := ""
	if isCode(words) {
		code = words
	}
	e := map[string]any{"message": words}
	set := func(name string) {
		if code != "" {
			e[name] = code
		}
	}
	body := map[string]any{"error": e}
	switch provider {
	case "anthropic":
		body["type"] = "error"
		set("type")
	case "google":
		e["code"] = status
		set("status")
	default:
		set("type")
		set("code")
	}
	if inStream {
		e["code"] = status
	}
	return encode(body)
}

// inStreamBody is a body that was written out, as it comes inside a stream. One
// that names no type, code or status of its own gets the status as its code.
func inStreamBody(body []byte, status int) []byte {
	var whole map[string]json.RawMessage
	var e map[string]json.RawMessage
	if json.Unmarshal(body, &whole) != nil || json.Unmarshal(whole["error"], &e) != nil || e == nil {
		return body
	}
	for _, name := range []string{"type", "code", "status"} {
		if _, ok := e[name]; ok {
			return body
		}
	}
	e["code"] = encode(status)
	whole["error"] = encode(e)
	return encode(whole)
}

// isCode reports whether s is a word for programs and not for people.
func isCode(s string) bool {
	return isToken(s) && (strings.Contains(s, "_") || strings.HasSuffix(s, "Exception"))
}

// encode writes JSON as vendors do: without escapes for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("script: encoding an error body: " + err.Error()) // maps of strings and numbers only
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
