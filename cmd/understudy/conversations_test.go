package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core/llm/llmtest"
)

var update = flag.Bool("update", false, "write docs/conversations.md anew")

// TestConversationsPage plays a conversation on both platforms and holds what
// the fakes saw of it against docs/conversations.md.
func TestConversationsPage(t *testing.T) {
	pages := map[string]string{}
	for name, stage := range map[string]func(*testing.T) (town, stagehand){
		"Discord": func(t *testing.T) (town, stagehand) {
			d := newDiscordTown(t).(discordTown)
			return d, &discordHand{town: d}
		},
		"Slack": func(t *testing.T) (town, stagehand) {
			l := newSlackTown(t).(slackTown)
			return l, &slackHand{town: l}
		},
	} {
		t.Run(name, func(t *testing.T) {
			town, hand := stage(t)
			p := &scene{stand: newStand(t, town), hand: hand}
			p.runHere()
			p.conversation(town)
			pages[name] = p.page.String()
		})
	}
	if t.Failed() {
		return
	}
	path := filepath.Join("..", "..", "docs", "conversations.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, page := range pages {
		part := regexp.MustCompile("(?s)(\n## " + name + "\n.*?\n```text\n).*?(```\n)")
		want = part.ReplaceAllString(want, "${1}"+strings.ReplaceAll(page, "$", "$$")+"${2}")
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, now := strings.SplitAfter(string(text), "\n"), strings.SplitAfter(want, "\n")
	for i := range max(len(got), len(now)) {
		if i >= len(got) || i >= len(now) || got[i] != now[i] {
			t.Fatalf("line %d of %s goes otherwise now; if that is meant: go test -run %s -update, and read what it says\nnow: %s", i+1, path, t.Name(), strings.Join(now[min(i, len(now)):min(i+3, len(now))], ""))
		}
	}
}

// stagehand knows how things look on a platform.
type stagehand interface {
	// seen are the lines that show what the bot did since the last call; news
	// tells whether there are any.
	seen() []string
	news() bool
	// give lets Ann give a command in the thread.
	give(thread, command string)
	// menu finds the option with that label in the menu that the bot showed
	// last, and returns what chooses it. It is nil when there is none.
	menu(label string) (pick func(thread string))
}

// scene writes down a conversation while it goes on.
type scene struct {
	*stand
	hand stagehand
	page strings.Builder
}

// conversation is the one that the page shows.
func (p *scene) conversation(t town) {
	p.Helper()
	p.lead.Queue("actor", llmtest.Stream(
		llmtest.Say("Begin with the name of the one who is to read it. "), llmtest.Gate("more"),
		llmtest.Say("Then say *why* you write, in one sentence: "), llmtest.Gate("end"), llmtest.Say("the rest follows."),
	))
	p.heading("A question, and an answer that grows")
	p.ann("@understudy How does a letter begin?")
	k := p.open(t, "How does a letter begin?")
	p.sees(k, "is to read it.")
	p.lead.Open("more")
	p.sees(k, "in one sentence:")
	p.lead.Open("end")
	k.next("the rest follows.")

	p.heading("The selected model is rate-limited; another one stands in")
	p.limit("2")
	p.standIn.Queue("double", llmtest.Text("Say one thing after the other."))
	p.asks(k, "And the middle?")
	k.next("one thing after")
	k.next(movedText)

	p.heading("It is back")
	_, states := p.record(t, k.thread)
	<-time.After(time.Until(states[leadProfile].Models["actor"].Until))
	p.lead.Queue("actor", llmtest.Text("With your own name."))
	p.asks(k, "And the end?")
	k.next("With your own name.")
	k.next(clearedText)

	p.heading("Ann picks a model for this thread")
	p.ann("/model")
	p.hand.give(k.thread, "/model")
	p.picks(t, k.thread, "second")
	p.picks(t, k.thread, "double")

	p.heading("The picked model fails, and no other steps in")
	p.standIn.Queue("double", llmtest.Failure(429, "rate_limit_exceeded", "slow down").With("Retry-After", "2"))
	p.asks(k, "You alone, please: read it to me.")
	k.next("strict")

	p.heading("Back to the default")
	p.lead.Queue("actor", llmtest.Text("“Dear Ben, I write because …”"))
	p.asks(k, t.command("/model default"))
	k.next("default")
	p.asks(k, "Read it to me.")
	k.next("Dear Ben")
	p.stage()
	k.nothingElse()
}

// heading begins a scene, after what the last one still showed.
func (p *scene) heading(text string) {
	p.stage()
	if p.page.Len() > 0 {
		p.page.WriteString("\n")
	}
	p.page.WriteString("— " + text + " —\n\n")
}

// ann writes down what Ann says.
func (p *scene) ann(text string) { p.line("Ann", text) }

// asks lets her say it in the thread.
func (p *scene) asks(k *talk, text string) {
	p.stage()
	p.ann(botMention.ReplaceAllString(text, "@understudy"))
	k.say(text)
}

// botMention is how the platforms write it.
var botMention = regexp.MustCompile(`<@(` + discordtest.BotID + `|` + slacktest.BotUser + `)>`)

// sees waits until the newest post holds the text, and writes down how it came
// about.
func (p *scene) sees(k *talk, text string) {
	p.Helper()
	k.next(text)
	k.seen--
	p.stage()
}

// picks lets her choose from the menu that she is shown, once it has the label,
// and waits for what comes of it.
func (p *scene) picks(t town, thread, label string) {
	p.Helper()
	p.until(t, "a menu with "+label, func() bool { return p.hand.menu(label) != nil })
	p.stage()
	p.ann("picks “" + label + "”")
	p.hand.menu(label)(thread)
	p.until(t, "an answer to the pick", p.hand.news)
}

// stage writes down what the bot did.
func (p *scene) stage() {
	for _, text := range p.hand.seen() {
		p.line("understudy", text)
	}
}

// line is one line of the page, or several that stand below each other.
func (p *scene) line(who, text string) {
	const margin = 12
	for i, part := range strings.Split(moments.ReplaceAllString(text, "12:00 UTC"), "\n") {
		if i > 0 || strings.HasPrefix(part, " ") {
			who = ""
		}
		p.page.WriteString(strings.TrimRight(who+strings.Repeat(" ", margin-len(who))+part, " ") + "\n")
	}
}

// moments are what differs from run to run.
var moments = regexp.MustCompile(`\d\d:\d\d(:\d\d)? UTC`)
