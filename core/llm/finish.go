package llm

import "strings"

// FailingFinish reports whether a finish or stop reason, as the provider wrote
// it, means that the answer is none: an error, a filter, a full context window.
// Vendors have many spellings, so parts of the word decide; what exactly it
// means is decided by [Classify]. Running into the output limit is no failure.
func FailingFinish(reason string) bool {
	reason = strings.ToLower(reason)
	for _, sign := range []string{
		"error", "abort", "cancel", "malformed", "timeout", "insufficient",
		"filter", "refus", "safety", "sensitive", "prohibited", "blocked", "recitation",
		"context_window", "context_length",
	} {
		if strings.Contains(reason, sign) {
			return true
		}
	}
	return false
}
