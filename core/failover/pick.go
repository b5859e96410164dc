package failover

import (
	"slices"
	"time"

	"understudy/core/llm"
)

// pick chooses a profile for the present candidate. It returns a flight to ask
// with, or a skip for a candidate that gets no request at all in this pass, or
// neither when those that it may ask have been asked.
func (r *Run) pick(v View) (*flight, *Attempt) {
	ref := r.candidate()
	ps := r.profiles(v, ref.Provider)
	switch {
	case !ps.Known:
		return nil, &Attempt{Reason: llm.UnknownProvider, Detail: "the provider " + ref.Provider + " is not configured"}
	case len(ps.List) == 0:
		return nil, &Attempt{Reason: llm.MissingAuth, Detail: "no credential for " + ref.Provider}
	case r.at > 0 && r.asked == 0 && r.skips.has(r.plan.Session, ref, v.Now):
		return nil, &Attempt{Reason: llm.Cooldown, Behind: llm.Auth, Detail: "refused the credential a moment ago"}
	}
	if r.asked > 0 && r.keep == "" && !r.rotate {
		return nil, nil
	}
	list := r.room.rank(ps, v.States, ref.Model, r.pin(ref.Provider), v.Now, r.overlooks())
	if p, ok := r.usable(ps, list, ref); ok {
		return r.fly(p, false, nil), nil
	}
	if r.asked > 0 && r.keep == "" {
		return nil, nil
	}
	return r.blocked(v, list) // also the profile that answered the last call
}

// profiles are those of a provider that this turn may use.
func (r *Run) profiles(v View, provider string) Profiles {
	ps := v.Profiles(provider)
	if r.plan.Lock != "" && ProviderOf(r.plan.Lock) == provider {
		i := slices.IndexFunc(ps.List, func(p Profile) bool { return p.ID == r.plan.Lock })
		if i < 0 {
			ps.List = nil
		} else {
			ps.List = ps.List[i : i+1]
		}
	}
	return ps
}

// pin is the profile to prefer: the one that answered the turn's last call,
// else the session's.
func (r *Run) pin(provider string) string {
	if r.keep != "" {
		return r.keep
	}
	return r.plan.Pins[provider]
}

// overlooks tells which windows do not block in this pass; none in the first.
func (r *Run) overlooks() overlooker {
	if r.kind == firstPass {
		return nil
	}
	return r.overlook
}

// overlook: overloads do not block after an overloaded pass, and from the one
// transient pass on what this turn set itself does not. (A retry that its own
// first pass could refuse would be none.)
func (r *Run) overlook(profile, key string, w Window) bool {
	if r.kind == overloadPass && w.Reason == llm.Overloaded {
		return true
	}
	if !r.transientUsed {
		return false
	}
	since, ok := r.own[ownKey{profile, key}]
	return ok && since.Equal(w.Since)
}

// usable is the next free profile. In the first pass that is the best one that
// has not failed; later ones take turns, going on after the one asked last.
func (r *Run) usable(ps Profiles, list []ranked, ref llm.Ref) (Profile, bool) {
	free := func(p ranked) bool { return !p.block.Live() && !r.failed[p.ID] }
	i := slices.IndexFunc(list, free)
	if i < 0 {
		return Profile{}, false
	}
	if r.pass == 1 || r.keep != "" {
		return *list[i].Profile, true
	}
	// The order of §5 without regard to who was used last: the turn itself
	// must not change the circle it walks.
	ring := ps.List
	if !ps.Ordered {
		ring = inTurn(ps, nil)
	}
	start := slices.IndexFunc(ring, func(p Profile) bool { return p.ID == r.lastAsked[ref] }) + 1
	for i := range ring {
		p := ring[(start+i)%len(ring)]
		if slices.ContainsFunc(list, func(q ranked) bool { return q.ID == p.ID && free(q) }) {
			return p, true
		}
	}
	return Profile{}, false
}

func (r *Run) fly(p Profile, probe bool, undo func()) *flight {
	r.asked++
	r.lastAsked[r.candidate()] = p.ID
	return &flight{attempt: Attempt{Probe: probe}, profile: p, undo: undo}
}

// blocked decides about a candidate all of whose profiles are blocked.
func (r *Run) blocked(v View, list []ranked) (*flight, *Attempt) {
	ref := r.candidate()
	soonest := func(c class) *ranked {
		var best *ranked
		for i := range list {
			if p := &list[i]; p.block.class == c && (best == nil || p.block.Until.Before(best.block.Until)) {
				best = p
			}
		}
		return best
	}
	t, bill, perm := soonest(transient), soonest(billing), soonest(permanent)
	if r.plan.Fresh && !r.freshUsed && r.pass == r.chainPass && r.plan.Strict() {
		// Whoever has just chosen a model gets one honest try.
		r.freshUsed = true
		return r.fly(*list[0].Profile, true, nil), nil
	}
	if t != nil {
		if undo, ok := r.mayProbe(v, t, list); ok {
			return r.fly(*t.Profile, true, undo), nil
		}
	}
	if bill != nil && r.at == 0 {
		k := throttleKey{r.plan.Agent, ref.Provider, "billing"}
		if undo, ok := r.throttles.take(k, bill.block.Since, r.rules.BillingProbe, v.Now); ok {
			return r.fly(*bill.Profile, true, undo), nil
		}
	}
	for _, p := range []*ranked{t, bill, perm} {
		if p != nil {
			return nil, &Attempt{Reason: llm.Cooldown, Behind: p.block.Reason, Profile: p.ID, Until: p.block.Until}
		}
	}
	return nil, nil // not reached: list is not empty and all of it is blocked
}

// mayProbe decides whether the candidate is asked in spite of the cooldown of
// p, the profile of it that recovers soonest.
func (r *Run) mayProbe(v View, p *ranked, list []ranked) (undo func(), ok bool) {
	provider := r.candidate().Provider
	if r.at > 0 {
		onlyAuth := !slices.ContainsFunc(list, func(q ranked) bool { return q.block.Reason != llm.Auth })
		if onlyAuth {
			return nil, r.pass == 1 // once in every turn
		}
		stood := slices.ContainsFunc(r.plan.Chain[:r.at], func(q llm.Ref) bool { return q.Provider == provider })
		if !stood || r.probed[provider] || !looksTransient(p.block.Reason) {
			return nil, false
		}
		r.probed[provider] = true
		return nil, true
	}
	if r.probed[provider] {
		return nil, false
	}
	k := throttleKey{r.plan.Agent, provider, "cooldown"}
	if p.block.Until.Sub(v.Now) <= probeNear {
		undo, ok = r.throttles.take(k, time.Time{}, probeEvery, v.Now)
	}
	if !ok && len(r.plan.Chain) == 1 {
		undo, ok = r.throttles.take(k, p.block.Since, probeLone, v.Now)
	}
	if ok {
		r.probed[provider] = true
	}
	return undo, ok
}

// looksTransient: a reason that another moment may cure. Imported states name
// one that nobody understood "unknown".
func looksTransient(reason llm.Reason) bool {
	switch reason {
	case llm.RateLimit, llm.Overloaded, llm.Timeout, llm.Unclassified, "unknown", "":
		return true
	}
	return false
}
