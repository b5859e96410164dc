package notices

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/core/failover"
	"understudy/core/llm"
)

// StillTrying is the status notice of a turn that waits out an overload.
const StillTrying = "The AI service is temporarily overloaded. I’m still retrying; this may take a few minutes."

// Moved is the notice that another model than the selected one answered.
func Moved(active, selected llm.Ref, reason llm.Reason) string {
	words := reason.Words()
	if words == "" {
		words = "unknown"
	}
	return fmt.Sprintf("↪️ Model Fallback: %s (selected %s; %s)", active, selected, words)
}

// Cleared is the notice that the selected model answers again.
func Cleared(selected, was llm.Ref) string {
	return fmt.Sprintf("↪️ Model Fallback cleared: %s (was %s)", selected, was)
}

// Failure is what a thread is told about a turn without an answer.
func Failure(e *failover.SummaryError, now time.Time) string {
	if len(e.Plan.Chain) == 0 {
		return "I could not answer: no model is configured."
	}
	selected := e.Plan.Chain[0]
	switch {
	case e.Local != nil:
		return "Something went wrong inside the bot, so this message has no answer. No model is to blame. Please try again; if it happens again, tell whoever runs this bot."
	case e.TooManySwitches:
		return "The model was changed too often while I was answering, so I stopped. Send your message again to get an answer."
	}
	var b strings.Builder
	switch {
	case e.Shown:
		a := e.Attempts[len(e.Attempts)-1]
		fmt.Fprintf(&b, "The answer above broke off: %s %s. ", a.Model, did(a.Cause()))
		b.WriteString("Send /retry to have it answered again.")
		return b.String()
	case e.Final != nil && !e.Final.Advances():
		return final(e, selected)
	}
	if e.Plan.Strict() {
		strict(&b, e, selected)
	} else {
		exhausted(&b, e)
	}
	if s := tried(e); s != "" {
		b.WriteString(" " + s)
	}
	if s := soonest(e, now); s != "" {
		b.WriteString(" " + s)
	}
	b.WriteString(" " + advice(e))
	if e.Tool {
		b.WriteString(" A tool had already run, so I did not start over.")
	}
	return b.String()
}

// final words a failure that no other model can cure.
func final(e *failover.SummaryError, selected llm.Ref) string {
	model := selected
	if n := len(e.Attempts); n > 0 {
		model = e.Attempts[n-1].Model
	}
	switch e.Final.Reason {
	case llm.Refusal:
		return fmt.Sprintf("%s declined to answer this message. You can rephrase it, or choose another model with /model.", model)
	case llm.ContextOverflow:
		return tooLong(e, model)
	case llm.Format:
		return fmt.Sprintf("%s could not accept this request, and asking again would not help. Try /new, or another model with /model; the log has the details.", model)
	}
	return fmt.Sprintf("%s failed without saying why. Please try again, or choose another model with /model.", model)
}

// tooLong words a request that no summary made short enough.
func tooLong(e *failover.SummaryError, model llm.Ref) string {
	sizes := ""
	switch {
	case e.Size > e.Window && e.Window > 0:
		sizes = fmt.Sprintf(" (about %s tokens; it holds %s)", llm.Count(e.Size), llm.Count(e.Window))
	case e.Size > 0:
		sizes = fmt.Sprintf(" (about %s tokens by my count)", llm.Count(e.Size))
	}
	switch {
	case e.Alone:
		return fmt.Sprintf("This message, with what belongs to it, is too long for %s%s, and nothing was said before it that I could leave out. Send a shorter one, start anew with /new, or choose a model with a larger window with /model.", model, sizes)
	case e.Unsummarised != nil:
		return fmt.Sprintf("This conversation has become too long for %s%s, and it could not be summarised. Try /compact in a while, start a new one with /new, or choose a model with a larger window with /model.", model, sizes)
	}
	return fmt.Sprintf("This conversation is too long for %s%s, also with what was said before summarised. Start a new one with /new, send a shorter message, or choose a model with a larger window with /model.", model, sizes)
}

// Summary is what a thread is told about a summary that nobody wrote: which
// models failed, and how.
func Summary(e *failover.SummaryError, now time.Time) string {
	switch {
	case e.Local != nil, len(e.Plan.Chain) == 0:
		return "The log has the details."
	case e.Final != nil && e.Final.Reason == llm.ContextOverflow:
		return fmt.Sprintf("%s could not hold it.", e.Attempts[len(e.Attempts)-1].Model)
	}
	var parts []string
	for _, a := range e.Last() {
		parts = append(parts, fmt.Sprintf("%s %s", a.Model, did(a.Cause())))
	}
	text := strings.Join(parts, "; ") + "."
	if s := soonest(e, now); s != "" {
		text += " " + s
	}
	return text
}

// strict words the failure of a model that was to answer alone.
func strict(b *strings.Builder, e *failover.SummaryError, selected llm.Ref) {
	who := "was chosen for this thread"
	switch e.Plan.Source {
	case failover.FromAgent:
		who = "is this agent’s only model"
	case failover.FromCLI:
		who = "was given with --model"
	}
	reason := llm.Unclassified
	if last := e.Last(); len(last) > 0 {
		reason = last[len(last)-1].Cause()
	}
	fmt.Fprintf(b, "%s %s. It %s, so no other model was asked (strict).", selected, did(reason), who)
	if e.Plan.Lock != "" && failover.ProviderOf(e.Plan.Lock) == selected.Provider {
		fmt.Fprintf(b, " Only the profile %s may be used here.", e.Plan.Lock)
	}
}

// exhausted words the failure of a whole chain.
func exhausted(b *strings.Builder, e *failover.SummaryError) {
	last := e.Last()
	if len(last) == 1 {
		fmt.Fprintf(b, "%s %s, and there is no other model to ask.", last[0].Model, did(last[0].Cause()))
		return
	}
	switch e.Kind() {
	case failover.AllRateLimited:
		b.WriteString("All models are temporarily rate-limited")
	case failover.AllOverloaded:
		b.WriteString("All models are temporarily overloaded")
	case failover.AllTransient:
		b.WriteString("No model could be reached: all timed out or had server errors")
	case failover.AllBilling:
		b.WriteString("No model could answer: every account is out of credit")
	case failover.AllAuth:
		if unasked(e) {
			b.WriteString("No model could answer: none of them has a credential here")
		} else {
			b.WriteString("No model could answer: no credential was accepted")
		}
	default:
		b.WriteString("No model could answer: ")
		for i, a := range last {
			if i > 0 {
				b.WriteString("; ")
			}
			fmt.Fprintf(b, "%s %s", a.Model, did(a.Cause()))
		}
		b.WriteString(".")
		return
	}
	var names []string
	for _, a := range last {
		if !withoutCredential(a) || unasked(e) {
			names = append(names, a.Model.String())
		}
	}
	fmt.Fprintf(b, " (%s).", strings.Join(names, ", "))
}

// unasked reports whether there was nobody to ask: no candidate has a
// credential at all.
func unasked(e *failover.SummaryError) bool {
	return !slices.ContainsFunc(e.Last(), func(a failover.Attempt) bool { return !withoutCredential(a) })
}

func withoutCredential(a failover.Attempt) bool {
	return a.Reason == llm.MissingAuth || a.Reason == llm.UnknownProvider
}

// missing reports whether no candidate exists, for all that is known.
func missing(e *failover.SummaryError) bool {
	return !slices.ContainsFunc(e.Last(), func(a failover.Attempt) bool { return a.Cause() != llm.ModelNotFound })
}

// tried tells how hard it was tried, where people had to wait for it.
func tried(e *failover.SummaryError) string {
	n := len(e.Attempts)
	if n == 0 || e.Attempts[n-1].Pass < 2 || e.Requests() < 2 {
		return ""
	}
	return fmt.Sprintf("I asked %d times in %s.", e.Requests(), About(e.Ended.Sub(e.Started)))
}

// soonest tells when it is worth trying again, where that is known.
func soonest(e *failover.SummaryError, now time.Time) string {
	d := e.Soonest.Sub(now)
	if e.Soonest.IsZero() || d <= 0 {
		return ""
	}
	if k := e.Kind(); k == failover.AllBilling || k == failover.AllAuth || missing(e) {
		return "" // waiting is not what helps
	}
	return "Earliest retry in " + About(d) + "."
}

// advice tells what the reader can do.
func advice(e *failover.SummaryError) string {
	repair := ""
	switch {
	case e.Kind() == failover.AllBilling:
		repair = "The account needs credit; whoever runs this bot has to add it."
	case unasked(e):
		repair = "Whoever runs this bot has to set that up."
	case e.Kind() == failover.AllAuth:
		repair = "Whoever runs this bot has to renew the credential."
	case missing(e) && e.Plan.Source == failover.FromCLI:
		return "Choose another model with --model."
	case missing(e):
		return "Choose another model with /model."
	}
	chosen := e.Plan.Strict() && (e.Plan.Source == failover.FromUser || e.Plan.Source == failover.FromLegacy)
	switch {
	case repair != "" && chosen:
		return repair + " Until then, /model default allows other models."
	case repair != "":
		return repair
	case chosen:
		return "Try again later, or use /model default to allow other models."
	case e.Plan.Strict() && e.Plan.Source == failover.FromCLI:
		return "Try again later, or without --model."
	}
	return "Please try again later."
}

// did says what a model did, for the middle of a sentence.
func did(r llm.Reason) string {
	switch r {
	case llm.RateLimit:
		return "is rate-limited"
	case llm.Overloaded:
		return "is overloaded"
	case llm.Timeout:
		return "did not answer in time"
	case llm.ServerError:
		return "had a server error"
	case llm.Billing:
		return "is out of credit"
	case llm.Auth, llm.AuthPermanent:
		return "did not accept the credential"
	case llm.ModelNotFound:
		return "is not available"
	case llm.MissingAuth:
		return "has no credential configured"
	case llm.UnknownProvider:
		return "belongs to a provider that is not configured"
	case llm.EmptyResponse:
		return "gave an empty answer"
	case llm.Refusal:
		return "declined to answer"
	case llm.Format:
		return "could not accept the request"
	case llm.ContextOverflow:
		return "could not hold the whole conversation"
	case llm.NoErrorDetails:
		return "failed without saying why"
	case llm.Abort:
		return "was stopped"
	}
	return "failed for an unknown reason"
}

// About is a duration in words, rounded the way people speak of waits.
func About(d time.Duration) string {
	unit := func(n int, name string) string {
		if n == 1 {
			return "about 1 " + name
		}
		return fmt.Sprintf("about %d %ss", n, name)
	}
	switch {
	case d < 90*time.Second:
		return unit(max(1, int((d+time.Second-1)/time.Second)), "second")
	case d < 90*time.Minute:
		return unit(int((d+30*time.Second)/time.Minute), "minute")
	case d < 36*time.Hour:
		return unit(int((d+30*time.Minute)/time.Hour), "hour")
	}
	return unit(int((d+12*time.Hour)/(24*time.Hour)), "day")
}

// Why tells the attempts of a turn in plain words, one line each.
func Why(attempts []failover.Attempt) []string {
	var lines []string
	for _, a := range attempts {
		who := a.Model.String()
		if a.Profile != "" {
			who += " with " + a.Profile
		}
		switch {
		case a.Switched:
			lines = append(lines, fmt.Sprintf("%s was left, because another model was chosen", a.Model))
		case a.Won && a.Probe:
			lines = append(lines, who+" answered, although it had been blocked")
		case a.Won:
			lines = append(lines, who+" answered")
		case a.Skipped:
			line := fmt.Sprintf("%s was not asked: it %s", a.Model, did(a.Cause()))
			if !a.Until.IsZero() {
				line += "; blocked until " + a.Until.UTC().Format("15:04:05 MST on 2 January")
			}
			lines = append(lines, line)
		default:
			line := fmt.Sprintf("%s %s", who, did(a.Reason))
			if a.Status != 0 {
				line += fmt.Sprintf(" (status %d)", a.Status)
			}
			if a.Probe {
				line += "; it was blocked and only tried again"
			}
			lines = append(lines, line)
		}
	}
	return slices.Clip(lines)
}
