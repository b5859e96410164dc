package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// TestCasesOutbound plays what went wrong in other bots. Whoever sends is played
// as delivery does it: what is unknown is looked for, what is too long is halved.
func TestCasesOutbound(t *testing.T) {
	for id, play := range map[string]func(*testing.T){
		"p005": failedFirstSend,
		"p007": directiveOfTheModel,
		"p033": deletedQuestion,
		"p134": nothingToSay,
		"p139": blocksThatAreTooLong,
		"p140": staleCard,
		"p144": warningAfterTheAnswer,
		"p145": streamInASharedPlace,
		"p172": finalEditThatFails,
		"p173": noTextNoStream,
		"p184": deliveredWithoutAnswer,
		"p192": longSection,
	} {
		t.Run(id, play)
	}
}

// deliver sends one text until it stands, and returns its messages.
func (r *rig) deliver(t core.Target, text string) (all []core.Posted) {
	r.Helper()
	l := r.a.Limits(t.Thread)
	began := time.Now()
	for part := 0; text != ""; part++ {
		p := post(t, "")
		p.Nonce = fmt.Sprintf("turn1-%d", part)
		for try := 0; p.Text == ""; try++ {
			if try == 5 {
				r.Fatalf("part %d was not sent", part)
			}
			texts, rest := core.SplitMost(text, core.Limits{MaxText: l.MaxText, Count: l.Count, MaxParts: 1})
			p.Text = texts[0]
			posted, err := r.a.Post(r.Context(), p)
			if err == nil {
				all, text = append(all, posted), rest
				break
			}
			e := sendErr(r.T, err)
			p.Text = ""
			switch found, ok, err := r.a.Find(r.Context(), p, began); {
			case e.TooLong:
				l.MaxText /= 2
			case e.Permanent || err != nil:
				r.Fatal(e, err)
			case e.Unknown && ok:
				all, text, p.Text = append(all, found), rest, texts[0]
			}
		}
	}
	return all
}

// texts are the bot's own messages in the thread.
func (r *rig) shows(t core.Target) (texts []string) {
	for _, m := range r.slack.Posts(t.Thread.Channel, t.Thread.Root) {
		texts = append(texts, m.Text)
	}
	return texts
}

func (r *rig) stands(t core.Target, want ...string) {
	r.Helper()
	if got := r.shows(t); !slices.Equal(got, want) {
		r.Errorf("the thread shows %q, want %q", got, want)
	}
}

func failedFirstSend(t *testing.T) {
	for _, fault := range []slacktest.Fault{{Error: "internal_error"}, {Status: 503}, {Error: "something_new"}, {RetryAfter: 1}, {Error: "internal_error", Perform: true}} {
		r, target := asked(t)
		r.slack.Fail("chat.postMessage", fault)
		posted := append(r.deliver(target, "one"), r.deliver(target, "two")...)
		r.stands(target, "one", "two")
		for _, p := range posted {
			if !p.Linked {
				t.Errorf("after %+v: %+v", fault, p)
			}
		}
		for _, c := range r.slack.Calls("chat.postMessage") {
			if c.Args["thread_ts"] != target.Thread.Root {
				t.Errorf("after %+v: posted with %v", fault, c.Args)
			}
		}
	}
}

func directiveOfTheModel(t *testing.T) {
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.ReplyTo = func(core.Thread) ReplyTo { return ReplyOff } }))
	ts := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"hi")
	target := r.bot.next(t, 0).Target
	for _, said := range []string{"[[reply_to_current]] done", "[[reply_to: " + ts + "]]done"} {
		r.deliver(target, core.WithoutDirectives(said, false))
	}
	r.deliver(target, "[[reply_to_current]] as it is")
	r.stands(target, "done", "done", "[[reply_to_current]] as it is")
	for _, c := range r.slack.Calls("chat.postMessage") {
		if _, ok := c.Args["thread_ts"]; ok {
			t.Errorf("a thread was opened: %v", c.Args)
		}
	}
}

func deletedQuestion(t *testing.T) {
	r, target := asked(t)
	r.slack.Remove(slacktest.Channel, target.Thread.Root)
	r.bot.await(t, "the deletion", func() bool { return len(r.bot.changes) == 1 && r.bot.changes[0].Deleted })
	full := post(target, "for your eyes")
	full.Files = []core.File{{Name: "a.md", Data: []byte("secret")}}
	for _, p := range []core.Post{full, live(target, "for your"), full} {
		if _, err := r.a.Post(t.Context(), p); !errors.Is(err, errThreadGone) || !sendErr(t, err).Permanent {
			t.Errorf("error is %v", err)
		}
	}
	r.called("postMessage", "delete")
	for _, m := range r.slack.Messages(slacktest.Channel) {
		t.Errorf("it stands in the channel: %+v", m)
	}
	if n := len(r.slack.Calls("files.getUploadURLExternal")); n > 0 {
		t.Errorf("%d files were sent", n)
	}
	// Nothing more is sent there: not that somebody is at work either.
	r.working(target, true)
	if calls := r.slack.Calls(setStatus); len(calls) > 0 {
		t.Errorf("a status is shown: %+v", calls)
	}
}

func nothingToSay(t *testing.T) {
	r, target := streaming(t, nil)
	for _, said := range []string{"   \n", core.WithoutDirectives("[[reply_to_current]]", false), "\u200b"} {
		for _, p := range []core.Post{post(target, said), live(target, said)} {
			if _, err := r.a.Post(t.Context(), p); !sendErr(t, err).Permanent {
				t.Errorf("%q: %v", said, err)
			}
		}
	}
	r.called()
	// What only looks like markup is shown as it is.
	if posted := r.deliver(target, "<b></b>"); !posted[0].Linked {
		t.Errorf("posted %+v", posted)
	}
	r.stands(target, "&lt;b&gt;&lt;/b&gt;")
}

func blocksThatAreTooLong(t *testing.T) {
	r, target := asked(t)
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "- line **%04d** of it\n", i)
	}
	r.slack.Fail("chat.postMessage", slacktest.Fault{Error: "msg_blocks_too_long"})
	r.deliver(target, b.String())
	shown := strings.Join(r.shows(target), "\n")
	for i := range 1000 {
		if strings.Count(shown, fmt.Sprintf("*%04d*", i)) != 1 {
			t.Fatalf("line %d is not there once", i)
		}
	}
	for _, c := range r.slack.Calls("chat.postMessage") {
		if units(c.Args["blocks"]) > 12000 {
			t.Errorf("%d characters of blocks", units(c.Args["blocks"]))
		}
		if c.Error != "" && c.Error != "msg_blocks_too_long" || units(c.Args["text"]) > maxText {
			t.Errorf("%d characters: %s", units(c.Args["text"]), c.Error)
		}
	}
}

// card is a message with a button, and its click until Slack shows what came of
// it.
func (r *rig) card(t core.Target, text string) (id string) {
	r.Helper()
	p := post(t, text)
	p.Buttons = []core.Button{{Label: "Approve", Token: "t0k", Value: "yes"}, {Label: "Deny", Token: "t0k", Value: "no", Danger: true}}
	posted, err := r.a.Post(r.Context(), p)
	if err != nil {
		r.Fatal(err)
	}
	return posted.ID
}

func (r *rig) replies(reply core.Reply) {
	r.bot.mu.Lock()
	defer r.bot.mu.Unlock()
	r.bot.reply = reply
}

func staleCard(t *testing.T) {
	long := strings.Repeat("context ", 430)
	for _, late := range []bool{false, true} { // the response URL has expired
		r, target := asked(t)
		id := r.card(target, long)
		if m := r.slack.Posts(slacktest.Channel, target.Thread.Root)[0]; !strings.Contains(string(m.Blocks), `"actions"`) {
			t.Fatalf("the card is %s", m.Blocks)
		}
		r.replies(core.Reply{Text: long + "approved"})
		if late {
			r.slack.Fail("response", slacktest.Fault{Status: 404})
		}
		r.slack.Click(slacktest.Channel, id, slacktest.User, "press:t0k b0", "yes")
		card := func() slacktest.Message { return r.slack.Posts(slacktest.Channel, target.Thread.Root)[0] }
		r.wait("the card to change", func() bool { return card().Edits == 1 })
		if m := card(); strings.Contains(string(m.Blocks), "actions") || units(m.Text) > 3000 || units(m.Text) < 2000 {
			t.Errorf("the card is %d characters: %s", units(m.Text), m.Blocks)
		}
		if late && !strings.HasSuffix(card().Text, tooManyParts) {
			t.Errorf("no mark of the cut: %q", card().Text[2900:])
		}
		r.replies(core.Reply{Text: "already decided", Aside: true})
		r.slack.Click(slacktest.Channel, id, slacktest.User, "press:t0k b1", "no")
		r.wait("the answer to the second click", func() bool { return slices.ContainsFunc(r.slack.Responses(), says("already decided")) })
		got := r.slack.Responses()[len(r.slack.Responses())-1]
		if !got.Ephemeral || got.Replaces || got.Root != target.Thread.Root || card().Edits != 1 {
			t.Errorf("after the second click: %+v", got)
		}
		if p := r.bot.pressed(); len(p) != 2 || p[0].Value != "yes" || p[1].Value != "no" || p[0].Target.Thread.Key() != target.Thread.Key() {
			t.Errorf("pressed: %+v", p)
		}
	}
}

func says(text string) func(slacktest.Response) bool {
	return func(r slacktest.Response) bool { return r.Text == text }
}

func warningAfterTheAnswer(t *testing.T) {
	for mode, want := range map[NativeStreaming][]string{
		NativeOff:  {"postMessage", "update", "postMessage"},
		NativeAuto: {"startStream", "stopStream", "postMessage"},
	} {
		r, target := streaming(t, func(c *Config) { c.NativeStreaming = mode })
		id := r.show(target, "do", "done")
		warning := post(target, "a tool failed")
		warning.Kind, warning.Link, warning.Nonce = core.PostError, false, "turn1-e"
		if _, err := r.a.Post(t.Context(), warning); err != nil {
			t.Fatal(err)
		}
		r.called(want...)
		r.stands(target, "done", "a tool failed")
		if own := r.slack.Posts(slacktest.DM, target.Thread.Root); own[0].TS != id || own[0].Edits != 1 {
			t.Errorf("%s: the answer is %+v", mode, own[0])
		}
	}
}

func streamInASharedPlace(t *testing.T) {
	r, direct := streaming(t, nil)
	root := r.slack.Say(slacktest.Channel, slacktest.User, atBot+"hi")
	shared := inThread(slacktest.Channel, root)
	shared.Recipient, shared.RecipientTeam = slacktest.User, slacktest.Team
	r.show(shared, "one", "one two", "one two three")
	r.called("postMessage", "update", "update")
	r.show(direct, "one", "one two", "one two three")
	if got := r.methods()[3:]; !slices.Equal(got, []string{"startStream", "appendStream", "stopStream"}) {
		t.Errorf("in a direct message: %v", got)
	}
	// Which of the two it was is on record, with the nonce that names the turn.
	for by, channel := range map[string]string{"edits": slacktest.Channel, "stream": slacktest.DM} {
		if want := `an answer grows" by=` + by + " nonce=turn1-0 channel=" + channel; !strings.Contains(strings.ReplaceAll(r.log.String(), ` platform=slack account=main`, ""), want) {
			t.Errorf("the log lacks %s: %s", want, r.log)
		}
	}
	// Whoever asks is told which of the two it is.
	if s, d := r.a.Limits(shared.Thread), r.a.Limits(direct.Thread); s.Rotate != 0 || d.Rotate != streamRotate {
		t.Errorf("limits are %+v and %+v", s, d)
	}
}

func finalEditThatFails(t *testing.T) {
	for _, mode := range []NativeStreaming{NativeOff, NativeAuto} {
		for _, code := range []string{"message_not_found", "edit_window_closed", "cant_update_message"} {
			r, target := streaming(t, func(c *Config) { c.NativeStreaming = mode })
			draft, err := r.a.Post(t.Context(), live(target, "do"))
			if err != nil {
				t.Fatal(err)
			}
			if code == "message_not_found" {
				r.slack.Remove(slacktest.DM, draft.ID)
			}
			r.slack.Fail("chat.stopStream", slacktest.Fault{Error: "message_not_in_streaming_state", Perform: true})
			r.slack.Fail("chat.update", slacktest.Fault{Error: code})
			if err := r.a.Edit(t.Context(), draft.ID, post(target, "done")); !sendErr(t, err).Permanent {
				t.Errorf("%s: %v", code, err)
			}
			// What delivery does then.
			again := post(target, "done")
			again.Nonce = "turn1-0.1"
			if posted, err := r.a.Post(t.Context(), again); err != nil || !posted.Linked {
				t.Errorf("%s: posted %+v, %v", code, posted, err)
			}
			if err := r.a.Delete(t.Context(), target, draft.ID); err != nil {
				t.Errorf("%s: %v", code, err)
			}
			r.stands(target, "done")
		}
	}
}

func noTextNoStream(t *testing.T) {
	r, target := streaming(t, func(c *Config) { c.NativeStreaming = NativeOn })
	for _, on := range []bool{true, false} {
		if err := r.a.Working(t.Context(), target, on); err != nil {
			t.Fatal(err)
		}
	}
	r.called()
	if s := r.slack.Status(slacktest.DM, target.Thread.Root); s != "" {
		t.Errorf("status %q stays", s)
	}
	if l := r.a.Limits(target.Thread); l.FirstPreview < 300*time.Millisecond || l.FirstPreview > 500*time.Millisecond {
		t.Errorf("text is collected for %s", l.FirstPreview)
	}
}

func deliveredWithoutAnswer(t *testing.T) {
	for _, fault := range []slacktest.Fault{{Drop: true, Perform: true}, {Status: 502, Perform: true}, {Error: "fatal_error", Perform: true}} {
		r := plainly(t)
		root := r.slack.Say(slacktest.Channel, slacktest.User, "a root")
		r.slack.Say(slacktest.Channel, slacktest.User, atBot+"hi", slacktest.In(root))
		target := r.bot.next(t, 0).Target
		r.slack.Fail("chat.postMessage", fault)
		if posted := r.deliver(target, "the answer"); len(posted) != 1 || !posted[0].Linked {
			t.Errorf("posted %+v", posted)
		}
		r.called("postMessage")
		r.stands(target, "the answer")
	}
}

func longSection(t *testing.T) {
	for name, text := range map[string]string{"letters": strings.Repeat("x", 3500), "escapes": strings.Repeat("&", maxText/5), "link": strings.Repeat("y", 2950) + " [w](https://e.invalid/" + strings.Repeat("z", 100) + ")"} {
		r, target := asked(t)
		r.card(target, text)
		r.deliver(target, text)
		small := post(target, text)
		small.Kind, small.Nonce = core.PostNotice, "turn1-n"
		if _, err := r.a.Post(t.Context(), small); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.slack.Calls("chat.postMessage") {
			if c.Error != "" {
				t.Errorf("%s: %s", name, c.Error)
			}
			for _, text := range sectionTexts(t, c.Args["blocks"]) {
				if units(text) > 3000 || strings.Contains(entities.ReplaceAllString(text, ""), "&") || strings.Count(text, "<") != strings.Count(text, ">") {
					t.Errorf("%s: a section of %d characters, %.20q … %q", name, units(text), text, text[max(0, len(text)-20):])
				}
			}
		}
	}
	r, target := asked(t)
	r.slack.Fail("chat.postMessage", slacktest.Fault{Error: "invalid_blocks"})
	r.card(target, strings.Repeat("x", 3500))
	if calls := r.slack.Calls("chat.postMessage"); len(calls) != 2 || calls[1].Args["blocks"] != "[]" || units(calls[1].Args["text"]) != 3500 {
		t.Errorf("%d requests", len(calls))
	}
}

// sectionTexts are the texts of the sections among blocks.
func sectionTexts(t *testing.T, blocks string) (texts []string) {
	t.Helper()
	var found []struct {
		Type string
		Text json.RawMessage
	}
	if err := json.Unmarshal([]byte(blocks), &found); err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		var object struct{ Text string }
		if b.Type == "section" && json.Unmarshal(b.Text, &object) == nil {
			texts = append(texts, object.Text)
		}
	}
	return texts
}
