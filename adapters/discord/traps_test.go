package discord_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"understudy/adapters/discord"
	"understudy/adapters/discord/discordtest"
)

// The tests of traps show where discordgo does something else than one would
// think, and what the adapter does in the same place. When one fails after an
// update of the library, a fence of the adapter may have become needless. The
// files beside this one have those of events and of requests.

// library is a session of discordgo that talks to the fake.
func (h *house) library() *discordgo.Session {
	s, err := discordgo.New("Bot " + discordtest.DefaultToken)
	if err != nil {
		h.t.Fatal(err)
	}
	base, err := url.Parse(h.fake.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	transport := &http.Transport{}
	if h.wires != nil {
		transport.DialContext = h.wires.dial
	}
	h.t.Cleanup(transport.CloseIdleConnections)
	s.Client = &http.Client{Timeout: 10 * time.Second, Transport: redirected{transport, base.Host}}
	s.LogLevel = discordgo.LogError - 1
	s.SyncEvents = true
	return s
}

// redirected sends everything to another host.
type redirected struct {
	next http.RoundTripper
	host string
}

func (r redirected) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.URL.Scheme, q.URL.Host = "http", r.host
	return r.next.RoundTrip(q)
}

// opened is a session that is connected and closed at the end.
func (h *house) opened() *discordgo.Session {
	s := h.library()
	if err := s.Open(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = s.Close() })
	return s
}

// alone is a house for the library, whose adapter is not started.
func alone(t *testing.T) *house {
	t.Parallel()
	return newHouse(t)
}

// A request to connect again in place of the greeting: discordgo's Open never
// returns. The adapter connects again (TestReconnectInPlaceOfGreeting).
func TestTrapReconnectFirst(t *testing.T) {
	h := alone(t)
	h.fake.ReconnectFirst(1)
	s := h.library()
	done := make(chan error, 1)
	go func() { done <- s.Open() }()
	h.await("attempt", func() bool { return len(h.fake.Identifies()) == 1 })
	select {
	case err := <-done:
		t.Errorf("Open returns, with %v: it did not before", err)
	case <-time.After(300 * time.Millisecond):
	}
	h.start()
	h.await("connection", h.Ready)
}

// A token that is taken away: discordgo connects again for ever, and Close does
// not stop it. The adapter stops at once.
func TestTrapTokenThatIsTakenAway(t *testing.T) {
	h := alone(t)
	s := h.opened()
	h.fake.Refuse(4004)
	h.fake.CloseAll(4004)
	h.await("attempts", func() bool { return len(h.fake.Identifies()) >= 2 })
	_ = s.Close()
	s.ShouldReconnectOnError = false
	h.await("more attempts", func() bool { return len(h.fake.Identifies()) >= 3 })

	ours := newHouse(t)
	ended := make(chan error, 1)
	go func() { ended <- ours.Run(t.Context(), ours.guests) }()
	ours.await("connection", ours.Ready)
	ours.fake.Refuse(4004)
	ours.fake.CloseAll(4004)
	if err := <-ended; err == nil || len(ours.fake.Identifies()) > 2 {
		t.Errorf("the adapter: %v after %d attempts", err, len(ours.fake.Identifies()))
	}
}

// A switch that is off is one that discordgo tells as it is, at first.
func TestTrapSwitchThatIsOff(t *testing.T) {
	h := alone(t)
	h.fake.Switch(discordtest.IntentMessageContent, false)
	s := h.library()
	s.Identify.Intents |= discordgo.IntentMessageContent
	var closed *websocket.CloseError
	if err := s.Open(); !errors.As(err, &closed) || closed.Code != 4014 {
		t.Errorf("discordgo: %v", err)
	}
	if err := h.Run(t.Context(), h.guests); err == nil || !strings.Contains(err.Error(), "Message Content Intent") {
		t.Errorf("the adapter: %v", err)
	}
}

// A session that Discord ended: discordgo begins another one on the same
// connection at once, where it has to wait.
func TestTrapInvalidSession(t *testing.T) {
	h := alone(t)
	h.opened()
	h.fake.Invalidate(false)
	h.await("new session", func() bool { return len(h.fake.Identifies()) == 2 })
	if ids := h.fake.Identifies(); ids[1].Resume || ids[1].Connection != ids[0].Connection {
		t.Errorf("discordgo connects anew: it did not before: %+v", ids)
	}
	// The adapter's wait is that of TestWaitAfterAnInvalidSession.
}

// The address to resume at: discordgo does not know it.
func TestTrapResumeAddress(t *testing.T) {
	h := alone(t)
	h.opened()
	h.fake.CloseAll(4000)
	h.await("resumption", func() bool { return len(h.fake.Identifies()) == 2 })
	if id := h.fake.Identifies()[1]; !id.Resume || strings.HasSuffix(id.Path, "/resume") {
		t.Errorf("discordgo: %+v", id)
	}
	// The adapter's address is looked at in TestWhatEndsASession.
}

// Events that are replayed: discordgo's handler gets a message twice. So does
// the adapter's, with the same key.
func TestTrapReplay(t *testing.T) {
	h := alone(t)
	s := h.library()
	seen := make(chan string, 10)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { seen <- m.ID })
	s.Identify.Intents |= discordgo.IntentMessageContent
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := h.fake.Say("100", "700", "<@800> hi")
	if first := <-seen; first != id {
		t.Errorf("first %s", first)
	}
	h.fake.ReplayMore(1)
	h.fake.CloseAll(4000)
	select {
	case again := <-seen:
		if again != id {
			t.Errorf("then %s", again)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("discordgo tells a replayed message once: it told it twice before: %+v", h.fake.Identifies())
	}
	// The adapter's part is TestResume, "replays too much".
}

// A connection that says nothing any more: discordgo waits for five heartbeats,
// the adapter for one (TestConnectionThatGoesSilent).
func TestTrapSilence(t *testing.T) {
	h := alone(t)
	const every = 100 * time.Millisecond
	h.fake.Heartbeat(every)
	s := h.library()
	noticed := make(chan time.Duration, 1)
	var once sync.Once
	s.AddHandler(func(s *discordgo.Session, _ *discordgo.Disconnect) {
		once.Do(func() { // the first time it is called by whoever sends the heartbeats
			s.RLock()
			defer s.RUnlock()
			noticed <- s.LastHeartbeatSent.Sub(s.LastHeartbeatAck)
		})
	})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.fake.Mute(true)
	if after := <-noticed; after < 4*every {
		t.Errorf("discordgo notices after %v: it took five heartbeats before", after)
	}
	h.fake.Mute(false)
}

// Closing: discordgo takes a second for it.
func TestTrapSlowEnd(t *testing.T) {
	h := alone(t)
	s := h.library()
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = s.Close()
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("discordgo takes %v: it took a second before", took)
	}
	// The adapter's end is timed in TestEndOfRun.
}

// discordgo speaks version 9, whatever its variable is set to later, since the
// addresses are made when the program starts; the adapter speaks version 10.
func TestTrapVersion(t *testing.T) {
	t.Parallel()
	if discordgo.APIVersion != "9" || !strings.Contains(discordgo.EndpointChannelMessages("1"), "/v9/") || !strings.Contains(discordgo.EndpointGateway, "/v9/") {
		t.Errorf("discordgo: version %s, %s", discordgo.APIVersion, discordgo.EndpointGateway)
	}
	var asked string
	h := newHouse(t, func(c *discord.Config) {
		c.HTTP = &http.Client{Transport: answering(func(q *http.Request) *http.Response {
			asked = q.URL.Path
			return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody}
		})}
	})
	if _, err := h.Post(t.Context(), answer("x", "n1")); err == nil || !strings.HasPrefix(asked, "/api/v10/") {
		t.Errorf("the adapter asks %s, with %v", asked, err)
	}
}

// answering is a transport that answers by itself.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(q *http.Request) (*http.Response, error) {
	r := a(q)
	r.Request = q
	return r, nil
}

// What discordgo does unless it is told otherwise: it does not ask for what
// messages say, gives events to handlers in no order, sends a message again after
// a 502, and waits for limits. What the adapter does is looked at in TestIntents
// and in the other tests of traps.
func TestTrapDefaults(t *testing.T) {
	t.Parallel()
	s, err := discordgo.New("Bot x")
	if err != nil {
		t.Fatal(err)
	}
	if s.Identify.Intents&discordgo.IntentMessageContent != 0 || s.SyncEvents || s.MaxRestRetries != 3 || !s.ShouldRetryOnRateLimit || !s.ShouldReconnectOnError {
		t.Errorf("discordgo: intents %b, SyncEvents %v, %d retries, %v, %v", s.Identify.Intents, s.SyncEvents, s.MaxRestRetries, s.ShouldRetryOnRateLimit, s.ShouldReconnectOnError)
	}
	// A session cannot go on in another process either: nobody can read where it
	// stands. The adapter reads what was missed (TestGapBeforeTheStart).
	for _, name := range []string{"sessionID", "sequence"} {
		if f, ok := reflect.TypeFor[discordgo.Session]().FieldByName(name); !ok || f.IsExported() {
			t.Errorf("discordgo: %s is there: %v, and can be read: %v", name, ok, f.IsExported())
		}
	}
}

// Two reasons at once to connect again: older versions of discordgo then had two
// sessions, which both heard everything. Neither this one nor the adapter does.
func TestTrapTwoReasonsToConnectAgain(t *testing.T) {
	h := alone(t) // with heartbeats in the same moment, discordgo has a data race
	s := h.library()
	s.Identify.Intents |= discordgo.IntentMessageContent
	seen := make(chan string, 10)
	s.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { seen <- m.Content })
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.fake.AskReconnect()
	h.fake.CloseAll(4000)
	h.await("new connection", func() bool { return len(h.fake.Identifies()) > 1 && h.fake.Connected() > 0 })
	h.fake.Say("100", "700", "one")
	h.fake.Say("100", "700", "two")
	if first, second := <-seen, <-seen; first != "one" || second != "two" || h.fake.Connected() != 1 {
		t.Errorf("discordgo hears %q and %q over %d connections: it heard each once before", first, second, h.fake.Connected())
	}

	ours := open(t)
	ours.fake.AskReconnect()
	ours.fake.CloseAll(4000)
	ours.await("new connection", func() bool { return len(ours.fake.Identifies()) > 1 && ours.Ready() && ours.fake.Connected() > 0 })
	ours.fake.Say(ours.fake.Direct("700"), "700", "one")
	if got := ours.texts(); !slices.Equal(got, []string{"one"}) || ours.fake.Connected() != 1 || ours.guests.repeats != 0 {
		t.Errorf("the adapter hears %q over %d connections", got, ours.fake.Connected())
	}
}

// A heartbeat that Discord asks for while the connection is being closed:
// discordgo takes the process down. The adapter answers on the connection that
// asked, and connects again.
func TestTrapHeartbeatDuringTheEnd(t *testing.T) {
	if inChild() {
		h := newHouse(t)
		reached, closed := make(chan struct{}), make(chan struct{})
		var once sync.Once
		discordgo.Logger = func(_, _ int, format string, _ ...any) {
			if strings.Contains(format, "in response to Op1") {
				once.Do(func() {
					close(reached)
					<-closed
				})
			}
		}
		s := h.library()
		s.LogLevel = discordgo.LogInformational
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
		h.fake.AskHeartbeat()
		<-reached
		_ = s.Close()
		close(closed)
		time.Sleep(30 * time.Second)
		return
	}
	t.Parallel()
	if said := child(t); !strings.Contains(said, "nil pointer dereference") || !strings.Contains(said, "discordgo.(*Session).onEvent") {
		t.Errorf("discordgo lives: it did not before: %s", said)
	}
	h := open(t)
	for i := range 20 {
		h.fake.AskHeartbeat()
		h.fake.DropAll()
		h.await("new connection", func() bool { return len(h.fake.Identifies()) > i+1 && h.Ready() && h.fake.Connected() == 1 })
	}
}

// childVariable is set in the processes of [child].
const childVariable = "UNDERSTUDY_TEST_TRAP"

// inChild reports whether this process is one of [child].
func inChild() bool { return os.Getenv(childVariable) != "" }

// child runs the test in a process of its own, which must end badly, and returns
// what it said.
func child(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("the process with discordgo ended well: it did not before")
	}
	return string(out)
}
