package discord

import (
	"fmt"
	"strings"

	"understudy/core"
)

const (
	maxRows        = 5 // of a message
	maxButtons     = 5 // of a row
	maxLabel       = 100
	maxHint        = 150 // placeholder of a menu
	maxButtonLabel = 80
)

// pickPrefix begins the id of every menu and button of ours. The token follows,
// then the value of a button, then what keeps ids of one message apart: Discord
// refuses a message with two equal ones.
const pickPrefix = "pick:"

func customID(token, value string, row, column int) string {
	return fmt.Sprintf("%s%s %s %d%d", pickPrefix, token, value, row, column)
}

// pressed is the token and the value of what was picked or clicked.
func (i wireInteraction) pressed() (token, value string, ok bool) {
	rest, ok := strings.CutPrefix(i.Data.CustomID, pickPrefix)
	end := strings.LastIndexByte(rest, ' ')
	if !ok || end < 0 {
		return "", "", false
	}
	middle := strings.LastIndexByte(rest[:end], ' ')
	if middle < 0 {
		return "", "", false
	}
	token, value = rest[:middle], rest[middle+1:end]
	if len(i.Data.Values) > 0 {
		value = i.Data.Values[0]
	}
	return token, value, true
}

// components are the menus and buttons of a reply, as many as a message holds.
// A menu that is too long for one select is shown in several; its last pieces
// give way to the buttons.
func components(reply core.Reply) []object {
	buttons := buttonRows(reply.Buttons)
	rows := []object{}
	for _, m := range reply.Menus {
		for from := 0; from < len(m.Options) && len(rows) < maxRows-min(len(buttons), 1); from += maxChoices {
			rows = append(rows, selectRow(m, from, len(rows)))
		}
	}
	for _, row := range buttons {
		if len(rows) < maxRows {
			rows = append(rows, row)
		}
	}
	return rows
}

func selectRow(m core.Menu, from, row int) object {
	to := min(from+maxChoices, len(m.Options))
	options := make([]object, 0, to-from)
	for _, c := range m.Options[from:to] {
		option := object{"label": short(first(c.Label, c.Value), maxLabel), "value": c.Value}
		if c.Note != "" {
			option["description"] = short(c.Note, maxLabel)
		}
		if c.Selected {
			option["default"] = true
		}
		options = append(options, option)
	}
	hint := m.Placeholder
	if len(m.Options) > maxChoices {
		hint += fmt.Sprintf(" (%d–%d of %d)", from+1, to, len(m.Options))
	}
	return object{"type": 1, "components": []object{{"type": 3, "custom_id": customID(m.Token, "", row, 0),
		"placeholder": short(hint, maxHint), "options": options}}}
}

// buttonRows are the buttons of a message in rows; it is never nil.
func buttonRows(buttons []core.Button) []object {
	rows := []object{}
	for from := 0; from < len(buttons) && len(rows) < maxRows; from += maxButtons {
		var list []object
		for n, b := range buttons[from:min(from+maxButtons, len(buttons))] {
			style := 2 // secondary
			if b.Danger {
				style = 4
			}
			list = append(list, object{"type": 2, "style": style, "label": short(first(b.Label, first(b.Value, "…")), maxButtonLabel),
				"custom_id": customID(b.Token, b.Value, maxRows+len(rows), n)})
		}
		rows = append(rows, object{"type": 1, "components": list})
	}
	return rows
}
