// Package web answers over HTTP how the program is: /healthz says that it
// lives, /readyz whether it can do its job, with one line for each thing that
// it cannot do.
//
// The server listens on the loopback unless told otherwise and shows nothing
// but names of parts and short reasons: no message, no model output, no
// credential.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Config is what a server needs.
type Config struct {
	Addr string // host:port; port 0 chooses a free one
	// Ready gives what is not ready, as "part: reason"; none means ready.
	Ready func(context.Context) []string
	Log   *slog.Logger // hears of requests that could not be answered; nil is the standard log
}

// Server is a listening server.
type Server struct {
	http *http.Server
	ln   net.Listener
}

// Listen opens the address; nothing is answered before Run.
func Listen(c Config) (*Server, error) {
	ln, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("the health address %s cannot be used: %w; set UNDERSTUDY_HTTP to another one, or to off", c.Addr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		missing := c.Ready(r.Context())
		if len(missing) == 0 {
			fmt.Fprintln(w, "ready")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, strings.Join(missing, "\n"))
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	if c.Log != nil {
		srv.ErrorLog = slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn)
	}
	return &Server{ln: ln, http: srv}, nil
}

// Addr is the address in use.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Run answers until the context ends.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		s.http.Shutdown(late)
	})
	defer stop()
	if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the health address: %w", err)
	}
	return nil
}

// Check asks a running server for a path and returns what it says; it is the
// client side of a container's health check.
func Check(ctx context.Context, addr, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return "", fmt.Errorf("the health address %q is no host:port: %w", addr, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("nothing answers at %s: %w", addr, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return "", fmt.Errorf("reading from %s: %w", addr, err)
	}
	text := strings.TrimSpace(string(b))
	if resp.StatusCode != http.StatusOK {
		return text, fmt.Errorf("not ready: %s", text)
	}
	return text, nil
}
