package sessions_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"understudy/core"
	"understudy/core/llm"
	"understudy/sessions"
)

// mark is what each message and each answer carries, so that it is known again.
var mark = regexp.MustCompile(`<[ma]\d+>`)

// witness is a model that remembers everything: its summaries name every mark
// that it was given. It notes the requests in which there is one too old.
type witness struct {
	age  time.Duration // what is older must not be told
	slow time.Duration // what its answers take

	mu      sync.Mutex
	said    map[string]time.Time
	heard   map[string]bool // messages that were told once, and are to be as long as they are young
	deleted map[string]bool // or forgotten
	gone    map[string]bool // were deleted before the turn began
	answers int
	inARow  int // requests for a summary without an answer after them
	wrong   []string

	summaries, anew int // requests for one, and those that did not go on from another
}

func (w *witness) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		text := w.answer(req)
		select {
		case <-time.After(w.slow):
		case <-ctx.Done():
			yield(llm.Event{}, llm.Classify(llm.Failure{Cancelled: true, Err: ctx.Err()}))
			return
		}
		if yield(llm.Event{Kind: llm.TextEvent, Text: text}, nil) {
			yield(llm.Event{Kind: llm.DoneEvent, Reply: llm.TextMessage(llm.Assistant, text)}, nil)
		}
	}
}

// answer looks at a request and says what it is answered.
func (w *witness) answer(req llm.Request) string {
	var all strings.Builder
	for _, m := range req.Messages {
		all.WriteString(m.Text() + "\n")
	}
	text := all.String()
	summary := strings.Contains(text, "Now write the summary.")
	told := mark.FindAllString(text, -1)
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range told {
		asked := !summary && m == told[len(told)-1]
		switch age := now.Sub(w.said[m]); {
		case age > w.age && !asked:
			w.wrong = append(w.wrong, fmt.Sprintf("%s is told %v after it was said:\n%s", m, age, text))
		case w.gone[m]:
			w.wrong = append(w.wrong, fmt.Sprintf("%s is told after it was deleted:\n%s", m, text))
		}
	}
	if summary {
		w.summaries++
		w.inARow++
		if !strings.Contains(text, "Summary of what was said before:") {
			w.anew++
		}
		slices.Sort(told)
		return "SUMMARY " + strings.Join(slices.Compact(told), " ")
	}
	for _, m := range told {
		w.heard[m] = strings.HasPrefix(m, "<m")
	}
	// After as many requests as one turn may make the rest is left to the next.
	partly := w.inARow >= 4
	w.inARow = 0
	for _, m := range slices.Sorted(maps.Keys(w.heard)) {
		if age := now.Sub(w.said[m]); !partly && w.heard[m] && !w.deleted[m] && age < w.age*3/4 && !slices.Contains(told, m) {
			w.wrong = append(w.wrong, fmt.Sprintf("%s is lost %v after it was said:\n%s", m, age, text))
		}
	}
	w.answers++
	m := fmt.Sprintf("<a%d>", w.answers)
	w.said[m] = now.Add(w.slow)
	return m
}

// says notes that something was said.
func (w *witness) says(m string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said[m] = at
}

// loses notes that something is deleted. A turn that runs may use it to its end.
func (w *witness) loses(m string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleted[m] = true
}

// rests notes that no turn runs.
func (w *witness) rests() {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(w.gone, w.deleted)
}

// deed is one step of what happens to a conversation.
type deed struct {
	what string
	n    int
	d    time.Duration
}

func (d deed) String() string { return fmt.Sprintf("%s %d %v", d.what, d.n, d.d) }

var someDeed = rapid.Custom(func(t *rapid.T) deed {
	return deed{
		rapid.SampledFrom([]string{"say", "say", "say", "say", "say", "wait", "wait", "slow", "slow", "compact", "delete", "delete", "prune", "retry", "restart", "forget"}).Draw(t, "what"),
		rapid.IntRange(0, 40).Draw(t, "n"),
		time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour,
	}
})

// However summaries, prunings, deletions and restarts follow on each other, no
// model is ever told what was said longer ago than it may be, nor what was
// deleted before; and what is younger than three quarters of that is never lost,
// be it told word for word or by a summary.
func TestNothingTooOldIsTold(t *testing.T) {
	const age = 72 * time.Hour
	summaries, anew, again := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		story := rapid.SliceOfN(someDeed, 10, 100).Draw(rt, "story")
		var wrong []string
		inHouse(t, func(h *house) {
			w := &witness{age: age, said: map[string]time.Time{}, heard: map[string]bool{}, deleted: map[string]bool{}, gone: map[string]bool{}}
			h.client = func(llm.Client) llm.Client { return w }
			h.set.Retention, h.set.TurnTimeout = age, 0
			h.set.Window = func(llm.Ref) int { return 1000 }
			h.open()
			h.live(w, story)
			wrong = w.wrong
			summaries, anew, again = summaries+w.summaries, anew+w.anew, again+max(0, w.anew-1)
		})
		if len(wrong) > 0 {
			rt.Fatal(wrong[0])
		}
	})
	t.Logf("%d requests for summaries, %d of them anew, %d of those after another", summaries, anew, again)
	if again == 0 || summaries == anew {
		t.Error("no summary was made after another: the test shows nothing")
	}
}

// live lets a story happen.
func (h *house) live(w *witness, story []deed) {
	var said []core.Message
	asleep := func() { // until nothing is being answered
		for waiting := 1; waiting > 0; {
			time.Sleep(time.Hour)
			rows, err := h.store.Waiting(context.Background())
			if err != nil {
				h.t.Fatal(err)
			}
			waiting = len(rows)
		}
		synctest.Wait()
		w.rests()
	}
	markOf := func(m core.Message) string { return mark.FindString(m.Text) }
	say := func(text, who string) {
		m := h.message("t1", text)
		m.Author = core.Author{ID: who, Name: who}
		if x := markOf(m); x != "" {
			said = append(said, m)
			w.says(x, m.At)
		}
		if err := h.bot.Message(context.Background(), m); err != nil {
			h.t.Fatal(err)
		}
		synctest.Wait()
	}
	for i, d := range story {
		who := []string{"ann", "bob"}[d.n%2]
		switch d.what {
		case "say", "slow":
			// Of a slow one the next deeds come before its answer.
			if w.slow = 0; d.what == "slow" {
				w.slow = time.Duration(d.n) * 20 * time.Minute
			}
			say(fmt.Sprintf("<m%d> %s", i, strings.Repeat("lorem ", 10*d.n)), who)
			if d.what == "say" {
				asleep()
			}
		case "wait":
			time.Sleep(d.d)
			asleep()
		case "compact", "retry":
			say("/"+d.what, who)
			asleep()
		case "delete":
			if len(said) == 0 {
				continue
			}
			m := said[d.n%len(said)]
			w.loses(markOf(m))
			if err := h.bot.Change(context.Background(), core.Change{InboxKey: m.InboxKey(), Deleted: true}); err != nil {
				h.t.Fatal(err)
			}
		case "forget":
			if d.n > 10 { // rarely
				continue
			}
			asleep()
			for _, m := range said {
				if m.Author.ID == who {
					w.loses(markOf(m))
				}
			}
			say("/forget yes", who)
			asleep()
		case "prune":
			past := time.Now().Add(-w.age)
			if _, err := h.store.Prune(context.Background(), sessions.Retention{Transcripts: past, Notices: past, Inbox: past}, 1+d.n); err != nil {
				h.t.Fatal(err)
			}
		case "restart":
			h.stop(time.Minute)
			h.open()
			asleep()
		}
	}
	asleep()
}

// In a busy conversation, in which something becomes too old with every message,
// a summary of everything is made anew four times in the time that things are
// told, and not with every message.
func TestABusyConversationIsNotSummarisedAnewAllTheTime(t *testing.T) {
	const age, days = 4 * 24 * time.Hour, 20
	inHouse(t, func(h *house) {
		w := &witness{age: age, said: map[string]time.Time{}, heard: map[string]bool{}, deleted: map[string]bool{}, gone: map[string]bool{}}
		h.client = func(llm.Client) llm.Client { return w }
		h.set.Retention = age
		h.set.Window = func(llm.Ref) int { return 3000 }
		h.open()
		var story []deed
		for i := range days * 24 {
			story = append(story, deed{what: "say", n: 5})
			if i%3 == 0 {
				story = append(story, deed{what: "prune", n: 99})
			}
		}
		h.live(w, story)
		if len(w.wrong) > 0 {
			t.Fatal(w.wrong[0])
		}
		t.Logf("%d messages: %d requests for summaries, %d of them anew", days*24, w.summaries, w.anew)
		if most := 1 + (days-4)*4/4; w.anew > most || w.anew < most-2 {
			t.Errorf("%d summaries were made anew, want at most %d", w.anew, most)
		}
	})
}

// What was said in a thread before the bot came is not read where it is too old.
func TestOldSeedsAreNotRead(t *testing.T) {
	inHouse(t, func(h *house) {
		h.set.SeedMessages, h.set.Retention = 20, 48*time.Hour
		time.Sleep(100 * time.Hour)
		h.place.earlier = func(string, int) ([]core.Message, error) {
			at := func(id string, ago time.Duration) core.Message {
				return core.Message{ID: id, Author: core.Author{ID: "bob", Name: "Bob"}, Text: "said " + id, At: time.Now().Add(-ago), Target: core.Target{Thread: thread("t1")}}
			}
			return []core.Message{at("e1", 49*time.Hour), at("e2", 47*time.Hour), at("e3", time.Minute)}, nil
		}
		h.open()
		h.say("t1", "what is this about?")
		var told strings.Builder
		for _, m := range h.log.Requests()[0].Request.Messages {
			told.WriteString(m.Text() + "\n")
		}
		if text := told.String(); strings.Contains(text, "said e1") || !strings.Contains(text, "said e2") || !strings.Contains(text, "said e3") {
			t.Errorf("the model is told:\n%s", text)
		}
		if stored := strings.Join(h.transcript("t1"), "\n"); strings.Contains(stored, "said e1") {
			t.Errorf("it is stored:\n%s", stored)
		}
	})
}
