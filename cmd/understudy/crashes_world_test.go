package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// fakes is the process of platforms and providers.
type fakes struct {
	program string
	control string
	client  http.Client
}

// openWorld starts the fakes, and makes what the program is started with.
func (s *crashes) openWorld() {
	s.Helper()
	s.dir = s.TempDir()
	c := exec.Command(s.fakes.program, "-recite", "-dir", s.dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	var hint struct {
		Control, Lead, Second string
		Env                   map[string]string
	}
	if err := json.NewDecoder(out).Decode(&hint); err != nil {
		s.Fatal(err)
	}
	s.fakes.control = hint.Control
	s.fakes.client.Timeout = time.Minute
	config := fmt.Sprintf(`{
		"agents": {"defaults": {"model": {"primary": "lead/actor", "fallbacks": ["second/double"]}}},
		"models": {"providers": {
			"lead": {"baseUrl": %q, "api": "anthropic", "models": [{"id": "actor", "contextWindow": 1000}]},
			"second": {"baseUrl": %q, "api": "chat", "models": [{"id": "double", "contextWindow": 900}]},
		}},
		"channels": {"discord": {"dmPolicy": "open"}, "slack": {"dmPolicy": "open"}},
	}`, hint.Lead, hint.Second+"/v1")
	if err := os.WriteFile(hint.Env["UNDERSTUDY_CONFIG"], []byte(config), 0o600); err != nil {
		s.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.http = l.Addr().String()
	l.Close()
	s.env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "UNDERSTUDY_HTTP=" + s.http, "UNDERSTUDY_LOG=info", "GORACE=halt_on_error=0"}
	for name, value := range hint.Env {
		s.env = append(s.env, name+"="+value)
	}
}

func (s *crashes) storeFile() string {
	return cmp.Or(s.store, filepath.Join(s.dir, "understudy.db"))
}

// populate makes channels and the people who will talk there: threads on both
// platforms, and direct messages.
func (s *crashes) populate() {
	s.Helper()
	const threads, channels = 10, 5 // of each platform
	for n := range channels {
		s.fakes.order(s.T, "/place", map[string]string{"platform": "discord", "channel": fmt.Sprint(1000 + n)}, nil)
		s.fakes.order(s.T, "/place", map[string]string{"platform": "slack", "channel": fmt.Sprintf("C0CRASH%d", n)}, nil)
	}
	add := func(k crashThread) {
		k.s, k.number = s, len(s.threads)
		s.threads = append(s.threads, &k)
	}
	for n := range threads {
		add(crashThread{platform: "discord", channel: fmt.Sprint(1000 + n%channels)})
		add(crashThread{platform: "slack", channel: fmt.Sprintf("C0CRASH%d", n%channels)})
	}
	for n := range 2 {
		var at struct{ Channel string }
		user := fmt.Sprint(710 + n)
		s.fakes.order(s.T, "/place", map[string]string{"platform": "discord", "user": user}, &at)
		add(crashThread{platform: "discord", channel: at.Channel, user: user, direct: true})
		user = fmt.Sprintf("U0CRASH%d", n)
		s.fakes.order(s.T, "/place", map[string]string{"platform": "slack", "user": user, "channel": fmt.Sprintf("D0CRASH%d", n)}, &at)
		add(crashThread{platform: "slack", channel: at.Channel, user: user, direct: true})
	}
}

// order gives an order to the fakes.
func (f *fakes) order(t *testing.T, path string, in, out any) {
	t.Helper()
	if err := f.try(path, in, out); err != nil {
		t.Errorf("the fakes: %v", err)
	}
}

// try is order for those that may be refused.
func (f *fakes) try(path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	resp, err := f.client.Post(f.control+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	return read(path, resp, out)
}

// ask asks the fakes for something.
func (f *fakes) ask(t *testing.T, path string, query url.Values, out any) {
	t.Helper()
	resp, err := f.client.Get(f.control + path + "?" + query.Encode())
	if err == nil {
		err = read(path, resp, out)
	}
	if err != nil {
		t.Errorf("the fakes: %v", err)
	}
}

func read(path string, resp *http.Response, out any) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s says %s: %s", path, resp.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// probe asks health checks; it keeps no connection to a process that is gone.
var probe = sync.OnceValue(func() *http.Client {
	return &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
})

// httpStatus is what an address answers, 0 for nothing.
func httpStatus(url string) int {
	resp, err := probe().Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
