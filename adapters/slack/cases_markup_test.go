package slack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"understudy/adapters/slack/slacktest"
	"understudy/core"
)

// TestCasesMarkup plays what formatters of other bots broke. The same text goes
// out in every way that there is.
func TestCasesMarkup(t *testing.T) {
	for id, c := range map[string]struct{ in, want string }{
		"p163": {
			"**bold** & <tag> [w](https://e.invalid/Nile_(river))\n> quote\n***bi***\nAT&amp;T",
			"*bold* &amp; &lt;tag&gt; <https://e.invalid/Nile_(river)|w>\n> quote\n*_bi_*\nAT&amp;T",
		},
		"p165": {
			"```\n| Name | **Speed** |\n|---|---|\n| a | 1 |\n```\n\n| Name | **Speed** |\n|---|---|\n| a & b | `1` |",
			"```\n| Name | **Speed** |\n|---|---|\n| a | 1 |\n```\n\n```\nName  | Speed\n------|------\na &amp; b | 1\n```",
		},
		"p166": {"Question 1: `a` and 10 `b` 2", "Question 1: `a` and 10 `b` 2"},
		"p167": {
			"**[PR](https://e.invalid/1)** and **<https://e.invalid/2**>",
			"*<https://e.invalid/1|PR>* and *<https://e.invalid/2>*",
		},
	} {
		t.Run(id, func(t *testing.T) {
			for way, texts := range everyWay(t, c.in) {
				if len(texts) == 0 || slices.ContainsFunc(texts, func(s string) bool { return s != c.want }) {
					t.Errorf("%s:\n got %q\nwant %q", way, texts, c.want)
				}
			}
		})
	}
	t.Run("p163 entities", entitiesOnceOnly)
	t.Run("p163 previews", previews)
	t.Run("p165 blocks", tablesInBlocks)
}

// everyWay sends Markdown in all ways in which Slack gets its own markup, and
// returns the texts that it was sent.
func everyWay(t *testing.T, markdown string) map[string][]string {
	r, target := streaming(t, func(c *Config) { c.NativeStreaming = NativeOff })
	target.Recipient = slacktest.User
	id := r.show(target, "…", markdown)
	r.deliver(target, markdown)
	small := post(target, markdown)
	small.Kind, small.Nonce = core.PostNotice, "turn1-n"
	if _, err := r.a.Post(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	reply := core.Reply{Text: markdown}
	for _, err := range []error{
		r.a.whisper(t.Context(), target, reply),
		r.a.respond(t.Context(), r.slack.Hook(slacktest.DM, slacktest.User), "", reply, false),
		r.a.amend(t.Context(), messageRef{slacktest.DM, id}, reply),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.slack.Fail("chat.startStream", slacktest.Fault{Error: "unknown_method"})
	r.a.cfg.NativeStreaming = NativeOn
	r.show(target, markdown, markdown+" ", markdown) // falls back to edits, also where it is too risky to ask
	sent := map[string][]string{}
	for _, c := range r.slack.Calls("chat.postMessage", "chat.update", "chat.postEphemeral", "response") {
		if text := strings.TrimSuffix(c.Args["text"], " "); text != "…" {
			sent[c.Name] = append(sent[c.Name], text)
		}
		if strings.Contains(c.Args["blocks"], `"context"`) {
			sent["small print"] = append(sent["small print"], contextText(t, c.Args["blocks"]))
		}
	}
	for _, b := range sections(markdown) {
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		sent["sections"] = append(sent["sections"], sectionTexts(t, "["+string(text)+"]")...)
	}
	return sent
}

func contextText(t *testing.T, blocks string) string {
	t.Helper()
	var found []struct{ Elements []struct{ Text string } }
	if err := json.Unmarshal([]byte(blocks), &found); err != nil {
		t.Fatal(err)
	}
	return found[0].Elements[0].Text
}

// entitiesOnceOnly: what is escaped already stays so, however often it goes
// through.
func entitiesOnceOnly(t *testing.T) {
	text := "AT&amp;T &lt;b&gt; & < >"
	once := mrkdwn(text)
	if twice := mrkdwn(once); once != "AT&amp;T &lt;b&gt; &amp; &lt; &gt;" || twice != once {
		t.Errorf("once %q, twice %q", once, twice)
	}
}

// previews: while it grows, the text is what the formatter makes of it so far.
func previews(t *testing.T) {
	r, target := streaming(t, func(c *Config) { c.NativeStreaming = NativeOff })
	whole := "**bold** & `code <x>` [w](https://e.invalid/Nile_(river)) _it_\n```\na && b\n```"
	var texts []string
	for end := 6; end < len(whole); end += 7 {
		texts = append(texts, whole[:end])
	}
	r.show(target, append(texts, whole)...)
	calls := r.slack.Calls("chat.postMessage", "chat.update")
	if len(calls) != len(texts)+1 {
		t.Fatalf("%d texts were sent", len(calls))
	}
	for i, c := range calls {
		if want := mrkdwn(append(texts, whole)[i]); c.Args["text"] != want {
			t.Errorf("sent %q, want %q", c.Args["text"], want)
		}
	}
}

// tablesInBlocks: where Slack shows Markdown itself, it gets what the model
// wrote, byte for byte.
func tablesInBlocks(t *testing.T) {
	r, target := asked(t)
	text := "```\n| a | b |\n|---|---|\n```\n\n| Name | **Speed** |\n|---|---|\n| a | 1 |"
	r.deliver(target, text)
	var blocks []struct{ Type, Text string }
	if err := json.Unmarshal([]byte(r.slack.Calls("chat.postMessage")[0].Args["blocks"]), &blocks); err != nil {
		t.Fatal(err)
	}
	if len(blocks) != 1 || blocks[0].Type != "markdown" || blocks[0].Text != text {
		t.Errorf("blocks are %+v", blocks)
	}
}
