package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/llm"
	"understudy/core/tool"
	"understudy/notices"
	"understudy/sessions"
	"understudy/store/memory"
)

// The faults that users of such bots have reported, by the number of the report,
// as far as they lie in this room.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		id  string
		run func(*house)
	}{
		{"p043", aCommandInAThreadKnowsTheChannelsAgent},
		{"p045", everyEntranceHasTheSameSession},
		{"p050", noticesStayWhereTheyBelong},
		{"p052", noWayAroundThePolicy},
		{"p053", aBrokenAnswerIsTheOnlyOne},
		{"p054", oneNoticePerChange},
		{"p058", errorsAreFixedSentences},
		{"p059", anotherFailureIsAnotherNotice},
		{"p081", whatWasDeletedIsNotAnswered},
		{"p099", anEditIsNoMessage},
		{"p100", newMeansTheConversation},
		{"p102", aChoiceIsWhatIsStored},
		{"p104", everyCommandMayComeFirst},
		{"p109", wordsDoNotStop},
		{"p113", aStopLeavesAWholeHistory},
		{"p117", stopInAChannel},
		{"p118", aListWaitsForNobody},
		{"p120", sixtyOneModels},
		{"p122", namesOfModelsAreNeverTakenApart},
		{"p152", theIndicatorAlwaysEnds},
		{"p176", whatWaitsIsAtWork},
		{"p179", nobodyClaimsToBeTheSelectedModel},
		{"p180", aServerErrorIsNoReasonToStartOver},
		{"p181", aFailureIsToldWhereItHappened},
		{"p186", aPickIsOfItsOwnPage},
		{"p188", aPickIsWhatWasShown},
		{"p199", noKeyGetsIntoAChat},
	} {
		t.Run(c.id, func(t *testing.T) { inHouse(t, c.run) })
	}
}

// place100 is a channel that answers in itself.
var place100 = core.Target{Thread: core.Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: "100", Kind: core.KindChannel}}

// hear delivers a message of somebody in a place.
func (h *house) hear(place core.Target, who, text string) core.Message {
	h.t.Helper()
	m := h.message("", text)
	m.Author = core.Author{ID: who, Name: who}
	place.ReplyTo = m.ID
	m.Target = place
	if err := h.bot.Message(context.Background(), m); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return m
}

// lastRequest is what the model that was asked last was told, without the
// system prompt.
func (h *house) lastRequest() llm.Request {
	h.t.Helper()
	all := h.log.Requests()
	if len(all) == 0 {
		h.t.Fatal("no model was asked")
	}
	return all[len(all)-1].Request
}

func told(r llm.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			fmt.Fprintf(&b, "%s %s", m.Role, p.Text)
			if p.Call != nil {
				fmt.Fprintf(&b, "calls %s", p.Call.Name)
			}
			if p.Result != nil {
				fmt.Fprintf(&b, "gets %s", p.Result.Text)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func aCommandInAThreadKnowsTheChannelsAgent(h *house) {
	h.more = map[string]sessions.Agent{"support": {Policy: h.agent.Policy}}
	own := h.more["support"]
	own.Policy.Agent.Primary = ref("b/m2")
	h.more["support"] = own
	h.set.Bind = func(m core.Message) string {
		if m.Thread().Channel == "100" || m.Thread().Parent == "100" {
			return "support"
		}
		return ""
	}
	h.open()
	thread := core.Target{Thread: core.Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: "500", Parent: "100", Kind: core.KindThread}}
	if r := h.native(thread, "status", "ann"); !strings.HasPrefix(r.Text, "Selected: b/m2 (set for this agent)") {
		h.t.Fatalf("the status is %q", r.Text)
	}
	h.hear(thread, "ann", "hi")
	h.expectAsked("b/m2: hi")
}

func everyEntranceHasTheSameSession(h *house) {
	h.set.PerUser = true
	h.open()
	h.native(place100, "model b/m2", "ann")
	h.hear(place100, "ann", "hi")
	h.hear(place100, "bob", "hello")
	h.expectAsked("b/m2: hi", "a/m1: hello")
	if got := told(h.lastRequest()); strings.Contains(got, "hi\n") {
		h.t.Fatalf("bob's model was told of ann:\n%s", got)
	}
	h.hear(place100, "ann", "/model c/m3")
	h.hear(place100, "ann", "again")
	h.native(place100, "retry", "ann")
	h.pressed = place100
	if r := h.pick(h.pick(h.pick(h.native(place100, "model", "ann"), "a", "ann"), "m1", "ann"), "any", "ann"); !strings.Contains(r.Text, "now uses a/m1") {
		h.t.Fatalf("the pick says %q", r.Text)
	}
	h.native(place100, "new", "bob")
	h.hear(place100, "ann", "once more")
	h.expectAsked("b/m2: hi", "a/m1: hello", "c/m3: again", "c/m3: again", "a/m1: once more")
	if got := told(h.lastRequest()); !strings.Contains(got, "hi\n") || !strings.Contains(got, "again\n") {
		h.t.Fatalf("ann's conversation is not whole:\n%s", got)
	}
	inside := core.Target{Thread: core.Thread{Platform: "discord", Account: "main", Workspace: "900", Channel: "500", Parent: "100", Kind: core.KindThread}}
	h.native(place100, "model b/m2", "ann")
	h.hear(inside, "ann", "in a thread")
	h.hear(inside, "bob", "in a thread, too")
	asked := h.asked()
	expect(h.t, "in a thread", asked[len(asked)-2:], []string{"b/m2: in a thread", "a/m1: in a thread, too"})
}

// limited is how a model fails that stays blocked for a while.
const limited = `429 retry-after=600 {"error":{"type":"rate_limit_error","message":"Slow down, org-1234 at https://api.a.test/limits"}}`

func noticesStayWhereTheyBelong(h *house) {
	policies := map[string]notices.Policy{"replied": notices.Reply, "logged": notices.Log, "off": notices.Off}
	h.set.Place = func(t core.Thread) sessions.Manner { return sessions.Manner{Notices: policies[t.Channel]} }
	h.open()
	for name, c := range map[string]struct {
		notice []string
		logged bool
	}{
		"replied": {[]string{"replied notice: ↪️ Model Fallback: b/m2 (selected a/m1; …"}, true},
		"logged":  {nil, true},
		"off":     {nil, false},
	} {
		before, logged := len(h.place.all()), len(h.logged.String())
		h.model("a/m1", limited, limited)
		h.model("b/m2", `text "hello"`)
		h.say(name, "hi")
		expect(h.t, name, h.place.all()[before:], append([]string{name + " answer: hello"}, c.notice...))
		if p := h.place.sent()[before]; !p.Link {
			h.t.Errorf("%s: the answer has no reply link", name)
		}
		if got := strings.Contains(h.logged.String()[logged:], "Model Fallback"); got != c.logged {
			h.t.Errorf("%s: logged %v\n%s", name, got, h.logged.String()[logged:])
		}
		if r := h.command(name, "status", "ann"); !strings.Contains(r.Text, "Active: b/m2, because a/m1 failed") {
			h.t.Errorf("%s: the status is %q", name, r.Text)
		}
		time.Sleep(time.Hour)
	}
}

func noWayAroundThePolicy(h *house) {
	h.set.Notices.Default = notices.Log
	h.set.Streaming = true
	h.agent.Tools = []tool.Tool{gadget{"thing", func(context.Context, tool.Call) (string, error) { return "done", nil }}}
	h.open()
	h.model("a/m1", limited, limited)
	h.model("b/m2", `text "normal"`, `stream "grow" pause 5s "ing"`, "tool thing", `text "with a tool"`, `text "asked again"`, `text "taken up"`)
	h.say("t1", "one")
	h.say("t1", "two")
	time.Sleep(10 * time.Second)
	h.say("t1", "three")
	h.command("t1", "retry", "ann")
	m := h.message("t2", "left")
	h.stop(0)
	st := h.data.Open(memory.Options{})
	if _, _, err := st.Admit(context.Background(), sessions.Inbound{Key: m.InboxKey(), Session: key("t2"), Message: m, At: time.Now()}); err != nil {
		h.t.Fatal(err)
	}
	// A notice that was queued under another policy and is still to be sent.
	if _, err := st.Queue(context.Background(), delivery.Row{Session: key("t3"), Turn: "an earlier one", State: delivery.Queued, Created: time.Now(),
		Post: core.Post{Target: core.Target{Thread: thread("t3")}, Kind: core.PostNotice, Text: "↪️ Model Fallback: b/m2 (selected a/m1; rate limit)"}}); err != nil {
		h.t.Fatal(err)
	}
	h.open()
	synctest.Wait()
	for _, p := range h.place.sent() {
		if p.Kind == core.PostNotice {
			h.t.Errorf("a notice was posted: %+v", p)
		}
	}
	if got := len(h.place.all()); got != 5 {
		h.t.Errorf("there are %d posts:\n%s", got, strings.Join(h.place.all(), "\n"))
	}
}

// aBrokenAnswerIsTheOnlyOne: once people saw a part of an answer, no other model
// gives another one, and no tool runs again.
func aBrokenAnswerIsTheOnlyOne(h *house) {
	ran := 0
	h.set.Streaming = true
	h.agent.Tools = []tool.Tool{gadget{"thing", func(context.Context, tool.Call) (string, error) { ran++; return "done", nil }}}
	h.open()
	h.model("a/m1", "tool thing", `stream "Hello wor" pause 5s then 500 "broken"`)
	h.model("b/m2", `text "Hello world!"`)
	h.say("t1", "hi")
	time.Sleep(time.Hour)
	h.expectAsked("a/m1: hi", "a/m1: done")
	h.expectPosts("t1 answer: Hello wor…", "t1 error: The answer above broke off: …")
	if ran != 1 || strings.Contains(h.place.all()[0], "world") {
		h.t.Errorf("the tool ran %d times; the chat shows %q", ran, h.place.all())
	}
}

func oneNoticePerChange(h *house) {
	h.open()
	h.model("a/m1", limited, limited)
	h.model("b/m2", `text "1"`, `text "2"`, `text "3"`, `text "4"`)
	h.say("t1", "one")
	h.say("t1", "two")
	h.stop(time.Second)
	h.open()
	h.say("t1", "three")
	h.say("t1", "four")
	time.Sleep(time.Hour)
	h.model("a/m1", `text "5"`)
	h.say("t1", "five")
	h.expectPosts("t1 answer: 1", "t1 notice: ↪️ Model Fallback: b/m2 (selected a/m1; rate limit)",
		"t1 answer: 2", "t1 answer: 3", "t1 answer: 4",
		"t1 answer: 5", "t1 notice: ↪️ Model Fallback cleared: a/m1 (was b/m2)")
}

func errorsAreFixedSentences(h *house) {
	h.agent.Policy.Defaults.Fallbacks = nil
	h.open()
	h.model("a/m1", `400 "Traceback: File /srv/llm/handler.py line 17 in run, key sk-live-123456789012345678901234"`)
	h.say("t1", "hi")
	time.Sleep(time.Hour)
	posts := h.place.all()
	if len(posts) != 1 || !strings.HasPrefix(posts[0], "t1 error: ") {
		h.t.Fatalf("the chat shows\n%s", strings.Join(posts, "\n"))
	}
	for _, leak := range []string{"Traceback", "/srv", "handler", "sk-"} {
		if strings.Contains(posts[0], leak) {
			h.t.Errorf("the chat shows %q: %s", leak, posts[0])
		}
	}
	if !strings.Contains(h.logged.String(), "a turn has no answer") {
		h.t.Error("the log says nothing")
	}
}

func anotherFailureIsAnotherNotice(h *house) {
	h.agent.Policy.Defaults.Fallbacks = []llm.Ref{ref("b/m2"), ref("c/m3")}
	h.open()
	h.model("a/m1", limited, limited)
	h.model("b/m2", `text "1"`, `401 "invalid x-api-key"`, `401 "invalid x-api-key"`)
	h.model("c/m3", `text "2"`, `text "3"`)
	h.say("t1", "one")
	h.say("t1", "two")
	h.say("t1", "three")
	h.expectPosts("t1 answer: 1", "t1 notice: ↪️ Model Fallback: b/m2 (selected a/m1; rate limit)",
		"t1 answer: 2", "t1 notice: ↪️ Model Fallback: c/m3 (selected a/m1; …", "t1 answer: 3")
}

func whatWasDeletedIsNotAnswered(h *house) {
	h.open()
	h.model("a/m1", `slow 30s text "done"`)
	h.say("t1", "slow one")
	oops := h.say("t1", "oops wrong text")
	time.Sleep(time.Second)
	running := h.say("t2", "still wanted")
	for _, m := range []core.Message{oops, running} {
		if err := h.bot.Change(context.Background(), core.Change{InboxKey: m.InboxKey(), Deleted: true}); err != nil {
			h.t.Fatal(err)
		}
	}
	time.Sleep(time.Minute)
	h.expectAsked("a/m1: slow one", "a/m1: still wanted")
	h.expectPosts("t1 answer: done", "t2 answer: done")
}

func anEditIsNoMessage(h *house) {
	h.open()
	m := h.say("t1", "v1 text")
	if err := h.bot.Change(context.Background(), core.Change{InboxKey: m.InboxKey(), Text: "v2 text"}); err != nil {
		h.t.Fatal(err)
	}
	h.say("t1", "continue")
	h.expectAsked("a/m1: v1 text", "a/m1: continue")
	if got := told(h.lastRequest()); !strings.Contains(got, "v1 text") || strings.Contains(got, "v2 text") {
		h.t.Fatalf("the model was told\n%s", got)
	}
}

func newMeansTheConversation(h *house) {
	h.open()
	h.hear(place100, "ann", "remember 42")
	key := core.Key{Agent: "main", Thread: place100.Thread.Key()}
	before, err := h.store.Session(context.Background(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	h.fault = func(op string) error {
		if op == "choice" {
			return errors.New("disk full")
		}
		return nil
	}
	if r, err := h.bot.Command(context.Background(), core.Invocation{ID: "x", Author: core.Author{ID: "ann"}, Target: place100, Name: "new", Native: true}); err == nil {
		h.t.Fatalf("nothing was stored, and it said %+v", r)
	}
	h.fault = nil
	h.native(place100, "new", "ann")
	h.hear(place100, "ann", "what number?")
	if got := told(h.lastRequest()); strings.Contains(got, "42") {
		h.t.Fatalf("the model was told\n%s", got)
	}
	after, err := h.store.Session(context.Background(), key)
	if err != nil || after.Transcript == before.Transcript {
		h.t.Fatalf("the conversation is the old one: %v", err)
	}
	heard, err := h.store.Heard(context.Background(), sessions.Where{}, 99)
	if err != nil || len(heard) != 1 || heard[0].Session != key {
		h.t.Fatalf("there are sessions %+v, %v", heard, err)
	}
}

func aChoiceIsWhatIsStored(h *house) {
	h.set.Aliases = map[string]llm.Ref{"fast-x": ref("a/m9")}
	h.open()
	h.say("t1", "/model fast-x")
	if c := h.session("t1").Choice; c.Model != ref("a/m9") {
		h.t.Fatalf("the choice is %+v", c)
	}
	h.say("t1", "/model fsat-x")
	if c := h.session("t1").Choice; c.Model != ref("a/m9") {
		h.t.Fatalf("a typo made it %+v", c)
	}
	h.say("t1", "/model default")
	if c := h.session("t1").Choice; c != (sessions.Choice{}) {
		h.t.Fatalf("the choice is still %+v", c)
	}
	h.say("t1", "hi")
	h.expectAsked("a/m1: hi")
	h.expectPosts("t1 command: This thread now uses a/m9. …", `t1 command: I don’t know the model "fsat-x". Did you mean fast-x, …`,
		"t1 command: This thread uses the default model again: a/m1.", "t1 answer: ok")
}

func everyCommandMayComeFirst(h *house) {
	h.open()
	for i, first := range [][]string{{"!new"}, {"!reset"}, {"!compact"}, {"!model b/m2"}, {"!stop"}, {"!status"}, {"!models"}, {"!help"}, {"!retry"}, {"!new", "!new"}} {
		for _, native := range []bool{false, true} {
			name := fmt.Sprintf("t%d%v", i, native)
			for _, line := range first {
				if native {
					h.command(name, strings.TrimPrefix(line, "!"), "ann")
				} else {
					h.say(name, line)
				}
			}
			asked := len(h.asked())
			h.say(name, "hello")
			posts := h.place.all()
			if got := h.asked(); len(got) != asked+1 || posts[len(posts)-1] != name+" answer: ok" {
				h.t.Errorf("after %v as the first thing (native %v):\n%s", first, native, strings.Join(posts, "\n"))
			}
		}
	}
}

func wordsDoNotStop(h *house) {
	h.open()
	h.model("a/m1", `slow 10s text "done"`)
	h.say("t1", "go")
	for _, text := range []string{"wait, also include cats", "stop", "stop that", "!stop it, will you", "please /stop", "abort"} {
		h.say("t1", text)
	}
	h.expectAsked("a/m1: go")
	time.Sleep(2 * time.Minute)
	posts := h.place.all()
	if len(posts) != 7 || posts[0] != "t1 answer: done" {
		h.t.Fatalf("the chat shows\n%s", strings.Join(posts, "\n"))
	}
	h.model("a/m1", "hang", "hang")
	for _, text := range []string{"/stop", " !STOP "} {
		h.say("t1", "again")
		h.say("t1", text)
		posts := h.place.all()
		if got := posts[len(posts)-1]; got != "t1 command: Stopped." {
			h.t.Fatalf("%q led to %q", text, got)
		}
	}
}

func aStopLeavesAWholeHistory(h *house) {
	block := make(chan struct{})
	ran := 0
	h.agent.Tools = []tool.Tool{gadget{"thing", func(ctx context.Context, _ tool.Call) (string, error) {
		if ran++; ran == 1 {
			return "the first result", nil
		}
		select {
		case <-block:
		case <-ctx.Done():
		}
		return "", ctx.Err()
	}}}
	h.open()
	h.model("a/m1", "tool thing tool thing tool thing", `text "continued"`)
	h.say("t1", "do")
	h.say("t1", "/stop")
	h.say("t1", "continue")
	h.expectPosts("t1 command: Stopped.", "t1 answer: continued")
	want := "user do\nassistant calls thing\nassistant calls thing\nassistant calls thing\ntool gets the first result\n" +
		"tool gets Error: the user stopped this before it was done.\ntool gets Error: the user stopped this before it was done.\n" +
		"assistant (Stopped by the user.)\nuser continue\n"
	if got := withoutSpeakers(told(h.lastRequest())); got != want {
		h.t.Fatalf("the model was told\n%s", got)
	}
	close(block)
}

// withoutSpeakers drops the lines that say who speaks.
func withoutSpeakers(text string) string {
	return strings.ReplaceAll(text, `user {"speaker":"Ann"}`+"\n\n", "")
}

func stopInAChannel(h *house) {
	h.set.Threads = func(core.Thread) bool { return true }
	h.open()
	if r := h.native(lobby, "stop", "ann"); r.Text != "Nothing is running here." {
		h.t.Fatalf("nothing runs, and it said %+v", r)
	}
	h.model("a/m1", "hang", "hang", "hang", "hang", "hang", "hang")
	h.say("t1", "the first thing")
	bob := h.message("t3", "of bob")
	bob.Author.ID = "bob"
	if err := h.bot.Message(context.Background(), bob); err != nil {
		h.t.Fatal(err)
	}
	elsewhere := h.message("t4", "in another channel")
	elsewhere.Target.Thread.Parent = "kitchen"
	if err := h.bot.Message(context.Background(), elsewhere); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	if r := h.native(lobby, "stop", "ann"); r.Text != "Stopped the answer to “the first thing”." {
		h.t.Fatalf("one runs, and it said %+v", r)
	}
	h.say("t1", "one")
	h.say("t2", "two")
	r := h.native(lobby, "stop", "ann")
	expect(h.t, "two run", append([]string{r.Text}, shows(r)...), []string{"2 answers to you are being written here. Which one is to stop?", "[Stop “one”]", "[Stop “two”]"})
	h.pressed = lobby
	if r := h.click(r, "Stop “two”", "bob"); !r.Aside {
		h.t.Fatalf("bob stopped it: %+v", r)
	}
	if r := h.click(r, "Stop “two”", "ann"); r.Text != "Stopped the answer to “two”." {
		h.t.Fatalf("it said %+v", r)
	}
	if r := h.click(r, "Stop “two”", "ann"); r.Text != "That answer has ended already." {
		h.t.Fatalf("the second time it said %+v", r)
	}
	if r := h.native(lobby, "stop all", "ann"); r.Text != "Only admins of this bot can use /stop all here." {
		h.t.Fatalf("ann stopped all: %+v", r)
	}
	if r := h.native(lobby, "stop all", "root"); r.Text != "Stopped 2 answers." { // one of ann, one of bob
		h.t.Fatalf("root stopped all: %+v", r)
	}
	if r := h.command("t4", "stop", "root"); r.Text != "Stopped." { // in the thread itself, by anybody
		h.t.Fatalf("in the thread: %+v", r)
	}
}

func aListWaitsForNobody(h *house) {
	h.open()
	h.model("a/m1", "hang")
	h.say("t1", "hi")
	began := time.Now()
	r := h.pick(h.command("t1", "models", "ann"), "b", "ann")
	if len(r.Menus) != 1 || time.Since(began) != 0 {
		h.t.Fatalf("after %v it shows %+v", time.Since(began), r)
	}
	if r := h.pick(h.pick(r, "m2", "ann"), "any", "ann"); !strings.HasPrefix(r.Text, "This thread now uses b/m2.") || time.Since(began) != 0 {
		h.t.Fatalf("after %v it says %q", time.Since(began), r.Text)
	}
}

func sixtyOneModels(h *house) {
	h.set.Offered = nil
	h.open()
	for _, line := range []string{"model", "models"} {
		if r := h.command("t1", line, "ann"); len(r.Menus) != 0 || r.Text != "No model can be chosen here." {
			h.t.Fatalf("without a model /%s shows %+v", line, r)
		}
	}
	h.manyModels("z", 61)
	r := h.command("t1", "models", "ann")
	if !strings.Contains(h.command("t2", "model", "ann").Text, "Selected: a/m1") || len(r.Menus) != 1 || len(r.Menus[0].Options) != 61 {
		h.t.Fatalf("it shows %+v", r)
	}
}

func namesOfModelsAreNeverTakenApart(h *house) {
	odd := []llm.Ref{
		{Provider: "router", Model: "vendorx/model-9"}, {Provider: "router", Model: "vendorx/model:free"},
		{Provider: "router", Model: "@cf/meta/llama"}, {Provider: "router", Model: strings.Repeat("x/", 60) + "end"}, {Provider: "router", Model: "a@b"},
	}
	h.set.Offered = odd
	h.open()
	for _, want := range odd {
		h.pick(h.pick(h.command("t1", "model", "ann"), want.Model, "ann"), "any", "ann")
		if c := h.session("t1").Choice; c.Model != want {
			h.t.Errorf("picked %+v, stored %+v", want, c.Model)
		}
		h.command("t1", "model default", "ann")
		h.command("t1", "model "+want.String(), "ann")
		if c := h.session("t1").Choice; c.Model != want && want.Model != "a@b" { // there "@" names a profile
			h.t.Errorf("named %+v, stored %+v", want, c.Model)
		}
	}
}

func nobodyClaimsToBeTheSelectedModel(h *house) {
	h.agent.Policy.Defaults.Primary = ref("a/typo")
	h.agent.System = "You are kind."
	h.open()
	h.model("a/typo", `404 {"error":{"type":"not_found_error","message":"model: typo"}}`, `404 {"error":{"type":"not_found_error","message":"model: typo"}}`)
	h.say("t1", "which model are you?")
	r := h.lastRequest()
	if r.Model != "m2" || strings.Contains(r.System, "typo") || strings.Contains(r.System, "m2") {
		h.t.Fatalf("%s was told %q", r.Model, r.System)
	}
	text := h.command("t1", "status", "ann").Text
	if !strings.HasPrefix(text, "Selected: a/typo (the default)") || !strings.Contains(text, "Active: b/m2, because a/typo failed (model not found); since ") {
		h.t.Fatalf("the status is\n%s", text)
	}
}

func aServerErrorIsNoReasonToStartOver(h *house) {
	h.agent.Policy.Defaults.Fallbacks = nil
	h.open()
	for range 20 {
		h.model("a/m1", `500 {"error":{"type":"api_error","message":"Internal server error"}}`)
	}
	h.say("t1", "hi")
	time.Sleep(time.Hour)
	posts := h.place.all()
	if len(posts) != 1 || !strings.HasPrefix(posts[0], "t1 error: a/m1 ") || !strings.Contains(posts[0], "try again") || strings.Contains(posts[0], "/new") {
		h.t.Errorf("the chat shows\n%s", strings.Join(posts, "\n"))
	}
}

func aFailureIsToldWhereItHappened(h *house) {
	h.agent.Policy.Defaults.Fallbacks = nil
	h.open()
	direct := core.Target{Thread: core.Thread{Platform: "discord", Account: "main", Channel: "600", Kind: core.KindDirect}}
	other := core.Target{Thread: core.Thread{Platform: "slack", Account: "main", Workspace: "T", Channel: "D0DM", Kind: core.KindDirect}}
	h.model("a/m1", `slow 5s 402 "insufficient credits"`, `text "fine"`)
	h.hear(direct, "700", "hi")
	h.hear(other, "U0USER", "hello") // the last activity is elsewhere when it fails
	h.model("a/m1", broke)
	time.Sleep(time.Minute)
	for _, p := range h.place.sent() {
		if p.Kind == core.PostError && p.Target.Thread.Platform != "discord" {
			h.t.Errorf("the failure was told at %+v", p.Target)
		}
	}
	posts := h.place.all()
	expect(h.t, "posts", posts, []string{"D0DM answer: fine", "600 error: a/m1 is out of credit, …"})
}

func aPickIsOfItsOwnPage(h *house) {
	h.set.Offered = nil
	h.manyModels("p0", 3)
	h.manyModels("p1", 8)
	h.open()
	first := h.command("t1", "model", "ann")
	second := h.pick(first, "p1", "ann") // shown before …
	third := h.pick(first, "p0", "ann")  // … this one
	r := h.press(third.Menus[0].Token, "5", "ann")
	if !strings.HasPrefix(r.Text, "The list has changed; choose again.\n") || len(r.Menus) != 1 || len(r.Menus[0].Options) != 3 {
		h.t.Fatalf("it shows %+v", r)
	}
	if c := h.session("t1").Choice; c != (sessions.Choice{}) {
		h.t.Fatalf("the choice is %+v", c)
	}
	h.pick(h.press(second.Menus[0].Token, "5", "ann"), "any", "ann")
	if c := h.session("t1").Choice; c.Model != (llm.Ref{Provider: "p1", Model: "model-06"}) {
		h.t.Fatalf("the choice is %+v", c)
	}
}

func aPickIsWhatWasShown(h *house) {
	h.set.Offered = []llm.Ref{ref("z/one"), ref("z/two"), ref("z/three")}
	h.open()
	r := h.command("t1", "models", "ann")
	h.set.Offered = []llm.Ref{ref("z/zero"), ref("z/one"), ref("z/three")}
	h.pick(h.press(r.Menus[0].Token, "2", "ann"), "any", "ann")
	if c := h.session("t1").Choice; c.Model != ref("z/three") {
		h.t.Fatalf("the choice is %+v", c)
	}
	h.command("t1", "model default", "ann")
	gone := h.press(r.Menus[0].Token, "1", "ann") // z/two is no more
	gone = h.pick(gone, "any", "ann")
	if !strings.HasPrefix(gone.Text, "The list has changed; choose again.\n") {
		h.t.Fatalf("it shows %+v", gone)
	}
	if c := h.session("t1").Choice; c != (sessions.Choice{}) {
		h.t.Fatalf("the choice is %+v", c)
	}
}

func noKeyGetsIntoAChat(h *house) {
	h.open()
	const refused = `401 {"error":{"message":"Incorrect API key provided: sk-abc123def456ghi789jkl012. You can find your API key at https://platform.a.test/keys","code":"invalid_api_key"}}`
	for range 4 {
		h.model("a/m1", refused)
		h.model("b/m2", refused)
	}
	h.say("t1", "hi")
	time.Sleep(time.Hour)
	posts := h.place.all()
	if len(posts) != 1 || !strings.HasPrefix(posts[0], "t1 error: ") || !strings.Contains(posts[0], "credential") {
		h.t.Fatalf("the chat shows\n%s", strings.Join(posts, "\n"))
	}
	for _, leak := range []string{"sk-", "://", "{", "invalid_api_key"} {
		if strings.Contains(posts[0], leak) {
			h.t.Errorf("the chat shows %q: %s", leak, posts[0])
		}
	}
}

// Each class of failures has its sentence. What the provider said is in the log,
// without what is secret in it.
func TestP058(t *testing.T) {
	const said = `Traceback: File /srv/llm/handler.py line 17 in run, key sk-live-123456789012345678901234`
	for _, c := range []struct{ class, answer, want string }{
		{"rate limit", `429 "` + said + `"`, "a/m1 is rate-limited, and there is no other model to ask. Earliest retry in about 30 seconds. Please try again later."},
		{"overload", `529 "overloaded_error ` + said + `"`, "a/m1 is overloaded, and there is no other model to ask. I asked "},
		{"billing", `402 "insufficient credits, ` + said + `"`, "a/m1 is out of credit, and there is no other model to ask. The account needs credit; whoever runs this bot has to add it."},
		{"context too long", `400 "maximum context length exceeded, ` + said + `"`, "This message, with what belongs to it, is too long for a/m1 (about "},
		{"auth", `401 "` + said + `"`, "a/m1 did not accept the credential, and there is no other model to ask. Whoever runs this bot has to renew the credential."},
		{"timeout", `408 "` + said + `"`, "a/m1 did not answer in time, and there is no other model to ask."},
		{"server", `500 "` + said + `"`, "a/m1 had a server error, and there is no other model to ask."},
		{"model", `404 "no such model, ` + said + `"`, "a/m1 is not available, and there is no other model to ask. Choose another model with /model."},
		{"request", `400 "` + said + `"`, "a/m1 could not accept this request, and asking again would not help. Try /new, or another model with /model; the log has the details."},
	} {
		t.Run(c.class, func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.agent.Policy.Defaults.Fallbacks = nil
				h.open()
				for range 30 {
					h.model("a/m1", c.answer)
				}
				h.say("t1", "hi")
				time.Sleep(time.Hour)
				posts := h.place.all()
				if text := posts[len(posts)-1]; !strings.HasPrefix(text, "t1 error: "+c.want) {
					t.Errorf("the chat shows %q", text)
				}
				for _, leak := range []string{"Traceback", "/srv", "handler", "sk-", "40", "50", "429"} {
					if all := strings.Join(posts, "\n"); strings.Contains(all, leak) {
						t.Errorf("the chat shows %q: %s", leak, all)
					}
				}
				if log := h.logged.String(); !strings.Contains(log, "handler.py") || strings.Contains(log, "sk-live") {
					t.Errorf("the log says\n%s", log)
				}
			})
		})
	}
}
