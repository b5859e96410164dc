package sessions

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// The sentences of commands and of turns that end without a model's words.
const (
	oldMenuText        = "This menu is out of date. Give the command again."
	notYoursText       = "This menu belongs to somebody else. Give the command yourself."
	noModelText        = "No model is configured. Whoever runs this bot has to set agents.defaults.model.primary."
	heldText           = "Nothing can be stored right now, so my answer has to wait. Your message is safe with me; whoever runs this bot sees why."
	troubleText        = "I cannot take your message right now: what I am told cannot be stored. Whoever runs this bot sees why. Please write again in a while if no answer comes."
	interruptedText    = "I was interrupted while I was working on this message, after a tool had already run, so I did not start over by myself. Send /retry to have it answered again."
	nothingToRetryText = "There is no message to answer again."
	retryingText       = "I’ll answer the last message again."
	nothingToStopText  = "Nothing is running here."
	stoppedText        = "Stopped."
	stoppedNote        = "(Stopped by the user.)"
	cancelledText      = "Error: the user stopped this before it was done."
	overText           = "That answer has ended already."
	stopUsageText      = "Write `/stop` alone to stop the answer that is being written."
	nothingOfferedText = "No model can be chosen here."
	approveUsageText   = "Write `/approve` and the code that the person was told, or who it is as the admin channel names them."
	noCodeText         = "Nobody asks with this code. Codes hold for an hour."
	welcomeText        = "You can talk to me now. /help lists what else I can do."
	listChangedText    = "The list has changed; choose again."
	anyProfileText     = "any"
	defaultLabel       = "Use the default"
	helpHeadText       = "You can talk to me in this thread, or give a command (`!command` works as well):"
	modelUsageText     = "Write `/model provider/model`, an alias, a number from `/models`, `@profile` to use one credential only, or `default`."
	chooseHintText     = "Choose with `/model` and a name or number; `/model default` goes back."
	modelsHeadText     = "You can choose one of these with `/model` and its number or name:"
	statusUsageText    = "Write `/status`, or `/status why` for the decisions of the last turn."
	forgetUsageText    = "Write `/forget` to be told what I have stored about you, or `/forget yes` to have it deleted."
	nothingStoredText  = "I have stored nothing about you."
	nothingUsedText    = "This conversation: nothing yet."
	noTurnText         = "There was no turn in this thread yet."
)

func unknownCommandText(name string) string {
	return fmt.Sprintf("I don’t know the command /%s. /help lists them.", name)
}

func adminsOnlyText(name string) string {
	return fmt.Sprintf("Only admins of this bot can use /%s here.", name)
}

// knockText is what somebody hears who is not known.
func knockText(code string) string {
	return fmt.Sprintf("I don’t know you yet, so I can’t answer. Ask an admin of this bot to give the command `/approve %s`; the code holds for an hour. Then send your message again.", code)
}

// strangerText is for admins. It names the person and not the code, which is
// between the person and the bot: what is posted is kept.
func strangerText(g Guest) string {
	return fmt.Sprintf("%s asks to write to me directly. `/approve %s` lets them.", guestText(g), g.Address())
}

func approvedText(g Guest) string {
	return fmt.Sprintf("%s may write to me directly, approved by %s.", guestText(g), g.By)
}

func ranOutText(g Guest) string {
	return guestText(g) + " asked to write to me directly; nobody approved it in time."
}

func gaveWayText(g Guest) string {
	return guestText(g) + " asked to write to me directly; so many have asked since that this request gave way. They may ask again."
}

func guestText(g Guest) string {
	name := plainName(g.Name)
	if name == "" {
		return g.Address()
	}
	return fmt.Sprintf("%s (%s)", name, g.Address())
}

// plainName is a name that somebody gave himself, for people who decide about
// him: short, on one line, and without what would make it a link or bold.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("[]()<>*_~`|\\#", r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, name)
	name = strings.ReplaceAll(name, "://", " ")
	return shorten(strings.Join(strings.Fields(name), " "), maxLabel)
}

// countText is a number of models.
func countText(n int) string {
	if n == 1 {
		return "1 model"
	}
	return fmt.Sprintf("%d models", n)
}

func choosePickText(n int) string {
	return fmt.Sprintf("Choose another model below, or with `/model` and its name (%s).", countText(n))
}

func modelsPickText(n int) string {
	return fmt.Sprintf("You can choose one of these (%s):", countText(n))
}

func modelsOfText(provider string, n int) string {
	return fmt.Sprintf("%s has %s to choose from:", provider, countText(n))
}

func profilesOfText(r llm.Ref) string { return fmt.Sprintf("Which credential may %s use?", r) }

func pageText(from, to, all int) string { return fmt.Sprintf("%d to %d of %d.", from, to, all) }

func stoppedNamedText(what string) string { return "Stopped the answer to " + excerpt(what) + "." }

func stoppedAllText(n int) string {
	if n == 1 {
		return "Stopped one answer."
	}
	return fmt.Sprintf("Stopped %d answers.", n)
}

func stopWhichText(n int) string {
	return fmt.Sprintf("%d answers to you are being written here. Which one is to stop?", n)
}

func whichThreadText(command string) string {
	return fmt.Sprintf("Conversations are held in threads here. Which one is /%s for?", command)
}

func noThreadText(command string) string {
	return fmt.Sprintf("Conversations are held in threads here, and you have none. Give /%s in the thread that it is for.", command)
}

func newUsageText(name string) string {
	if name == "reset" {
		return "Write `/reset` alone to forget this conversation."
	}
	return "Write `/new` to start a new conversation, or `/new default` to go back to the default model as well."
}

func noImagesText(model llm.Ref) string {
	return fmt.Sprintf("%s cannot read images, and no image model is configured. Send text, or choose a model that sees with /model.", model)
}

func tooLongText(limit time.Duration) string {
	return fmt.Sprintf("I gave up on this message: it took longer than %s. Send /retry to try again.", exactly(limit))
}

// exactly is a limit in words: in whole minutes or seconds where it is one.
func exactly(d time.Duration) string {
	n, unit := int64(d/time.Minute), "minute"
	if d < 2*time.Minute || d%time.Minute != 0 {
		n, unit = int64(d/time.Second), "second"
	}
	switch {
	case d%time.Second != 0:
		return d.String()
	case n == 1:
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func tooManyRoundsText(n int) string {
	return fmt.Sprintf("I stopped: the model asked for tools more than %d times in one turn. Send /retry to try again.", n)
}

func impossibleText(model llm.Ref, why string, def llm.Ref) string {
	return fmt.Sprintf("This thread was set to %s, which cannot be used any more: %s. It is back to the default, %s; send your message again.", model, why, def)
}

// repairText tells which parts of a stored choice were dropped.
func repairText(broken, lock string, model llm.Ref) string {
	var parts []string
	if broken != "" {
		parts = append(parts, fmt.Sprintf("The model stored for this thread, %q, is no model, so the default is used: %s.", broken, model))
	}
	if lock != "" {
		parts = append(parts, fmt.Sprintf("The profile %s that this thread was tied to does not exist any more, so any profile is used again.", lock))
	}
	return strings.Join(parts, " ")
}

func unknownModelText(word string, nearest []string) string {
	return fmt.Sprintf("I don’t know the model %q.%s", word, didYouMean(nearest))
}

func refusedModelText(r llm.Ref, why string, nearest []string) string {
	return fmt.Sprintf("%s cannot be chosen here: %s.%s", r, why, didYouMean(nearest))
}

func didYouMean(names []string) string {
	n := len(names)
	switch n {
	case 0:
		return " /models lists those that you can choose."
	case 1:
		return " Did you mean " + names[0] + "?"
	}
	return " Did you mean " + strings.Join(names[:n-1], ", ") + " or " + names[n-1] + "?"
}

func unknownProfileText(provider, word string, have []string) string {
	if len(have) == 0 {
		return fmt.Sprintf("There is no profile of %s at all.", provider)
	}
	return fmt.Sprintf("There is no profile %q of %s. There is: %s.", word, provider, strings.Join(have, ", "))
}

// chosenText confirms a choice.
func chosenText(c *call, next Choice, now selected) string {
	where := "This thread"
	switch {
	case c.place.Kind == core.KindChannel:
		where = "This channel, and every new thread in it,"
	case c.place != c.inv.Target.Thread: // given as the opener of a thread
		where = "This conversation, and every new thread in it,"
	}
	if next.Model == (llm.Ref{}) && next.Lock == "" {
		return fmt.Sprintf("%s uses the default model again: %s.", where, now.Model)
	}
	if next.Model == (llm.Ref{}) {
		text := fmt.Sprintf("%s uses only the profile %s for %s", where, next.Lock, failover.ProviderOf(next.Lock))
		if len(c.set.agent(c.key.Agent).Policy.Chain(now.Model, now.Source)) > 1 {
			text += "; other models may still step in"
		}
		return text + "."
	}
	text := fmt.Sprintf("%s now uses %s.", where, next.Model)
	if next.Lock != "" {
		text = fmt.Sprintf("%s now uses %s with the profile %s only.", where, next.Model, next.Lock)
	}
	return text + " This is strict: no other model steps in if it fails. /model default undoes it."
}

// droppedText tells what a reset took the place of.
func droppedText(n int) string {
	if n == 1 {
		return "One message that was still waiting is dropped."
	}
	return fmt.Sprintf("%d messages that were still waiting are dropped.", n)
}

// resetText confirms a reset.
func resetText(sel selected, out resetOutcome) string {
	text := "A new conversation begins here."
	if out.choice.Model != (llm.Ref{}) {
		text += fmt.Sprintf(" The model stays %s, which was chosen for this thread; /new default goes back to the default.", sel.Model)
	}
	if out.dropped != "" {
		text += fmt.Sprintf(" The profile %s is no longer fixed.", out.dropped)
	}
	return text
}

// selectedText tells the selection and who made it.
func selectedText(s selected, since, now time.Time) string {
	who := map[failover.Source]string{
		failover.FromDefault: "the default", failover.FromAgent: "set for this agent",
		failover.FromUser: "chosen here", failover.FromLegacy: "chosen here earlier",
		failover.FromAuto: "kept from an earlier fallback", failover.FromCLI: "given on the command line",
	}[s.Source]
	text := fmt.Sprintf("Selected: %s (%s", s.Model, who)
	if !since.IsZero() && s.Source == failover.FromUser {
		text += " " + notices.About(now.Sub(since)) + " ago"
	}
	switch s.Source {
	case failover.FromUser, failover.FromLegacy, failover.FromCLI:
		text += "; strict"
	}
	text += ")"
	if s.Lock != "" {
		text += " with the profile " + s.Lock
	}
	return text
}

func reasonWords(r llm.Reason) string {
	if r == "" {
		return "did not answer"
	}
	return "failed (" + r.Words() + ")"
}
