package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing/synctest"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// expect checks one expectation.
func (p *player) expect(cmd any) {
	p.Helper()
	synctest.Wait()
	switch e := cmd.(type) {
	case expectRequest:
		p.expectRequest(e)
	case expectNoRequest:
		for _, r := range p.requests() {
			if !r.matched {
				p.fatalf("there was a request to %s with %s", r.Ref, r.Profile)
			}
		}
	case expectPost:
		p.expectPost(e)
	case expectNothing:
		if now := p.counts(); now != p.seen {
			p.fatalf("there were %d posts and %d requests", now[0]-p.seen[0], now[1]-p.seen[1])
		}
	case expectLinked:
		if p.last == nil || p.last.post.Link != e.linked {
			p.fatalf("linked is %v", !e.linked)
		}
	case expectTyping:
		p.expectTyping(e)
	case expectSelected:
		s := p.session(e.thread)
		sel, source := s.Choice.Model, s.Choice.Source
		if sel == (llm.Ref{}) {
			sel, source = p.config.policy(mainAgent).Resolve()
		}
		if sel != e.ref || source != e.source {
			p.fatalf("selected is %s %s", sel, source)
		}
	case expectActive:
		if s := p.session(e.thread); s.Active != e.ref {
			p.fatalf("active is %s", s.Active)
		}
	case expectProfile:
		p.expectProfile(e)
	case expectLog:
		p.expectLog(e)
	case expectTranscript:
		p.expectTranscript(e)
	case expectTotal:
		if n := len(p.requests()); n != e.requests {
			p.fatalf("there were %d requests", n)
		}
	default:
		p.fatalf("%T is not there yet", cmd)
	}
	p.seen = p.counts()
}

func (p *player) requests() []*request {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.w.requests[:len(p.w.requests):len(p.w.requests)]
}

func (p *player) counts() [2]int {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	posts := len(p.w.posts)
	for _, x := range p.w.posts {
		if x.edited {
			posts--
		}
	}
	return [2]int{posts, len(p.w.requests)}
}

func (p *player) expectRequest(e expectRequest) {
	p.Helper()
	why := "there was none"
	for _, r := range p.requests() {
		if r.matched {
			continue
		}
		switch bad := e.texts.check(r.text()); {
		case r.Ref != e.ref || e.profile != "" && r.Profile != e.profile:
			why = fmt.Sprintf("the next request went to %s with %s", r.Ref, r.Profile)
		case bad != "":
			why = fmt.Sprintf("the request %s; it is:\n%s", bad, r.text())
		default:
			r.matched = true
			return
		}
		if !p.group {
			break
		}
	}
	p.fatalf("%s", why)
}

func (p *player) expectPost(e expectPost) {
	p.Helper()
	if e.kind == string(core.PostAdmin) {
		e.place = p.adminPlace()
	}
	p.w.mu.Lock()
	posts := p.w.posts
	p.w.mu.Unlock()
	why := "there was none"
	for _, x := range posts {
		if x.matched || x.place != e.place {
			continue
		}
		text := x.post.Text
		bad := e.texts.check(text)
		if e.pattern != nil && !e.pattern.match(text) {
			bad = "is another one"
		}
		if string(x.post.Kind) == e.kind && bad == "" {
			x.matched, p.last = true, x
			p.w.pass(x)
			return
		}
		if x.edited {
			continue
		}
		why = fmt.Sprintf("the next post is %s: %s (%s)", x.post.Kind, text, bad)
		if !p.group {
			break
		}
	}
	p.fatalf("%s", why)
}

// adminPlace is where posts for operators stand.
func (p *player) adminPlace() string {
	p.Helper()
	if p.config.Admin.Channel == (address{}) {
		p.fatalf("there is no admin.channel")
	}
	return "channel:" + p.config.Admin.Channel.ID
}

// pass takes the edits before a post for expected: what a message showed in
// between is past.
func (w *world) pass(to *post) {
	for _, x := range w.posts {
		if x == to {
			return
		}
		if x.edited && x.place == to.place {
			x.matched = true
		}
	}
}

func (p *player) expectTyping(e expectTyping) {
	p.Helper()
	p.w.mu.Lock()
	typing := maps.Clone(p.w.typing)
	p.w.mu.Unlock()
	for place, on := range typing {
		if on && !e.typing && (e.place == "" || e.place == place) {
			p.fatalf("it types in %s", place)
		}
	}
	if e.typing && !typing[e.place] {
		p.fatalf("it does not type")
	}
}

func (p *player) expectProfile(e expectProfile) {
	p.Helper()
	s, now := p.profileState(e.profile), p.now()
	var live []failover.Window
	switch e.state {
	case "ok":
		for _, w := range append([]failover.Window{s.Auth, s.Billing, s.Permanent}, windows(s)...) {
			if w.Live(now) {
				p.fatalf("blocked for %v: %s", w.Until.Sub(now), w.Reason)
			}
		}
		return
	case "disabled":
		live = []failover.Window{s.Billing, s.Permanent}
	case "cooldown":
		live = []failover.Window{s.Models[e.model]}
		if e.model == failover.AllModels {
			live = append(live, s.Auth)
		}
	}
	for _, w := range live {
		if w.Live(now) && w.Until.Sub(now) == e.left && w.Reason == e.reason {
			return
		}
	}
	p.fatalf("the state is %+v, now is %v", s, now.Format(time.RFC3339Nano))
}

func windows(s failover.State) []failover.Window {
	var list []failover.Window
	for _, w := range s.Models {
		list = append(list, w)
	}
	return list
}

func (p *player) expectLog(e expectLog) {
	p.Helper()
	if !p.w.logged(e) {
		p.fatalf("there is no such line")
	}
}

// logged finds a line that nobody expected yet, and marks it.
func (w *world) logged(e expectLog) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.logs {
		l := &w.logs[i]
		if l.matched || l.event != e.event {
			continue
		}
		ok := true
		for _, f := range e.fields {
			ok = ok && f.value.match(l.fields[f.name])
		}
		if ok {
			l.matched = true
			return true
		}
	}
	return false
}

func (p *player) expectTranscript(e expectTranscript) {
	p.Helper()
	s := p.session(e.thread)
	entries, err := p.store.Transcript(context.Background(), s.Key, s.Transcript, 10_000)
	if err != nil {
		p.fatalf("%v", err)
	}
	var got []string
	ok := len(entries) == len(e.entries)
	for i, x := range entries {
		text := x.Message.Text()
		for _, part := range x.Message.Parts {
			if part.Result != nil {
				text = part.Result.Text
			}
		}
		got = append(got, fmt.Sprintf("%s %q", x.Message.Role, text))
		ok = ok && i < len(e.entries) && string(x.Message.Role) == e.entries[i].role && e.entries[i].text.match(text)
	}
	if !ok {
		p.fatalf("it is: %s", strings.Join(got, ", "))
	}
}

// end fails on what nobody expected.
func (p *player) end() {
	p.Helper()
	p.line = line{no: 0, text: "the end"}
	for _, x := range p.w.posts {
		if !x.matched && !x.edited {
			p.fatalf("nobody expected the %s in %s: %s", x.post.Kind, x.place, x.post.Text)
		}
	}
	for _, r := range p.requests() {
		if !r.matched {
			p.fatalf("nobody expected the request to %s with %s", r.Ref, r.Profile)
		}
	}
}

// dump is what happened so far.
func (p *player) dump() string {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	var b strings.Builder
	for _, r := range p.w.requests {
		fmt.Fprintf(&b, "  request +%v %s with %s (matched %v)\n", r.At.Sub(p.s.start), r.Ref, r.Profile, r.matched)
	}
	for _, x := range p.w.posts {
		fmt.Fprintf(&b, "  post in %s: %s %q linked %v (matched %v)\n", x.place, x.post.Kind, x.post.Text, x.post.Link, x.matched)
	}
	for _, l := range p.w.logs {
		fmt.Fprintf(&b, "  log %s %v\n", l.event, l.fields)
	}
	return b.String()
}
