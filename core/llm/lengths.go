package llm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// lengthNumber is a number as providers write it, by itself.
var lengthNumber = regexp.MustCompile(`\b\d{1,3}(?:,\d{3})+\b|\b\d{3,9}\b`)

// Lengths reads from the words of a context_overflow how many tokens the request
// had and how many the model holds: the two largest numbers, as in "maximum
// context length is 128000 tokens. However, your messages resulted in 140211".
// ok is false where they are not both there, or cannot be counts of tokens.
func Lengths(detail string) (request, window int, ok bool) {
	var list []int
	for _, s := range lengthNumber.FindAllString(detail, -1) {
		if n, err := strconv.Atoi(strings.ReplaceAll(s, ",", "")); err == nil && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	if len(list) < 2 || !strings.Contains(strings.ToLower(detail), "token") && !strings.Contains(strings.ToLower(detail), "context") {
		return 0, 0, false
	}
	slices.Sort(list)
	request, window = list[len(list)-1], list[len(list)-2]
	return request, window, window >= 256 && request <= 100*window
}
