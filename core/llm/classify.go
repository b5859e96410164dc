package llm

import (
	"strconv"
	"strings"
	"time"
)

// Classify puts one failed call down to one reason. It is called where status,
// headers and body were seen; above that nobody matches text.
//
// Evidence is weighed in a fixed order: the caller's own cancel; a code from the
// provider's own table; a full window against a throttle; an empty account
// against a wait; overload; other words that are sure; the status; weak words
// and codes. The cost is linear in the body, of which MaxBody bytes are read.
func Classify(f Failure) *Error {
	ev := newEvidence(f.Provider)
	defer ev.free()
	body := f.Body[:min(len(f.Body), MaxBody)]
	ev.readHeader(f.Header)
	ev.read(string(body), 0)
	if ev.silent() && f.Err != nil && !f.Cancelled && transport(f).reason == "" {
		ev.read(f.Err.Error(), 0)
	}

	v := ev.decide(f)
	e := &Error{
		Reason:   v.reason,
		Provider: f.Provider,
		Model:    f.Model,
		Status:   f.Status,
		Code:     oneLine(ev.codeFor(v)),
		Detail:   ev.detail(f),
		Evidence: v.evidence,
		Never:    v.never,
		Final:    v.final,
		Usage:    f.Usage,
		Header:   f.Header,
		Body:     body,
		Err:      f.Err,
	}
	if v.status != 0 {
		e.Status = v.status
	}
	now := f.Now
	if now.IsZero() {
		now = time.Now()
	}
	switch e.Reason {
	case RateLimit, Overloaded, Timeout, ServerError:
		if !e.Never {
			e.ResetAt = ev.resetAt(now, e.Reason)
		}
	}
	e.Scope = ev.scope(e, now)
	return e
}

// ClassifyText classifies a pasted error text. A status that the text names
// counts as the answer's.
func ClassifyText(provider, text string, now time.Time) *Error {
	e := Classify(Failure{Provider: provider, Body: []byte(text), Now: now})
	if e.Status == 0 {
		ev := newEvidence(provider)
		defer ev.free()
		ev.read(string(e.Body), 0)
		e.Status = ev.status
	}
	return e
}

// verdict is what the evidence comes to.
type verdict struct {
	reason   Reason
	evidence string
	status   int // to be recorded instead of the HTTP status
	never    bool
	final    bool
}

// The whole texts that are rules by themselves.
const (
	textNoDetails      = "unknown error (no error details in response)"
	textUnknown        = "an unknown error occurred"
	textLLMUnknown     = "llm request failed with an unknown error"
	textProviderFailed = "provider returned error"
)

// decide weighs the evidence; the order of its steps is the contract.
func (ev *evidence) decide(f Failure) verdict {
	if f.Cancelled {
		return verdict{reason: Abort, evidence: "the caller cancelled"}
	}
	if f.Finish != "" {
		ev.finish = f.Finish
	}
	status := ev.effective(f.Status)
	for _, step := range steps {
		if v := step(ev, status); v.reason != "" {
			return v
		}
	}
	if status >= 400 {
		return ev.byStatus(status)
	}
	if v := ev.withoutStatus(); v.reason != "" {
		return v
	}
	if v := ev.weakWords(); v.reason != "" {
		return v
	}
	if v := transport(f); v.reason != "" {
		return v
	}
	if status >= 300 && status < 400 { // nobody follows it: what is asked there would have the key
		return verdict{reason: Unclassified, evidence: "redirect"}
	}
	if f.Empty || status < 400 && f.Err == nil && ev.silent() {
		return verdict{reason: EmptyResponse, evidence: "nothing came back"}
	}
	return verdict{reason: Unclassified, evidence: "no rule"}
}

// steps are the rules that come before the status, in their order.
var steps = []func(ev *evidence, status int) verdict{
	(*evidence).wholeText, (*evidence).finished, (*evidence).byVendorCode, (*evidence).tooLarge, (*evidence).money, (*evidence).sureWords,
}

// effective is the status that counts. A gateway's own 200, 400 or 5xx hides
// the status that it got itself; other statuses of the answer stand.
func (ev *evidence) effective(outer int) int {
	if ev.status != 0 && (outer < 400 || outer == 400 || outer == 424 || outer >= 500 && outer != 529) {
		return ev.status
	}
	return outer
}

// wholeText knows the texts that mean something only when nothing else is said.
func (ev *evidence) wholeText(status int) verdict {
	if len(ev.texts) != 1 || len(ev.texts[0]) > 64 {
		return verdict{}
	}
	switch strings.TrimRight(lower(ev.texts[0]), ".") {
	case textNoDetails:
		return verdict{reason: NoErrorDetails, evidence: "text without details"}
	case textUnknown:
		if status < 400 || status >= 500 {
			return verdict{reason: Timeout, evidence: "bare unknown error"}
		}
	case textLLMUnknown:
		if status < 400 && ev.best == "" {
			return verdict{reason: Unclassified, evidence: "bare unknown failure", final: true}
		}
	case textProviderFailed:
		if ev.family == familyOpenRouter && (status < 400 || status == 400 || status >= 500) {
			return verdict{reason: Timeout, evidence: "bare provider error"}
		}
	}
	return verdict{}
}

// finished handles the finish reasons that no other words can change.
func (ev *evidence) finished(int) verdict {
	switch r := finishes[lower(ev.finish)]; r {
	case Refusal, ContextOverflow, Overloaded:
		return verdict{reason: r, evidence: "finish reason " + ev.finish}
	}
	return verdict{}
}

func (ev *evidence) byVendorCode(status int) verdict {
	if ev.vendor == "" {
		return verdict{}
	}
	return verdict{reason: ev.vendor, evidence: "code " + ev.vendorCode, never: ev.vendor == RateLimit && ev.neverFits()}
}

// neverFits reports whether the request alone is larger than the whole limit.
func (ev *evidence) neverFits() bool {
	return ev.any(sigBudget, sigTooMuch) && ev.limit > 0 && ev.requested > ev.limit
}

// tooLarge separates a prompt that does not fit the window from a budget that
// is used up for now.
func (ev *evidence) tooLarge(status int) verdict {
	throttled := ev.any(sigThrottle, sigBudget)
	switch {
	case ev.shortField():
		return verdict{reason: Format, evidence: "a field that is too long"}
	case ev.has(sigOverflow) && !throttled:
		return ev.because(ContextOverflow, sigOverflow)
	case ev.has(sigTooMuch) && !throttled && !ev.any(sigWait, sigWindow) && status != 429:
		return ev.because(ContextOverflow, sigTooMuch)
	}
	return verdict{}
}

// longestField is more than any id, name or tag may be long, and less than any
// message.
const longestField = 10_000

// shortField reports whether what is too long is an id, a name or the like: the
// answer names a bound that no message has.
func (ev *evidence) shortField() bool {
	switch ev.why[sigOverflow] {
	case "string_above_max_length", "string too long ... maximum length":
		return ev.longest > 0 && ev.longest < longestField
	}
	return false
}

// money separates an account that somebody must pay for from a limit that ends
// by itself.
func (ev *evidence) money(status int) verdict {
	ends := ev.has(sigReset)
	pay := ev.has(sigPay)
	switch {
	case ev.has(sigBroke) && (!ends || pay):
		return ev.because(Billing, sigBroke)
	case ev.has(sigTeamCap) && !pay:
		return ev.because(RateLimit, sigTeamCap)
	case ev.has(sigWindow) && (!pay || ends):
		if ev.has(sigOverload) && status != 402 {
			return verdict{}
		}
		return ev.because(RateLimit, sigWindow)
	case ev.has(sigBroke):
		return ev.because(RateLimit, sigReset)
	case ev.has(sigSpendCap):
		if ends && !pay {
			return ev.because(RateLimit, sigSpendCap)
		}
		return ev.because(Billing, sigSpendCap)
	case ev.has(sigPlanQuota) && ev.family != familyGoogle && ev.family != familyQwen && !ev.any(sigBudget, sigWait, sigReset) && (!ev.has(sigThrottle) || ev.family == familyOpenAI):
		return ev.because(Billing, sigPlanQuota)
	case (pay || ev.has(sigDue)) && !ends && !ev.any(sigThrottle, sigBudget, sigModel, sigOverload):
		if !pay {
			return ev.because(Billing, sigDue)
		}
		return ev.because(Billing, sigPay)
	}
	return verdict{}
}

// sureWords are the phrases that decide against a status.
func (ev *evidence) sureWords(status int) verdict {
	switch {
	case ev.has(sigOverload) && !ev.any(sigDead, sigFormat, sigRefusal) && !ev.ownLimit(status):
		return ev.because(Overloaded, sigOverload)
	case ev.has(sigDead) && !(ev.has(sigModel) && ev.has(sigThisModel)): // what is barred from one model lives
		return ev.because(AuthPermanent, sigDead)
	case status == 410 && ev.has(sigExpired):
		return ev.because(AuthPermanent, sigExpired)
	case status == 410 && ev.has(sigAuth):
		return ev.because(AuthPermanent, sigAuth)
	case ev.has(sigRefusal):
		return ev.because(Refusal, sigRefusal)
	case ev.has(sigUnseen):
		return ev.because(Format, sigUnseen)
	case ev.has(sigModel):
		return ev.because(ModelNotFound, sigModel)
	case ev.any(sigThrottle, sigBudget):
		v := ev.because(RateLimit, sigThrottle)
		if !ev.has(sigThrottle) {
			v = ev.because(RateLimit, sigBudget)
		}
		v.never = ev.neverFits()
		return v
	case ev.has(sigFormat):
		return ev.because(Format, sigFormat)
	case ev.has(sigAuth):
		return ev.because(Auth, sigAuth)
	case ev.has(sigWait) && (ev.has(sigTooMuch) || status < 400 && ev.has(sigLimited)):
		return ev.because(RateLimit, sigWait)
	case ev.has(sigAPIError) && ev.has(sigTransient) && (status < 400 || status >= 500):
		return ev.because(Timeout, sigTransient)
	}
	return verdict{}
}

// ownLimit reports whether a 429 states how many requests or tokens the caller
// has, so that a remark on high demand is only the excuse for it.
func (ev *evidence) ownLimit(status int) bool {
	return status == 429 && ev.has(sigThrottle) && ev.has(sigBudget)
}

// byStatus is what a status means when no words are better.
func (ev *evidence) byStatus(status int) verdict {
	v := func(r Reason) verdict { return verdict{reason: r, evidence: "status " + strconv.Itoa(status)} }
	if ev.challenge {
		return verdict{reason: Timeout, evidence: "bot challenge page"}
	}
	switch {
	case status == 401, status == 403:
		return v(Auth)
	case status == 402:
		return v(Billing)
	case status == 404:
		return v(ModelNotFound)
	case status == 408:
		return v(Timeout)
	case status == 413:
		return v(ContextOverflow)
	case status == 429:
		return v(RateLimit)
	case status == 400, status == 422:
		if r := ev.behindFormat(); r.reason != "" {
			return r
		}
		return v(Format)
	case status == 498 && ev.family == familyCohere:
		return v(Refusal)
	case status == 499:
		return v(Timeout)
	case status == 529:
		return v(Overloaded)
	case status < 500 || status > 599:
		if weak := ev.weakWords(); weak.reason != "" {
			return weak
		}
		return v(Unclassified)
	case ev.page:
		return verdict{reason: Timeout, evidence: "page instead of an answer"}
	case ev.has(sigTimeout):
		return ev.because(Timeout, sigTimeout)
	case finishes[lower(ev.finish)] == Timeout, status == 504, status >= 520 && status <= 527:
		return v(Timeout)
	}
	return v(ServerError)
}

// behindFormat are the codes that say more than a 400, and are not as sure as
// the phrases before.
func (ev *evidence) behindFormat() verdict {
	switch {
	case ev.isCode(sigLimited):
		return ev.because(RateLimit, sigLimited)
	case ev.isCode(sigDenied):
		return ev.because(Auth, sigDenied)
	case ev.has(sigNotFound) && (ev.isCode(sigNotFound) || strings.HasPrefix(ev.why[sigNotFound], "model")):
		return ev.because(ModelNotFound, sigNotFound)
	}
	return verdict{}
}

// isCode reports whether a signal came from a code, not from words.
func (ev *evidence) isCode(s signal) bool {
	return ev.has(s) && commonCodes[ev.why[s]] == s
}

// withoutStatus handles what a stream or a connection shows by itself.
func (ev *evidence) withoutStatus() verdict {
	switch finish := finishes[lower(ev.finish)]; {
	case finish == Timeout:
		return verdict{reason: Timeout, evidence: "finish reason " + ev.finish, status: 408}
	case finish == ServerError:
		return verdict{reason: ServerError, evidence: "finish reason " + ev.finish, status: 500}
	case ev.challenge:
		return verdict{reason: Timeout, evidence: "bot challenge page"}
	case ev.page:
		return verdict{reason: Timeout, evidence: "page instead of an answer"}
	}
	return verdict{}
}

// weakWords are what is left when neither sure words nor a status speak.
func (ev *evidence) weakWords() verdict {
	for _, w := range [...]struct {
		sig    signal
		reason Reason
	}{
		{sigLimited, RateLimit}, {sigTimeout, Timeout}, {sigDenied, Auth}, {sigExpired, Auth}, {sigServer, ServerError},
		{sigAPIError, Timeout}, {sigNotFound, ModelNotFound}, {sigInvalid, Format},
	} {
		if !ev.has(w.sig) || w.sig == sigNotFound && !ev.isCode(w.sig) && !strings.HasPrefix(ev.why[w.sig], "model") {
			continue
		}
		return ev.because(w.reason, w.sig)
	}
	return verdict{}
}

// because is a verdict that one signal gave.
func (ev *evidence) because(r Reason, s signal) verdict {
	kind := "words "
	if commonCodes[ev.why[s]] == s {
		kind = "code "
	}
	return verdict{reason: r, evidence: kind + ev.why[s]}
}
