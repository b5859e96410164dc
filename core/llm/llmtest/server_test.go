package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
)

func post(t *testing.T, via http.RoundTripper, url, key, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return via.RoundTrip(req)
}

// said is the whole body of an answer.
func said(t *testing.T, s *Server, model, key string) string {
	t.Helper()
	resp, err := post(t, s, s.URL+"/v1/chat/completions", key, `{"model":"`+model+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func TestRecite(t *testing.T) {
	s := NewMemory()
	defer s.Close()
	s.Recite(func(_ context.Context, asked Asked) Response { return Text("you asked " + asked.Model) })
	if got := said(t, s, "m", ""); !strings.Contains(got, "you asked m") {
		t.Errorf("with nothing queued it says %s", got)
	}
	s.Queue("m", Text("as queued"))
	if got := said(t, s, "m", ""); !strings.Contains(got, "as queued") {
		t.Errorf("with an answer queued it says %s", got)
	}
	if got := said(t, s, "n", ""); !strings.Contains(got, "you asked n") {
		t.Errorf("another model says %s", got)
	}
}

func TestQueue(t *testing.T) {
	s := NewMemory()
	defer s.Close()
	expect := func(model, key, want string) {
		t.Helper()
		if got := said(t, s, model, key); !strings.Contains(got, want) {
			t.Errorf("%s with %q answered %s, want %q in it", model, key, got, want)
		}
	}
	expect("m", "", `"ok"`) // nothing is queued

	s.Queue("m", Text("one"), Text("two"))
	expect("m", "", "one")
	s.Queue("m", Text("three")) // "two" is unused and stays in front
	expect("m", "", "two")
	expect("m", "", "three")
	expect("m", "", "three") // the last one repeats
	s.Queue("m", Text("four"))
	expect("m", "", "four")

	s.QueueFor("m", "k2", Failure(429, "rate_limit_error", "slow down"))
	expect("m", "k2", "slow down")
	expect("m", "k1", "four")
	s.Queue("", Text("anything"))
	expect("other", "", "anything")

	log := s.Requests()
	if len(log) != 9 || log[6].Key != "k2" || log[8].Model != "other" || log[8].Wire != "chat" {
		t.Errorf("the log is %+v", log)
	}
}

func TestMemoryFailsLikeASocket(t *testing.T) {
	s := NewMemory()
	defer s.Close()
	url := s.URL + "/v1/messages"
	for _, c := range []struct {
		answer Response
		want   error
	}{
		{Stream(Reset()), syscall.ECONNRESET},
		{Stream(Drop()), io.ErrUnexpectedEOF},
		{Stream(Say("a"), Reset()), syscall.ECONNRESET},
		{Stream(Say("a"), Drop()), io.ErrUnexpectedEOF},
		{Stream(Say("a"), Cut()), nil},
	} {
		s.Queue("m", c.answer)
		resp, err := post(t, s, url, "", `{"model":"m"}`)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%+v ended with %v, want %v", c.answer.Steps, err, c.want)
		}
	}
}

func TestDelaysInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemory()
		defer s.Close()
		s.Queue("m", Stream(Say("a"), Pause(3*time.Second)).After(45*time.Second))
		start := time.Now()
		said(t, s, "m", "")
		if took := time.Since(start); took != 48*time.Second {
			t.Errorf("the answer took %v, want 48s", took)
		}
	})
}

func TestAwait(t *testing.T) {
	s := NewMemory()
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Await(ctx, 1, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the wait was cancelled", err)
	}
	said(t, s, "m", "")
	if err := s.Await(t.Context(), 1, 0); err != nil {
		t.Error(err)
	}
}

func TestUnknown(t *testing.T) {
	s := NewMemory()
	defer s.Close()
	resp, err := post(t, s, s.URL+"/v1/images", "", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("status %d, want 404", resp.StatusCode)
	}
	s.Queue("m", Stream(Step{Do: "juggle"}))
	if got := said(t, s, "m", ""); !strings.Contains(got, "juggle") {
		t.Errorf("%s, want a word about the unknown step", got)
	}
}

func TestControl(t *testing.T) {
	s := NewMemory()
	defer s.Close()
	control := s.Control()
	do := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		control.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return w
	}
	script, err := json.Marshal(map[string]any{"model": "m", "answers": []Response{
		Stream(Say("one"), Gate("g"), Use(llm.Call{ID: "1", Name: "f", Args: json.RawMessage(`{}`)})),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*httptest.ResponseRecorder{do("POST", "/queue", string(script)), do("POST", "/open", `{"gate":"g"}`)} {
		if r.Code != http.StatusOK {
			t.Errorf("%d %s", r.Code, r.Body)
		}
	}
	if got := said(t, s, "m", ""); !strings.Contains(got, "one") || !strings.Contains(got, `"name":"f"`) {
		t.Errorf("answered %s", got)
	}
	if r := do("GET", "/counts", ""); strings.TrimSpace(r.Body.String()) != `{"asked":1,"conns":0,"gone":0}` {
		t.Errorf("counts %s", r.Body)
	}
	var log []Request
	if err := json.NewDecoder(do("GET", "/requests", "").Body).Decode(&log); err != nil || len(log) != 1 || log[0].Model != "m" {
		t.Errorf("log %+v, %v", log, err)
	}
	if r := do("POST", "/queue", `{"modle":"m"}`); r.Code != http.StatusBadRequest {
		t.Errorf("a misspelt member was taken: %d", r.Code)
	}
}
