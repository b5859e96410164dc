package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tailscale/hujson"

	"understudy/core/failover"
	"understudy/core/llm/llmtest"
	"understudy/sessions"
	"understudy/store"
)

// patience is how long an end-to-end test waits for something that must
// happen. It is long, since a busy machine is no failure.
const patience = 30 * time.Second

// The models of the end-to-end tests: the lead speaks Messages, its stand-in
// Chat Completions, each at a server of its own.
const (
	leadModel    = "lead/actor"
	standInModel = "second/double"
	leadProfile  = "lead:env"
	movedText    = "↪️ Model Fallback: second/double (selected lead/actor; rate limit)"
	clearedText  = "↪️ Model Fallback cleared: lead/actor (was second/double)"
)

// stand is a bot to be tested with everything around it: platforms, providers,
// its files.
type stand struct {
	*testing.T
	dir           string
	towns         []town
	lead, standIn *llmtest.Server
	env           []string // NAME=value
}

func newStand(t *testing.T, towns ...town) *stand {
	t.Helper()
	lead, standIn := llmtest.NewServer(), llmtest.NewServer()
	t.Cleanup(lead.Close)
	t.Cleanup(standIn.Close)
	s := newStandAt(t, lead.URL, standIn.URL, towns...)
	s.lead, s.standIn = lead, standIn
	return s
}

// newStandAt is newStand with providers of the test's own.
func newStandAt(t *testing.T, lead, standIn string, towns ...town) *stand {
	t.Helper()
	s := &stand{T: t, dir: t.TempDir(), towns: towns}
	config := `{
		"agents": {"defaults": {"model": {"primary": "` + leadModel + `", "fallbacks": ["` + standInModel + `"]}}},
		"models": {"providers": {
			"lead": {"baseUrl": "` + lead + `", "api": "anthropic"},
			"second": {"baseUrl": "` + standIn + `/v1", "api": "chat"},
		}},
	}`
	path := filepath.Join(s.dir, "understudy.jsonc")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"UNDERSTUDY_CONFIG=" + path, "UNDERSTUDY_STORE=" + filepath.Join(s.dir, "store", "understudy.db"),
		"UNDERSTUDY_HTTP=off", "UNDERSTUDY_LOG=debug",
		"LEAD_API_KEY=key-of-the-lead", "SECOND_API_KEY=key-of-the-second",
	}
	for _, town := range towns {
		s.env = append(s.env, town.env()...)
	}
	return s
}

// configure writes more keys into the configuration, in the place of those that
// are there already. They are JSON with a comma after each.
func (s *stand) configure(more string) {
	s.Helper()
	path := filepath.Join(s.dir, "understudy.jsonc")
	data, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]any{}
	for _, text := range [][]byte{data, []byte("{" + more + "}")} {
		if text, err = hujson.Standardize(text); err != nil {
			s.Fatal(err)
		}
		if err := json.Unmarshal(text, &all); err != nil {
			s.Fatal(err)
		}
	}
	if data, err = json.MarshalIndent(all, "", "  "); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		s.Fatal(err)
	}
}

// storePath is where the bot keeps everything.
func (s *stand) storePath() string { return filepath.Join(s.dir, "store", "understudy.db") }

// limit makes the lead refuse with a rate limit that lasts that many seconds.
func (s *stand) limit(seconds string) {
	s.lead.Queue("actor", llmtest.Failure(429, "rate_limit_error", "slow down").With("Retry-After", seconds))
}

// asked counts the requests that a provider got.
func asked(p *llmtest.Server) int {
	n, _, _ := p.Counts()
	return n
}

// connected waits until the bot is connected to every platform, or to none.
func (s *stand) connected(want int) {
	s.Helper()
	for _, town := range s.towns {
		s.until(town, "the connection", func() bool { return town.connected() == want })
	}
}

// until waits for something that happens at a platform, or elsewhere while that
// is quiet.
func (s *stand) until(t town, what string, ok func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for {
		look, stop := context.WithTimeout(ctx, 20*time.Millisecond)
		err := t.await(look, ok)
		stop()
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			s.Fatalf("waited in vain for %s: %v", what, err)
		}
	}
}

// record reads what the store holds about a session and about all profiles, as
// another process may at any time.
func (s *stand) record(t town, thread string) (sessions.Session, map[string]failover.State) {
	s.Helper()
	st, err := store.Open(s.Context(), store.Options{Path: s.storePath()})
	if err != nil {
		s.Fatal(err)
	}
	defer st.Close()
	session, err := st.Session(s.Context(), t.key(thread))
	if err != nil {
		s.Fatal(err)
	}
	states, err := st.States(s.Context(), mainAgent)
	if err != nil {
		s.Fatal(err)
	}
	return session, states
}

// talk is one thread and how far it was looked at.
type talk struct {
	*stand
	town   town
	thread string
	last   string // id of the newest message of a person
	seen   int
}

// open starts a thread by a mention.
func (s *stand) open(t town, text string) *talk {
	k := &talk{stand: s, town: t}
	k.thread, k.last = t.open(text)
	return k
}

func (k *talk) say(text string) { k.last = k.town.say(k.thread, text) }

// next waits for the next post of the thread and wants that text in it. A post
// may still grow, so it is the text that is waited for.
func (k *talk) next(want string) shown {
	k.Helper()
	at := k.seen
	ctx, cancel := context.WithTimeout(k.Context(), patience)
	defer cancel()
	err := k.town.await(ctx, func() bool {
		posts := k.town.posts(k.thread)
		return len(posts) > at && strings.Contains(posts[at].text, want)
	})
	if err != nil {
		k.Fatalf("post %d of the thread should hold %q; there is %+v (%v)", at+1, want, k.town.posts(k.thread), err)
	}
	k.seen++
	return k.town.posts(k.thread)[at]
}

// nothingElse wants that no post of the thread was left unlooked at.
func (k *talk) nothingElse() {
	k.Helper()
	if posts := k.town.posts(k.thread); len(posts) != k.seen {
		k.Errorf("the thread has %d posts, want %d: %+v", len(posts), k.seen, posts)
	}
}

// heard is everything said in the newest request that a provider got, as
// "role: text" lines.
func (k *talk) heard(p *llmtest.Server) string {
	k.Helper()
	log := p.Requests()
	if len(log) == 0 {
		k.Fatal("the provider was not asked")
	}
	a, err := log[len(log)-1].Asked()
	if err != nil {
		k.Fatal(err)
	}
	var b strings.Builder
	for _, m := range a.Messages {
		b.WriteString(string(m.Role) + ": " + m.Text() + "\n")
	}
	return b.String()
}

// output is what a program writes while others read it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// same compares by what the store would keep.
func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// runHere runs "understudy run" in this process and waits until it is connected.
// The function that is returned stops it and gives its exit code.
func (s *stand) runHere() (stop func() int, err *output) {
	s.Helper()
	setEnv(s.T, s.env...)
	s.connected(0) // else the end of an earlier bot's connection may be taken for the beginning of this one's
	err = &output{}
	ctx, cancel := context.WithCancel(s.Context())
	code := make(chan int, 1)
	go func() { code <- run(ctx, console{strings.NewReader(""), err, err}, []string{"run"}) }()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	s.Cleanup(func() {
		stop()
		if s.Failed() {
			s.Logf("the bot said:\n%s", err)
		}
	})
	s.connected(1)
	return stop, err
}
