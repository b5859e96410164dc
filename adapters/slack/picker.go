package slack

import (
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"understudy/core"
)

// Slack's limits for menus and buttons (docs.slack.dev, Block Kit).
const (
	maxOptions     = 100
	maxOptionText  = 75
	maxPlaceholder = 150
	maxButtons     = 25
	maxMenus       = 25
	// pressAction begins the action id of a menu or button; its token follows,
	// then a space and what tells it from others in its message.
	pressAction = "press:"
	chooseText  = "Choose"
)

// token reads the token of a menu or button from its action id.
func pressed(actionID string) (token string, ok bool) {
	rest, ok := strings.CutPrefix(actionID, pressAction)
	token, _, _ = strings.Cut(rest, " ")
	return token, ok && token != ""
}

// actions are the menus and buttons of a reply.
func actions(r core.Reply) []slackgo.Block {
	var blocks []slackgo.Block
	for _, m := range r.Menus {
		for from := 0; from < len(m.Options) && len(blocks) < maxMenus; from += maxOptions {
			blocks = append(blocks, menuBlock(m, from))
		}
	}
	return append(blocks, buttonBlocks(r.Buttons)...)
}

// menuBlock is a piece of a menu as Slack shows it. An option that cannot be
// picked is one whose note says so: Slack knows no other kind.
func menuBlock(m core.Menu, from int) slackgo.Block {
	id := fmt.Sprintf("%s%s %d", pressAction, m.Token, from)
	menu := slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, plainText(first(m.Placeholder, chooseText), maxPlaceholder), id)
	for _, o := range m.Options[from:min(from+maxOptions, len(m.Options))] {
		var note *slackgo.TextBlockObject
		if o.Note != "" {
			note = plainText(o.Note, maxOptionText)
		}
		option := slackgo.NewOptionBlockObject(o.Value, plainText(first(o.Label, o.Value), maxOptionText), note)
		menu.Options = append(menu.Options, option)
		if o.Selected {
			menu.InitialOption = option
		}
	}
	return slackgo.NewActionBlock("", menu)
}

// buttonBlocks are rows of buttons.
func buttonBlocks(buttons []core.Button) []slackgo.Block {
	var blocks []slackgo.Block
	for from := 0; from < len(buttons); from += maxButtons {
		var row []slackgo.BlockElement
		for i, b := range buttons[from:min(from+maxButtons, len(buttons))] {
			e := slackgo.NewButtonBlockElement(fmt.Sprintf("%s%s b%d", pressAction, b.Token, from+i), b.Value, plainText(first(b.Label, b.Value, chooseText), maxOptionText))
			if b.Danger {
				e.Style = slackgo.StyleDanger
			}
			row = append(row, e)
		}
		blocks = append(blocks, slackgo.NewActionBlock("", row...))
	}
	return blocks
}

// plainText is a text object without markup, cut to what Slack takes.
func plainText(s string, most int) *slackgo.TextBlockObject {
	if units(s) > most {
		end := 0
		for i, r := range s {
			if units(s[:i])+units(string(r)) >= most {
				break
			}
			end = i + len(string(r))
		}
		s = s[:end] + "…"
	}
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, s, false, false)
}
