package slack

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// What follows has no socket in it: how slack-go reads what Slack tells, and
// what it makes of what it is told.

func TestTrapDeletionsHideTheirMessage(t *testing.T) {
	const deletion = `{"type":"event_callback","event":{"type":"message","subtype":"message_deleted","channel":"D0DM","channel_type":"im","ts":"1700000003.000300","deleted_ts":"1700000001.000100","previous_message":{"type":"message","user":"U0USER","text":"hi","ts":"1700000001.000100"}}}`
	e, err := slackevents.ParseEvent(json.RawMessage(deletion), slackevents.OptionNoVerifyToken())
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := e.InnerEvent.Data.(*slackevents.MessageEvent); !ok || m.User != "" || m.TimeStamp != stampThree || m.DeletedTimeStamp != stampOne {
		t.Errorf("slack-go tells the deleted message now: %+v", m)
	}
	p, err := decode[payload]([]byte(deletion))
	if ev := p.subject(); err != nil || ev.User != slacktest.User || ev.TS != stampOne || ev.Channel != slacktest.DM {
		t.Errorf("subject is %+v, %v", ev, err)
	}
}

func TestTrapFilesAreOfAnInnerMessage(t *testing.T) {
	const shared = `{"type":"event_callback","event":{"type":"message","subtype":"file_share","channel":"D0DM","channel_type":"im","user":"U0USER","text":"","ts":"1700000001.000100","files":[{"id":"F1","name":"a.png"}]}}`
	e, err := slackevents.ParseEvent(json.RawMessage(shared), slackevents.OptionNoVerifyToken())
	if err != nil {
		t.Fatal(err)
	}
	if _, outer := reflect.TypeFor[slackevents.MessageEvent]().FieldByName("Files"); outer {
		t.Error("slack-go's event has files of its own now")
	}
	if m, ok := e.InnerEvent.Data.(*slackevents.MessageEvent); !ok || m.Message == nil || len(m.Message.Files) != 1 {
		t.Errorf("slack-go: %+v", m)
	}
	p, err := decode[payload]([]byte(shared))
	if ev := p.subject(); err != nil || len(attachments(ev.Files)) != 1 || !ev.speech() {
		t.Errorf("subject is %+v, %v", ev, err)
	}
}

// A mention event says less than the message event of the same message, and
// slack-go's type has no room for the rest. That a place is a group has to be
// known from elsewhere, or the two would be of different conversations.
func TestTrapMentionEventsSayLess(t *testing.T) {
	for _, name := range []string{"ChannelType", "SubType", "ClientMsgID"} {
		if _, ok := reflect.TypeFor[slackevents.AppMentionEvent]().FieldByName(name); ok {
			t.Errorf("slack-go has %s now", name)
		}
	}
	off := func(th core.Thread) ReplyTo {
		if th.Kind == core.KindGroup {
			return ReplyOff
		}
		return ReplyAll
	}
	for _, opts := range [][]slacktest.Option{nil, {slacktest.MentionFirst()}, {slacktest.Only("app_mention")}, {slacktest.Only("message")}} {
		r := start(t, slacktest.Config{}, set(func(c *Config) { c.ReplyTo = off }))
		for n := range 2 { // Slack is asked for the kind of a place once
			r.slack.Say(slacktest.Group, slacktest.User, atBot+"hi", opts...)
			if m := r.bot.next(t, n); m.Thread().Kind != core.KindGroup || m.Thread().Root != "" {
				t.Errorf("with %d options: %+v", len(opts), m.Thread())
			}
			r.settled()
		}
		if n := len(r.slack.Calls("conversations.info")); n > 1 || len(r.bot.heard()) != 2 {
			t.Errorf("asked %d times; heard %+v", n, r.bot.heard())
		}
	}
	// Slack does not tell: it is taken for a channel, and what a message event
	// says later counts.
	r := start(t, slacktest.Config{}, set(func(c *Config) { c.ReplyTo = off }))
	r.slack.Fail("conversations.info", slacktest.Fault{Error: "missing_scope"})
	for n, want := range []core.Kind{core.KindThread, core.KindGroup} {
		r.slack.Say(slacktest.Group, slacktest.User, atBot+"hi", slacktest.Only([]string{"app_mention", "message"}[n]))
		if m := r.bot.next(t, n); m.Thread().Kind != want {
			t.Errorf("message %d: %+v", n, m.Thread())
		}
	}
}

// A slash command has been seen with a field as text and as truth value.
func TestTrapFieldsOfSlashCommands(t *testing.T) {
	r := answering(t, core.Reply{Text: "ok"}, nil)
	for i, install := range []string{`"false"`, `false`, `null`, `{}`} {
		id := "S" + string(rune('1'+i))
		r.slack.SendFrame(id, []byte(`{"envelope_id":"`+id+`","type":"slash_commands","accepts_response_payload":true,"payload":{"command":"/help","text":"","user_id":"U0USER","team_id":"T0TEAM","channel_id":"C0CHAN","thread_ts":"`+stampOne+`","is_enterprise_install":`+install+`,"trigger_id":"`+id+`"}}`))
		r.settled()
		r.bot.await(t, "the command", func() bool { return len(r.bot.commands) == i+1 })
		if inv := r.bot.called()[i]; inv.Name != "help" || inv.Target.Thread.Key() != "slack:main:T0TEAM:C0CHAN" {
			t.Errorf("with %s: %+v", install, inv)
		}
	}
}

// No blocks are blocks for slack-go: an edit that names none of them, in this
// way, takes away those that were there. Ours always says all that a message is
// to show, so that it takes away what is gone and keeps what is not.
func TestTrapNoBlocksAreBlocks(t *testing.T) {
	r, target := asked(t)
	id := r.card(target, "May I?")
	shows := func() string { return string(r.slack.Posts(slacktest.Channel, target.Thread.Root)[0].Blocks) }
	var none []slackgo.Block
	if _, _, _, err := theirs(t, r.slack).UpdateMessageContext(t.Context(), slacktest.Channel, id, slackgo.MsgOptionText("May I now?", false), slackgo.MsgOptionBlocks(none...)); err != nil {
		t.Fatal(err)
	}
	if c := r.slack.Calls("chat.update")[0]; c.Args["blocks"] != "[]" || strings.Contains(shows(), "actions") {
		t.Errorf("slack-go leaves them alone now: %v, %s", c.Args, shows())
	}
	full := post(target, "May I now?")
	full.Buttons = []core.Button{{Label: "Approve", Token: "t0k", Value: "yes"}}
	for _, buttons := range [][]core.Button{full.Buttons, nil} {
		full.Buttons = buttons
		if err := r.a.Edit(t.Context(), id, full); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(shows(), "actions"); got != (buttons != nil) {
			t.Errorf("with %d buttons it shows %s", len(buttons), shows())
		}
	}
}

// slack-go sends no file without a name or a size.
func TestTrapFilesWithoutAName(t *testing.T) {
	r, target := asked(t)
	for _, p := range []slackgo.GetUploadURLExternalParameters{{FileSize: 3}, {FileName: "a.txt"}} {
		if _, err := theirs(t, r.slack).GetUploadURLExternalContext(t.Context(), p); err == nil {
			t.Errorf("slack-go takes %+v now", p)
		}
	}
	p := post(target, "see")
	p.Files = []core.File{{Data: []byte("abc")}, {Name: "empty.txt"}}
	if _, err := r.a.Post(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var files, told []string
	for _, m := range r.slack.Posts(slacktest.Channel, target.Thread.Root) {
		for _, f := range m.Files {
			files = append(files, f["name"].(string))
		}
		told = append(told, m.Text)
	}
	if len(files) != 1 || files[0] != "file" || !strings.Contains(strings.Join(told, "\n"), "empty.txt") {
		t.Errorf("files %q; told %q", files, told)
	}
}

// What stands in the address of a request is not signed. Neither reads it.
func TestTrapPayloadInTheAddress(t *testing.T) {
	const press = `{"type":"block_actions","trigger_id":"t","user":{"id":"U0USER","team_id":"T0TEAM"},"team":{"id":"T0TEAM"},"channel":{"id":"C0CHAN"},"actions":[{"action_id":"press:t0k 0","value":"x"}]}`
	address := "/slack/interactions?payload=" + url.QueryEscape(press)
	q := httptest.NewRequest(http.MethodPost, address, strings.NewReader(""))
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if _, err := slackgo.InteractionCallbackParse(q); err == nil {
		t.Error("slack-go reads the address again")
	}
	r, base := overHTTP(t, slacktest.Config{}, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+address, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.slack.Sign(req, nil, time.Now())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	r.settled()
	if p := r.bot.pressed(); resp.StatusCode != http.StatusOK || len(p) > 0 {
		t.Errorf("answered with %d; pressed %+v", resp.StatusCode, p)
	}
}

// Of the refusals that end slack-go's client only an address that is none is
// told as an event.
func TestTrapRefusalByAddress(t *testing.T) {
	s := serve(t, slacktest.Config{})
	s.Fail("apps.connections.open", slacktest.Fault{Status: http.StatusNotFound})
	events, ended := theirSocket(t, s)
	await(t, events, socketmode.EventTypeInvalidAuth)
	if err := <-ended; err == nil {
		t.Error("slack-go ends without a word")
	}
	s.Fail("apps.connections.open", slacktest.Fault{Status: http.StatusNotFound})
	wantFatal(t, s, config(s), "not Slack's")
}

// slack-go keeps blocks that it does not know. So do we, and look for mentions
// in those that we know.
func TestTrapUnknownBlocks(t *testing.T) {
	const blocks = `[{"type":"brand_new","x":[1,{"y":"z"}]},{"type":"rich_text","elements":[{"type":"brand_new"},{"type":"rich_text_section","elements":[{"type":"user","user_id":"U0BOT"}]}]}]`
	var theirs slackgo.Blocks
	if err := json.Unmarshal([]byte(blocks), &theirs); err != nil || len(theirs.BlockSet) != 2 || theirs.BlockSet[0].BlockType() != "brand_new" {
		t.Errorf("slack-go: %+v, %v", theirs, err)
	}
	if ev := (event{Text: "hi", Blocks: json.RawMessage(blocks)}); !ev.mentions("U0BOT") {
		t.Error("the mention beside an unknown block is not seen")
	}
}
