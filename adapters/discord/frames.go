package discord

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Operations of the gateway.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

// frame is one message of the gateway.
type frame struct {
	Op whole           `json:"op"`
	D  json.RawMessage `json:"d"`
	S  whole           `json:"s"`
	T  word            `json:"t"`
}

// whole is a whole number, as a number or in quotes; anything else is zero.
type whole int64

func (w *whole) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	*w = 0
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*w = whole(n)
	} else if f, err := strconv.ParseFloat(text, 64); err == nil && f > -1e15 && f < 1e15 {
		*w = whole(f)
	}
	return nil
}

// word is a text or an id, in quotes or not; anything else is empty.
type word string

func (w *word) UnmarshalJSON(raw []byte) error {
	var text string
	switch {
	case json.Unmarshal(raw, &text) == nil:
	case len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		text = string(raw)
	}
	*w = word(text)
	return nil
}

// welcome is what the greeting of a new session says about the session.
type welcome struct {
	Session word `json:"session_id"`
	Resume  word `json:"resume_gateway_url"`
}

// gatewayInfo is where the gateway is, and how it wants to be used.
type gatewayInfo struct {
	URL    word  `json:"url"`
	Shards whole `json:"shards"`
	Starts struct {
		Remaining      *whole `json:"remaining"`
		ResetAfter     whole  `json:"reset_after"` // milliseconds
		MaxConcurrency whole  `json:"max_concurrency"`
	} `json:"session_start_limit"`
}
