package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/llm/script"
	"understudy/store"
)

// Run them with a number of turns, since one takes as long as its model:
//
//	go test -run '^$' -bench . -benchtime 500x ./cmd/understudy
//
// Everything is on loopback and in one process, the fakes too, whose work is
// therefore part of what is measured.

// BenchmarkHop measures a failover: from the last byte of the failing answer to
// the arrival of the request at the next provider. Between them the failure is
// classified and booked in the store. The floor is what a program does that
// only sends the same body again. Connections are warm, turns come one at a
// time.
func BenchmarkHop(b *testing.B) {
	w := newWorkshop(b)
	w.leadFails = true
	var hops, floors []time.Duration
	for i := range b.N + 1 {
		err := w.house.store.UpdateState(b.Context(), mainAgent, leadProfile, failover.Cleared)
		if err != nil {
			b.Fatal(err)
		}
		w.say(b, i, i)
		w.await(b, i)
		if err := w.house.idle(b.Context()); err != nil {
			b.Fatal(err)
		}
		hop := w.hop()
		w.bareFailover(b)
		if i > 0 { // the first one opens the connections
			hops, floors = append(hops, hop), append(floors, w.hop())
		}
	}
	b.ReportMetric(0, "ns/op")
	report(b, "hop", hops)
	report(b, "floor", floors)
	b.ReportMetric(float64(quantile(hops, 0.5))/float64(quantile(floors, 0.5)), "x-floor")
}

// BenchmarkTurn measures what a turn adds to the time that its model takes: from
// the message at the handler to the post, without the time that the request was
// at the provider. 50 turns begin in every second, over 64 threads, whether or
// not earlier ones are done, and the model takes a second for each.
func BenchmarkTurn(b *testing.B) {
	w := newWorkshop(b)
	w.thinking = time.Second
	w.say(b, 0, 0) // opens the first connection
	w.await(b, 0)
	tick := time.NewTicker(time.Second / 50)
	defer tick.Stop()
	for i := 1; i <= b.N; i++ {
		w.say(b, i, i%64)
		<-tick.C
	}
	var added []time.Duration
	for i := 1; i <= b.N; i++ {
		added = append(added, w.await(b, i))
	}
	b.ReportMetric(0, "ns/op")
	report(b, "added", added)
}

// BenchmarkTurns64 measures how many turns are done in a second when each of 64
// threads gets its next message as soon as it has its answer, and the model
// takes no time. The floor is what a program does that only sends the last
// request again, 64 at a time, and the proxy's is the same through a bare proxy.
// They take turns with the threads, so that all see the same machine.
func BenchmarkTurns64(b *testing.B) {
	w := newWorkshop(b)
	w.say(b, 0, 0)
	w.await(b, 0)
	proxy := httptest.NewServer(http.HandlerFunc(w.handOn))
	defer proxy.Close()
	const rounds = 10
	var took, floor, proxied, spent time.Duration
	for round := range rounds {
		first, last := 1+round*b.N/rounds, (round+1)*b.N/rounds
		before, begun := cpuTime(b), time.Now()
		in64Threads(first, last, func(i, thread int) {
			w.say(b, i, thread)
			w.await(b, i)
		})
		took += time.Since(begun)
		spent += cpuTime(b) - before
		begun = time.Now()
		in64Threads(first, last, func(int, int) { w.ask(b, w.lead.URL) })
		floor += time.Since(begun)
		begun = time.Now()
		in64Threads(first, last, func(int, int) { w.ask(b, proxy.URL) })
		proxied += time.Since(begun)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N)/took.Seconds(), "turns/s")
	b.ReportMetric(float64(b.N)/floor.Seconds(), "floor/s")
	b.ReportMetric(floor.Seconds()/took.Seconds(), "x-floor")
	b.ReportMetric(float64(b.N)/proxied.Seconds(), "proxy/s")
	b.ReportMetric(proxied.Seconds()/took.Seconds(), "x-proxy")
	b.ReportMetric(float64(spent.Microseconds())/1e3/float64(b.N), "cpu-ms/turn")
}

// in64Threads does something with each number from first to last, 64 at a time,
// and returns when all is done.
func in64Threads(first, last int, do func(i, thread int)) {
	numbers := make(chan int)
	var threads sync.WaitGroup
	for thread := range 64 {
		threads.Go(func() {
			for i := range numbers {
				do(i, thread)
			}
		})
	}
	for i := first; i <= last; i++ {
		numbers <- i
	}
	close(numbers)
	threads.Wait()
}

// cpuTime is what this process has taken of the processors so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func report(b *testing.B, what string, all []time.Duration) {
	b.ReportMetric(float64(quantile(all, 0.5).Nanoseconds())/1e3, what+"-p50-us")
	b.ReportMetric(float64(quantile(all, 0.99).Nanoseconds())/1e3, what+"-p99-us")
}

func quantile(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// benchKey is as long as real ones are: what a provider says is searched for it.
const benchKey = "bench-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p"

// workshop is a house on a real store with its providers on loopback. Its
// platform is in the process and takes no time.
type workshop struct {
	house         *house
	lead, standIn *httptest.Server
	leadFails     bool
	thinking      time.Duration // before every answer
	client        *http.Client  // of the floors

	mu     sync.Mutex
	body   []byte    // of the last request
	failed time.Time // when the last byte of the last failure left
	hopped time.Time // when the stand-in was asked last
	turns  map[int]*benchTurn
}

func newWorkshop(b *testing.B) *workshop {
	b.Helper()
	w := &workshop{
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		turns:  map[int]*benchTurn{},
	}
	b.Cleanup(w.client.CloseIdleConnections)
	w.lead = httptest.NewServer(http.HandlerFunc(w.askLead))
	b.Cleanup(w.lead.Close)
	w.standIn = httptest.NewServer(http.HandlerFunc(w.askStandIn))
	b.Cleanup(w.standIn.Close)

	c, err := parseConfig("understudy.jsonc", fmt.Appendf(nil, `{
		"agents": {"defaults": {"model": {"primary": %q, "fallbacks": [%q]}}},
		"models": {"providers": {"lead": {"baseUrl": %q}, "second": {"baseUrl": %q}}},
	}`, leadModel, standInModel, w.lead.URL+"/v1", w.standIn.URL+"/v1"))
	if err != nil {
		b.Fatal(err)
	}
	st, err := store.Open(b.Context(), store.Options{Path: filepath.Join(b.TempDir(), "understudy.db"), Exclusive: true})
	if err != nil {
		b.Fatal(err)
	}
	transport := llm.NewTransport(nil, c.Timeouts.request())
	b.Cleanup(transport.CloseIdle)
	key := []core.Secret{core.NewSecret(benchKey)}
	w.house, err = build(parts{
		config: c, store: st, platform: func(core.Thread) (core.Platform, bool) { return w, true },
		client: c.clients(transport, &script.Script{}), keys: map[string][]core.Secret{"lead": key, "second": key},
		known: c.providerKnown, keyless: c.providerKeyless, unknown: c.unknown, maxTurns: 64,
		log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := w.house.open(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := w.house.shut(time.Second); err != nil {
			b.Error(err)
		}
	})
	return w
}

func (w *workshop) askLead(rw http.ResponseWriter, r *http.Request) {
	if !w.leadFails {
		w.answer(rw, r)
		return
	}
	body, _ := io.ReadAll(r.Body) // what was cut off fails the turn
	const failure = `{"error":{"message":"Overloaded","type":"overloaded_error"}}`
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Length", strconv.Itoa(len(failure)))
	rw.WriteHeader(529)
	w.mu.Lock()
	w.body, w.failed = body, time.Now()
	w.mu.Unlock()
	_, _ = io.WriteString(rw, failure)
}

func (w *workshop) askStandIn(rw http.ResponseWriter, r *http.Request) {
	now := time.Now()
	w.mu.Lock()
	w.hopped = now
	w.mu.Unlock()
	w.answer(rw, r)
}

// hop is the time from the last failure to the request that followed it.
func (w *workshop) hop() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hopped.Sub(w.failed)
}

var turnName = regexp.MustCompile(`turn (\d+)`)

// answer says back the name of the turn, which is the last thing in a request.
func (w *workshop) answer(rw http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	body, _ := io.ReadAll(r.Body)
	names := turnName.FindAllSubmatch(body, -1)
	if len(names) == 0 {
		http.Error(rw, "no turn is named", http.StatusBadRequest)
		return
	}
	name := names[len(names)-1]
	turn, _ := strconv.Atoi(string(name[1])) // it is digits
	select {
	case <-time.After(w.thinking):
	case <-r.Context().Done():
		return
	}
	w.mu.Lock()
	w.body, w.turns[turn].away = body, time.Since(begun)
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(rw, `data: {"choices":[{"index":0,"delta":{"content":%q}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`, name[0])
}

// bareFailover sends the last body to the lead and, since that fails, to the
// stand-in.
func (w *workshop) bareFailover(b *testing.B) {
	w.ask(b, w.lead.URL)
	w.ask(b, w.standIn.URL)
}

// ask sends the last body to a provider, as a program would that does nothing
// else.
func (w *workshop) ask(b *testing.B, url string) {
	w.mu.Lock()
	body := w.body
	w.mu.Unlock()
	resp, err := w.client.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode == http.StatusBadGateway {
		b.Error(resp.Status, err)
	}
}

// handOn is a bare proxy in front of the lead.
func (w *workshop) handOn(rw http.ResponseWriter, r *http.Request) {
	resp, err := w.client.Post(w.lead.URL+r.URL.Path, r.Header.Get("Content-Type"), r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	rw.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	rw.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(rw, resp.Body) // what is missing breaks the caller's reading
}

// benchTurn is one turn on its way.
type benchTurn struct {
	begun time.Time
	away  time.Duration  // at the provider
	ended chan time.Time // when it was posted
}

// say gives the message of a turn to the house.
func (w *workshop) say(b *testing.B, turn, thread int) {
	m := core.Message{
		ID: fmt.Sprint(turn), Text: fmt.Sprint("turn ", turn), Author: core.Author{ID: fmt.Sprint("person ", turn), Name: "Ann"}, At: time.Now(), Addressed: true,
		Target: core.Target{Thread: core.Thread{Platform: "bench", Account: "default", Channel: fmt.Sprint(thread), Kind: core.KindThread}},
	}
	w.mu.Lock()
	w.turns[turn] = &benchTurn{begun: time.Now(), ended: make(chan time.Time, 1)}
	w.mu.Unlock()
	if err := w.house.bot.Message(b.Context(), m); err != nil {
		b.Error(err)
	}
}

// await waits for the answer of a turn and returns what the turn took beside
// the time at the provider.
func (w *workshop) await(b *testing.B, turn int) time.Duration {
	w.mu.Lock()
	t := w.turns[turn]
	w.mu.Unlock()
	select {
	case ended := <-t.ended:
		w.mu.Lock()
		defer w.mu.Unlock()
		return ended.Sub(t.begun) - t.away
	case <-time.After(patience):
		b.Errorf("turn %d has no answer", turn)
		return 0
	}
}

// The rest makes the workshop a platform.

func (w *workshop) Limits(core.Thread) core.Limits {
	return core.Limits{MaxText: 2000, Count: utf8.RuneCountInString, MaxParts: 10, FirstPreview: time.Second, EditEvery: 1200 * time.Millisecond}
}

func (w *workshop) Post(_ context.Context, p core.Post) (core.Posted, error) {
	now := time.Now()
	if name := turnName.FindStringSubmatch(p.Text); p.Kind == core.PostAnswer && name != nil {
		turn, _ := strconv.Atoi(name[1]) // it is digits
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turns[turn].ended <- now
	}
	return core.Posted{ID: p.Nonce, Linked: p.Link}, nil
}

func (w *workshop) Edit(context.Context, string, core.Post) error     { return nil }
func (w *workshop) Delete(context.Context, core.Target, string) error { return nil }
func (w *workshop) Working(context.Context, core.Target, bool) error  { return nil }
