package main

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
	"understudy/core/llm"
	"understudy/core/llm/llmtest"
)

// Every message has a number, and its answer repeats that.
var (
	soakLine   = regexp.MustCompile(`line (\d+-\d+) please`)
	soakAnswer = regexp.MustCompile(`^heard (\d+-\d+)\.`)
)

// soakMore is what long answers go on with; the parts of an answer behind the
// first consist of nothing else.
const soakMore = "And so on and on. "

// parrot is a provider that answers with the number of the newest message.
type parrot struct {
	dialect   llmtest.Dialect
	failsEach int64 // request fails; zero is never
	asked     atomic.Int64
}

func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	asked, err := p.dialect.Read(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := p.asked.Add(1)
	if p.failsEach > 0 && n%p.failsEach == 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, p.dialect.Error(http.StatusTooManyRequests, "rate_limit_error", "slow down"))
		return
	}
	number := "nothing"
	for _, m := range asked.Messages {
		if all := soakLine.FindAllStringSubmatch(m.Text(), -1); m.Role == llm.User && all != nil {
			number = all[len(all)-1][1]
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer := p.dialect.Open(asked.Model)
	say := func(wire string) {
		_, _ = io.WriteString(w, wire) // who left is told by nobody here
		_ = http.NewResponseController(w).Flush()
	}
	say(answer.Say("heard " + number + "."))
	if n%20 == 0 { // slow enough to be shown while it grows
		select {
		case <-time.After(2 * time.Second):
		case <-r.Context().Done():
			return
		}
	}
	if n%30 == 0 { // too long for one message of Discord's
		say(answer.Say(" " + strings.Repeat(soakMore, 150)))
	}
	say(answer.Finish(llm.StopEnd, llm.Usage{In: 7, Out: 5}))
}

// soakThread is one conversation.
type soakThread struct {
	place  soakPlace
	id     string   // the root, once it was said
	last   string   // id of the newest message of a person
	said   []string // the numbers of what was said, in order
	number int
	street *sync.RWMutex // held while nobody may speak there
}

// soakPlace is a channel of a platform and what can be done there. A thread
// has the id of its first message.
type soakPlace struct {
	name    string
	say     func(thread, text string) (id string)
	again   func(thread, id string)
	posts   func(thread string) []string
	command func(text string) string
}

func discordStage(d discordTown, n int) soakPlace {
	channel := fmt.Sprint(1000 + n)
	d.AddChannel(discordtest.Channel{ID: channel, Name: fmt.Sprintf("stage %d", n)})
	at := func(thread string) string { return cmp.Or(thread, channel) }
	return soakPlace{
		name:    fmt.Sprintf("discord %s", channel),
		command: d.command,
		say:     func(thread, text string) string { return d.Say(at(thread), "700", text) },
		again: func(thread, id string) {
			if thread != id { // the opener is outside of its thread
				d.Again(thread, id)
			}
		},
		posts: func(thread string) (all []string) {
			for _, p := range d.posts(thread) {
				all = append(all, p.text)
			}
			return all
		},
	}
}

func slackStage(s slackTown, n int) soakPlace {
	channel := fmt.Sprintf("C0STAGE%d", n)
	s.AddPlace(channel, "channel", fmt.Sprintf("stage-%d", n))
	return soakPlace{
		name:    "slack " + channel,
		command: s.command,
		say: func(thread, text string) string {
			return s.Say(channel, slacktest.User, text, slacktest.In(thread))
		},
		again: func(thread, id string) { s.repeat(channel, thread, id) },
		posts: func(thread string) (all []string) {
			for _, p := range s.Posts(channel, thread) {
				all = append(all, p.Text)
			}
			return all
		},
	}
}

// read sorts what the bot posted: numbers of answered messages, notices, and
// what should not be there.
func (k *soakThread) read() (answers []string, notices int, strange []string) {
	for _, text := range k.place.posts(k.id) {
		rest := strings.ReplaceAll(text, strings.TrimSpace(soakMore), "")
		switch m := soakAnswer.FindStringSubmatch(text); {
		case m != nil:
			answers = append(answers, m[1])
		case strings.Contains(text, "Model Fallback"):
			notices++
		case strings.TrimSpace(rest) != "":
			strange = append(strange, text)
		}
	}
	return answers, notices, strange
}

// speak says the next line. Whoever begins a thread mentions the bot.
func (k *soakThread) speak() {
	k.street.RLock()
	defer k.street.RUnlock()
	k.said = append(k.said, fmt.Sprintf("%d-%d", k.number, len(k.said)+1))
	text := fmt.Sprintf("line %s please", k.said[len(k.said)-1])
	if k.id == "" {
		text = k.place.command(text)
	}
	k.last = k.place.say(k.id, text)
	k.id = cmp.Or(k.id, k.last)
}

// talk says one line after the other, each after the answer to the one before;
// sometimes three at once, which are to be answered in order.
func (k *soakThread) talk(over time.Time, pause time.Duration) {
	luck := rand.New(rand.NewPCG(3, uint64(k.number)))
	for wait := rand.N(pause); time.Now().Add(wait).Before(over); wait = pause/2 + time.Duration(luck.Int64N(int64(pause))) {
		<-time.After(wait)
		k.speak()
		for burst := luck.IntN(10) == 0 && k.id != k.last; burst && len(k.said)%3 != 0; {
			// Slack may tell of two messages over two connections, which keep no
			// order between them: nobody writes faster than this.
			<-time.After(50 * time.Millisecond)
			k.speak()
		}
		if luck.IntN(10) == 0 {
			k.place.again(k.id, k.last)
		}
		if !k.answered() {
			return
		}
	}
}

// answered waits for the answers to all that was said, and reports whether
// they came.
func (k *soakThread) answered() bool {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * patience); time.Now().Before(end); <-tick.C {
		if answers, _, _ := k.read(); len(answers) >= len(k.said) {
			return true
		}
	}
	return false
}
