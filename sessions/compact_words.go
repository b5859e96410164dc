package sessions

import (
	"errors"
	"fmt"
	"time"

	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
)

// The sentences about summaries.
const (
	compactingText       = "I’ll summarise what was said before."
	partlyCompactedText  = "I summarised the first part of what was said; there is too much for one go. Give /compact again to go on from there."
	nothingToCompactText = "There is nothing to summarise yet: the last exchange is kept word for word, and nothing was said before it."
	changedMeanwhileText = "The conversation changed while I summarised it, so I left it as it is. Give /compact again if it is still needed."
)

// compactedText confirms a summary; the counts are of tokens.
func compactedText(before, after int) string {
	text := "I summarised what was said before the last exchange"
	if after < before {
		text += fmt.Sprintf(": the conversation took about %s and takes about %s now", tokensText(rounded(before)), llm.Count(rounded(after)))
	}
	return text + "."
}

// rounded is an estimate in two digits.
func rounded(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// notSummarisedText tells that the older part of a conversation could not be
// summarised.
func notSummarisedText(err error, now time.Time) string {
	text := "I could not summarise what was said before, so all of it is kept as it is."
	var lost *failover.SummaryError
	if errors.As(err, &lost) {
		text += " " + notices.Summary(lost, now)
	}
	return text
}
