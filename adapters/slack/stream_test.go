package slack

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// streaming is a rig with a question in a thread of a direct message, where
// answers grow natively.
func streaming(t *testing.T, change func(*Config)) (*rig, core.Target) {
	r := start(t, slacktest.Config{}, set(func(c *Config) {
		if change != nil {
			change(c)
		}
	}))
	root := r.slack.Say(slacktest.DM, slacktest.User, "a question")
	return r, core.Target{
		Thread:    core.Thread{Platform: "slack", Account: "main", Workspace: slacktest.Team, Channel: slacktest.DM, Root: root, Kind: core.KindDirect},
		Recipient: slacktest.User, RecipientTeam: slacktest.Team,
	}
}

// live is a post that is still growing.
func live(t core.Target, text string) core.Post {
	p := post(t, text)
	p.Live = true
	return p
}

// show posts a text and edits it to the others, as delivery does. The last
// text is final.
func (r *rig) show(t core.Target, texts ...string) (id string) {
	r.Helper()
	posted, err := r.a.Post(r.Context(), live(t, texts[0]))
	if err != nil {
		r.Fatal(err)
	}
	for i, text := range texts[1:] {
		p := live(t, text)
		p.Live = i < len(texts)-2
		r.edit(posted.ID, p)
	}
	return posted.ID
}

// edit edits as often as it takes, as delivery does.
func (r *rig) edit(id string, p core.Post) {
	r.Helper()
	for range 5 {
		err := r.a.Edit(r.Context(), id, p)
		if err == nil {
			return
		}
		e := sendErr(r.T, err)
		if e.Permanent {
			r.Fatal(err)
		}
		sleep(r.Context(), min(e.RetryAfter, 2*time.Second))
	}
	r.Fatalf("%q was not shown", p.Text)
}

// methods are the calls about messages so far.
func (r *rig) methods() []string {
	var names []string
	for _, c := range r.slack.Calls() {
		if strings.HasPrefix(c.Name, "chat.") {
			names = append(names, strings.TrimPrefix(c.Name, "chat."))
		}
	}
	return names
}

func (r *rig) called(want ...string) {
	r.Helper()
	if got := r.methods(); !slices.Equal(got, want) {
		r.Errorf("called %v, want %v", got, want)
	}
}

// one is the only post of ours in the thread, and nothing is open.
func (r *rig) one(t core.Target) slacktest.Message {
	r.Helper()
	own := r.slack.Posts(t.Thread.Channel, t.Thread.Root)
	if len(own) != 1 {
		r.Fatalf("%d posts: %+v", len(own), own)
	}
	if r.slack.Streaming(t.Thread.Channel, own[0].TS) {
		r.Error("the stream is still open")
	}
	return own[0]
}

func TestStreamGrows(t *testing.T) {
	r, target := streaming(t, nil)
	if l := r.a.Limits(target.Thread); l.Rotate != 4*time.Minute || l.MaxFile == 0 {
		t.Errorf("limits are %+v", l)
	}
	id := r.show(target, "**one**", "**one** two", "**one** two", "**one** two three")
	r.called("startStream", "appendStream", "stopStream")
	if m := r.one(target); m.TS != id || m.Text != "**one** two three" || !strings.Contains(string(m.Metadata), "turn1-0") {
		t.Errorf("the post is %+v", m)
	}
	// Nothing is left of it, and it is a message like any other.
	if n := len(r.a.streams.open); n != 0 {
		t.Errorf("%d streams are remembered", n)
	}
	r.edit(id, post(target, "else"))
	if m := r.one(target); m.Text != "else" {
		t.Errorf("the post is %+v", m)
	}
}

func TestStreamWithButtons(t *testing.T) {
	r, target := streaming(t, nil)
	posted, err := r.a.Post(t.Context(), live(target, "one"))
	if err != nil {
		t.Fatal(err)
	}
	p := post(target, "one two")
	p.Buttons = []core.Button{{Label: "Again", Token: "t0k"}}
	r.edit(posted.ID, p)
	if m := r.one(target); m.Text != "one two" || !strings.Contains(string(m.Blocks), "press:t0k") {
		t.Errorf("the post is %+v", m)
	}
}

func TestWhereStreamsAreNative(t *testing.T) {
	direct := core.Thread{Kind: core.KindDirect, Root: "1.0"}
	shared := core.Thread{Kind: core.KindThread, Root: "1.0"}
	for mode, want := range map[NativeStreaming][2]bool{"": {true, false}, NativeAuto: {true, false}, NativeOn: {true, true}, NativeOff: {false, false}} {
		a, err := New(Config{BotToken: core.NewSecret(slacktest.BotToken), AppToken: core.NewSecret(slacktest.AppToken), NativeStreaming: mode})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{a.native(direct), a.native(shared)}; got != want {
			t.Errorf("%q: %v, want %v", mode, got, want)
		}
		if a.native(core.Thread{Kind: core.KindDirect}) {
			t.Errorf("%q: a stream without a thread", mode)
		}
	}
}

func TestStreamInASharedPlace(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.NativeStreaming = NativeOn }))
	root := r.slack.Say(slacktest.Channel, slacktest.User, "a question")
	target := inThread(slacktest.Channel, root)
	r.show(target, "one", "one two") // nobody knows for whom it is
	r.called("postMessage", "update")
	target.Recipient, target.RecipientTeam = slacktest.User, slacktest.Team
	posted, err := r.a.Post(t.Context(), live(target, "more"))
	if err != nil || !r.slack.Streaming(slacktest.Channel, posted.ID) {
		t.Errorf("posted %+v, %v", posted, err)
	}
}

// TestStreamsThatAreRefused: whatever Slack says to a stream, the whole text is
// shown once.
func TestStreamsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		method string
		fault  slacktest.Fault
	}{
		{"chat.startStream", slacktest.Fault{Error: "missing_recipient_user_id"}},
		{"chat.startStream", slacktest.Fault{Error: "unknown_method"}},
		{"chat.startStream", slacktest.Fault{Error: "channel_type_not_supported"}},
		{"chat.startStream", slacktest.Fault{RetryAfter: 60}},
		{"chat.appendStream", slacktest.Fault{Error: "message_not_in_streaming_state"}},
		{"chat.appendStream", slacktest.Fault{Error: "internal_error"}},
		{"chat.appendStream", slacktest.Fault{Error: "internal_error", Perform: true}},
		{"chat.appendStream", slacktest.Fault{Drop: true, Perform: true}},
		{"chat.appendStream", slacktest.Fault{Status: 503}},
		{"chat.appendStream", slacktest.Fault{Error: "something_new"}},
		{"chat.appendStream", slacktest.Fault{RetryAfter: 1}},
		{"chat.stopStream", slacktest.Fault{Error: "message_not_in_streaming_state"}},
		{"chat.stopStream", slacktest.Fault{Status: 502, Perform: true}},
		{"chat.stopStream", slacktest.Fault{Status: 502}},
		{"chat.stopStream", slacktest.Fault{Drop: true, Perform: true}},
		{"chat.stopStream", slacktest.Fault{Error: "fatal_error"}},
		{"chat.stopStream", slacktest.Fault{RetryAfter: 1}},
	} {
		t.Run(c.method+" "+c.fault.Error, func(t *testing.T) {
			r, target := streaming(t, nil)
			r.slack.Fail(c.method, c.fault)
			r.show(target, "one", "one two", "one two three", "one two three four")
			if m := r.one(target); m.Text != "one two three four" {
				t.Errorf("the post is %+v, calls %v", m, r.methods())
			}
		})
	}
}

func TestStreamsAreNotAskedForTwice(t *testing.T) {
	r, target := streaming(t, nil)
	r.slack.Fail("chat.startStream", slacktest.Fault{Error: "unknown_method"})
	r.show(target, "one", "one two")
	r.show(target, "three", "three four")
	r.called("startStream", "postMessage", "update", "postMessage", "update")
	if l := r.a.Limits(target.Thread); l.Rotate != 0 {
		t.Errorf("limits are %+v", l)
	}
}

func TestStreamWhoseTextChanges(t *testing.T) {
	for name, texts := range map[string][]string{
		"rewritten":       {"one", "one two", "eins", "eins zwei"},
		"only at the end": {"one", "one two", "eins zwei"},
		"a mention":       {"one", "one <", "one <!channel>", "one <!channel> two"},
		"a tag":           {"one", "one <b>two</b>"},
		"shorter":         {"one two", "one"},
	} {
		t.Run(name, func(t *testing.T) {
			r, target := streaming(t, nil)
			r.show(target, texts...)
			m := r.one(target)
			if want := mrkdwn(texts[len(texts)-1]); m.Text != want || rings(m.Text) {
				t.Errorf("the post is %+v", m)
			}
		})
	}
}

func TestStreamThatRunsOut(t *testing.T) {
	r, target := streaming(t, nil)
	posted, err := r.a.Post(t.Context(), live(target, "one"))
	if err != nil {
		t.Fatal(err)
	}
	r.slack.Advance(5*time.Minute + time.Second)
	r.edit(posted.ID, live(target, "one two"))
	r.edit(posted.ID, post(target, "one two three"))
	if m := r.one(target); m.Text != "one two three" {
		t.Errorf("the post is %+v", m)
	}
}

// TestStreamOfAKilledProcess: another process stops and edits a stream that it
// knows by its id, finds one that it does not, and takes either away.
func TestStreamOfAKilledProcess(t *testing.T) {
	r, target := streaming(t, nil)
	began := time.Now()
	other, err := New(r.a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	posted, err := other.Post(t.Context(), live(target, "one"))
	if err != nil {
		t.Fatal(err)
	}
	found, ok, err := r.a.Find(t.Context(), post(target, "one two"), began.Add(-time.Second))
	if err != nil || !ok || found.ID != posted.ID || !found.Linked {
		t.Fatalf("found %+v, %v, %v", found, ok, err)
	}
	r.edit(found.ID, live(target, "two"))
	r.edit(found.ID, post(target, "two three"))
	if m := r.one(target); m.Text != "two three" {
		t.Errorf("the post is %+v", m)
	}

	// The next answer is not mistaken for it, nor for what grows elsewhere.
	p := post(target, "next")
	p.Nonce = "turn2-0"
	if found, ok, err := r.a.Find(t.Context(), p, began.Add(-time.Second)); ok || err != nil {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := r.a.Post(t.Context(), live(target, "mine")); err != nil {
		t.Fatal(err)
	}
	if found, ok, err := r.a.Find(t.Context(), p, began.Add(-time.Second)); ok || err != nil {
		t.Errorf("found %+v, %v", found, err)
	}
	// Another process knows nothing of it, and takes it away.
	left, ok, err := other.Find(t.Context(), p, began)
	if err != nil || !ok {
		t.Fatalf("found %+v, %v, %v", left, ok, err)
	}
	if err := other.Delete(t.Context(), target, left.ID); err != nil {
		t.Error(err)
	}
	if own := r.slack.Posts(slacktest.DM, target.Thread.Root); len(own) != 1 {
		t.Errorf("%d posts", len(own))
	}
}

func TestStreamBeforeTheRowIsNotFound(t *testing.T) {
	r, target := streaming(t, nil)
	other, err := New(r.a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Post(t.Context(), live(target, "one")); err != nil {
		t.Fatal(err)
	}
	if found, ok, err := r.a.Find(t.Context(), post(target, "x"), time.Now().Add(time.Second)); ok || err != nil {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestUnknownStartOfAStream: the start of a stream may have happened. It is
// found, and nothing is posted twice.
func TestUnknownStartOfAStream(t *testing.T) {
	r, target := streaming(t, nil)
	began := time.Now()
	r.slack.Fail("chat.startStream", slacktest.Fault{Drop: true, Perform: true})
	_, err := r.a.Post(t.Context(), live(target, "one"))
	if e := sendErr(t, err); !e.Unknown {
		t.Fatalf("error is %+v", e)
	}
	found, ok, err := r.a.Find(t.Context(), post(target, "one two"), began.Add(-time.Second))
	if err != nil || !ok {
		t.Fatalf("found %+v, %v, %v", found, ok, err)
	}
	r.edit(found.ID, post(target, "one two"))
	if m := r.one(target); m.Text != "one two" {
		t.Errorf("the post is %+v", m)
	}
}

func TestDeletedStream(t *testing.T) {
	r, target := streaming(t, nil)
	posted, err := r.a.Post(t.Context(), live(target, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.a.Delete(t.Context(), target, posted.ID); err != nil {
		t.Error(err)
	}
	if own := r.slack.Posts(slacktest.DM, target.Thread.Root); len(own) > 0 {
		t.Errorf("posts: %+v", own)
	}
}

// TestOldStreamsAreForgotten: a stream that nobody finished costs nothing.
func TestOldStreamsAreForgotten(t *testing.T) {
	s := newStreams()
	s.put(messageRef{"D", "1"}, stream{started: time.Now().Add(-streamGone - time.Second)})
	s.put(messageRef{"D", "2"}, stream{started: time.Now()})
	if s.has(messageRef{"D", "1"}) || !s.has(messageRef{"D", "2"}) {
		t.Errorf("streams: %+v", s.open)
	}
}

func TestStreamListensToItsContext(t *testing.T) {
	r, target := streaming(t, nil)
	posted, err := r.a.Post(t.Context(), live(target, "one"))
	if err != nil {
		t.Fatal(err)
	}
	hold := make(chan struct{})
	defer close(hold)
	r.slack.Fail("chat.stopStream", slacktest.Fault{Hold: hold})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.a.Edit(ctx, posted.ID, post(target, "one two")); !sendErr(t, err).Unknown {
		t.Errorf("error is %v", err)
	}
	r.edit(posted.ID, post(target, "one two"))
	if m := r.one(target); m.Text != "one two" {
		t.Errorf("the post is %+v", m)
	}
}
