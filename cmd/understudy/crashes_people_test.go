package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// crashThread is one conversation of a crash run.
type crashThread struct {
	s                       *crashes
	number                  int
	platform, channel, user string
	direct                  bool
	id                      string // of the thread, once it was opened
	said                    []*crashLine
	stuck                   bool // an answer did not come
}

// crashLine is something that was said.
type crashLine struct {
	id      string
	number  string
	how     string // it is to be answered
	command string // it is one
	edited  bool   // there is a second wording, with a b behind the number
	deleted bool
}

// hows are the ways in which answers are asked for, see command
// understudy-fakes. The plain way is the most common.
var hows = []string{"", "", "", "", ", slowly", ", slowly", ", at length", ", the lead is away", ", ring", ", ring, slowly", ", ring, aloud"}

// talk says one line after the other, each after the answer to the one before,
// or several at once, until it is over.
func (k *crashThread) talk() {
	luck := rand.New(rand.NewPCG(k.s.seed, uint64(k.number)+1))
	if k.direct {
		k.say(luck, "")
		met := k.heard()
		k.s.met.Done()
		if !met {
			return
		}
	}
	for {
		select {
		case <-k.s.over:
			return
		case <-time.After(time.Duration(luck.IntN(1500)) * time.Millisecond):
		}
		// A message that was deleted may still be answered, and some commands do
		// not wait for that.
		open := len(k.said) > 0 && k.said[len(k.said)-1].deleted
		switch n := luck.IntN(20); {
		case k.id == "" && !k.direct || open || n < 13:
			k.say(luck, hows[luck.IntN(len(hows))])
		case n < 16:
			k.burst(luck)
		case n < 18:
			k.command(luck, []string{"/status", "/model", "/help"}[luck.IntN(3)])
		case n < 19 && len(k.said) > 8:
			k.command(luck, "/new")
		default:
			k.say(luck, "")
			k.again(luck)
		}
		if !k.heard() {
			return
		}
	}
}

// burst says several things before the first is answered, and may change the
// last one.
func (k *crashThread) burst(luck *rand.Rand) {
	for range 2 + luck.IntN(2) {
		k.say(luck, hows[luck.IntN(5)])
		time.Sleep(time.Duration(20+luck.IntN(60)) * time.Millisecond)
	}
	last := k.said[len(k.said)-1]
	change := map[string]string{"platform": k.platform, "channel": k.channel, "thread": k.id, "id": last.id}
	switch luck.IntN(4) {
	case 0:
		last.edited = true
		change["text"] = fmt.Sprintf("line %sb please%s", last.number, last.how)
		k.s.fakes.order(k.s.T, "/edit", change, nil)
	case 1:
		last.deleted = true
		k.s.fakes.order(k.s.T, "/delete", change, nil)
	}
}

func (k *crashThread) say(luck *rand.Rand, how string) {
	l := &crashLine{number: fmt.Sprintf("%d-%d", k.number, len(k.said)+1), how: how}
	k.said = append(k.said, l)
	text := fmt.Sprintf("line %s please%s", l.number, how)
	if k.id == "" && !k.direct {
		text = "@understudy " + text
	}
	k.speak(luck, l, text)
}

func (k *crashThread) command(luck *rand.Rand, command string) {
	l := &crashLine{command: command}
	k.said = append(k.said, l)
	if !k.direct {
		command = "@understudy " + command
	}
	k.speak(luck, l, command)
}

// speak says something, sometimes while no program runs. Slack tells nobody of
// what was said then, and the program reads only conversations that it knows.
func (k *crashThread) speak(luck *rand.Rand, l *crashLine, text string) {
	known := len(k.said) > 1
	now := luck.IntN(2) == 0 && (known || k.platform == "discord" && !k.direct)
	what := map[string]any{"platform": k.platform, "channel": k.channel, "thread": k.id, "user": k.user, "text": text, "now": now}
	var out struct{ ID, Thread string }
	for {
		err := k.s.fakes.try("/say", what, &out)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "is not connected") {
			k.s.Errorf("the fakes: %v", err)
			return
		}
	}
	l.id = out.ID
	if !k.direct {
		k.id = cmp.Or(k.id, out.Thread)
	}
	select {
	case k.s.spoke <- k.platform:
	default:
	}
}

// again lets the platform tell of the last line once more.
func (k *crashThread) again(luck *rand.Rand) {
	if k.id == k.said[len(k.said)-1].id && k.platform == "discord" {
		return // the opener is outside of its thread
	}
	time.Sleep(time.Duration(luck.IntN(300)) * time.Millisecond)
	k.s.fakes.order(k.s.T, "/again", map[string]string{
		"platform": k.platform, "channel": k.channel, "thread": k.id, "id": k.said[len(k.said)-1].id}, nil)
}

// crashPatience is how long an answer may take, kills included.
const crashPatience = 90 * time.Second

// heard waits for the answers to everything that was said.
func (k *crashThread) heard() bool {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(crashPatience); time.Now().Before(end); <-tick.C {
		if k.walk(k.posts()).done {
			return true
		}
	}
	k.stuck = true
	return false
}

// posts are what the program says in the thread now, without what it says of a
// disk that is filled.
func (k *crashThread) posts() []string {
	all := k.allPosts()
	if k.s.store != "" {
		all = slices.DeleteFunc(all, isTrouble)
	}
	return all
}

func (k *crashThread) allPosts() (texts []string) {
	var posts []struct{ Text string }
	k.s.fakes.ask(k.s.T, "/posts", url.Values{"platform": {k.platform}, "channel": {k.channel}, "thread": {k.id}}, &posts)
	for _, p := range posts {
		texts = append(texts, p.Text)
	}
	return texts
}

// What the program says in a thread, and begins with.
var (
	crashAnswer   = regexp.MustCompile(`^(?:One moment\.\s+)?heard (\S+) \((lead|second)\)\.`)
	crashMore     = regexp.MustCompile(`^(And so on and on\.\s*)+$`)
	crashReplies  = map[string]string{"/status": "Selected: ", "/model": "Selected: ", "/help": "", "/new": "A new conversation begins here."}
	crashMoved    = "↪️ Model Fallback: second/double (selected lead/actor; "
	crashCleared  = "↪️ Model Fallback cleared: lead/actor"
	crashBroken   = "I was interrupted while I was working on this message"
	crashExpected = map[string]int{", slowly": 4, ", at length": 150}
)

// walked is how far the posts of a thread answer what was said there.
type walked struct {
	done                          bool   // all of it, and nothing else is there
	wrong                         string // the first thing that does not fit
	answers, notices, interrupted int
}

// walk holds posts against what was said: each line must have its answer, or
// where a tool was asked for the word that it was interrupted, in order, and
// each change of the model its notice.
func (k *crashThread) walk(posts []string) (w walked) {
	active, at := "lead", 0
	next := func() string {
		if at < len(posts) {
			return posts[at]
		}
		return ""
	}
	for _, l := range k.said {
		post := next()
		m := crashAnswer.FindStringSubmatch(post)
		switch {
		case l.command != "":
			if post == "" || !strings.HasPrefix(post, crashReplies[l.command]) || m != nil {
				w.wrong = fmt.Sprintf("post %d should reply to %s, but is %q", at+1, l.command, post)
				return w
			}
			at++
			if l.command == "/new" {
				active = "lead"
			}
		case m != nil && (m[1] == l.number || l.edited && m[1] == l.number+"b"):
			at++
			whole := post
			for crashMore.MatchString(next()) {
				whole += next()
				at++
			}
			w.answers++
			if wrong := l.lacks(whole); wrong != "" {
				w.wrong = wrong
				return w
			}
			if m[2] == active {
				break
			}
			active = m[2]
			want := map[string]string{"lead": crashCleared, "second": crashMoved}[active]
			if !strings.Contains(next(), want) { // each platform has its small print
				w.wrong = fmt.Sprintf("post %d, behind the answer to %s, should be the notice %q, but is %q", at+1, l.number, want, next())
				return w
			}
			at++
			w.notices++
		case strings.HasPrefix(post, crashBroken) && strings.Contains(l.how, ", ring"):
			at++
			w.interrupted++
		case l.deleted:
		default:
			w.wrong = fmt.Sprintf("post %d should answer %s%s, but is %q", at+1, l.number, l.how, post)
			return w
		}
	}
	if at < len(posts) {
		w.wrong = fmt.Sprintf("post %d answers nothing: %q", at+1, posts[at])
		return w
	}
	w.done = true
	return w
}

// lacks says what is wrong with the text of an answer.
func (l *crashLine) lacks(text string) string {
	want := 0
	for how, n := range crashExpected {
		if strings.Contains(l.how, how) {
			want = n
		}
	}
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	got := bare(strings.TrimPrefix(text, crashAnswer.FindString(text)))
	if all := bare(strings.Repeat("And so on and on. ", want)); got != all {
		return fmt.Sprintf("the answer to %s%s should go on for %d bytes, but goes on for %d: %.200q", l.number, l.how, len(all), len(got), text)
	}
	return ""
}
