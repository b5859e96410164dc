package chat_test

import (
	"testing"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/chat"
	"understudy/core/llm/llmtest"
)

func TestSuite(t *testing.T) {
	llmtest.Suite(t, llmtest.Chat, func(w *llmtest.Wire) llm.Client {
		c, err := chat.New(chat.Config{
			Provider: "some-host", BaseURL: w.URL + "/v1", Key: core.NewSecret(w.Key), Transport: w.Transport,
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
