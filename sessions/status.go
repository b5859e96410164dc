package sessions

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"context"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/core/tool"
	"understudy/notices"
)

func cmdStatus(c *call) (func(ChoiceTx) core.Reply, error) {
	switch strings.ToLower(c.inv.Args) {
	case "":
	case "why":
		text, err := c.why()
		if err != nil {
			return nil, err
		}
		return say(text), nil
	default:
		return say(statusUsageText), nil
	}
	lines, err := c.statusLines()
	if err != nil {
		return nil, err
	}
	return say(strings.Join(lines, "\n")), nil
}

// statusLines tell which model is selected and by whom, which one answers and
// why, what is pending, and what is blocked.
func (c *call) statusLines() ([]string, error) {
	now := c.b.Now()
	sel := c.set.resolve(c.key.Agent, c.sess.Choice)
	if sel.Model == (llm.Ref{}) {
		return []string{noModelText}, nil
	}
	lines := []string{selectedText(sel, c.sess.Choice.Since, now)}
	def, _ := c.set.agent(c.key.Agent).Policy.Resolve()
	if sel.Source == failover.FromUser && def != sel.Model {
		lines = append(lines, fmt.Sprintf("The default is %s; `/model default` goes back to it.", def))
	}
	if n := c.sess.Notice; n.Moved() && n.Selected == sel.Model {
		lines = append(lines, fmt.Sprintf("Active: %s, because %s %s; since %s (%s).", n.Active, n.Selected,
			reasonWords(n.Reason), n.Since.UTC().Format("15:04 MST"), notices.About(now.Sub(n.Since))))
	} else if last := c.sess.Active; last != (llm.Ref{}) && last != sel.Model {
		lines = append(lines, fmt.Sprintf("Active: %s gave the last answer.", last))
	}
	chain := c.set.agent(c.key.Agent).Policy.Chain(sel.Model, sel.Source)
	if len(chain) > 1 {
		names := make([]string, len(chain))
		for i, r := range chain {
			names[i] = r.String()
		}
		lines = append(lines, "Order: "+strings.Join(names, " → "))
	} else {
		lines = append(lines, "No other model steps in for it.")
	}
	if p := c.sess.Pending; p != nil && c.run != nil {
		lines = append(lines, fmt.Sprintf("A turn is running; %s is taken up at its next safe point.", p.Model))
	}
	if s := c.sess.Summary.kept(c.set.past(now)); s != nil {
		lines = append(lines, fmt.Sprintf("Summarised: what was said before, by %s, %s ago.", s.Model, notices.About(now.Sub(s.At))))
	}
	blocked, err := c.blockedLines(chain, now)
	return append(lines, blocked...), err
}

// blockedLines list the profiles of a chain that are blocked, with the time
// that is left.
func (c *call) blockedLines(chain []llm.Ref, now time.Time) ([]string, error) {
	states, err := c.b.Engine.Store.States(c.ctx, c.key.Agent)
	if err != nil {
		return nil, fmt.Errorf("reading the profile states: %w", err)
	}
	var lines []string
	for _, r := range chain {
		ps, err := c.set.Profiles(c.key.Agent, r.Provider)
		if err != nil {
			return nil, fmt.Errorf("reading the profiles of %s: %w", r.Provider, err)
		}
		for _, p := range ps.List {
			if b := states[p.ID].Blocked(r.Model, now); b.Live() {
				lines = append(lines, fmt.Sprintf("Blocked: %s for %s (%s), for %s.", p.ID, r, b.Reason.Words(), notices.About(b.Until.Sub(now))))
			}
		}
	}
	return lines, nil
}

// why replays the decisions of the last turn in plain words.
func (c *call) why() (string, error) {
	if c.sess.LastTurn == "" {
		return noTurnText, nil
	}
	t, ok, err := c.b.Store.Turn(c.ctx, c.sess.LastTurn)
	if err != nil {
		return "", fmt.Errorf("reading the last turn: %w", err)
	}
	if !ok {
		return noTurnText, nil
	}
	lines := []string{fmt.Sprintf("Turn %s, %s: selected %s (%s), %s.", t.ID, t.Started.UTC().Format("15:04:05 MST"), t.Selected, t.Source, t.Outcome)}
	for _, l := range notices.Why(t.Summary) {
		lines = append(lines, "• for a summary of what was said before: "+l)
	}
	for _, l := range notices.Why(t.Attempts) {
		lines = append(lines, "• "+l)
	}
	if t.Error != "" {
		lines = append(lines, t.Error)
	}
	return strings.Join(lines, "\n"), nil
}

// StatusTool is the tool session_status: it reports what /status reports, and
// with a model it chooses that model as the user who talks would.
func (b *Bot) StatusTool() tool.Tool { return statusTool{b} }

type statusTool struct{ b *Bot }

func (statusTool) Spec() llm.Tool {
	return llm.Tool{
		Name:        "session_status",
		Description: "Report which model this conversation is set to, which one answers and why. Give a model only when the user asks to change it: that choice is then the user's.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"model":{"type":"string","description":"provider/model, an alias, or default"}},"additionalProperties":false}`),
	}
}

func (t statusTool) Run(ctx context.Context, call tool.Call) (string, error) {
	var args struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return "", fmt.Errorf("the arguments are no object with a model: %w", err)
	}
	if args.Model != "" {
		s, err := t.b.Store.Session(ctx, call.Session)
		if err != nil {
			return "", fmt.Errorf("reading the session: %w", err)
		}
		return t.b.SelectModel(ctx, call.Session, s.Target, args.Model)
	}
	r, err := t.b.execute(ctx, call.Session, core.Thread{}, core.Invocation{Name: "status"}, nil)
	return r.Text, err
}
