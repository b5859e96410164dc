package admin

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/delivery"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// The kinds of events that are known here; adapters and sessions have others.
const (
	Profile      = "profile"       // a profile is disabled
	Exhausted    = "exhausted"     // no model of a chain answered
	Overload     = "overload"      // nor after all the waits for an overload
	Fallback     = "fallback"      // sessions are answered by another model, and are not told
	LongFallback = "long-fallback" // and have been for long
	Model        = "model"         // a configured model cannot answer
	Delivery     = "delivery"      // a post was given up
	Fault        = "fault"         // a turn failed inside the program
	Store        = "store"         // the store does not take what is written
	Stranger     = "stranger"      // somebody asks to be let in
	Refused      = "refused"       // somebody was turned away
)

// Attempted hears of the attempts of turns: which profiles are disabled, and
// which profiles and models answer again.
func (f *Feed) Attempted(a failover.Attempt) {
	switch {
	case a.Won:
		f.Hear(core.Alert{Kind: Profile, Key: a.Profile, Over: true, Text: fmt.Sprintf("Profile %s answers again.", a.Profile)})
		f.Hear(core.Alert{Kind: Model, Key: a.Model.String(), Over: true, Text: fmt.Sprintf("%s answers.", a.Model)})
	case a.Skipped || !a.Until.After(a.At):
	case a.Reason == llm.Billing || a.Reason == llm.AuthPermanent:
		f.Hear(core.Alert{Kind: Profile, Key: a.Profile, Text: fmt.Sprintf("Profile %s is disabled until %s: %s",
			a.Profile, a.Until.UTC().Format("15:04:05 MST on 2 January"), failure(a))})
	}
}

// Called hears how the model calls of turns end: err is nil for an answer.
func (f *Feed) Called(p failover.Plan, err *failover.SummaryError) {
	chain := chainName(p.Chain)
	switch {
	case err == nil:
		for _, kind := range []string{Exhausted, Overload} {
			f.Hear(core.Alert{Kind: kind, Key: chain, Over: true, Text: fmt.Sprintf("There are answers again from %s.", chain)})
		}
	case err.Local != nil:
		f.Hear(core.Alert{Kind: Fault, Text: "A turn failed inside the bot: " + err.Local.Error()})
	case err.TooManySwitches, err.Shown, err.Final != nil && !err.Final.Advances():
		// Nobody has to be called for these: the person who asked knows.
	case err.Kind() == failover.AllOverloaded && passes(err) > 1:
		f.Hear(core.Alert{Kind: Overload, Key: chain, Text: fmt.Sprintf("The overload retry gave up after %d passes in %s: %s",
			passes(err), notices.About(err.Ended.Sub(err.Started)), failures(err))})
	default:
		f.Hear(core.Alert{Kind: Exhausted, Key: chain, Text: "No model answered: " + failures(err)})
	}
}

// GaveUp hears of posts that could not be delivered.
func (f *Feed) GaveUp(r delivery.Row) {
	t := r.Post.Target.Thread
	f.Hear(core.Alert{Kind: Delivery, Key: t.Key(), Text: fmt.Sprintf("A post (%s) in %s channel %s was given up: %s",
		r.Post.Kind, t.Platform, t.Channel, r.Error)})
}

// StoreTrouble hears what is wrong with the store; nil is nothing.
func (f *Feed) StoreTrouble(err error) {
	if err == nil {
		f.Hear(core.Alert{Kind: Store, Over: true, Text: "The store takes what is written again."})
		return
	}
	f.Hear(core.Alert{Kind: Store, Text: "The store does not take what is written: " + err.Error()})
}

func chainName(chain []llm.Ref) string {
	var names []string
	for _, r := range chain {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

// passes is how often the chain was walked.
func passes(err *failover.SummaryError) int {
	if n := len(err.Attempts); n > 0 {
		return err.Attempts[n-1].Pass
	}
	return 0
}

// failures words the last failure of each candidate.
func failures(err *failover.SummaryError) string {
	var parts []string
	for _, a := range err.Last() {
		parts = append(parts, a.Model.String()+" "+failure(a))
	}
	if len(parts) == 0 {
		return "there was none to ask"
	}
	return strings.Join(parts, "; ")
}

// address is one of the web, without the punctuation after it.
var address = regexp.MustCompile(`(?i)\b(?:https?|wss?)://[^\s<>"|]*[^\s<>"|.,;:!?)\]}']`)

// failure is what an operator looks for: the reason as it is called in the
// configuration and the log, and what the provider said about it, masked and
// without addresses: those are in the log.
func failure(a failover.Attempt) string {
	s := string(a.Cause())
	switch {
	case a.Skipped && !a.Until.IsZero():
		s += ", not asked before " + a.Until.UTC().Format(time.TimeOnly) + " UTC"
	case a.Skipped:
		s += ", not asked"
	case a.Status != 0:
		s += fmt.Sprintf(", status %d", a.Status)
	}
	if a.Profile != "" && !a.Skipped {
		s += " with " + a.Profile
	}
	if a.Detail != "" && !a.Skipped {
		s += fmt.Sprintf(" (%s)", address.ReplaceAllString(a.Detail, "[address]"))
	}
	return s
}
