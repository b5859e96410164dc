package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/core"
	"understudy/core/llm"
)

// loadText loads a configuration that is written down here.
func loadText(t *testing.T, text string, vars ...string) *setup {
	t.Helper()
	path := filepath.Join(t.TempDir(), "understudy.jsonc")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	setEnv(t, vars...)
	s, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A voice message goes to the provider of transcription.model, with its key.
func TestTranscriber(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer sk-voice" || r.FormValue("model") != "ears-1" {
			http.Error(w, "not so", http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"text":"hello there"}`)
	}))
	defer srv.Close()
	s := loadText(t, `{"models": {"providers": {"voice": {"baseUrl": "`+srv.URL+`/v1"}}}, "transcription": {"model": "voice/ears-1"}}`, "VOICE_API_KEY=sk-voice")
	transport := llm.NewTransport(nil, s.config.Timeouts.request())
	defer transport.CloseIdle()
	hear, err := s.transcriber(transport)
	if err != nil {
		t.Fatal(err)
	}
	text, err := hear(t.Context(), core.Attachment{Name: "voice.ogg", MIME: "audio/ogg", Data: []byte("OggS")})
	if err != nil || text != "hello there" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestTranscriberMisuse(t *testing.T) {
	if hear, err := loadText(t, `{}`).transcriber(nil); hear != nil || err != nil {
		t.Errorf("nothing is configured, and there is %v, %v", hear != nil, err)
	}
	for model, want := range map[string]string{
		"anthropic/ears": "has no API for voice messages", "openai/whisper-1": "set OPENAI_API_KEY", "opnai/whisper-1": `did you mean "openai"?`,
	} {
		_, err := loadText(t, `{"transcription": {"model": "`+model+`"}}`).transcriber(nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
}
