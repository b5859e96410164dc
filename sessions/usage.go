package sessions

import (
	"fmt"
	"strings"
	"time"

	"understudy/core"
	"understudy/core/llm"
	"understudy/notices"
)

// cmdUsage tells what the session used, and what the caller used today and has
// left. Admins also see the place and everything.
func cmdUsage(c *call) (func(ChoiceTx) core.Reply, error) {
	now := c.b.Now()
	day := c.set.Quotas.day(now)
	lines := spendingLines(c.sess.Spent, day)
	place := c.inv.Target.Thread
	for _, a := range accountsOf(place, c.inv.Author) {
		mine := a.Kind == UserAccount
		if !mine && !c.admin() {
			continue
		}
		used, err := c.b.Store.Spent(c.ctx, day, a)
		if err != nil {
			return nil, fmt.Errorf("reading what was used today: %w", err)
		}
		line := accountText(a.Kind, used.Sum())
		if left := leftText(c.set.Quotas.of(a.Kind), used.Sum()); left != "" {
			line += " " + left
			if c.set.Quotas.ExemptAdmins && c.admin() {
				line += " Admins go on beyond it."
			}
		}
		lines = append(lines, line)
		if !mine {
			lines = append(lines, billLines(used)...)
		}
	}
	if c.set.Quotas.any() {
		lines = append(lines, dayEndsText(c.set.Quotas.ends(now), now))
	}
	return say(strings.Join(lines, "\n")), nil
}

// spendingLines tell what a session used.
func spendingLines(s Spending, day string) []string {
	if s.All.Sum() == (Tally{}) {
		return []string{nothingUsedText}
	}
	since, all, today := s.Since.Sum(), s.All.Sum(), s.today(day).Sum()
	lines := []string{"This conversation: " + tallyText(since) + "."}
	if all != since {
		lines[0] = "This conversation since its reset: " + tallyText(since) + "."
	}
	lines = append(lines, billLines(s.Since)...)
	if all != since {
		lines = append(lines, "With what was before the reset: "+tallyText(all)+".")
		lines = append(lines, billLines(s.All)...)
	}
	if today != since {
		lines = append(lines, "This conversation today: "+tallyText(today)+".")
	}
	return lines
}

// billLines are a line for each model.
func billLines(b Bill) []string {
	var lines []string
	for _, r := range b.models() {
		lines = append(lines, fmt.Sprintf("• %s: %s", r, modelTallyText(b[r])))
	}
	return lines
}

// accountText tells what somebody used today.
func accountText(k AccountKind, used Tally) string {
	who := map[AccountKind]string{UserAccount: "You, today", PlaceAccount: "This place, today", TotalAccount: "Everything, today"}[k]
	if used == (Tally{}) {
		return who + ": nothing yet."
	}
	return who + ": " + tallyText(used) + "."
}

// leftText tells what is left of a quota, or "" where there is none.
func leftText(q Quota, used Tally) string {
	var parts []string
	if q.Messages > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", llm.Count(max(0, q.Messages-used.Messages)), messagesText(q.Messages)))
	}
	if q.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", llm.Count(max(0, q.Tokens-used.Tokens())), tokensText(q.Tokens)))
	}
	if q.Cost > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", max(0, q.Cost-used.Cost), q.Cost))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Left for today: " + strings.Join(parts, ", ") + "."
}

// tallyText is what was used, in one line.
func tallyText(t Tally) string {
	return messagesText(t.Messages) + ", " + tokensText(t.Tokens()) + ", " + t.CostText()
}

// modelTallyText is the same of one model, with what went in and came out.
func modelTallyText(t Tally) string {
	in := llm.Count(t.In) + " in"
	if t.CacheRead > 0 {
		in += fmt.Sprintf(" (%s of them cached)", llm.Count(t.CacheRead))
	}
	return fmt.Sprintf("%s, %s out, %s", in, llm.Count(t.Out), t.CostText())
}

// CostText is what the tokens cost. What nobody knows the price of is never
// counted as nothing.
func (t Tally) CostText() string {
	switch {
	case t.Unpriced == 0:
		return t.Cost.String()
	case t.Cost == 0 && t.Unpriced == t.Tokens():
		return "price not known"
	}
	return fmt.Sprintf("%s and %s whose price is not known", t.Cost, tokensText(t.Unpriced))
}

func messagesText(n int) string {
	if n == 1 {
		return "1 message"
	}
	return llm.Count(n) + " messages"
}

func tokensText(n int) string {
	if n == 1 {
		return "1 token"
	}
	return llm.Count(n) + " tokens"
}

// quotaText tells somebody which limit is used up, and until when.
func quotaText(e *quotaError, now time.Time) string {
	what := map[AccountKind]string{
		UserAccount:  "Your limit for today, %s, is used up.",
		PlaceAccount: "The limit of this place for today, %s, is used up.",
		TotalAccount: "My limit for today, %s, is used up.",
	}[e.account.Kind]
	return fmt.Sprintf(what, e.limit) + fmt.Sprintf(" I answer again from %s on, in %s; send your message again then. /usage shows what was used.",
		clockText(e.ends), notices.About(e.ends.Sub(now)))
}

// totalReachedText is for operators.
func totalReachedText(e *quotaError, now time.Time) string {
	return fmt.Sprintf("The limit for today, %s, is used up (quotas.total). Nobody is answered until %s, in %s.", e.limit, clockText(e.ends), notices.About(e.ends.Sub(now)))
}

func dayEndsText(ends, now time.Time) string {
	return fmt.Sprintf("A new day begins at %s, in %s.", clockText(ends), notices.About(ends.Sub(now)))
}

func clockText(t time.Time) string { return t.Format("15:04 MST") }
