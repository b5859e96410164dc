package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"understudy/core/failover"
	"understudy/core/llm"
)

// The things that must have happened.
type (
	// expectRequest is the next provider request, in order.
	expectRequest struct {
		ref     llm.Ref
		profile string // empty for any
		texts   textChecks
	}
	// expectNoRequest: no request since the last one that was expected.
	expectNoRequest struct{}
	// expectPost is the next post of a place, in one order over all kinds:
	// answer, notice, status, error, command, or admin, whose place is empty.
	expectPost struct {
		kind, place string
		pattern     *pattern // nil when only texts count
		texts       textChecks
	}
	// expectNothing: no post and no request since the last expectation.
	expectNothing struct{}
	// expectLinked: the post just matched carries the native reply link, or
	// does not.
	expectLinked struct{ linked bool }
	// expectTyping is the working indicator now; an empty place stands for
	// every place.
	expectTyping struct {
		typing bool
		place  string
	}
	// expectSelected is the model that the session is set to, or resolves to.
	expectSelected struct {
		thread string
		ref    llm.Ref
		source failover.Source
	}
	// expectActive is the model that answered last.
	expectActive struct {
		thread string
		ref    llm.Ref
	}
	// expectProfile is a profile's state now: "cooldown" of a model ("*" for
	// all of them) or "disabled", each with the time left and the reason, or
	// "ok".
	expectProfile struct {
		profile, state string
		model          string
		left           time.Duration
		reason         llm.Reason
	}
	// expectRefresh is the next refresh request.
	expectRefresh struct{ profile string }
	// expectJob is a job's last run: ok with the model that answered, or
	// failed with a reason.
	expectJob struct {
		job    string
		ok     bool
		ref    llm.Ref
		reason llm.Reason
	}
	// expectLog is a structured log line that has these fields, and may have
	// others.
	expectLog struct {
		event  string
		fields []logField
	}
	// expectTranscript is the whole transcript of a thread.
	expectTranscript struct {
		thread  string
		entries []transcriptEntry
	}
	// expectTotal is the number of provider requests since the start.
	expectTotal struct{ requests int }
)

// textChecks are what a request or post must hold, and must not.
type textChecks struct{ contains, lacks []string }

// check says what is wrong with a text; empty when nothing is.
func (t textChecks) check(text string) string {
	for _, want := range t.contains {
		if !strings.Contains(text, want) {
			return fmt.Sprintf("does not contain %q", want)
		}
	}
	for _, bad := range t.lacks {
		if strings.Contains(text, bad) {
			return fmt.Sprintf("contains %q", bad)
		}
	}
	return ""
}

type logField struct {
	name  string
	value pattern
}

type transcriptEntry struct {
	role string // user, assistant, tool …
	text pattern
}

// postKinds are the kinds of posts that stand in a place.
var postKinds = []string{"answer", "notice", "status", "error", "command"}

// expect reads what follows the word.
func (r *lineReader) expect() any {
	switch word := r.next(); word {
	case "request":
		e := expectRequest{ref: r.ref(r.word("a model ref"))}
		if r.is("with") {
			e.profile = r.profile()
		}
		e.texts = r.texts()
		return closed(r, e)
	case "no":
		return r.expectNo()
	case "nothing":
		return closed(r, expectNothing{})
	case "linked":
		return closed(r, expectLinked{true})
	case "not":
		r.literal("linked")
		return closed(r, expectLinked{false})
	case "typing":
		r.literal("in")
		return closed(r, expectTyping{true, r.place()})
	case "selected":
		e := expectSelected{thread: r.place(), ref: r.ref(r.word("a model ref"))}
		e.source = r.source()
		return closed(r, e)
	case "active":
		return closed(r, expectActive{r.place(), r.ref(r.word("a model ref"))})
	case "profile":
		return r.expectProfile()
	case "refresh":
		return closed(r, expectRefresh{r.profile()})
	case "job":
		return r.expectJob()
	case "log":
		return r.expectLog()
	case "transcript":
		return r.expectTranscript()
	case "total":
		r.literal("requests")
		return closed(r, expectTotal{r.number(0)})
	default:
		kind, direct := strings.CutSuffix(word, ":")
		if kind == "admin" || slices.Contains(postKinds, kind) {
			if direct {
				r.rest = ":" + r.rest // the text follows at once
			}
			return r.expectPost(kind)
		}
		r.fail("something to expect; there is no " + strconv.Quote(word))
		return nil
	}
}

func (r *lineReader) expectNo() any {
	if r.is("request") {
		return closed(r, expectNoRequest{})
	}
	if !r.is("typing") {
		r.fail(`"request" or "typing"`)
	}
	e := expectTyping{}
	if r.is("in") {
		e.place = r.place()
	}
	return closed(r, e)
}

// expectPost reads "in PLACE: text" or "in PLACE contains …"; posts to the
// admin channel have no place.
func (r *lineReader) expectPost(kind string) any {
	e := expectPost{kind: kind}
	head, text, direct := splitText(r.rest)
	if direct {
		r.rest = head
		p, err := parsePattern(text)
		if err != nil {
			r.err = err
		}
		e.pattern = &p
	}
	if kind != "admin" {
		r.literal("in")
		e.place = r.place()
	}
	if !direct {
		e.texts = r.texts()
		if len(e.texts.contains)+len(e.texts.lacks) == 0 {
			r.fail("a colon and a text, contains or lacks")
		}
	}
	return closed(r, e)
}

func (r *lineReader) texts() (t textChecks) {
	for r.err == nil {
		switch {
		case r.is("contains"):
			t.contains = append(t.contains, r.quoted())
		case r.is("lacks"):
			t.lacks = append(t.lacks, r.quoted())
		default:
			return t
		}
	}
	return t
}

func (r *lineReader) source() failover.Source {
	s := failover.Source(r.word("a source such as user or default"))
	switch s {
	case failover.FromDefault, failover.FromAgent, failover.FromUser, failover.FromLegacy,
		failover.FromAuto, failover.FromCron, failover.FromHeartbeat, failover.FromCLI:
	default:
		r.fail(fmt.Sprintf("a source such as user or default, not %q", s))
	}
	return s
}

// knownReasons are those that can be expected.
var knownReasons = []llm.Reason{
	llm.Auth, llm.AuthPermanent, llm.Billing, llm.RateLimit, llm.Overloaded, llm.Timeout, llm.ServerError,
	llm.ModelNotFound, llm.Format, llm.ContextOverflow, llm.Refusal, llm.Abort, llm.EmptyResponse,
	llm.NoErrorDetails, llm.Unclassified, llm.Cooldown, llm.MissingAuth, llm.UnknownProvider,
}

func (r *lineReader) reason() llm.Reason {
	reason := llm.Reason(r.word("a reason such as rate_limit"))
	if !slices.Contains(knownReasons, reason) {
		r.fail(fmt.Sprintf("a reason such as rate_limit, not %q", reason))
	}
	return reason
}

func (r *lineReader) expectProfile() any {
	e := expectProfile{profile: r.profile()}
	switch e.state = r.word("cooldown, disabled or ok"); e.state {
	case "ok":
		return closed(r, e)
	case "cooldown":
		e.model = r.word("a model or *")
	case "disabled":
	default:
		r.fail("cooldown, disabled or ok")
	}
	e.left = r.duration()
	e.reason = r.reason()
	return closed(r, e)
}

func (r *lineReader) expectJob() any {
	e := expectJob{job: r.word("a job")}
	switch {
	case r.is("ok"):
		e.ok, e.ref = true, r.ref(r.word("a model ref"))
	case r.is("failed"):
		e.reason = r.reason()
	default:
		r.fail(`"ok a/m1" or "failed rate_limit"`)
	}
	return closed(r, e)
}

func (r *lineReader) expectLog() any {
	e := expectLog{event: r.word("the name of a log line")}
	if r.peek() == "" {
		return e
	}
	for _, f := range r.fields() {
		p, err := parsePattern(f.value)
		if err != nil && r.err == nil {
			r.err = err
		}
		e.fields = append(e.fields, logField{f.name, p})
	}
	return closed(r, e)
}

func (r *lineReader) expectTranscript() any {
	thread, more := r.upToColon("a thread and a colon")
	if more {
		r.fail("a colon behind the thread")
	}
	e := expectTranscript{thread: thread}
	if r.peek() == "" {
		return e // an empty transcript
	}
	for {
		role := r.word("a role such as user")
		p, err := parsePattern(r.quoted())
		if err != nil && r.err == nil {
			r.err = err
		}
		e.entries = append(e.entries, transcriptEntry{role, p})
		if r.err != nil || !strings.HasPrefix(r.rest, ",") {
			return closed(r, e)
		}
		r.rest = r.rest[1:]
	}
}
