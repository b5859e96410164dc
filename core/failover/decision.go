package failover

import (
	"context"
	"log/slog"

	"understudy/core/llm"
)

// Outcome is what became of one step of a chain.
type Outcome string

// The outcomes of a step.
const (
	NextFallback   Outcome = "next_fallback"
	Succeeded      Outcome = "succeeded"
	ChainExhausted Outcome = "chain_exhausted"
	SwitchedModel  Outcome = "switched"
)

// Decision is one step of a chain: from a candidate that failed or was passed
// over to the next one.
type Decision struct {
	From, To llm.Ref
	Reason   llm.Reason
	Detail   string
	Outcome  Outcome
}

// decide notes that the present candidate is left because of a.
func (r *Run) decide(a Attempt) {
	d := Decision{From: r.candidate(), Reason: a.Reason, Detail: a.Detail, Outcome: NextFallback}
	if a.Skipped && a.Behind != "" {
		d.Detail = string(a.Behind)
	}
	if r.lastCandidate() {
		d.Outcome = ChainExhausted
	} else {
		d.To = r.plan.Chain[r.at+1]
	}
	r.decisions = append(r.decisions, d)
}

// again turns the end of a pass into a step to the first candidate of the next.
func (d *Decision) again(first llm.Ref) { d.To, d.Outcome = first, NextFallback }

func (d *Decision) exhausted() { d.To, d.Outcome = llm.Ref{}, ChainExhausted }

func (r *Run) decideSwitch(from, to llm.Ref) {
	r.decisions = append(r.decisions, Decision{From: from, To: to, Outcome: SwitchedModel})
}

// wonDecision notes the winner, with the failure that led to it, if one did.
func (r *Run) wonDecision(a Attempt) {
	for i := len(r.attempts) - 2; i >= 0; i-- {
		f := r.attempts[i]
		if f.Won {
			return // the turn had its winner; another call of it was answered
		}
		if f.Switched {
			continue
		}
		d := Decision{From: f.Model, To: a.Model, Reason: f.Reason, Detail: f.Detail, Outcome: Succeeded}
		if f.Skipped && f.Behind != "" {
			d.Detail = string(f.Behind)
		}
		r.decisions = append(r.decisions, d)
		return
	}
	r.decisions = append(r.decisions, Decision{To: a.Model, Outcome: Succeeded})
}

// Decisions are the steps since the last call that are settled: the last one
// may still change while the run goes on, and is held back until settle is
// true.
func (r *Run) Decisions(settle bool) []Decision {
	n := len(r.decisions)
	if !settle && r.lost == nil && n > r.unlogged && r.decisions[n-1].Outcome == ChainExhausted {
		n--
	}
	list := r.decisions[r.unlogged:n]
	r.unlogged = n
	return list
}

// logDecision writes the structured line that operators search for.
func logDecision(ctx context.Context, log *slog.Logger, p Plan, d Decision) {
	log.LogAttrs(ctx, slog.LevelInfo, "model_fallback_decision",
		slog.String("fallbackStepFromModel", d.From.String()),
		slog.String("fallbackStepToModel", d.To.String()),
		slog.String("fallbackStepFromFailureReason", string(d.Reason)),
		slog.String("fallbackStepFromFailureDetail", d.Detail),
		slog.String("fallbackStepFinalOutcome", string(d.Outcome)),
		slog.Bool("fallbackConfigured", len(p.Chain) > 1),
		slog.String("turn", p.Turn),
		slog.String("session", p.Session),
		slog.String("agent", p.Agent),
	)
}
