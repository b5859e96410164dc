package llm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// lengthNumber is a number as providers write it, by itself: none that belongs
	// to a name, as in "claude-3-5-sonnet-20241022".
	lengthNumber = regexp.MustCompile(`(?:^|[^\w.,-])(\d{1,3}(?:,\d{3})+|\d{3,9})\b`)
	// lengthParts tell what a length is made of, as in "(199000 of text input, 1000
	// in the output)".
	lengthParts = regexp.MustCompile(`\([^()]*\d[^()]*\b(?:in|of|for) [^()]*\)`)
)

// Lengths reads from the words of a context_overflow how many tokens the request
// had and how many the model holds: the two largest numbers, as in "maximum
// context length is 128000 tokens. However, your messages resulted in 140211".
// ok is false where they are not both there, or cannot be counts of tokens.
func Lengths(detail string) (request, window int, ok bool) {
	list := lengths(lengthParts.ReplaceAllString(detail, ""))
	if len(list) < 2 {
		list = lengths(detail)
	}
	if len(list) < 2 || !strings.Contains(strings.ToLower(detail), "token") && !strings.Contains(strings.ToLower(detail), "context") {
		return 0, 0, false
	}
	request, window = list[len(list)-1], list[len(list)-2]
	return request, window, window >= 256 && request <= 100*window
}

// lengths are the different numbers of a text, rising.
func lengths(text string) (list []int) {
	for _, s := range lengthNumber.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(strings.ReplaceAll(s[1], ",", "")); err == nil && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}
