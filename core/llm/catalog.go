package llm

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// ModelInfo is what a model takes, in tokens. Output is 0 when its limit is not
// known.
type ModelInfo struct {
	Input   []string `json:"input"` // "text", "image", "pdf"
	Context int      `json:"context"`
	Output  int      `json:"output,omitempty"`
	// Price is what the vendors' public lists said in January 2026, for
	// requests of ordinary length; nil where it is not known.
	Price *Price `json:"price,omitempty"`
}

// Images reports whether the model reads pictures.
func (m ModelInfo) Images() bool { return slices.Contains(m.Input, "image") }

// PDFs reports whether the model reads documents.
func (m ModelInfo) PDFs() bool { return slices.Contains(m.Input, "pdf") }

// SafeDefault is what is assumed of a model that nobody describes: a small
// window, so that a history fits wherever it is sent, and no pictures.
var SafeDefault = ModelInfo{Input: []string{"text"}, Context: 32_000, Output: 4_096}

//go:embed catalog.json
var catalogJSON []byte

// catalog is read at its first use, because most commands never ask.
var catalog = sync.OnceValue(func() map[string]map[string]ModelInfo {
	var c map[string]map[string]ModelInfo
	if err := json.Unmarshal(catalogJSON, &c); err != nil {
		panic("llm: the embedded catalogue is broken: " + err.Error())
	}
	return c
})

// Lookup finds a model in the catalogue. It knows the models by their plain
// name and with what vendors append to it: a date ("-20250929", "-2024-11-20"),
// "-latest", and OpenRouter's variants (":free"). ok is false for a model that
// is not listed; the caller's configuration or [SafeDefault] counts then.
func Lookup(r Ref) (m ModelInfo, ok bool) {
	models := catalog()[catalogProvider(r.Provider)]
	name := strings.ToLower(r.Model)
	for {
		if m, ok = models[name]; ok {
			m.Input, m.Price = slices.Clone(m.Input), m.Price.copied()
			if name != strings.ToLower(r.Model) && strings.Contains(r.Model, ":") {
				m.Price = nil // variants cost less, more or nothing
			}
			return m, true
		}
		shorter := plainName(name)
		if shorter == name {
			return ModelInfo{}, false
		}
		name = shorter
	}
}

// catalogProvider is the provider under which models are listed.
func catalogProvider(id string) string {
	if _, ok := catalog()[id]; ok {
		return id
	}
	return string(familyOf(id))
}

// plainName takes one appendix off a model's name.
func plainName(name string) string {
	if base, _, ok := strings.Cut(name, ":"); ok {
		return base
	}
	if base, ok := strings.CutPrefix(name, "models/"); ok {
		return base
	}
	if base, ok := strings.CutSuffix(name, "-latest"); ok {
		return base
	}
	for _, date := range []string{"-20060102", "-2006-01-02"} {
		if i := len(name) - len(date); i > 0 && name[i] == '-' {
			if _, err := time.Parse(date, name[i:]); err == nil {
				return name[:i]
			}
		}
	}
	return name
}
