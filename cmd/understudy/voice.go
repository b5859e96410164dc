package main

import (
	"context"

	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/chat"
)

// transcriber is who writes down what is said in voice messages, nil for
// nobody. It works with the first key of its provider.
func (s *setup) transcriber(transport *llm.Transport) (func(context.Context, core.Attachment) (string, error), error) {
	ref := s.config.Transcription.Model
	if ref == (llm.Ref{}) {
		return nil, nil
	}
	p, ok := s.config.provider(ref.Provider)
	keys := s.keys[ref.Provider]
	switch {
	case !ok:
		return nil, misuse("transcription.model: there is no provider %q%s", ref.Provider, didYouMean(ref.Provider, s.config.providerIDs()))
	case p.API != "chat":
		return nil, misuse("transcription.model: %s has no API for voice messages; name a model of a provider that speaks OpenAI's dialect, such as openai/whisper-1", ref.Provider)
	case p.NeedsKey && len(keys) == 0:
		return nil, misuse("transcription.model: %s has no key; set %s", ref.Provider, keyName(ref.Provider))
	}
	var key core.Secret
	if len(keys) > 0 {
		key = keys[0]
	}
	t, err := chat.NewTranscriber(chat.Config{Provider: p.ID, BaseURL: p.BaseURL, Key: key, Header: p.Header, Transport: transport}, ref.Model)
	if err != nil {
		return nil, misuse("transcription.model: %v", err)
	}
	return func(ctx context.Context, a core.Attachment) (string, error) {
		return t.Transcribe(ctx, a.Name, a.MIME, a.Data)
	}, nil
}
