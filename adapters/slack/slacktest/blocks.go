package slacktest

import (
	"encoding/json"
	"strings"
)

// Block Kit's limits, as docs.slack.dev states them; the sum over all blocks is
// what users report.
const (
	maxBlocks      = 50
	maxBlockSum    = 13200
	maxMarkdown    = 12000
	maxSection     = 3000
	maxFields      = 10
	maxField       = 2000
	maxHeader      = 150
	maxContext     = 10
	maxActions     = 25
	maxOptions     = 100
	maxOptionText  = 75
	maxPlaceholder = 150
	maxButtonValue = 2000
	maxActionID    = 255
	maxMetadata    = 8000 // bytes, with the event type
)

// check holds content against Slack's limits. nil means that it may stand.
func check(a args, maxText int) reply {
	blocks, bad := checkBlocks(a["blocks"])
	switch {
	case bad != nil:
		return bad
	case strings.TrimSpace(a["text"]) == "" && blocks == 0:
		return failed("no_text")
	case units(a["text"]) > maxText:
		return failed("msg_too_long")
	}
	return checkMetadata(a["metadata"])
}

func checkMetadata(text string) reply {
	if text == "" {
		return nil
	}
	if len(text) > maxMetadata {
		return failed("metadata_too_large")
	}
	var m struct {
		Type    string          `json:"event_type"`
		Payload json.RawMessage `json:"event_payload"`
	}
	if json.Unmarshal([]byte(text), &m) != nil || m.Type == "" || m.Payload == nil {
		return failed("invalid_metadata_format")
	}
	return nil
}

// block is as much of Block Kit as the limits are about.
type block struct {
	Type      string            `json:"type"`
	Text      json.RawMessage   `json:"text"`
	Fields    []json.RawMessage `json:"fields"`
	Elements  []element         `json:"elements"`
	Accessory *element          `json:"accessory"`
}

type element struct {
	Type        string          `json:"type"`
	ActionID    string          `json:"action_id"`
	Text        json.RawMessage `json:"text"`
	Value       string          `json:"value"`
	Placeholder json.RawMessage `json:"placeholder"`
	Options     []option        `json:"options"`
	Initial     *option         `json:"initial_option"`
}

type option struct {
	Text        json.RawMessage `json:"text"`
	Value       string          `json:"value"`
	Description json.RawMessage `json:"description"`
}

// checkBlocks counts the blocks of a message and holds them against the limits.
func checkBlocks(text string) (n int, bad reply) { return checkBlockList(text, maxBlocks) }

func checkBlockList(text string, most int) (n int, bad reply) {
	if text == "" {
		return 0, nil
	}
	var blocks []block
	if json.Unmarshal([]byte(text), &blocks) != nil || len(blocks) > most {
		return 0, failed("invalid_blocks_format")
	}
	sum, markdown := 0, 0
	actions := map[string]bool{}
	for _, b := range blocks {
		if !b.valid() || !b.distinct(actions) {
			return 0, failed("invalid_blocks")
		}
		sum += b.size()
		if b.Type == "markdown" {
			markdown += b.size()
		}
	}
	if sum > maxBlockSum || markdown > maxMarkdown {
		return 0, failed("msg_blocks_too_long")
	}
	return len(blocks), nil
}

// size is the length of all text in the block that is shown at once.
func (b block) size() int {
	n := units(blockText(b.Text))
	for _, f := range b.Fields {
		n += units(blockText(f))
	}
	for _, e := range b.elements() {
		n += units(blockText(e.Text))
	}
	return n
}

// elements are those of the block, with the one beside its text.
func (b block) elements() []element {
	if b.Accessory != nil {
		return append([]element{*b.Accessory}, b.Elements...)
	}
	return b.Elements
}

// distinct notes the action ids of the block; one that was seen before makes
// it false.
func (b block) distinct(seen map[string]bool) bool {
	for _, e := range b.elements() {
		if e.ActionID != "" && seen[e.ActionID] {
			return false
		}
		seen[e.ActionID] = true
	}
	return true
}

func (b block) valid() bool {
	text := units(blockText(b.Text))
	for _, e := range b.elements() {
		if !e.valid() {
			return false
		}
	}
	switch b.Type {
	case "markdown":
		return text > 0
	case "section":
		return (text > 0 || len(b.Fields) > 0) && text <= maxSection && b.validFields()
	case "header":
		return text > 0 && text <= maxHeader
	case "context":
		return len(b.Elements) > 0 && len(b.Elements) <= maxContext
	case "actions":
		return len(b.Elements) > 0 && len(b.Elements) <= maxActions
	}
	return b.Type != ""
}

func (b block) validFields() bool {
	for _, f := range b.Fields {
		if n := units(blockText(f)); n == 0 || n > maxField {
			return false
		}
	}
	return len(b.Fields) <= maxFields
}

func (e element) valid() bool {
	if units(e.ActionID) > maxActionID {
		return false
	}
	text := units(blockText(e.Text))
	switch e.Type {
	case "button":
		return text > 0 && text <= maxOptionText && units(e.Value) <= maxButtonValue
	case "static_select":
		if len(e.Options) == 0 || len(e.Options) > maxOptions || units(blockText(e.Placeholder)) > maxPlaceholder {
			return false
		}
		initial := e.Initial == nil
		for _, o := range e.Options {
			if !o.valid() {
				return false
			}
			initial = initial || o.Value == e.Initial.Value && blockText(o.Text) == blockText(e.Initial.Text)
		}
		return initial
	}
	return text <= maxSection
}

func (o option) valid() bool {
	text := units(blockText(o.Text))
	return text > 0 && text <= maxOptionText && o.Value != "" && units(o.Value) <= maxOptionText && units(blockText(o.Description)) <= maxOptionText
}

// blockText is the text of a block: a string, or an object with a text.
func blockText(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	var object struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(v, &object)
	return object.Text
}
