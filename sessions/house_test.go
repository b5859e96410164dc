package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/core/tool"
	"understudy/sessions"
	"understudy/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a bot on a store in memory, with scripted models and a platform that
// remembers. It may be stopped and opened again.
type house struct {
	t      *testing.T
	data   *memory.Memory
	script *script.Script
	log    *script.Log
	place  *place
	set    sessions.Settings
	agent  sessions.Agent // becomes "main" when the house opens
	more   map[string]sessions.Agent
	logged *logs
	fault  func(op string) error
	slots  int // requests and tools at once; 0 is no limit
	turns  int // open turns; 0 is no limit
	// The way to the store and to the models may be led through something.
	around func(*memory.Store) sessions.Store
	client func(llm.Client) llm.Client

	store *memory.Store
	bot   *sessions.Bot
	end   func()
	said  int
	// pressed is where presses come from.
	pressed core.Target

	heard sync.Mutex // guards alerts
	alert []core.Alert
}

// inHouse runs a test in a bubble and checks that nothing is left of it.
func inHouse(t *testing.T, test func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := &script.Log{}
		h := &house{t: t, data: memory.New(), log: log, script: &script.Script{OnRequest: log.Add}, place: &place{}, logged: &logs{}, pressed: core.Target{Thread: thread("t1")}}
		h.agent.Policy.Defaults = failover.Models{Primary: ref("a/m1"), Fallbacks: []llm.Ref{ref("b/m2")}}
		h.set = sessions.Settings{
			Offered:  []llm.Ref{ref("a/m1"), ref("b/m2"), ref("c/m3")},
			Aliases:  map[string]llm.Ref{"cheap": ref("c/m3")},
			Unknown:  func(llm.Ref) string { return "" },
			Sees:     func(llm.Ref) bool { return true },
			Window:   func(llm.Ref) int { return 100_000 },
			Profiles: h.profiles,
			Admin:    func(_ string, a core.Author) bool { return a.ID == "root" },
			Answer:   sessions.NeverMention, ReplyTo: delivery.ModeFirst,
			MaxToolRounds: 5, TurnTimeout: 30 * time.Minute, ToolTimeout: time.Minute,
		}
		defer func() { // also after a failure: the bubble must empty
			if h.bot != nil {
				h.stop(time.Minute)
			}
		}()
		test(h)
	})
}

// profiles: every provider has two.
func (h *house) profiles(_, provider string) (failover.Profiles, error) {
	ps := failover.Profiles{Known: true, Ordered: true}
	for _, name := range []string{"one", "two"} {
		id := provider + ":" + name
		ps.List = append(ps.List, failover.Profile{ID: id, Provider: provider, Type: failover.APIKey,
			Client: func(context.Context) (llm.Client, error) {
				c := script.New(h.script, provider, id)
				if h.client != nil {
					c = h.client(c)
				}
				return c, nil
			}})
	}
	return ps, nil
}

// open starts a process on what the store holds.
func (h *house) open() {
	h.t.Helper()
	h.store = h.data.Open(memory.Options{Fault: func(op string) error {
		if h.fault == nil {
			return nil
		}
		return h.fault(op)
	}})
	var store sessions.Store = h.store
	if h.around != nil {
		store = h.around(h.store)
	}
	sender := delivery.New(delivery.Config{Store: h.store, Platform: func(core.Thread) (core.Platform, bool) { return h.place, true },
		Wanted: func(p core.Post) bool { set := h.set; return set.Wants(p) }})
	slots := sessions.NewSlots(max(h.slots, 1))
	if h.slots == 0 {
		slots = sessions.NewSlots(1 << 20)
	}
	engine := failover.New(failover.Config{Rules: failover.DefaultRules(), Store: h.store, Acquire: slots.Take,
		Log: slog.New(slog.NewTextHandler(h.logged, nil)),
		Profiles: func(_ context.Context, agent, provider string) (failover.Profiles, error) {
			return h.set.Profiles(agent, provider)
		}})
	h.bot = sessions.New(sessions.Config{Store: store, Engine: engine, Sender: sender, Slots: slots, Open: h.turns,
		Log: slog.New(slog.NewTextHandler(h.logged, nil)),
		Alert: func(a core.Alert) {
			h.heard.Lock()
			defer h.heard.Unlock()
			h.alert = append(h.alert, a)
		},
		Settings: func() *sessions.Settings {
			set := h.set
			set.Agents = map[string]sessions.Agent{"main": h.agent}
			maps.Copy(set.Agents, h.more)
			return &set
		}})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := sender.Run(ctx); err != nil {
			h.t.Error(err)
		}
	})
	rows, err := h.store.Outgoing(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.bot.Start(ctx, rows); err != nil {
		h.t.Fatal(err)
	}
	h.end = func() {
		if err := sender.Flush(ctx); err != nil {
			h.t.Error(err)
		}
		cancel()
		running.Wait()
		h.store.Close()
		h.bot = nil
	}
	synctest.Wait()
}

// stop is a clean end of the process.
func (h *house) stop(grace time.Duration) {
	h.bot.Stop(grace)
	h.end()
}

// model queues what a model answers, in the words of a script.
func (h *house) model(name string, answers ...string) {
	h.t.Helper()
	for _, text := range answers {
		a, err := script.ParseAnswer(text)
		if err != nil {
			h.t.Fatal(err)
		}
		h.script.Push(ref(name), "", a)
	}
}

func thread(name string) core.Thread {
	return core.Thread{Platform: "fake", Account: "main", Channel: name, Parent: "lobby", Kind: core.KindThread}
}

func key(name string) core.Key { return core.Key{Agent: "main", Thread: thread(name).Key()} }

// say delivers a message and lets everything happen that can at once.
func (h *house) say(name, text string) core.Message {
	h.t.Helper()
	m := h.message(name, text)
	if err := h.bot.Message(context.Background(), m); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return m
}

func (h *house) message(name, text string) core.Message {
	h.said++
	id := fmt.Sprintf("m%d", h.said)
	return core.Message{ID: id, Author: core.Author{ID: "ann", Name: "Ann"}, Text: text, Addressed: true, At: time.Now(),
		Target: core.Target{Thread: thread(name), ReplyTo: id}}
}

// command gives a native command.
func (h *house) command(name, line, who string) core.Reply {
	h.t.Helper()
	return h.native(core.Target{Thread: thread(name)}, line, who)
}

// lobby is the channel that holds the threads.
var lobby = core.Target{Thread: thread("t1").Holder()}

// press picks from a list, or clicks on a button.
func (h *house) press(token, value, who string) core.Reply {
	h.t.Helper()
	h.said++
	r, err := h.bot.Press(context.Background(), core.Press{ID: fmt.Sprintf("p%d", h.said), Author: core.Author{ID: who}, Target: h.pressed, Token: token, Value: value})
	if err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return r
}

// pick picks the option of a menu with a label.
func (h *house) pick(r core.Reply, label, who string) core.Reply {
	h.t.Helper()
	for _, m := range r.Menus {
		for _, o := range m.Options {
			if o.Label == label {
				return h.press(m.Token, o.Value, who)
			}
		}
	}
	h.t.Fatalf("there is no option %q in %+v", label, r)
	return core.Reply{}
}

// click clicks on the button with a label.
func (h *house) click(r core.Reply, label, who string) core.Reply {
	h.t.Helper()
	for _, b := range r.Buttons {
		if b.Label == label {
			return h.press(b.Token, b.Value, who)
		}
	}
	h.t.Fatalf("there is no button %q in %+v", label, r)
	return core.Reply{}
}

// native gives a native command in a place.
func (h *house) native(place core.Target, line, who string) core.Reply {
	h.t.Helper()
	h.said++
	word, args, _ := strings.Cut(line, " ")
	r, err := h.bot.Command(context.Background(), core.Invocation{ID: fmt.Sprintf("i%d", h.said),
		Author: core.Author{ID: who}, Target: place, Name: word, Args: args, Native: true})
	if err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return r
}

// shows is what a reply shows, as "label (note)*", with a star for the selected
// option, and "[button]".
func shows(r core.Reply) []string {
	var list []string
	for _, m := range r.Menus {
		for _, o := range m.Options {
			text := o.Label
			if o.Note != "" {
				text += " (" + o.Note + ")"
			}
			if o.Selected {
				text += "*"
			}
			list = append(list, text)
		}
	}
	for _, b := range r.Buttons {
		list = append(list, "["+b.Label+"]")
	}
	return list
}

func (h *house) session(name string) sessions.Session {
	h.t.Helper()
	s, err := h.store.Session(context.Background(), key(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// asked are the requests so far as "a/m1: the last thing it was told".
func (h *house) asked() []string {
	var list []string
	for _, r := range h.log.Requests() {
		parts := r.Request.Messages[len(r.Request.Messages)-1].Parts
		last := parts[len(parts)-1]
		text := last.Text
		if last.Result != nil {
			text = last.Result.Text
		}
		list = append(list, r.Ref.String()+": "+text)
	}
	return list
}

func (h *house) expectAsked(want ...string) {
	h.t.Helper()
	synctest.Wait()
	expect(h.t, "requests", h.asked(), want)
}

func (h *house) expectPosts(want ...string) {
	h.t.Helper()
	synctest.Wait()
	expect(h.t, "posts", h.place.all(), want)
}

// expect compares lists; "…" at the end of a wanted line matches any rest.
func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	same := slices.EqualFunc(got, want, func(g, w string) bool {
		if head, cut := strings.CutSuffix(w, "…"); cut {
			return strings.HasPrefix(g, head)
		}
		return g == w
	})
	if !same {
		t.Fatalf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func ref(s string) llm.Ref {
	r, ok := llm.ParseRef(s)
	if !ok {
		panic("no ref: " + s)
	}
	return r
}

// logs is what was logged from info on.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// place is a platform that remembers.
type place struct {
	mu      sync.Mutex
	posts   []core.Post
	gone    []bool
	working []string // changes of the indicator that somebody is at work
	ends    int      // how often it was taken away
	// What the platform gives out; nil is nothing of the kind.
	fetch   func(core.Attachment, int64) (core.Attachment, error)
	earlier func(before string, limit int) ([]core.Message, error)
}

func (p *place) Fetch(_ context.Context, _ core.Thread, a core.Attachment, limit int64) (core.Attachment, error) {
	if p.fetch == nil {
		return a, errors.ErrUnsupported
	}
	return p.fetch(a, limit)
}

func (p *place) Earlier(_ context.Context, _ core.Target, before string, limit int) ([]core.Message, error) {
	if p.earlier == nil {
		return nil, errors.ErrUnsupported
	}
	return p.earlier(before, limit)
}

func (*place) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 2000, Count: func(s string) int { return len(s) }, MaxParts: 10, FirstPreview: time.Second, EditEvery: time.Second}
}

func (p *place) Post(_ context.Context, post core.Post) (core.Posted, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts, p.gone = append(p.posts, post), append(p.gone, false)
	return core.Posted{ID: fmt.Sprint(len(p.posts) - 1), Linked: post.Link}, nil
}

func (p *place) at(id string) int {
	var i int
	if _, err := fmt.Sscan(id, &i); err != nil || i >= len(p.posts) {
		return -1
	}
	return i
}

func (p *place) Edit(_ context.Context, id string, post core.Post) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.at(id)
	if i < 0 || p.gone[i] {
		return &core.SendError{Permanent: true, Err: errors.New("no such post")}
	}
	p.posts[i].Text = post.Text
	return nil
}

func (p *place) Delete(_ context.Context, _ core.Target, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.at(id); i >= 0 {
		p.gone[i] = true
	}
	return nil
}

func (p *place) Working(_ context.Context, t core.Target, on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := "off "
	if on {
		text = "on "
	} else {
		p.ends++
	}
	if text += t.Thread.Channel; len(p.working) == 0 || p.working[len(p.working)-1] != text {
		p.working = append(p.working, text)
	}
	return nil
}

// ended is how often the indicator was taken away, whether it was on or not.
func (p *place) ended() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends
}

// indications are the changes of the working indicator, without its refreshes.
func (p *place) indications() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.working)
}

// all is what people see, as "t1 answer: hello".
func (p *place) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for i, x := range p.posts {
		if !p.gone[i] {
			list = append(list, fmt.Sprintf("%s %s: %s", x.Target.Thread.Channel, x.Kind, x.Text))
		}
	}
	return list
}

// sent are all posts so far.
func (p *place) sent() []core.Post {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.posts)
}

// gadget is a tool.
type gadget struct {
	name string
	run  func(context.Context, tool.Call) (string, error)
}

func (g gadget) Spec() llm.Tool {
	return llm.Tool{Name: g.name, Description: "a gadget", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (g gadget) Run(ctx context.Context, c tool.Call) (string, error) { return g.run(ctx, c) }
