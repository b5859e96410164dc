package sessions

import (
	"fmt"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// longFallback is how long a session is answered by another model than the
// selected one before operators hear of it.
const longFallback = 30 * time.Minute

// fallbackAlerts are what operators hear of a session's models after a turn that
// changed what was told about them from before to after. text is the notice that
// is due, if one is; where people are not told, operators are.
func fallbackAlerts(before, after notices.State, policy notices.Policy, text string, now time.Time) []core.Alert {
	const changed, long = "fallback", "long-fallback"
	selected := after.Selected.String()
	switch {
	case after.Moved():
		var list []core.Alert
		if text != "" && policy == notices.Log {
			list = append(list, core.Alert{Kind: changed, Key: selected, Text: text})
		}
		if d := now.Sub(after.Since); d >= longFallback {
			list = append(list, core.Alert{Kind: long, Key: selected, Text: fmt.Sprintf(
				"%s has answered a session in place of %s for %s (%s).", after.Active, selected, notices.About(d), after.Reason.Words())})
		}
		return list
	case before.Moved() && text != "":
		over := core.Alert{Key: selected, Text: text, Over: true}
		list := []core.Alert{over, over}
		list[0].Kind, list[1].Kind = changed, long
		return list
	}
	return nil
}

// missingAlerts are what operators hear of models that do not exist, as far as
// a turn that another model answered found out: the people who were answered
// cannot correct the name.
func missingAlerts(attempts []failover.Attempt) []core.Alert {
	var list []core.Alert
	told := map[llm.Ref]bool{}
	for _, a := range attempts { // one credential may use a model that another may not
		told[a.Model] = told[a.Model] || a.Won
	}
	for _, a := range attempts {
		if a.Reason != llm.ModelNotFound || a.Skipped || told[a.Model] {
			continue
		}
		told[a.Model] = true
		list = append(list, core.Alert{Kind: "model", Key: a.Model.String(), Text: fmt.Sprintf(
			"The configured model %s cannot answer: %s says that it has no such model, or that %s may not use it.", a.Model, a.Model.Provider, a.Profile)})
	}
	return list
}
