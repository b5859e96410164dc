package llmtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// RoundTrip serves the request without a socket.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancelCause(req.Context())
	unhook := context.AfterFunc(s.open, func() { end(net.ErrClosed) })
	r := req.Clone(ctx)
	if r.Body == nil {
		r.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &memoryWriter{header: http.Header{}, body: pw, ready: make(chan struct{}), failed: make(chan error, 1)}
	// A client that goes takes the body with it, as a socket would.
	left := context.AfterFunc(ctx, func() { _ = pr.CloseWithError(context.Cause(ctx)) })
	s.inMemory.Go(func() {
		defer unhook()
		defer left()
		s.ServeHTTP(w, r)
		_ = r.Body.Close()
		if ctx.Err() != nil {
			_ = pw.CloseWithError(context.Cause(ctx))
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = pw.Close()
	})
	select {
	case <-w.ready:
		return &http.Response{
			Status: http.StatusText(w.status), StatusCode: w.status,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: w.sent, Body: pr, ContentLength: -1, Request: req,
		}, nil
	case err := <-w.failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// memoryWriter is the server's end of a round trip.
type memoryWriter struct {
	header http.Header
	body   *io.PipeWriter
	ready  chan struct{}
	failed chan error
	once   sync.Once
	status int
	sent   http.Header
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.ready)
	})
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(p) == 0 {
		return 0, nil
	}
	return w.body.Write(p)
}

// Flush has nothing to do: a pipe holds nothing back.
func (w *memoryWriter) Flush() {}

func (w *memoryWriter) abort(reset bool) {
	err := io.ErrUnexpectedEOF
	if reset {
		err = syscall.ECONNRESET
	}
	// Before the headers the round trip fails, after them the body.
	w.once.Do(func() { w.failed <- err })
	_ = w.body.CloseWithError(err)
}
