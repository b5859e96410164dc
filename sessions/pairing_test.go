package sessions_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/sessions"
	"understudy/store/memory"
)

// direct is a direct message of somebody.
func (h *house) direct(who, text string) core.Message {
	m := h.message("dm-"+who, text)
	m.Author = core.Author{ID: who, Name: who}
	m.Target.Thread.Kind, m.Target.Thread.Parent = core.KindDirect, ""
	return m
}

func (h *house) knock(who string) string {
	h.t.Helper()
	text, err := h.bot.Knock(context.Background(), h.direct(who, "hello"))
	if err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return text
}

func (h *house) guest(who string) sessions.Guest {
	h.t.Helper()
	g, err := h.store.Guest(context.Background(), "fake", "main", who)
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

func (h *house) known(who string) bool {
	h.t.Helper()
	ok, err := h.bot.Known(context.Background(), h.direct(who, "").Thread(), core.Author{ID: who})
	if err != nil {
		h.t.Fatal(err)
	}
	return ok
}

// alerts are what operators were told, as "kind key: text", with a mark when it
// is over.
func (h *house) alerts() []string {
	h.heard.Lock()
	defer h.heard.Unlock()
	var list []string
	for _, a := range h.alert {
		text := fmt.Sprintf("%s %s: %s", a.Kind, a.Key, a.Text)
		if a.Over {
			text += " (over)"
		}
		list = append(list, text)
	}
	return list
}

// Somebody asks, is told a code once, and may write once an admin approved it.
func TestPairing(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		text := h.knock("zoe")
		code := h.guest("zoe").Code
		if !regexp.MustCompile(`^[A-HJKMNP-Z]{8}$`).MatchString(code) {
			t.Fatalf("the code is %q", code)
		}
		if want := "I don’t know you yet, so I can’t answer. Ask an admin of this bot to give the command `/approve " + code + "`; the code holds for an hour. Then send your message again."; text != want {
			t.Fatalf("zoe heard %q", text)
		}
		if again := h.knock("zoe"); again != "" || h.guest("zoe").Code != code {
			t.Fatalf("the second time zoe heard %q", again)
		}
		if h.known("zoe") || !h.known("root") {
			t.Fatal("who is known is wrong")
		}
		if r := h.command("t1", "approve "+code, "ann"); r.Text != "Only admins of this bot can use /approve here." || h.known("zoe") {
			t.Fatalf("ann approved: %+v", r)
		}
		if r := h.command("t1", "approve ABCABCAB", "root"); r.Text != "Nobody asks with this code. Codes hold for an hour." {
			t.Fatalf("a wrong code: %+v", r)
		}
		h.say("t1", "/approve "+code) // as text; ann is no admin
		m := h.message("t1", "/approve "+strings.ToLower(code))
		m.Author.ID = "root"
		if err := h.bot.Message(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		posts := h.place.all() // threads have no order among each other
		slices.Sort(posts)
		expect(t, "posts", posts, []string{"dm-zoe command: You can talk to me now. /help lists what else I can do.",
			"t1 command: Only admins of this bot can use /approve here.",
			"t1 command: zoe (fake:zoe) may write to me directly, approved by fake:root."})
		if !h.known("zoe") || h.knock("zoe") != "" {
			t.Fatal("zoe is not known")
		}
		h.command("t1", "approve "+code, "root") // once more
		time.Sleep(2 * time.Hour)
		expect(t, "alerts", h.alerts(), []string{
			"stranger fake:zoe: zoe (fake:zoe) asks to write to me directly. `/approve fake:zoe` lets them.",
			"stranger fake:zoe: zoe (fake:zoe) may write to me directly, approved by fake:root. (over)",
		})
		if len(h.place.all()) != 3 {
			t.Fatalf("zoe was told more than once:\n%s", strings.Join(h.place.all(), "\n"))
		}
		h.stop(0)
		h.open()
		if !h.known("zoe") {
			t.Fatal("a restart forgot zoe")
		}
	})
}

// A crowd of strangers keeps nobody from asking: the oldest requests give way,
// and whoever asked may ask again. The crowd of one account is not that of
// another.
func TestManyAskAtOnce(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		const most = 50
		first := h.knock("first")
		code := h.guest("first").Code
		other := h.direct("first", "hello")
		other.Target.Thread.Account = "second"
		if text, err := h.bot.Knock(context.Background(), other); err != nil || text == "" || text == first {
			t.Fatalf("another account said %q, %v", text, err)
		}
		for i := range most - 1 {
			time.Sleep(time.Second)
			if h.knock(fmt.Sprint("stranger", i)) == "" {
				t.Fatalf("stranger %d was told nothing", i)
			}
		}
		if h.guest("first").Code != code || h.knock("first") != "" {
			t.Fatal("a request gave way while there was room")
		}
		if h.knock("late") == "" {
			t.Fatal("somebody was kept from asking")
		}
		if h.guest("first").Code != "" || h.guest("stranger0").Code == "" {
			t.Fatal("it was not the oldest request that gave way")
		}
		if r := h.command("t1", "approve "+code, "root"); r.Text != "Nobody asks with this code. Codes hold for an hour." || h.known("first") {
			t.Fatalf("a code that gave way: %+v", r)
		}
		if g, err := h.store.Guest(context.Background(), "fake", "second", "first"); err != nil || g.Code == "" {
			t.Fatalf("the crowd pushed a request of another account away: %+v, %v", g, err)
		}
		h.command("t1", "approve "+h.guest("stranger0").Code, "root") // who is let in gives way to nobody
		for i := range 2 * most {
			h.knock(fmt.Sprint("more", i))
		}
		if again := h.knock("first"); again == "" || h.guest("first").Code == code {
			t.Fatal("whoever gave way cannot ask again")
		}
		h.command("t1", "approve "+h.guest("first").Code, "root")
		if !h.known("first") || !h.known("stranger0") {
			t.Fatal("who was approved is not known")
		}
		all, err := h.store.Guests(context.Background())
		if err != nil || len(all) > most+3 { // with two who were let in, and one of the other account
			t.Fatalf("%d requests are kept, %v", len(all), err)
		}
		want := "stranger fake:first: first (fake:first) asked to write to me directly; so many have asked since that this request gave way. They may ask again. (over)"
		if !slices.Contains(h.alerts(), want) {
			t.Fatalf("operators were not told:\n%s", strings.Join(h.alerts(), "\n"))
		}
	})
}

// A request runs out after an hour, which lets the person ask again.
func TestRequestsRunOut(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		h.knock("one")
		code := h.guest("one").Code
		time.Sleep(time.Hour - time.Second)
		if h.knock("one") != "" {
			t.Fatal("somebody was told twice within the hour")
		}
		time.Sleep(10 * time.Second)
		if r := h.command("t1", "approve "+code, "root"); r.Text != "Nobody asks with this code. Codes hold for an hour." || h.known("one") {
			t.Fatalf("a code that had run out: %+v", r)
		}
		if h.knock("one") == "" || h.guest("one").Code == code {
			t.Fatal("one cannot ask again")
		}
		want := "stranger fake:one: one (fake:one) asked to write to me directly; nobody approved it in time. (over)"
		if got := h.alerts(); len(got) != 3 || got[1] != want {
			t.Fatalf("operators were told:\n%s", strings.Join(got, "\n"))
		}
	})
}

// An approval that another process stored is told by the one that runs, or by
// the next.
func TestApprovalFromElsewhere(t *testing.T) {
	approve := func(h *house, code string) {
		g, err := sessions.Approve(context.Background(), h.data.Open(memory.Options{}), code, "the command line", time.Now())
		if err != nil || g.User != "zoe" {
			h.t.Fatalf("%+v, %v", g, err)
		}
	}
	const told = "dm-zoe command: You can talk to me now. /help lists what else I can do."
	inHouse(t, func(h *house) {
		h.open()
		h.knock("zoe")
		approve(h, h.guest("zoe").Code)
		h.expectPosts()
		time.Sleep(5 * time.Second)
		h.expectPosts(told)
	})
	inHouse(t, func(h *house) {
		h.open()
		h.knock("zoe")
		code := h.guest("zoe").Code
		h.stop(0)
		approve(h, code)
		h.open()
		h.expectPosts(told)
		if ok, err := sessions.Revoke(context.Background(), h.store, "fake", "zoe"); err != nil || !ok || h.known("zoe") {
			t.Fatalf("revoked %v, %v", ok, err)
		}
		if ok, err := sessions.Revoke(context.Background(), h.store, "fake", "zoe"); err != nil || ok {
			t.Fatalf("revoked again %v, %v", ok, err)
		}
	})
}

// Nobody else's code is anybody's, and a bot cannot ask.
func TestBotsDoNotKnock(t *testing.T) {
	inHouse(t, func(h *house) {
		h.open()
		m := h.direct("robot", "beep")
		m.Author.Bot = true
		if text, err := h.bot.Knock(context.Background(), m); err != nil || text != "" || h.guest("robot").Code != "" {
			t.Fatalf("a bot was told %q, %v", text, err)
		}
		for _, code := range []string{"", " "} {
			if _, err := sessions.Approve(context.Background(), h.store, code, "x", time.Now()); !sessions.ErrNoCode(err) {
				t.Fatalf("the code %q: %v", code, err)
			}
		}
	})
}
