package llm

import "fmt"

// What one answer may hold. No model comes near; a broken or hostile server
// could, and its answer counts as a failure of the provider.
const (
	// MaxText is the longest text, in bytes. The largest models write half a
	// million tokens, of about four bytes each.
	MaxText = 2 << 20
	// MaxCalls is how many tools may be asked for at once.
	MaxCalls = 128
	// MaxArgs is how long the arguments of one call may be, in bytes.
	MaxArgs = 1 << 20
)

// Why an answer that is not whole was given up. They are told as the failure of
// the provider that sent it.
var (
	ErrMuchText  = fmt.Errorf("the answer has more than %d MiB of text and was cut off", MaxText>>20)
	ErrManyCalls = fmt.Errorf("the answer asks for more than %d tools at once", MaxCalls)
	ErrLongArgs  = fmt.Errorf("the answer asks for a tool with arguments of more than %d MiB", MaxArgs>>20)
)
