package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"understudy/adapters/discord/discordtest"
	"understudy/adapters/slack/slacktest"
)

// How the page shows what happens to a message.
const (
	showEdit  = "  ✎ " // it changes
	showMore  = "  + " // it grows by this
	showGone  = "  ✗ taken away"
	showAlone = " (for Ann alone)"
	showSmall = " (small type)"
)

// under shows a text, the first line behind a mark and the others below it.
func under(mark, text string) string {
	return mark + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", len([]rune(mark))))
}

// discordHand reads what the fake Discord was asked.
type discordHand struct {
	town discordTown
	read int
}

func (h *discordHand) news() bool { return len(h.town.Requests("", "")) > h.read && len(h.peek()) > 0 }

func (h *discordHand) seen() []string {
	lines := h.peek()
	h.read = len(h.town.Requests("", ""))
	return lines
}

func (h *discordHand) peek() (lines []string) {
	for _, r := range h.town.Requests("", "")[h.read:] {
		lines = append(lines, discordLines(r)...)
	}
	return lines
}

// discordBody is as much of a request as can be seen.
type discordBody struct {
	Type       int
	Name       string
	Content    string
	Flags      int
	Reference  *struct{} `json:"message_reference"`
	Components []discordtest.Row
	Data       *discordBody
}

const discordQuiet, discordAlone = 1 << 12, 1 << 6

func discordLines(r discordtest.Request) []string {
	var b discordBody
	_ = json.Unmarshal(r.Body, &b)
	path := func(method, pattern string) bool {
		return r.Method == method && regexp.MustCompile("^"+strings.ReplaceAll(pattern, "*", "[^/]+")+"$").MatchString(r.Path)
	}
	switch {
	case path("POST", "/channels/*/messages/*/threads"):
		return []string{"opens the thread “" + b.Name + "”"}
	case path("POST", "/channels/*/messages"):
		return b.lines("")
	case path("PATCH", "/channels/*/messages/*"):
		return b.lines(showEdit)
	case path("DELETE", "/channels/*/messages/*"):
		return []string{showGone}
	case path("POST", "/interactions/*/*/callback") && b.Data != nil && b.Data.Content != "":
		return b.Data.lines("")
	case path("PATCH", "/webhooks/*/*/messages/@original"):
		b.Flags |= discordAlone // all commands of this conversation are answered so
		return b.lines("")
	}
	return nil
}

func (b discordBody) lines(mark string) []string {
	text := b.Content
	switch {
	case b.Flags&discordAlone != 0:
		text += showAlone
	case b.Reference != nil:
		text += " (a reply to Ann’s message)"
	case b.Flags&discordQuiet != 0:
		text += " (without a sound)"
	}
	lines := []string{under(mark, text)}
	for _, row := range b.Components {
		for _, c := range row.Components {
			var options []string
			for _, o := range c.Options {
				options = append(options, shownOption(o.Label, o.Description, o.Default))
			}
			lines = append(lines, shownControl(c.Label, c.Placeholder, options))
		}
	}
	return lines
}

// shownOption is an option of a menu.
func shownOption(label, about string, chosen bool) string {
	if about != "" {
		label += " – " + about
	}
	if chosen {
		label = "✓ " + label
	}
	return label
}

// shownControl is a button, or a menu that stands open.
func shownControl(label, placeholder string, options []string) string {
	if options == nil {
		return "  (" + label + ")"
	}
	return under("  ", placeholder+" ▾\n  "+strings.Join(options, "\n  "))
}

func (h *discordHand) give(thread, command string) {
	h.town.Interact(discordtest.Interaction{Channel: thread, User: "700", Command: strings.TrimPrefix(command, "/")})
}

func (h *discordHand) menu(label string) func(thread string) {
	for _, r := range slices.Backward(h.town.Requests("", "")) {
		var b discordBody
		if json.Unmarshal(r.Body, &b) != nil || len(b.Components) == 0 {
			continue
		}
		for _, row := range b.Components {
			for _, c := range row.Components {
				for _, o := range c.Options {
					if o.Label == label {
						return func(thread string) {
							h.town.Interact(discordtest.Interaction{
								Type: discordtest.ComponentInteraction, Channel: thread, User: "700", CustomID: c.CustomID, Values: []string{o.Value}, Message: "1",
							})
						}
					}
				}
			}
		}
		return nil
	}
	return nil
}

// slackHand reads what the fake Slack was asked.
type slackHand struct {
	town slackTown
	read int
}

func (h *slackHand) news() bool { return len(h.peek()) > 0 }

func (h *slackHand) seen() []string {
	lines := h.peek()
	h.read = len(h.town.Calls())
	return lines
}

func (h *slackHand) peek() (lines []string) {
	for _, c := range h.town.Calls()[h.read:] {
		lines = append(lines, slackLines(c)...)
	}
	return lines
}

// slackText is text of Slack's, which is a string or an object.
type slackText struct{ Text string }

func (t *slackText) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &t.Text) == nil {
		return nil
	}
	var object struct{ Text string }
	err := json.Unmarshal(raw, &object)
	t.Text = object.Text
	return err
}

// slackBlock is as much of a block as can be seen and chosen.
type slackBlock struct {
	Type     string
	Text     slackText
	Elements []slackElement
}

type slackElement struct {
	Type        string
	Text        slackText
	ActionID    string `json:"action_id"`
	Placeholder slackText
	Initial     slackOption `json:"initial_option"`
	Options     []slackOption
}

type slackOption struct {
	Text, Description slackText
	Value             string
}

func slackLines(c slacktest.Call) []string {
	show := func(mark, text string) []string { return slackShown(mark, text, c.Args["blocks"]) }
	switch c.Name {
	case "chat.postMessage":
		return show("", c.Args["text"])
	case "chat.startStream":
		return show("", c.Args["markdown_text"])
	case "chat.appendStream":
		return show(showMore, c.Args["markdown_text"])
	case "chat.stopStream":
		if c.Args["markdown_text"] == "" {
			return nil
		}
		return show(showMore, c.Args["markdown_text"])
	case "chat.update":
		return show(showEdit, c.Args["text"])
	case "chat.delete":
		return []string{showGone}
	case "chat.postEphemeral", "response":
		return show("", c.Args["text"]+showAlone)
	case "views.update": // what views.open shows is there for a moment only
		var view struct{ Blocks json.RawMessage }
		_ = json.Unmarshal([]byte(c.Args["view"]), &view)
		return slackShown("", "", string(view.Blocks))
	}
	return nil
}

// slackShown shows a message with its blocks, or the blocks of a window.
func slackShown(mark, text, raw string) []string {
	var blocks []slackBlock
	_ = json.Unmarshal([]byte(raw), &blocks)
	var controls []string
	for _, b := range blocks {
		switch {
		case b.Type == "context":
			text += showSmall
		case b.Type == "section" && text == "":
			text = b.Text.Text + showAlone
		}
		for _, e := range b.Elements {
			if b.Type != "actions" {
				continue
			}
			var options []string
			for _, o := range e.Options {
				options = append(options, shownOption(o.Text.Text, o.Description.Text, o.Value == e.Initial.Value))
			}
			controls = append(controls, shownControl(e.Text.Text, e.Placeholder.Text, options))
		}
	}
	return append([]string{under(mark, text)}, controls...)
}

// give chooses the command from the menu of the thread's first message: Slack's
// own commands know no threads.
func (h *slackHand) give(thread, command string) {
	h.town.Shortcut(slacktest.Channel, slacktest.User, strings.TrimPrefix(command, "/"), thread)
}

func (h *slackHand) menu(label string) func(string) {
	for _, c := range slices.Backward(h.town.Calls("views.update")) {
		var view struct{ Blocks []slackBlock }
		_ = json.Unmarshal([]byte(c.Args["view"]), &view)
		for _, b := range view.Blocks {
			for _, e := range b.Elements {
				for _, o := range e.Options {
					if o.Text.Text == label {
						return func(string) { h.town.PickInView(c.Args["view_id"], e.ActionID, o.Value) }
					}
				}
			}
		}
		return nil
	}
	return nil
}
