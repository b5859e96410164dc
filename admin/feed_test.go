package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/store/memory"
)

// channel is where the operators of the tests read.
var channel = core.Thread{Platform: "fake", Account: "main", Channel: "ops", Kind: core.KindChannel}

// board is a platform with one channel.
type board struct {
	mu     sync.Mutex
	posts  []message
	edits  int
	tries  int
	refuse func(try int) error // of a post or an edit, before it happens
	lose   bool                // the answer to the next post
}

type message struct {
	id   string
	post core.Post
	at   time.Time
}

func (b *board) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 2000, Count: func(s string) int { return len([]rune(s)) }, MaxParts: 1}
}

func (b *board) try() error {
	b.tries++
	if b.refuse == nil {
		return nil
	}
	return b.refuse(b.tries)
}

func (b *board) Post(_ context.Context, p core.Post) (core.Posted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.try(); err != nil {
		return core.Posted{}, err
	}
	m := message{fmt.Sprintf("p%d", len(b.posts)+1), p, time.Now()}
	b.posts = append(b.posts, m)
	if b.lose {
		b.lose = false
		return core.Posted{}, &core.SendError{Unknown: true, Err: errors.New("lost")}
	}
	return core.Posted{ID: m.id}, nil
}

func (b *board) Edit(_ context.Context, id string, p core.Post) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.try(); err != nil {
		return err
	}
	b.edits++
	for n := range b.posts {
		if b.posts[n].id == id {
			b.posts[n].post = p
			return nil
		}
	}
	return &core.SendError{Permanent: true, Err: errors.New("unknown message")}
}

func (b *board) Find(_ context.Context, p core.Post, _ time.Time) (core.Posted, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.posts {
		if m.post.Nonce == p.Nonce {
			return core.Posted{ID: m.id}, true, nil
		}
	}
	return core.Posted{}, false, nil
}

func (b *board) Delete(context.Context, core.Target, string) error { return nil }
func (b *board) Working(context.Context, core.Target, bool) error  { return nil }
func (b *board) at(t core.Thread) (core.Platform, bool)            { return b, t.Platform == "fake" }
func (b *board) edited() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.edits
}

func (b *board) texts() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.posts {
		list = append(list, m.post.Text)
	}
	return list
}

// desk is a feed at work on a store, and a channel.
type desk struct {
	*testing.T
	*board
	*Feed
	store *memory.Memory
	open  atomic.Bool // there is an admin channel
	stop  func()
	done  chan struct{}
}

func newDesk(t *testing.T) *desk {
	d := &desk{T: t, board: &board{}, store: memory.New()}
	d.open.Store(true)
	d.start()
	return d
}

// start starts a process on the store.
func (d *desk) start() {
	d.Feed = New(nil)
	ctx, cancel := context.WithCancel(context.Background())
	d.done = make(chan struct{})
	c := Config{
		Store: d.store.Open(memory.Options{}), Platform: d.board.at,
		Channel: func() (core.Thread, bool) { return channel, d.open.Load() },
	}
	feed, done := d.Feed, d.done
	go func() { defer close(done); feed.Run(ctx, c) }()
	d.stop = func() {
		cancel()
		<-done
	}
	synctest.Wait()
}

func (d *desk) hear(kind, key, text string) {
	d.Hear(core.Alert{Kind: kind, Key: key, Text: text})
	synctest.Wait()
}

func (d *desk) over(kind, key, text string) {
	d.Hear(core.Alert{Kind: kind, Key: key, Text: text, Over: true})
	synctest.Wait()
}

// want compares what the channel shows.
func (d *desk) want(texts ...string) {
	d.Helper()
	got := d.texts()
	if len(got) != len(texts) {
		d.Fatalf("the channel shows %d messages, want %d:\n%s", len(got), len(texts), strings.Join(got, "\n---\n"))
	}
	for n, text := range texts {
		if got[n] != text {
			d.Fatalf("message %d is\n%s\nwant\n%s", n+1, got[n], text)
		}
	}
}

// run runs a test in a bubble of its own.
func run(t *testing.T, test func(d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		defer func() { d.stop() }()
		test(d)
	})
}

func TestOneEventIsOneMessage(t *testing.T) {
	run(t, func(d *desk) {
		d.hear("connection", "slack", "Slack is gone.")
		d.want("⚠️ Slack is gone.")
		time.Sleep(20 * time.Second)
		d.hear("connection", "slack", "Slack is still gone.")
		d.hear("connection", "discord", "Discord is gone.")
		d.want("⚠️ Slack is still gone.\n2 times, first at 00:00:00, last at 00:00:20 UTC.", "⚠️ Discord is gone.")
		time.Sleep(10 * time.Second)
		d.over("connection", "slack", "Slack is back.")
		d.want("✅ Slack is back.\nSlack is still gone.\n2 times, first at 00:00:00, last at 00:00:20 UTC. It lasted about 30 seconds.", "⚠️ Discord is gone.")
		d.over("connection", "slack", "Slack is back.")
		d.over("connection", "unheard of", "It is back.")
		time.Sleep(calm)
		synctest.Wait()
		if got := d.texts(); len(got) != 3 || got[2] != "✅ Slack is back." {
			t.Errorf("the end was said as %q", got)
		}
		time.Sleep(24 * time.Hour)
		if n := len(d.texts()); n != 3 {
			t.Errorf("there are %d messages after a day of silence", n)
		}
	})
}

// What comes and goes stays one message; a relapse that lasts is said anew.
func TestRelapse(t *testing.T) {
	run(t, func(d *desk) {
		for range 5 {
			d.hear("profile", "a:p1", "It is disabled.")
			time.Sleep(30 * time.Second)
			d.over("profile", "a:p1", "It answers.")
			time.Sleep(30 * time.Second)
		}
		if got := d.texts(); len(got) != 1 {
			t.Fatalf("the channel shows %q", got)
		}
		time.Sleep(calm)
		d.hear("profile", "a:p1", "It is disabled.")
		time.Sleep(calm)
		synctest.Wait()
		if got := d.texts(); len(got) != 3 || got[1] != "✅ It answers." || got[2] != "⚠️ Again: It is disabled." {
			t.Fatalf("the channel shows %q", got)
		}
		d.over("profile", "a:p1", "It answers.")
		time.Sleep(again)
		d.hear("profile", "a:p1", "It is disabled.")
		if got := d.texts(); len(got) != 5 || got[4] != "⚠️ It is disabled." {
			t.Fatalf("the channel shows %q", got)
		}
	})
}

// Beyond the rate, events share a message that counts them.
func TestRate(t *testing.T) {
	run(t, func(d *desk) {
		for n := range 5 {
			d.hear("delivery", fmt.Sprint(n), fmt.Sprintf("Post %d was given up.", n))
		}
		for n := range 40 {
			d.hear("delivery", fmt.Sprint("more ", n), fmt.Sprintf("One more post, %d, was given up.", n))
		}
		if n := len(d.texts()); n != 5 {
			t.Fatalf("%d messages at once, want the burst of 5", n)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got := d.texts()
		if len(got) != 6 || !strings.HasPrefix(got[5], "⚠️ 40 events came faster than this channel takes messages:\n- ⚠️ One more post, 0, ") ||
			!strings.HasSuffix(got[5], "\n- and 32 more, which are in the log") {
			t.Fatalf("the channel shows %q", got)
		}
		// What was told together has a message of its own when it happens again.
		time.Sleep(time.Minute)
		d.hear("delivery", "more 7", "One more post, 7, was given up.")
		if got := d.texts(); len(got) != 7 || !strings.Contains(got[6], "2 posts") {
			t.Errorf("the channel shows %q", got)
		}
		// Edits count, too, and the last state is shown in the end.
		edits := d.edited()
		for n := range 100 {
			d.hear("delivery", "0", fmt.Sprintf("Post %d was given up.", n))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if n := d.edited() - edits; n > 5+10 {
			t.Errorf("%d edits in 100 seconds", n)
		}
		if text := d.texts()[0]; !strings.HasPrefix(text, "⚠️ Post 99 was given up.\n101 posts") {
			t.Errorf("the message shows %q", text)
		}
	})
}

// A flood while the channel is closed is bounded and told in one message.
func TestFloodWhileRefused(t *testing.T) {
	run(t, func(d *desk) {
		d.board.refuse = func(int) error { return &core.SendError{Permanent: true, Err: errors.New("403")} }
		for n := range 5 * most {
			d.Hear(core.Alert{Kind: "stranger", Key: fmt.Sprint(n), Text: "Somebody knocks."})
		}
		synctest.Wait()
		d.board.mu.Lock()
		d.board.refuse = nil
		d.board.mu.Unlock()
		time.Sleep(retryWaits[len(retryWaits)-1])
		synctest.Wait()
		d.Feed.mu.Lock()
		known, queue := len(d.known), len(d.queue)
		d.Feed.mu.Unlock()
		if known > most || queue > most+1 {
			t.Errorf("%d events and %d messages are kept", known, queue)
		}
		got := d.texts()
		if len(got) != 1 || !strings.HasPrefix(got[0], "⚠️ 2500 events") {
			t.Errorf("the channel shows %q", got)
		}
	})
}

func TestRefusedChannelIsTriedAgain(t *testing.T) {
	run(t, func(d *desk) {
		begun := time.Now()
		d.board.refuse = func(int) error {
			if time.Since(begun) < 30*time.Second {
				return &core.SendError{Permanent: true, Err: errors.New("403")}
			}
			return nil
		}
		d.hear("exhausted", "a/m1", "No model answered.")
		time.Sleep(29 * time.Second)
		d.hear("exhausted", "a/m1", "No model answered.")
		d.want()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		d.want("⚠️ No model answered.\n2 messages, the first at 00:00:00, the last at 00:00:29 UTC.")
	})
}

// One message that the platform never takes does not keep the others away.
func TestPoisonedMessage(t *testing.T) {
	run(t, func(d *desk) {
		d.board.refuse = func(int) error {
			d.Feed.mu.Lock()
			defer d.Feed.mu.Unlock()
			if i := d.known[subject{"stranger", "x"}]; i != nil && i.sending {
				return &core.SendError{Permanent: true, Err: errors.New("400")}
			}
			return nil
		}
		d.hear("stranger", "x", "bad")
		for n := range maxRefusals {
			d.hear("stranger", fmt.Sprint(n), "good")
			time.Sleep(time.Hour / 2)
		}
		synctest.Wait()
		if got := d.texts(); len(got) != maxRefusals {
			t.Errorf("the channel shows %q", got)
		}
		d.Feed.mu.Lock()
		defer d.Feed.mu.Unlock()
		if len(d.queue) != 0 {
			t.Errorf("%d messages still wait", len(d.queue))
		}
	})
}

// A message that somebody deleted is posted anew when there is something to
// tell.
func TestDeletedMessage(t *testing.T) {
	run(t, func(d *desk) {
		d.hear("fault", "", "A turn failed.")
		d.board.posts[0].id = "gone"
		d.hear("fault", "", "A turn failed.")
		time.Sleep(time.Hour)
		synctest.Wait()
		d.want("⚠️ A turn failed.", "⚠️ A turn failed.\n2 times, first at 00:00:00, last at 00:00:00 UTC.")
	})
}

func TestRestart(t *testing.T) {
	for _, c := range []struct {
		name  string
		crash func(d *desk)
		want  []string
	}{
		{"between two events", func(*desk) {}, []string{"⚠️ No model answered.\n3 messages, the first at 00:00:00, the last at 00:01:00 UTC."}},
		{"after a post whose answer was lost", func(d *desk) {
			d.board.lose = true
			d.hear("exhausted", "b/m2", "No model answered.")
		}, []string{"⚠️ No model answered.\n3 messages, the first at 00:00:00, the last at 00:01:00 UTC.", "⚠️ No model answered."}},
		{"before a post", func(d *desk) {
			d.board.refuse = func(int) error { return &core.SendError{Unreached: true, Err: errors.New("no network")} }
			d.hear("exhausted", "b/m2", "No model answered.")
		}, []string{"⚠️ No model answered.\n3 messages, the first at 00:00:00, the last at 00:01:00 UTC.", "⚠️ No model answered."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(d *desk) {
				d.hear("exhausted", "a/m1", "No model answered.")
				d.hear("exhausted", "a/m1", "No model answered.")
				time.Sleep(time.Minute)
				c.crash(d)
				d.stop()
				d.board.refuse = nil
				d.start()
				d.hear("exhausted", "a/m1", "No model answered.")
				time.Sleep(20 * time.Second)
				synctest.Wait()
				d.want(c.want...)
				d.over("exhausted", "a/m1", "There are answers again.")
				d.over("exhausted", "b/m2", "There are answers again.")
				time.Sleep(again)
				d.stop()
				rows, err := d.store.Open(memory.Options{}).Outgoing(t.Context())
				if err != nil || len(rows) != 0 {
					t.Errorf("after the end there are open rows %+v: %v", rows, err)
				}
				d.start()
			})
		})
	}
}

// Where there is no channel nothing is kept for one, and nothing is said.
func TestNoChannel(t *testing.T) {
	run(t, func(d *desk) {
		d.open.Store(false)
		d.hear("profile", "a:p1", "It is disabled.")
		d.over("profile", "a:p1", "It answers.")
		time.Sleep(again)
		d.want()
		if rows, err := d.store.Open(memory.Options{}).Outgoing(t.Context()); err != nil || len(rows) > 0 {
			t.Errorf("rows %+v: %v", rows, err)
		}
		d.open.Store(true)
		d.hear("profile", "a:p1", "It is disabled.")
		d.want("⚠️ It is disabled.")
	})
}

// What is heard just before a message is chosen, too late for the store, goes
// nowhere where there is no channel.
func TestNoChannelBetweenSteps(t *testing.T) {
	f := New(nil)
	w := worker{Feed: f, c: Config{
		Store:   memory.New().Open(memory.Options{}),
		Channel: func() (core.Thread, bool) { return core.Thread{}, false },
		Burst:   5,
	}}
	w.save(t.Context())
	f.Hear(core.Alert{Kind: "profile", Key: "a:p1", Text: "It is disabled."})
	if i, _ := w.next(); i != nil {
		t.Errorf("%q is to be sent", i.render())
	}
}

// When the channel is taken away, what still waits for it is given up.
func TestChannelTakenAway(t *testing.T) {
	run(t, func(d *desk) {
		d.board.mu.Lock()
		d.refuse = func(int) error { return &core.SendError{Err: errors.New("not now")} }
		d.board.mu.Unlock()
		d.hear("profile", "a:p1", "It is disabled.")
		d.open.Store(false)
		time.Sleep(time.Hour)
		d.board.mu.Lock()
		d.refuse, d.tries = nil, 0
		d.board.mu.Unlock()
		time.Sleep(time.Hour)
		d.want()
		if rows, err := d.store.Open(memory.Options{}).Outgoing(t.Context()); err != nil || len(rows) > 0 {
			t.Errorf("rows %+v: %v", rows, err)
		}
		d.board.mu.Lock()
		defer d.board.mu.Unlock()
		if d.tries > 0 {
			t.Errorf("tried %d times", d.tries)
		}
	})
}

// A store that refuses keeps no operator from hearing of it.
func TestStoreFails(t *testing.T) {
	run(t, func(d *desk) {
		d.stop()
		down := true
		d.store = memory.New()
		feed := New(nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		var mu sync.Mutex
		st := d.store.Open(memory.Options{Fault: func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return errors.New("the disk is full")
			}
			return nil
		}})
		go func() {
			defer close(done)
			feed.Run(ctx, Config{Store: st, Platform: d.board.at, Channel: func() (core.Thread, bool) { return channel, true }})
		}()
		d.Feed, d.stop = feed, func() { cancel(); <-done }
		d.StoreTrouble(errors.New("the disk is full"))
		synctest.Wait()
		d.want("⚠️ The store does not take what is written: the disk is full")
		mu.Lock()
		down = false
		mu.Unlock()
		time.Sleep(storePause)
		synctest.Wait()
		rows, err := st.Outgoing(ctx)
		if err != nil || len(rows) != 1 || rows[0].State != delivery.Preview || rows[0].PlatformID != "p1" {
			t.Errorf("the store has %+v: %v", rows, err)
		}
	})
}

func TestButtons(t *testing.T) {
	run(t, func(d *desk) {
		approve := core.Button{Label: "Approve", Token: "/approve ABCD"}
		d.Hear(core.Alert{Kind: Stranger, Key: "slack:U1", Text: "Ann asks to be let in.", Buttons: []core.Button{approve}})
		synctest.Wait()
		if b := d.board.posts[0].post.Buttons; len(b) != 1 || b[0] != approve {
			t.Errorf("the message has buttons %v", b)
		}
		d.over(Stranger, "slack:U1", "Root let Ann in.")
		if b := d.board.posts[0].post.Buttons; len(b) != 0 {
			t.Errorf("the message still has buttons %v", b)
		}
		time.Sleep(again)
		if n := len(d.texts()); n != 1 {
			t.Errorf("%d messages, want no news of what the admins did themselves", n)
		}
	})
}

func TestNoSecrets(t *testing.T) {
	run(t, func(d *desk) {
		d.hear("fault", "", "Incorrect API key provided: sk-proj-abc123DEF456ghi789\nsee https://u:p@a.test/x?key=1")
		d.over("fault", "", "Bearer abc.def-ghi was accepted.")
		if text := d.texts()[0]; strings.Contains(text, "abc") || strings.Contains(text, "u:p") || strings.Contains(text, "key=1") {
			t.Errorf("the channel shows %q", text)
		}
	})
}

// Two messages that tell of several events each become one that tells of all.
func TestFoldedMessagesFoldAgain(t *testing.T) {
	digest := func(n int) *incident {
		one := &incident{note: true}
		for range n {
			one.swallow(&incident{text: "Somebody knocks."})
		}
		return one
	}
	one, other := digest(5), digest(500)
	one.swallow(other)
	if one.count != 505 || len(one.lines) != 8 || !other.folded {
		t.Errorf("%d events in %d lines", one.count, len(one.lines))
	}
	if text := one.render(); !strings.HasSuffix(text, "and 497 more, which are in the log") {
		t.Errorf("it shows %q", text)
	}
}
