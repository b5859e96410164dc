package llm

import (
	"bufio"
	"bytes"
	"io"
)

// streamHead passes an event stream on. It takes off a byte order mark, which
// may stand before the first event and would spoil it. Where JSON or a page
// comes under the name of an event stream, it keeps the beginning: readers of
// events find none in it, and it says what went wrong.
type streamHead struct {
	io.Closer
	r     *bufio.Reader
	begun bool
	stray bool
	kept  []byte // at most MaxBody bytes
}

func newStreamHead(body io.ReadCloser) *streamHead {
	return &streamHead{Closer: body, r: bufio.NewReader(body)}
}

// firstOfMark is the first byte of a byte order mark in UTF-8.
const firstOfMark = 0xef

func (s *streamHead) Read(p []byte) (int, error) {
	if !s.begun {
		s.begun = true
		if b, err := s.r.Peek(1); err == nil && b[0] == firstOfMark {
			if mark, _ := s.r.Peek(3); string(mark) == "\ufeff" {
				_, _ = s.r.Discard(3)
			}
		}
		head, _ := s.r.Peek(s.r.Buffered())
		head = bytes.TrimLeft(head, " \t\r\n")
		s.stray = len(head) > 0 && bytes.IndexByte([]byte("{[<"), head[0]) >= 0
	}
	n, err := s.r.Read(p)
	if s.stray {
		s.kept = append(s.kept, p[:min(n, MaxBody-len(s.kept))]...)
	}
	return n, err
}
