package chat

import (
	"crypto/sha256"
	"encoding/base32"
)

// house is what is known about one provider besides the common dialect.
type house struct {
	baseURL string
	// noStreamOptions: the server refuses requests with stream_options, and
	// reports usage without being asked.
	noStreamOptions bool
	// idLength is the exact length of a tool-call id where the server insists on
	// one; ids may hold letters and digits only.
	idLength int
	// documents: the server takes PDFs, as parts of type "file".
	documents bool
}

// houses are the providers that need no address in the configuration, or have
// oddities of their own.
var houses = map[string]house{
	"deepseek":   {baseURL: "https://api.deepseek.com/v1"},
	"groq":       {baseURL: "https://api.groq.com/openai/v1"},
	"llamacpp":   {baseURL: "http://127.0.0.1:8080/v1"},
	"lmstudio":   {baseURL: "http://127.0.0.1:1234/v1"},
	"mistral":    {baseURL: "https://api.mistral.ai/v1", noStreamOptions: true, idLength: 9},
	"ollama":     {baseURL: "http://127.0.0.1:11434/v1"},
	"openai":     {baseURL: "https://api.openai.com/v1", documents: true},
	"openrouter": {baseURL: "https://openrouter.ai/api/v1"},
	"vllm":       {baseURL: "http://127.0.0.1:8000/v1"},
	"xai":        {baseURL: "https://api.x.ai/v1"},
}

// BaseURL is the address of a provider that needs none in the configuration.
func BaseURL(provider string) (string, bool) {
	h, ok := houses[provider]
	return h.baseURL, ok
}

// longestID is the longest tool-call id that the dialect's own vendor takes.
const longestID = 40

// callID makes an id that another provider gave acceptable to this one. The
// same id always becomes the same, so that call and result still belong
// together.
func (h house) callID(id string) string {
	if h.idLength == 0 && id != "" && len(id) <= longestID {
		return id
	}
	if h.idLength != 0 && len(id) == h.idLength && alphanumeric(id) {
		return id
	}
	length := h.idLength
	if length == 0 {
		length = longestID
	}
	sum := sha256.Sum256([]byte(id))
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return text[:min(length, len(text))]
}

func alphanumeric(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
