package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core/llm"
)

// roundTrip is a provider without a socket.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, contentType string, body io.Reader) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {contentType}, "X-Limit": {"7"}},
			Body: io.NopCloser(body), Request: r,
		}, nil
	}
}

func request(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.test/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bodyUnder is a body that stays open until the request's context ends.
func bodyUnder(ctx context.Context, write func(io.Writer)) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(context.Canceled) })
	go func() {
		write(w)
		<-ctx.Done()
	}()
	return r
}

func TestDeadlines(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	drip := func(gap time.Duration, n int) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			body := bodyUnder(r.Context(), func(w io.Writer) {
				for range n {
					select {
					case <-time.After(gap):
						_, _ = io.WriteString(w, ": ping\n")
					case <-r.Context().Done():
						return
					}
				}
			})
			return answer(200, "text/event-stream", body)(r)
		}
	}
	for _, c := range []struct {
		name   string
		base   roundTrip
		limits llm.Timeouts
		phase  string
		after  time.Duration
	}{
		{"no headers", hang, llm.Timeouts{}, "first byte", 120 * time.Second},
		{"headers, then nothing", drip(0, 0), llm.Timeouts{}, "first byte", 120 * time.Second},
		{"silence", drip(100*time.Second, 1), llm.Timeouts{}, "next byte", 160 * time.Second},
		{"keep-alives for ever", drip(59*time.Second, 100), llm.Timeouts{}, "end", 10 * time.Minute},
		{"set limits", drip(2*time.Second, 3), llm.Timeouts{Idle: 3 * time.Second}, "next byte", 9 * time.Second},
		{"no connection", func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GetConn("provider.test:80")
			return hang(r)
		}, llm.Timeouts{}, "connection", 10 * time.Second},
		{"slow connection, no headers", func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			trace.GetConn("provider.test:80")
			time.Sleep(9 * time.Second)
			trace.GotConn(httptrace.GotConnInfo{})
			return hang(r)
		}, llm.Timeouts{}, "first byte", 120 * time.Second},
		{"failing answer that hangs", func(r *http.Request) (*http.Response, error) {
			body := bodyUnder(r.Context(), func(w io.Writer) { _, _ = io.WriteString(w, `{"error":`) })
			return answer(500, "application/json", body)(r)
		}, llm.Timeouts{}, "next byte", 60 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				a := llm.NewTransport(c.base, c.limits).Attempt()
				defer a.Close()
				resp, err := a.Do(request(t.Context(), t))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				var timeout *llm.TimeoutError
				if !errors.As(err, &timeout) {
					t.Fatalf("error %v, want a TimeoutError", err)
				}
				if timeout.Phase != c.phase || time.Since(start) != c.after {
					t.Errorf("%q after %v, want %q after %v", timeout.Phase, time.Since(start), c.phase, c.after)
				}
				var network net.Error
				if !errors.As(err, &network) || !network.Timeout() {
					t.Error("the error is no network time-out")
				}
				if f := a.Failure(t.Context(), err); f.Cancelled {
					t.Error("our own deadline counts as the caller's cancel")
				}
			})
		})
	}
}

func TestSlowReaderIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := llm.NewTransport(answer(200, "text/event-stream", strings.NewReader("data: 1\n\ndata: 2\n\n")), llm.Timeouts{}).Attempt()
		defer a.Close()
		resp, err := a.Do(request(t.Context(), t))
		if err != nil {
			t.Fatal(err)
		}
		one := make([]byte, 9)
		for range 2 {
			if _, err := io.ReadFull(resp.Body, one); err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * time.Minute)
		}
	})
}

func TestCallerCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		a := llm.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
		}), llm.Timeouts{}).Attempt()
		defer a.Close()
		_, err := a.Do(request(ctx, t))
		if f := a.Failure(ctx, err); !f.Cancelled {
			t.Errorf("failure %+v, want it cancelled whatever the transport says", f)
		}
	})
}

func TestCapture(t *testing.T) {
	long := strings.Repeat("x", llm.MaxBody) + "tail"
	for _, c := range []struct {
		name, kind, body string
		status           int
		stream           bool
		kept             string
	}{
		{"failing answer", "application/json", `{"error":1}`, 529, false, `{"error":1}`},
		{"long failing answer", "text/html", long, 502, false, long[:llm.MaxBody]},
		{"failing event stream", "text/event-stream", "data: {}\n\n", 400, false, "data: {}\n\n"},
		{"200 that is no stream", "application/json", `{"a":1}`, 200, false, `{"a":1}`},
		{"redirect", "text/html", "moved", 307, false, "moved"},
		{"stream", "text/event-stream; charset=utf-8", "data: {}\n\n", 200, true, ""},
		{"binary stream", "application/vnd.amazon.eventstream", "\x00\x01", 200, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := llm.NewTransport(answer(c.status, c.kind, strings.NewReader(c.body)), llm.Timeouts{}).Attempt()
			defer a.Close()
			resp, err := a.Do(request(t.Context(), t))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(resp.Body)
			if err != nil || string(all) != c.body {
				t.Errorf("replayed %d bytes, %v; want the whole answer of %d", len(all), err, len(c.body))
			}
			f := a.Failure(t.Context(), nil)
			if string(f.Body) != c.kept || f.Status != c.status || f.Header.Get("X-Limit") != "7" {
				t.Errorf("kept status %d, header %v and %d bytes", f.Status, f.Header, len(f.Body))
			}
			if a.Streaming() != c.stream || f.Stream != c.stream {
				t.Errorf("streaming %v, want %v", a.Streaming(), c.stream)
			}
		})
	}
}

func TestCaptureOfABrokenAnswer(t *testing.T) {
	for status, tells := range map[int]error{200: io.ErrUnexpectedEOF, 500: nil} {
		broken := io.MultiReader(strings.NewReader(`{"err`), iotestErr{io.ErrUnexpectedEOF})
		a := llm.NewTransport(answer(status, "application/json", broken), llm.Timeouts{}).Attempt()
		defer a.Close()
		resp, err := a.Do(request(t.Context(), t))
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		if string(all) != `{"err` || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("replayed %q, %v", all, err)
		}
		if f := a.Failure(t.Context(), nil); f.Status != status || string(f.Body) != `{"err` || !errors.Is(f.Err, tells) {
			t.Errorf("kept %d %q, %v", f.Status, f.Body, f.Err)
		}
	}
}

type iotestErr struct{ err error }

func (r iotestErr) Read([]byte) (int, error) { return 0, r.err }

func TestEmptyAnswer(t *testing.T) {
	a := llm.NewTransport(answer(200, "text/plain", strings.NewReader("\n")), llm.Timeouts{}).Attempt()
	defer a.Close()
	if _, err := a.Do(request(t.Context(), t)); err != nil {
		t.Fatal(err)
	}
	if f := a.Failure(t.Context(), nil); !f.Empty {
		t.Errorf("failure %+v, want it empty", f)
	}
}

func TestOneRequest(t *testing.T) {
	sent := 0
	a := llm.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		sent++
		return nil, errors.New("no")
	}), llm.Timeouts{}).Attempt()
	defer a.Close()
	for range 3 {
		if _, err := a.Do(request(t.Context(), t)); err == nil {
			t.Fatal("no error")
		}
	}
	if sent != 1 {
		t.Errorf("%d requests were sent, want 1", sent)
	}
}

func TestAnswerTooLarge(t *testing.T) {
	endless := io.LimitReader(zeros{}, 2*llm.MaxAnswer)
	a := llm.NewTransport(answer(200, "text/event-stream", endless), llm.Timeouts{}).Attempt()
	defer a.Close()
	resp, err := a.Do(request(t.Context(), t))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil || n > llm.MaxAnswer+1<<20 {
		t.Errorf("read %d bytes, %v; want an error soon after %d", n, err, llm.MaxAnswer)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestSecretsAreHidden(t *testing.T) {
	const secret = "sk-0123456789"
	base := answer(401, "text/plain", strings.NewReader("no such key: "+secret))
	a := llm.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := base(r)
		resp.Header.Set("X-Key", secret)
		resp.Header.Set("Set-Cookie", "session=1")
		return resp, err
	}), llm.Timeouts{}).Attempt(secret, "")
	defer a.Close()
	if _, err := a.Do(request(t.Context(), t)); err != nil {
		t.Fatal(err)
	}
	f := a.Failure(t.Context(), fmt.Errorf("bad header %q", secret))
	if shown := fmt.Sprintf("%s %v %v", f.Body, f.Header, f.Err); strings.Contains(shown, secret) || strings.Contains(shown, "session") {
		t.Errorf("shown: %s", shown)
	}
	if !bytes.Contains(f.Body, []byte("no such key")) {
		t.Errorf("body %q lost more than the secret", f.Body)
	}
}

// TestConnectionComesBack holds that an answer read to its end, and a failing
// one, give their connection back, and one that was left does not.
func TestConnectionComesBack(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fail" {
			w.WriteHeader(529)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
	}))
	conns := make(chan struct{}, 10)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	transport := llm.NewTransport(nil, llm.Timeouts{})
	defer transport.CloseIdle()

	for _, path := range []string{"/", "/fail", "/"} {
		a := transport.Attempt()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := a.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		a.Close()
	}
	if len(conns) != 1 {
		t.Errorf("%d connections for three requests, want 1", len(conns))
	}
}

// TestHTTP2 holds the same for the protocol that real providers speak: leaving
// ends the stream at the other side, and costs no connection.
func TestHTTP2(t *testing.T) {
	left := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		if r.URL.Path == "/hang" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(left)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := llm.NewTransport(server.Client().Transport, llm.Timeouts{})

	for _, path := range []string{"/", "/hang", "/"} {
		a := transport.Attempt()
		var reused bool
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := a.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ProtoMajor != 2 {
			t.Fatalf("%s was spoken, want HTTP/2", resp.Proto)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 9)); err != nil {
			t.Fatal(err)
		}
		a.Close()
		if first := path == "/" && !reused; first {
			continue
		}
		if !reused {
			t.Errorf("%s needed a connection of its own", path)
		}
	}
	<-left
}

func TestParseBaseURL(t *testing.T) {
	for _, good := range []string{"https://host/v1", "http://127.0.0.1:11434", "https://host/openai?api-version=1"} {
		if u, err := llm.ParseBaseURL(good); err != nil || u.String() != good {
			t.Errorf("%q: %v, %v", good, u, err)
		}
	}
	for _, bad := range []string{"", "host/v1", "ftp://host", "https://", "https://user:s3cret@host", "https://ho st", "://"} {
		_, err := llm.ParseBaseURL(bad)
		if err == nil {
			t.Errorf("%q was taken", bad)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}
