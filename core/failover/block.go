package failover

import (
	"maps"
	"strings"
	"time"

	"understudy/core/llm"
)

// LongestStated is the furthest end of a block that a provider is believed.
const LongestStated = 32 * 24 * time.Hour

// ladder is how long a cooldown lasts after the first, second and every
// further failure in a row.
var ladder = [...]time.Duration{30 * time.Second, time.Minute, 5 * time.Minute}

// Rules are the settings under auth.cooldowns. The zero value is not usable;
// start from [DefaultRules].
type Rules struct {
	BillingBackoff           time.Duration            // first disable for billing; doubles
	BillingBackoffByProvider map[string]time.Duration // the same for one provider
	BillingMax               time.Duration
	BillingProbe             time.Duration // least time between two probes of a provider disabled for billing
	PermanentBackoff         time.Duration // first disable for auth_permanent; doubles
	PermanentMax             time.Duration
	FailureWindow            time.Duration // counts start over after this long without a failure
	OverloadedRotations      int           // further profiles asked after overloaded
	OverloadedBackoff        time.Duration // pause before such a rotation
	RateLimitedRotations     int           // further profiles asked after rate_limit
}

// DefaultRules are the settings that hold where the configuration says nothing.
func DefaultRules() Rules {
	return Rules{
		BillingBackoff:       5 * time.Hour,
		BillingMax:           24 * time.Hour,
		BillingProbe:         10 * time.Minute,
		PermanentBackoff:     10 * time.Minute,
		PermanentMax:         time.Hour,
		FailureWindow:        24 * time.Hour,
		OverloadedRotations:  1,
		RateLimitedRotations: 1,
	}
}

// ProviderOf is the provider of a profile id, "provider:name".
func ProviderOf(profile string) string {
	p, _, _ := strings.Cut(profile, ":")
	return p
}

// Fail books a failed attempt: it returns the state of the profile after model
// failed with e at now.
func (r Rules) Fail(s State, profile, model string, e *llm.Error, now time.Time) State {
	if e.Never {
		return s
	}
	book := func(w Window, length func(count int) time.Duration) Window {
		stated := e.ResetAt.After(now)
		until := e.ResetAt
		if stated && until.After(now.Add(LongestStated)) {
			until = now.Add(LongestStated)
		}
		if w.Live(now) {
			// One failure more inside the window is the same trouble; only
			// the provider itself can say that it lasts longer.
			if stated && until.After(w.Until) {
				w.Reason, w.Until, w.Stated = e.Reason, until, true
			}
			return w
		}
		count := w.Count + 1
		if !w.Until.IsZero() && now.Sub(w.Until) >= r.FailureWindow {
			count = 1
		}
		if !stated {
			until = now.Add(length(count))
		}
		return Window{Reason: e.Reason, Since: now, Until: until, Stated: stated, Count: count}
	}
	switch e.Reason {
	case llm.Auth:
		s.Auth = book(s.Auth, step)
	case llm.AuthPermanent:
		s.Permanent = book(s.Permanent, doubling(r.PermanentBackoff, r.PermanentMax))
	case llm.Billing:
		s.Billing = book(s.Billing, doubling(r.billing(ProviderOf(profile)), r.BillingMax))
	case llm.RateLimit, llm.Overloaded, llm.Timeout, llm.ModelNotFound:
		key := model
		if key == "" || e.Reason == llm.RateLimit && e.Scope == llm.ScopeProfile {
			key = AllModels
		}
		m := maps.Clone(s.Models)
		if m == nil {
			m = map[string]Window{}
		}
		m[key] = book(m[key], step)
		forgetModels(m, key)
		s.Models = m
	}
	return s
}

// maxModels is how many models of one profile are remembered as blocked. People
// can choose any name, and what does not exist stays blocked by name.
const maxModels = 100

// forgetModels drops the windows that end first, where there are too many. That
// of keep stays, and so does the one of all models.
func forgetModels(m map[string]Window, keep string) {
	for len(m) > maxModels {
		first := ""
		for k, w := range m {
			if k != keep && k != AllModels && (first == "" || w.Until.Before(m[first].Until) || w.Until.Equal(m[first].Until) && k < first) {
				first = k
			}
		}
		delete(m, first)
	}
}

// Succeed is the state of a profile after model answered at now: the model's
// window and everything that held the whole profile are over and forgotten.
// Windows of other models stay.
func Succeed(s State, model string, now time.Time) State {
	s.LastUsed = now
	s.Auth, s.Billing, s.Permanent = Window{}, Window{}, Window{}
	if len(s.Models) > 0 {
		m := maps.Clone(s.Models)
		delete(m, model)
		delete(m, AllModels)
		s.Models = m
		if len(m) == 0 {
			s.Models = nil
		}
	}
	return s
}

// Cleared is the state of a profile without any block or count. It is what
// "auth clear" writes.
func Cleared(s State) State { return State{LastUsed: s.LastUsed} }

// Clamp shortens ends that no rule could have made, as a damaged or foreign
// file may hold them: stated ones to LongestStated from now, guessed ones to
// the longest of their kind.
func (r Rules) Clamp(s State, now time.Time) State {
	clamp := func(w Window, longest time.Duration) Window {
		if w.Stated {
			longest = LongestStated
		}
		if most := now.Add(longest); w.Until.After(most) {
			w.Until = most
		}
		return w
	}
	last := ladder[len(ladder)-1]
	s.Auth = clamp(s.Auth, last)
	s.Billing = clamp(s.Billing, r.BillingMax)
	s.Permanent = clamp(s.Permanent, r.PermanentMax)
	var m map[string]Window
	for k, w := range s.Models {
		if c := clamp(w, last); c != w {
			if m == nil {
				m = maps.Clone(s.Models)
			}
			m[k] = c
		}
	}
	if m != nil {
		s.Models = m
	}
	return s
}

// excessive reports whether Clamp would change the state.
func (r Rules) excessive(s State, now time.Time) bool {
	c := r.Clamp(s, now)
	return c.Auth != s.Auth || c.Billing != s.Billing || c.Permanent != s.Permanent || !maps.Equal(c.Models, s.Models)
}

func step(count int) time.Duration {
	return ladder[min(max(count, 1), len(ladder))-1]
}

func doubling(base, most time.Duration) func(int) time.Duration {
	return func(count int) time.Duration {
		d := base
		for ; count > 1 && d < most; count-- {
			d *= 2
		}
		return min(d, most)
	}
}

func (r Rules) billing(provider string) time.Duration {
	if d, ok := r.BillingBackoffByProvider[provider]; ok {
		return d
	}
	return r.BillingBackoff
}

// Block is what holds a profile for a model at some moment.
type Block struct {
	Reason llm.Reason // of the window that ends last
	Since  time.Time  // of that window
	Until  time.Time  // when the last of the windows ends; zero when nothing holds
	class  class
	// own is true when nothing but windows of the model itself holds it, all
	// of them rate limits: such a limit is over only when the last profile's is.
	rateOnly bool
}

// Live reports whether anything holds.
func (b Block) Live() bool { return !b.Until.IsZero() }

// class orders blocks by what may still be tried.
type class int

const (
	free class = iota
	transient
	billing
	permanent
)

// overlooker tells that a window of a profile counts for nothing. key is that of
// State.Models for a cooldown.
type overlooker func(profile, key string, w Window) bool

// Blocked is what holds the profile in state s for model at now.
func (s State) Blocked(model string, now time.Time) Block {
	b := unblocked
	s.blocked(&b, "", model, now, nil)
	return b
}

// booked reports whether any failure is remembered.
func (s *State) booked() bool {
	return len(s.Models) > 0 || !s.Auth.Until.IsZero() || !s.Billing.Until.IsZero() || !s.Permanent.Until.IsZero()
}

// blocked reports whether anything holds the profile, without its windows that
// are overlooked, and makes b that. Else it leaves b as it is.
func (s *State) blocked(b *Block, profile, model string, now time.Time, overlook overlooker) bool {
	var last *Window
	worst, rateOnly := free, true
	add := func(key string, w *Window, c class) {
		if overlook != nil && overlook(profile, key, *w) {
			return
		}
		if last == nil || w.Until.After(last.Until) {
			last = w
		}
		worst = max(worst, c)
		rateOnly = rateOnly && key == model && w.Reason == llm.RateLimit
	}
	if s.Auth.Live(now) {
		add("auth", &s.Auth, transient)
	}
	if s.Billing.Live(now) {
		add("billing", &s.Billing, billing)
	}
	if s.Permanent.Live(now) {
		add("permanent", &s.Permanent, permanent)
	}
	own, found := s.Models[model]
	if model != AllModels && (!found || len(s.Models) > 1) { // else there is none for all
		if every := s.Models[AllModels]; every.Live(now) {
			add(AllModels, &every, transient)
		}
	}
	if own.Live(now) {
		add(model, &own, transient)
	}
	if last == nil {
		return false
	}
	*b = Block{last.Reason, last.Since, last.Until, worst, rateOnly}
	return true
}
