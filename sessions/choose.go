package sessions

import (
	"context"
	"fmt"
	"strings"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// selected is what a session is set to, resolved against the settings.
type selected struct {
	Model  llm.Ref
	Source failover.Source
	Lock   string
}

// resolve tells what a session is set to. A choice of its own counts before
// the agent's model, that before the default.
func (s *Settings) resolve(agent string, c Choice) selected {
	if s.Override != (llm.Ref{}) {
		return selected{s.Override, failover.FromCLI, ""}
	}
	if c.Model != (llm.Ref{}) {
		return selected{c.Model, c.Source, c.Lock}
	}
	m, source := s.agent(agent).Policy.Resolve()
	return selected{m, source, c.Lock}
}

// impossible says why a stored choice cannot be followed, or "".
func (s *Settings) impossible(agent string, c Choice) string {
	if c.Model == (llm.Ref{}) || c.Source == failover.FromAuto {
		return ""
	}
	if why, ok := s.allowed(agent, c.Model); !ok {
		return why
	}
	return ""
}

// plan is what a turn with this selection may do.
func (s *Settings) plan(key core.Key, turn string, sess Session, sel selected) failover.Plan {
	return failover.Plan{
		Agent:   key.Agent,
		Session: key.String(),
		Turn:    turn,
		Source:  sel.Source,
		Chain:   s.agent(key.Agent).Policy.Chain(sel.Model, sel.Source),
		Lock:    sel.Lock,
		Pins:    s.pins(key.Agent, sess),
		Fresh:   sess.Fresh,
	}
}

// imagePlan replaces the chain of a turn whose message carries images that the
// selected model cannot read. ok is false when nothing else is configured.
func (s *Settings) imagePlan(p failover.Plan) (failover.Plan, bool) {
	if s.Sees(p.Chain[0]) {
		return p, true
	}
	m := s.agent(p.Agent).Image
	if m.Primary == (llm.Ref{}) {
		return p, false
	}
	p.Source, p.Lock = failover.FromDefault, ""
	p.Chain = failover.Policy{Defaults: m}.Chain(m.Primary, failover.FromDefault)
	return p, true
}

// open makes sure that the session has a record and a transcript. A new thread
// takes over the choice of the channel that holds it, once.
func (b *Bot) open(ctx context.Context, key core.Key, t core.Thread) (Session, error) {
	s, err := b.Store.Session(ctx, key)
	if err != nil {
		return s, fmt.Errorf("reading the session: %w", err)
	}
	if s.Transcript != "" {
		return s, nil
	}
	var inherited Choice
	if holder := t.Holder(); holder != t {
		own := strings.TrimPrefix(key.Thread, t.Key()) // where everybody has a session of their own
		h, err := b.Store.Session(ctx, core.Key{Agent: key.Agent, Thread: holder.Key() + own})
		if err != nil {
			return s, fmt.Errorf("reading the channel's session: %w", err)
		}
		inherited = h.Choice
	}
	id := b.NewID()
	err = b.Store.CommitChoice(ctx, key, 0, func(tx ChoiceTx) error {
		s = tx.Session()
		if s.Transcript != "" {
			return nil
		}
		s.Transcript, s.Engaged = id, true
		tx.SetSession(s)
		if s.Choice == (Choice{}) && inherited != (Choice{}) {
			s.Choice = inherited
			tx.SetChoice(inherited)
		}
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("opening the session: %w", err)
	}
	return s, nil
}
