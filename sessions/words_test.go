package sessions

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Every sentence that this room can say, for reading.
func TestWords(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	a1, b2 := llm.Ref{Provider: "a", Model: "m1"}, llm.Ref{Provider: "b", Model: "m2"}
	var out strings.Builder
	put := func(label, text string) { fmt.Fprintf(&out, "%s: %s\n", label, text) }

	guest := Guest{Platform: "discord", User: "700", Name: "Ann", Code: "ABCDEFGH", By: "discord:1"}
	for _, s := range []struct{ label, text string }{
		{"no model", noModelText}, {"interrupted", interruptedText}, {"store trouble", troubleText}, {"held up by the store", heldText},
		{"too many wait", crowdedText(false)}, {"too many wait everywhere", crowdedText(true)}, {"too large", tooLargeText(300_000)}, {"long argument", longArgsText("model")}, {"nothing to retry", nothingToRetryText},
		{"retrying", retryingText}, {"nothing to stop", nothingToStopText}, {"stopped", stoppedText},
		{"stopped, named", stoppedNamedText("what is *the* answer\nto all of these questions, if there are any?")}, {"stopped before", overText},
		{"stopped, for the model", stoppedNote}, {"a tool that was stopped", cancelledText},
		{"stopped one", stoppedAllText(1)}, {"stopped all", stoppedAllText(3)}, {"stop which", stopWhichText(2)}, {"usage of /stop", stopUsageText},
		{"which thread", whichThreadText("new")}, {"no thread", noThreadText("retry")},
		{"knock", knockText("ABCDEFGH")}, {"stranger", strangerText(guest)}, {"approved", approvedText(guest)}, {"ran out", ranOutText(Guest{Platform: "slack", User: "U7"})},
		{"gave way", gaveWayText(guest)},
		{"usage of /approve", approveUsageText}, {"no such code", noCodeText}, {"welcome", welcomeText},
		{"old menu", oldMenuText}, {"somebody else's menu", notYoursText}, {"list changed", listChangedText}, {"nothing offered", nothingOfferedText},
		{"pick of /model", choosePickText(3)}, {"pick of /models", modelsPickText(61)}, {"models of a provider", modelsOfText("a", 61)}, {"one model", modelsOfText("a", 1)},
		{"profiles", profilesOfText(a1)}, {"any profile", anyProfileText}, {"page", pageText(1, 75, 90)},
		{"usage of /model", modelUsageText}, {"hint of /model", chooseHintText}, {"head of /models", modelsHeadText},
		{"usage of /status", statusUsageText}, {"no turn", noTurnText},
		{"usage of /new", newUsageText("new")}, {"usage of /reset", newUsageText("reset")},
		{"unknown command", unknownCommandText("frobnicate")}, {"admins only", adminsOnlyText("model")},
		{"no images", noImagesText(a1)},
		{"too long", tooLongText(30 * time.Minute)}, {"too long, seconds", tooLongText(90 * time.Second)},
		{"too long, one", tooLongText(time.Second)}, {"too long, odd", tooLongText(1500 * time.Millisecond)},
		{"too many rounds", tooManyRoundsText(25)},
		{"impossible", impossibleText(a1, "modelPolicy.allow does not list it", b2)},
		{"half a model", repairText("a/", "", b2)}, {"lock gone", repairText("", "a:key", b2)}, {"both", repairText("a/", "a:key", b2)},
		{"unknown model", unknownModelText("m7", nil)}, {"unknown model, near", unknownModelText("m7", []string{"a/m1", "b/m2"})},
		{"refused model", refusedModelText(a1, "modelPolicy.allow does not list it", []string{"b/m2"})},
		{"unknown profile", unknownProfileText("a", "key7", []string{"a:key", "a:key2"})}, {"no profile", unknownProfileText("a", "key7", nil)},
		{"usage of /forget", forgetUsageText}, {"nothing stored", nothingStoredText},
		{"forget?", forgetAskText(Traces{Messages: 12, Shared: 2, Private: 1, Replies: 9, Waiting: 1, Guest: true, Counted: true}, true)},
		{"forget a little?", forgetAskText(Traces{Messages: 1, Shared: 1}, false)},
		{"forgotten", forgottenText(Traces{Messages: 12, Private: 2, Replies: 9}, false)},
		{"forgotten, with a quota", forgottenText(Traces{Messages: 1, Counted: true}, true)},
		{"forgotten, nothing", forgottenText(Traces{}, true)},
		{"forgotten, for operators", forgottenAdminText(Person{"discord", "700"}, Traces{Messages: 2, Shared: 1})},
		{"nothing used", nothingUsedText}, {"your quota", quotaText(&quotaError{UserOf("discord", "7"), messagesText(20), now.Add(5 * time.Hour)}, now)},
		{"quota of a place", quotaText(&quotaError{Account{Kind: PlaceAccount}, tokensText(100_000), now.Add(5 * time.Hour)}, now)},
		{"quota of all", quotaText(&quotaError{Account{Kind: TotalAccount}, llm.Dollars(2.5).String(), now.Add(20 * time.Minute)}, now)},
		{"quota of all, for operators", totalReachedText(&quotaError{Account{Kind: TotalAccount}, llm.Dollars(2.5).String(), now.Add(5 * time.Hour)}, now)},
		{"end of the day", dayEndsText(now.Add(5*time.Hour), now)},
		{"left", leftText(Quota{Messages: 20, Tokens: 100_000, Cost: llm.Dollar}, Tally{Messages: 3, Usage: llm.Usage{In: 1900, Out: 100}, Cost: llm.Dollars(1.02)})},
		{"used", accountText(UserAccount, Tally{Messages: 1, Usage: llm.Usage{In: 1900, Out: 100}, Unpriced: 500, Cost: llm.Dollars(0.0213)})},
		{"nothing used today", accountText(PlaceAccount, Tally{})},
		{"a model", modelTallyText(Tally{Usage: llm.Usage{In: 1900, Out: 100, CacheRead: 1000}, Cost: llm.Dollars(0.0213)})},
		{"a model without a price", modelTallyText(Tally{Usage: llm.Usage{In: 3, Out: 1}, Unpriced: 4})},
		{"reason", reasonWords(llm.RateLimit)}, {"no reason", reasonWords("")},
	} {
		put(s.label, s.text)
	}

	choose := func(label string, kind core.Kind, fallbacks []llm.Ref, next Choice, now selected) {
		set := &Settings{Agents: map[string]Agent{"main": {Policy: failover.Policy{Defaults: failover.Models{Primary: a1, Fallbacks: fallbacks}}}}}
		c := &call{set: set, key: core.Key{Agent: "main"}, inv: core.Invocation{Native: true}}
		c.place.Kind, c.inv.Target.Thread.Kind = kind, kind
		if kind == core.KindDirect {
			c.inv.Target.Thread.Root = "1.2"
		}
		put(label, chosenText(c, next, now))
	}
	plain := selected{a1, failover.FromDefault, ""}
	user := Choice{Model: b2, Source: failover.FromUser}
	choose("chosen", core.KindThread, nil, user, selected{b2, failover.FromUser, ""})
	choose("chosen by the opener of a thread", core.KindDirect, nil, user, selected{b2, failover.FromUser, ""})
	choose("chosen in a channel", core.KindChannel, nil, user, selected{b2, failover.FromUser, ""})
	user.Lock = "b:key"
	choose("chosen with a profile", core.KindThread, nil, user, selected{b2, failover.FromUser, "b:key"})
	choose("the default", core.KindThread, nil, Choice{}, plain)
	choose("a profile", core.KindThread, []llm.Ref{b2}, Choice{Lock: "a:key"}, plain)
	choose("a profile of the only model", core.KindThread, nil, Choice{Lock: "a:key"}, plain)

	put("summarised", compactedText(12_345, 789))
	put("summarised, to no gain", compactedText(12, 34))
	put("summarised in part", partlyCompactedText)
	put("not summarised, a fault", notSummarisedText(errors.New("the store is gone"), now))
	put("reset", resetText(plain, resetOutcome{}))
	put("reset, the model stays", resetText(selected{b2, failover.FromUser, ""}, resetOutcome{choice: Choice{Model: b2}, dropped: "b:key"}))
	for _, source := range []failover.Source{failover.FromDefault, failover.FromAgent, failover.FromUser, failover.FromLegacy, failover.FromAuto, failover.FromCLI} {
		put("selected, "+string(source), selectedText(selected{a1, source, ""}, now.Add(-time.Hour), now))
	}
	put("selected with a profile", selectedText(selected{a1, failover.FromUser, "a:key"}, time.Time{}, now))
	out.WriteString("\n" + sharedPrompt + "\n\n")

	help, err := cmdHelp(&call{set: &Settings{}})
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString(help(nil).Text + "\n")

	for line := range strings.Lines(out.String()) {
		for _, bad := range []string{"%!", "http", "  ", "..", " ."} {
			if strings.Contains(line, bad) {
				t.Errorf("%q shows in: %s", bad, line)
			}
		}
	}
	path := filepath.Join("testdata", "words.golden")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wants := strings.Split(string(want), "\n")
	got := strings.Split(out.String(), "\n")
	for i := range max(len(got), len(wants)) {
		if i >= len(got) || i >= len(wants) || got[i] != wants[i] {
			t.Fatalf("line %d of %s changed; if that is meant: go test -update, and read what it says\nnow: %s", i+1, path, strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""))
		}
	}
}
