package chat

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"

	"understudy/core/llm"
)

// callDelta is a piece of a tool call. Servers differ in whether the index and
// the id are there at all, and in whether the arguments come as a string.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// calls puts tool calls together from their pieces, in the order in which they
// began.
type calls struct {
	open    []*openCall
	longest int // bytes of arguments of one of them
}

type openCall struct {
	index *int
	id    string
	name  string
	args  strings.Builder
}

func (c *calls) add(deltas []callDelta) {
	for _, d := range deltas {
		call := c.find(d)
		if call == nil {
			call = &openCall{index: d.Index}
			c.open = append(c.open, call)
		}
		if call.id == "" {
			call.id = d.ID
		}
		if call.name == "" {
			call.name = d.Function.Name
		}
		call.args.WriteString(argumentText(d.Function.Arguments))
		c.longest = max(c.longest, call.args.Len())
		if len(c.open) > llm.MaxCalls {
			return
		}
	}
}

// find gives the open call that a piece belongs to, nil for a new one. An id of
// its own makes a new call even where the server repeats an index.
func (c *calls) find(d callDelta) *openCall {
	for i := len(c.open) - 1; i >= 0; i-- {
		call := c.open[i]
		switch {
		case d.ID != "" && call.id != "" && d.ID != call.id:
			continue
		case d.Index != nil && call.index != nil && *d.Index != *call.index:
			continue
		case d.Index == nil && d.ID == "" && d.Function.Name != "":
			return nil // neither index nor id: a name begins a call
		}
		return call
	}
	return nil
}

// argumentText is a piece of the arguments: normally a string, with some
// servers the object itself.
func argumentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (c *calls) none() bool { return len(c.open) == 0 }

// whole reports whether every call has a name and its arguments are a JSON
// object.
func (c *calls) whole() bool {
	for _, call := range c.open {
		args := call.arguments()
		if call.name == "" || !json.Valid(args) || args[0] != '{' {
			return false
		}
	}
	return true
}

func (o *openCall) arguments() json.RawMessage {
	args := bytes.TrimSpace([]byte(o.args.String()))
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}

// all gives the calls. One without an id gets one that no other call has, since
// ids must be unique in a whole conversation.
func (c *calls) all() []llm.Call {
	var all []llm.Call
	for _, call := range c.open {
		id := call.id
		if id == "" {
			id = "call_" + rand.Text()
		}
		all = append(all, llm.Call{ID: id, Name: call.name, Args: call.arguments()})
	}
	return all
}
