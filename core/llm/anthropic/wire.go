package anthropic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"understudy/core/llm"
)

// wire stands between the transport and the SDK, for servers that speak the
// protocol less exactly than the vendor: events without a name get that of
// their data, and an answer in one piece becomes the events of a stream.
type wire struct {
	attempt *llm.Attempt
	whole   bool // the answer came in one piece
}

// Do sends the request.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	resp, err := w.attempt.Do(req)
	switch {
	case err != nil:
		return resp, err
	case w.attempt.Streaming():
		resp.Body = &named{Closer: resp.Body, lines: bufio.NewReader(resp.Body)}
	case resp.StatusCode/100 == 2:
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		if events := eventsOf(data); events != nil {
			w.whole, data = true, events
			resp.Header = http.Header{"Content-Type": {"text/event-stream"}}
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{bytes.NewReader(data), resp.Body}
	}
	return resp, nil
}

// eventsOf are the events that a stream would have brought a whole message in;
// nil if it is none.
func eventsOf(data []byte) []byte {
	var m struct {
		Type       string            `json:"type"`
		Content    []json.RawMessage `json:"content"`
		StopReason json.RawMessage   `json:"stop_reason"`
		Usage      json.RawMessage   `json:"usage"`
	}
	if json.Unmarshal(data, &m) != nil || m.Type != "message" || m.StopReason == nil {
		return nil
	}
	if m.Usage == nil {
		m.Usage = json.RawMessage("{}")
	}
	var b bytes.Buffer
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q"+format+"}\n\n", append([]any{kind, kind}, args...)...)
	}
	event("message_start", `,"message":{"usage":%s}`, oneLine(m.Usage))
	for i, block := range m.Content {
		event("content_block_start", `,"index":%d,"content_block":%s`, i, oneLine(block))
		event("content_block_stop", `,"index":%d`, i)
	}
	event("message_delta", `,"delta":{"stop_reason":%s},"usage":%s`, oneLine(m.StopReason), oneLine(m.Usage))
	event("message_stop", "")
	return b.Bytes()
}

// oneLine is JSON without line breaks, as an event must have it.
func oneLine(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return []byte("null")
	}
	return b.Bytes()
}

// named puts the name of an event before its data where a server leaves it out.
type named struct {
	io.Closer
	lines *bufio.Reader
	out   []byte // to be read next
	name  bool   // the event that is being read has one
	err   error
}

func (n *named) Read(p []byte) (int, error) {
	for len(n.out) == 0 {
		if n.err != nil {
			return 0, n.err
		}
		n.next()
	}
	size := copy(p, n.out)
	n.out = n.out[size:]
	return size, nil
}

// next takes one line.
func (n *named) next() {
	line, err := n.lines.ReadBytes('\n')
	n.err = err
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	switch {
	case len(bytes.TrimRight(line, "\r\n")) == 0:
		n.name = false
	case bytes.HasPrefix(line, []byte("event:")):
		n.name = true
	case isData && !n.name:
		n.name = true
		if kind := kindOf(data); kind != "" {
			line = append([]byte("event: "+kind+"\n"), line...)
		}
	}
	n.out = line
}

// kindOf is the name of the event that brings such data, or "".
func kindOf(data []byte) string {
	var d struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &d) != nil {
		return ""
	}
	if d.Error != nil && string(d.Error) != "null" {
		return "error"
	}
	return d.Type
}
