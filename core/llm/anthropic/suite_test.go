package anthropic_test

import (
	"testing"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/anthropic"
	"understudy/core/llm/llmtest"
)

func TestSuite(t *testing.T) {
	llmtest.Suite(t, llmtest.Messages, func(w *llmtest.Wire) llm.Client {
		c, err := anthropic.New(anthropic.Config{BaseURL: w.URL, Key: core.NewSecret(w.Key), Transport: w.Transport})
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
