package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core"
	"understudy/core/llm"
	"understudy/core/llm/llmtest"
)

// TestChannelCases plays reported failures with everything wired, by the number
// of the report, on each platform that it can happen on.
func TestChannelCases(t *testing.T) {
	for _, c := range []struct {
		id   string
		only string // the one platform it is about
		play func(*street)
	}{
		{"p019", "", openerAndRepliesAreOneTalk},
		{"p021", "slack", aThreadStartsWithoutTheChannelsTalk},
		{"p027", "discord", aThreadStartsWithoutTheChannelsTalk},
		{"p050", "", noticesGoWhereTheOperatorWants},
		{"p054", "", oneNoticePerChangeInSpiteOfARestart},
		{"p059", "", anotherStandInIsAnotherNotice},
		{"p081", "", aDeletedMessageIsNotAnswered},
		{"p100", "", newForgetsWhatWasSaid},
		{"p102", "", aPickIsStoredOrRefused},
		{"p109", "", ordinaryWordsDoNotStop},
		{"p160", "", anOutageIsOneMessage},
		{"p179", "", statusNamesWhoAnswers},
		{"p180", "", aServerErrorIsNoReasonForANewTalk},
		{"p186", "discord", aPickFromAnOldPageIsNoOtherModel},
		{"p188", "discord", aPickAfterARestartIsNoOtherModel},
		{"p199", "", noKeyReachesAPlatform},
	} {
		for name, newTown := range towns {
			if c.only == "" || c.only == name {
				t.Run(c.id+"/"+name, func(t *testing.T) { c.play(newStreet(t, newTown(t))) })
			}
		}
	}
}

// street is a stand on one platform, with a channel for operators.
type street struct {
	*stand
	town town
	ops  string // the channel for operators
	stop func() int
	said *output
}

func newStreet(t *testing.T, town town) *street {
	s := &street{stand: newStand(t, town), town: town, ops: "110"}
	if p, ok := town.(slackTown); ok {
		s.ops = "C0OPS"
		p.AddPlace(s.ops, "channel", "ops")
	}
	return s
}

// run starts the bot with more keys in its configuration, in the place of those
// that are there already.
func (s *street) run(more string) {
	s.configure(more)
	s.again()
}

// again starts the bot once more.
func (s *street) again() { s.stop, s.said = s.runHere() }

// operators is the configuration of the channel for operators.
func (s *street) operators() string {
	return fmt.Sprintf(`"admin": {"channel": "channel:%s", "every": "1s"},`, s.ops)
}

// told are the messages in the channel for operators.
func (s *street) told() []shown {
	if p, ok := s.town.(slackTown); ok {
		var all []shown
		for _, m := range p.Posts(s.ops, "") {
			all = append(all, shown{id: m.TS, text: m.Text})
		}
		return all
	}
	return s.town.posts(s.ops)
}

// tell waits until the only message for operators holds a text.
func (s *street) tell(want string) {
	s.Helper()
	s.until(s.town, "operators to read "+want, func() bool {
		told := s.told()
		return len(told) == 1 && strings.Contains(told[0].text, want)
	})
}

// nobodyTold wants that operators were not told anything.
func (s *street) nobodyTold() {
	s.Helper()
	if told := s.told(); len(told) > 0 {
		s.Errorf("operators were told %+v", told)
	}
}

// clear ends the block of the lead as an operator does.
func (s *street) clear() {
	s.Helper()
	out := &output{}
	if code := run(s.Context(), console{strings.NewReader(""), out, out}, []string{"auth", "clear", leadProfile}); code != 0 {
		s.Fatalf("auth clear ended with %d: %s", code, out)
	}
}

// chosen is the model that a thread is set to.
func (s *street) chosen(thread string) llm.Ref {
	s.Helper()
	session, _ := s.record(s.town, thread)
	return session.Choice.Model
}

// remove deletes a message of a person.
func (s *street) remove(thread, id string) {
	switch p := s.town.(type) {
	case discordTown:
		p.Remove(thread, id)
	case slackTown:
		p.Remove(slacktest.Channel, id)
	}
}

// square is a talk in the channel itself.
func (s *street) square() (k *talk, told func() int) {
	k = &talk{stand: s.stand, town: s.town, thread: discordSquare}
	if _, ok := s.town.(slackTown); ok {
		k.thread = ""
	}
	return k, func() int { return len(s.town.posts(k.thread)) }
}

// elsewhere is a thread that others have opened.
func (s *street) elsewhere() *talk {
	k := &talk{stand: s.stand, town: s.town, thread: "120"}
	switch p := s.town.(type) {
	case discordTown:
		p.AddChannel(discordtest.Channel{ID: k.thread, Parent: discordSquare, Name: "elsewhere", Type: discordtest.PublicThread})
	case slackTown:
		k.thread = p.Say(slacktest.Channel, slacktest.OtherUser, "what do you all think?")
	}
	return k
}

func openerAndRepliesAreOneTalk(s *street) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("It is under way."), llmtest.Text("Nothing new."))
	k := s.open(s.town, "a long job")
	k.next("It is under way.")
	k.say("any news?")
	k.next("Nothing new.")
	if heard := k.heard(s.lead); !strings.Contains(heard, "a long job") || !strings.Contains(heard, "It is under way.") {
		k.Errorf("the reply was asked without its opener:\n%s", heard)
	}
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	o := s.open(s.town, "good evening")
	o.next("Good evening.")
	if heard := o.heard(s.lead); strings.Contains(heard, "long job") {
		o.Errorf("another thread was asked with\n%s", heard)
	}
	k.nothingElse()
	o.nothingElse()
}

func aThreadStartsWithoutTheChannelsTalk(s *street) {
	s.run(`"thread": {"auto": false}, "replyTo": "off",`)
	s.lead.Queue("actor", llmtest.Text("As you say."))
	k, _ := s.square()
	for range 3 {
		k.say(s.town.command("the topic of the channel"))
		k.next("As you say.")
	}
	k.say(s.town.command("/model " + standInModel))
	k.next(standInModel)

	s.standIn.Queue("double", llmtest.Text("Of the thread alone."))
	o := s.elsewhere()
	o.say(s.town.command("and what is this about?"))
	o.next("Of the thread alone.") // so that the channel's choice came along
	if heard := o.heard(s.standIn); strings.Contains(heard, "topic of the channel") {
		o.Errorf("the thread was asked with\n%s", heard)
	}
}

func noticesGoWhereTheOperatorWants(s *street) {
	for _, policy := range []struct {
		name   string
		notice bool // in the thread
		told   bool // to operators
	}{{"log", false, true}, {"reply", true, false}, {"off", false, false}} {
		s.Run(policy.name, func(t *testing.T) {
			s := newStreet(t, towns[platformOf(s.town)](t))
			s.run(s.operators() + `"notices": {"fallback": "` + policy.name + `"},`)
			s.limit("600")
			s.standIn.Queue("double", llmtest.Text("I stand in."))
			k := s.elsewhere()
			k.say(s.town.command("hello"))
			if answer := k.next("I stand in."); platformOf(s.town) == "discord" && answer.reply != k.last {
				t.Errorf("the answer replies to %q, want %q", answer.reply, k.last)
			}
			if policy.notice {
				if notice := k.next(movedText); notice.reply != "" {
					t.Errorf("the notice replies to %q", notice.reply)
				}
			}
			if policy.told {
				s.tell(movedText)
			}
			// The status tells of it, and unless nobody is to know the log.
			k.say(s.town.command("/status"))
			k.next("Active: " + standInModel)
			s.stop()
			k.nothingElse()
			if !policy.told {
				s.nobodyTold()
			}
			if got := len(lines(s.said.String(), "model fallback notice")); (got == 1) != (policy.name != "off") {
				t.Errorf("%d lines of the log tell of it", got)
			}
		})
	}
}

func platformOf(t town) string {
	if _, ok := t.(slackTown); ok {
		return "slack"
	}
	return "discord"
}

func oneNoticePerChangeInSpiteOfARestart(s *street) {
	s.run("")
	s.limit("600")
	s.standIn.Queue("double", llmtest.Text("I stand in."))
	k := s.open(s.town, "hello")
	k.next("I stand in.")
	k.next(movedText)
	k.say("two")
	k.next("I stand in.")
	s.stop()
	s.again()
	for _, text := range []string{"three", "four"} {
		k.say(text)
		k.next("I stand in.")
	}
	s.clear()
	s.lead.Queue("actor", llmtest.Text("I am back."))
	k.say("five")
	k.next("I am back.")
	k.next(clearedText)
	s.stop()
	k.nothingElse()
}

func anotherStandInIsAnotherNotice(s *street) {
	s.run(`"agents": {"defaults": {"model": {"primary": "` + leadModel + `", "fallbacks": ["` + standInModel + `", "lead/extra"]}}},`)
	s.limit("600")
	s.standIn.Queue("double", llmtest.Text("I stand in."), llmtest.Failure(401, "invalid_api_key", "no such key"))
	s.lead.Queue("extra", llmtest.Text("I am the extra."))
	k := s.open(s.town, "one")
	k.next("I stand in.")
	k.next(movedText)
	k.say("two")
	k.next("I am the extra.")
	k.next("lead/extra (selected lead/actor; ")
	k.say("three")
	k.next("I am the extra.")
	s.stop()
	k.nothingElse()
}

func aDeletedMessageIsNotAnswered(s *street) {
	s.run("")
	s.lead.Queue("actor", llmtest.Stream(llmtest.Gate("slow"), llmtest.Say("Slowly done.")), llmtest.Text("The next one."))
	k := s.open(s.town, "a slow one")
	s.until(s.town, "the first request", func() bool { return asked(s.lead) == 1 })
	k.say("oops, wrong text")
	s.remove(k.thread, k.last)
	k.say("the right text")
	s.until(s.town, "the right text to be admitted", func() bool { return strings.Count(s.said.String(), "message admitted") == 3 })
	s.lead.Open("slow")
	k.next("Slowly done.")
	k.next("The next one.")
	s.stop()
	k.nothingElse()
	if heard := k.heard(s.lead); strings.Contains(heard, "oops") {
		k.Errorf("the deleted message was heard:\n%s", heard)
	}
}

func newForgetsWhatWasSaid(s *street) {
	s.run("")
	s.lead.Queue("actor", llmtest.Text("Noted."))
	k := s.open(s.town, "remember 42")
	k.next("Noted.")
	before, _ := s.record(s.town, k.thread)
	if p, ok := s.town.(discordTown); ok {
		p.Interact(discordtest.Interaction{Channel: k.thread, User: "700", Command: "new"})
	} else {
		k.say(s.town.command("/new"))
	}
	k.next("A new conversation begins here.")
	if after, _ := s.record(s.town, k.thread); after.Transcript == before.Transcript {
		k.Errorf("the conversation is still %s", after.Transcript)
	}
	k.say(s.town.command("what number?"))
	k.next("Noted.")
	if heard := k.heard(s.lead); strings.Contains(heard, "42") {
		k.Errorf("the new conversation was asked with\n%s", heard)
	}
}

func aPickIsStoredOrRefused(s *street) {
	s.run(fmt.Sprintf(`"models": {"aliases": {"fast-x": %q}, "providers": {
		"lead": {"baseUrl": %q, "api": "anthropic"}, "second": {"baseUrl": %q, "api": "chat"},
	}},`, standInModel, s.lead.URL, s.standIn.URL+"/v1"))
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(s.town, "hello")
	k.next("Good evening.")
	picked := llm.Ref{Provider: "second", Model: "double"}
	k.say(s.town.command("/model fast-x"))
	k.next(standInModel)
	if got := s.chosen(k.thread); got != picked {
		k.Errorf("/model fast-x stored %v", got)
	}
	k.say(s.town.command("/model fast-z"))
	k.next("fast-x")
	if got := s.chosen(k.thread); got != picked {
		k.Errorf("a typo changed the choice to %v", got)
	}
	k.say(s.town.command("/model default"))
	k.next(leadModel)
	if got := s.chosen(k.thread); got != (llm.Ref{}) {
		k.Errorf("/model default left %v", got)
	}
	k.say("hi")
	k.next("Good evening.")
}

func ordinaryWordsDoNotStop(s *street) {
	s.run("")
	s.lead.Queue("actor", llmtest.Stream(llmtest.Say("Dogs "), llmtest.Gate("slow"), llmtest.Say("and more dogs.")), llmtest.Text("And cats."))
	k := s.open(s.town, "tell me of dogs")
	s.until(s.town, "the thread", func() bool { return len(s.town.posts(k.thread)) == 1 })
	k.say(s.town.command("wait, also include cats"))
	s.until(s.town, "the second message to be admitted", func() bool { return strings.Count(s.said.String(), "message admitted") == 2 })
	s.lead.Open("slow")
	k.next("Dogs and more dogs.")
	k.next("And cats.")
	s.stop()
	k.nothingElse()
}

// anOutageIsOneMessage: threads are answered by the stand-in at once while the
// channel for operators refuses. TestP160 has forty of them, in exact time.
func anOutageIsOneMessage(s *street) {
	const threads = 8
	s.refuseOperators(2)
	s.run(s.operators() + `"notices": {"fallback": "log"},`)
	s.limit("600")
	s.standIn.Queue("double", llmtest.Text("I stand in."))
	var talks []*talk
	for range threads {
		talks = append(talks, s.open(s.town, "hello"))
	}
	for _, k := range talks {
		k.next("I stand in.")
	}
	s.allowOperators()
	s.tell(fmt.Sprintf("%s\n%d sessions, the first at ", movedText, threads))
	s.clear()
	s.lead.Queue("actor", llmtest.Text("I am back."))
	for _, k := range talks[:3] {
		k.say("and now?")
		k.next("I am back.")
	}
	s.tell("✅ " + clearedText)
	s.stop()
	for _, k := range talks {
		k.nothingElse()
	}
}

// refuseOperators makes the platform refuse the channel for operators: Discord
// so many times, Slack until it is allowed again.
func (s *street) refuseOperators(times int) {
	switch p := s.town.(type) {
	case discordTown:
		p.Inject(discordtest.Fault{Method: "POST", Path: "/channels/" + s.ops + "/messages", Status: 403, Code: 50013, Times: times})
	case slackTown:
		p.Expel(s.ops)
	}
}

func (s *street) allowOperators() {
	if p, ok := s.town.(slackTown); ok {
		s.until(s.town, "a post that is refused", func() bool { return s.refusedPosts(p) > 0 })
		p.AddPlace(s.ops, "channel", "ops")
	}
}

func (s *street) refusedPosts(p slackTown) (n int) {
	for _, c := range p.Calls("chat.postMessage") {
		if c.Args["channel"] == s.ops && c.Error != "" {
			n++
		}
	}
	return n
}

func statusNamesWhoAnswers(s *street) {
	s.lead.Offer("actors", "understudy")
	s.standIn.Offer("double", "triple")
	s.run(s.operators())
	// Operators hear of a name that is wrong before anybody is answered.
	s.tell("The configured model " + leadModel + ` cannot answer: lead has no such model; did you mean "actors"?`)
	if asked(s.lead)+asked(s.standIn) != 0 {
		s.Error("a model was called for that")
	}
	s.lead.Queue("actor", llmtest.Failure(404, "not_found_error", "model: actor"))
	s.standIn.Queue("double", llmtest.Text("I am a model."))
	k := s.open(s.town, "which model are you?")
	k.next("I am a model.")
	k.next("model not found")
	for _, r := range s.standIn.Requests() {
		if strings.Contains(string(r.Body), "actor") {
			k.Errorf("the stand-in was told of the selected model: %s", r.Body)
		}
	}
	k.say(s.town.command("/status"))
	status := k.next(leadModel).text
	for _, want := range []string{standInModel, "model not found"} {
		if !strings.Contains(status, want) {
			k.Errorf("the status lacks %q:\n%s", want, status)
		}
	}
	if !strings.Contains(status, "; since ") {
		k.Errorf("the status does not say since when:\n%s", status)
	}
	// Where a provider lists no models, they hear of it when it is asked.
	s.tell("lead says that it has no such model")
	s.lead.Queue("actor", llmtest.Text("I am here after all."))
	s.clear()
	k.say("and now?")
	k.next("I am here after all.")
	s.tell("✅ " + leadModel + " answers.")
}

func aServerErrorIsNoReasonForANewTalk(s *street) {
	s.run(`"agents": {"defaults": {"model": "` + leadModel + `"}},`)
	s.lead.Queue("actor", llmtest.Failure(500, "api_error", "internal server error"))
	s.standIn.Queue("double", llmtest.Failure(500, "server_error", "internal server error"))
	k := s.open(s.town, "hello")
	text := k.next("try again").text
	if strings.Contains(text, "/new") || strings.Contains(text, "internal server error") {
		k.Errorf("the thread was told %q", text)
	}
}

// A pick from an earlier page is what that page shows, not what stands at its
// place on the page that is shown now; one that its page does not have chooses
// nothing and shows the page anew.
func aPickFromAnOldPageIsNoOtherModel(s *street) {
	s.run("")
	p, k := s.discordTalk()
	page := func(id string) []discordtest.Option { return menuOf(p.Answer(id)).Options }
	first := p.Interact(discordtest.Interaction{Channel: k.thread, User: "700", Command: "model"})
	s.until(p, "the providers", func() bool { return len(page(first)) >= 2 })
	providers := menuOf(p.Answer(first))
	pick := func(menu discordtest.Component, value string) string {
		return p.Interact(discordtest.Interaction{
			Type: discordtest.ComponentInteraction, Channel: k.thread, User: "700", CustomID: menu.CustomID, Values: []string{value}, Message: first,
		})
	}
	second := pick(providers, optionOf(providers, "second"))
	s.until(p, "the models of the second", func() bool { return optionOf(menuOf(p.Answer(second)), "double") != "" })
	old := menuOf(p.Answer(second))
	third := pick(providers, optionOf(providers, "lead"))
	s.until(p, "the models of the lead", func() bool { return optionOf(menuOf(p.Answer(third)), "actor") != "" })
	strange := pick(menuOf(p.Answer(third)), "5")
	s.until(p, "a page that is shown anew", func() bool { return strings.Contains(p.Answer(strange).Content, "The list has changed; choose again.") })
	if menu := menuOf(p.Answer(strange)); len(menu.Options) != 1 || optionOf(menu, "actor") == "" {
		k.Errorf("the page shows %+v", menu)
	}
	if got := s.chosen(k.thread); got != (llm.Ref{}) {
		k.Errorf("what the page does not have chose %v", got)
	}
	last := pick(old, optionOf(old, "double"))
	s.until(p, "an answer to the old menu", func() bool { return strings.Contains(p.Answer(last).Content, "now uses "+standInModel) })
	s.stop()
	if got := s.chosen(k.thread); got != (llm.Ref{Provider: "second", Model: "double"}) {
		k.Errorf("the old menu chose %v", got)
	}
}

// A menu that an earlier process showed, with other models, chooses nothing and
// says so.
func aPickAfterARestartIsNoOtherModel(s *street) {
	s.run("")
	p, k := s.discordTalk()
	first := p.Interact(discordtest.Interaction{Channel: k.thread, User: "700", Command: "model"})
	s.until(p, "the providers", func() bool { return len(menuOf(p.Answer(first)).Options) >= 2 })
	menu := menuOf(p.Answer(first))
	s.stop()
	s.run(fmt.Sprintf(`"models": {"aliases": {"new": "extra/first"}, "providers": {
		"extra": {"baseUrl": %q, "api": "chat", "models": [{"id": "first"}]},
		"lead": {"baseUrl": %q, "api": "anthropic"}, "second": {"baseUrl": %q, "api": "chat"},
	}},`, s.standIn.URL+"/v1", s.lead.URL, s.standIn.URL+"/v1"))
	late := p.Interact(discordtest.Interaction{
		Type: discordtest.ComponentInteraction, Channel: k.thread, User: "700", CustomID: menu.CustomID, Values: []string{menu.Options[1].Value}, Message: first,
	})
	s.until(p, "an answer", func() bool { return strings.Contains(p.Answer(late).Content, "This menu is out of date.") })
	s.stop()
	if got := s.chosen(k.thread); got != (llm.Ref{}) {
		k.Errorf("the menu of the earlier process chose %v", got)
	}
}

// discordTalk is a thread in which the bot has answered.
func (s *street) discordTalk() (discordTown, *talk) {
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(s.town, "hello")
	k.next("Good evening.")
	return s.town.(discordTown), k
}

// menuOf is the last menu of an answer.
func menuOf(a discordtest.Answer) (menu discordtest.Component) {
	for _, row := range a.Components {
		for _, c := range row.Components {
			if len(c.Options) > 0 {
				menu = c
			}
		}
	}
	return menu
}

// optionOf is the value of the option whose label holds a word.
func optionOf(menu discordtest.Component, word string) string {
	for _, o := range menu.Options {
		if strings.Contains(o.Label, word) {
			return o.Value
		}
	}
	return ""
}

func noKeyReachesAPlatform(s *street) {
	s.run(s.operators())
	const message = `Incorrect API key provided: sk-abc***xyz. See https://api.second.example/v1/keys?key=1`
	s.lead.Queue("actor", llmtest.Failure(401, "authentication_error", message))
	s.standIn.Queue("double", llmtest.Failure(401, "invalid_api_key", message))
	k := s.open(s.town, "hello")
	text := k.next("no credential was accepted").text
	if !strings.Contains(text, "Whoever runs this bot") {
		k.Errorf("the thread was told %q", text)
	}
	s.tell("auth, status 401")
	s.stop()
	sent := s.sent()
	for _, secret := range []string{"sk-", "api.second.example", "Incorrect", `{"error"`, "key-of-the"} {
		at := strings.Index(sent, secret)
		if secret == "Incorrect" { // operators may read what the provider said, without the key
			at = strings.Index(strings.ReplaceAll(sent, "(Incorrect", ""), secret)
		}
		if at >= 0 {
			k.Errorf("%q reached the platform: …%s…", secret, sent[max(0, at-100):min(len(sent), at+100)])
		}
	}
}

// sent is everything that the bot sent to its platform.
func (s *street) sent() string {
	var b strings.Builder
	switch p := s.town.(type) {
	case discordTown:
		for _, r := range p.Requests("", "") {
			fmt.Fprintf(&b, "%s %s %s\n", r.Method, r.Path, r.Body)
		}
	case slackTown:
		for _, c := range p.Calls() {
			args, _ := json.Marshal(c.Args)
			fmt.Fprintf(&b, "%s %s\n", c.Name, args)
		}
	}
	return b.String()
}

// A failure on one platform is told there and nowhere else, whoever the person
// is elsewhere.
func TestP181(t *testing.T) {
	d, l := newDiscordTown(t).(discordTown), newSlackTown(t).(slackTown)
	s := newStand(t, d, l)
	s.configure(`"channels": {"discord": {"dmPolicy": "open"}},`)
	stop, _ := s.runHere()
	s.lead.Queue("actor", llmtest.Text("Good evening."))
	k := s.open(l, "hello")
	k.next("Good evening.") // the last thing they did was on Slack
	calls := len(l.Calls("chat.postMessage", "chat.postEphemeral", "chat.update"))

	s.lead.Queue("actor", llmtest.Failure(401, "authentication_error", "no"))
	s.standIn.Queue("double", llmtest.Failure(401, "invalid_api_key", "no"))
	dm := d.Direct("700")
	o := &talk{stand: s, town: d, thread: dm}
	o.say("hi")
	o.next("no credential was accepted")
	stop()
	o.nothingElse()
	k.nothingElse()
	if n := len(l.Calls("chat.postMessage", "chat.postEphemeral", "chat.update")); n != calls {
		t.Errorf("Slack got %d calls about a failure on Discord", n-calls)
	}
}

// The outage of TestChannelCases in exact time: the channel refuses for the
// first 30 seconds, the selected model is back after 14 minutes.
func TestP160(t *testing.T) {
	var b strings.Builder
	b.WriteString(`
-- config.jsonc --
{
  "agents": {"defaults": {"model": {"primary": "a/m1", "fallbacks": ["b/m2"]}}},
  "notices": {"fallback": "log"},
  "admin": {"channel": "channel:110"},
}
-- script --
model a/m1: 429 retry-after=840 "rate_limit_error"
model b/m2: text "from b"
`)
	for n := range 40 {
		fmt.Fprintf(&b, "user u%d in t%d: hello\n", n, n)
		if n == 0 {
			b.WriteString("expect request a/m1\n")
		}
		fmt.Fprintf(&b, "expect request b/m2\nexpect answer in t%d: from b\nexpect nothing\n", n)
		b.WriteString("wait 3s\n")
		if n == 10 { // 33 s: the first try after the refusals was at 31 s
			b.WriteString(`expect admin contains "Model Fallback: b/m2 (selected a/m1; rate limit)" contains "11 sessions, the first at 00:00:00, the last at 00:00:30 UTC."` + "\n")
		}
	}
	b.WriteString(`wait 12m
expect admin contains "40 sessions, the first at 00:00:00, the last at 00:01:57 UTC."
expect nothing
model a/m1: text "from a"
user u0 in t0: hello
expect request a/m1
expect answer in t0: from a
user u1 in t1: hello
expect request a/m1
expect answer in t1: from a
expect admin contains "✅ ↪️ Model Fallback cleared: a/m1 (was b/m2)" contains "40 sessions" contains "It lasted about 14 minutes."
expect nothing
wait 1m
expect admin: ✅ ↪️ Model Fallback cleared: a/m1 (was b/m2)
wait 1h
expect nothing
`)
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			s, err := readScenario("p160", []byte(b.String()))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				began := time.Now()
				w.refuses = func(p core.Post) bool { return p.Kind == core.PostAdmin && time.Since(began) < 30*time.Second }
				playIn(t, s, w, opener(t, kind, dir))
			})
		})
	}
}
