package main

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"understudy/core/llm"
)

// How many errors of a file are told at once, and after how many the search for
// others ends: a file may be wrong all over.
const (
	mostConfigErrors = 20
	mostCollected    = 200
)

// configError is one thing that is wrong in a configuration file.
type configError struct {
	File         string
	Line, Column int    // from 1; the column counts characters
	Key          string // as "agents.defaults.model.primary"; empty for the file itself
	Text         string // what was found, and what is allowed
	offset       int
}

func (e *configError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	if e.Key != "" {
		where += ": " + e.Key
	}
	return where + ": " + e.Text
}

// configErrors are all that is wrong in a file, by position.
type configErrors struct {
	List []*configError // at most mostConfigErrors
	More int            // how many others were found
}

func (e *configErrors) Error() string {
	var b strings.Builder
	for i, one := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\nand at least %d more", e.More)
	}
	return b.String()
}

// Unwrap gives the single errors to errors.As.
func (e *configErrors) Unwrap() []error {
	list := make([]error, len(e.List))
	for i, one := range e.List {
		list[i] = one
	}
	return list
}

// sortedConfigErrors is nil for an empty list.
func sortedConfigErrors(list []*configError) error {
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b *configError) int { return cmp.Compare(a.offset, b.offset) })
	n := min(len(list), mostConfigErrors)
	return &configErrors{List: list[:n], More: len(list) - n}
}

// lineColumn is where a byte of the data is, both counted from 1.
func lineColumn(data []byte, offset int) (line, column int) {
	before := string(data[:min(max(offset, 0), len(data))])
	line = 1 + strings.Count(before, "\n")
	column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return line, column
}

// quoted shows a text of the file in an error: short, on one line and without
// anything that looks like a credential.
func quoted(s string) string {
	return strconv.Quote(shortened(llm.Mask(s), 60))
}

// shortened is s, or about n bytes of it.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// offsetOf is the byte at a line and a column that counts bytes, both from 1.
func offsetOf(data []byte, line, column int) int {
	offset := 0
	for ; line > 1; line-- {
		offset += bytes.IndexByte(data[offset:], '\n') + 1
	}
	return min(offset+column-1, len(data))
}

// didYouMean is a hint at the candidate nearest to word, or "".
func didYouMean(word string, candidates []string) string {
	if c := nearestWord(word, candidates); c != "" {
		return fmt.Sprintf("; did you mean %q?", c)
	}
	return ""
}

// nearestWord is the candidate that is a small slip away from word, or "".
func nearestWord(word string, candidates []string) string {
	if len(word) > 80 {
		return ""
	}
	best, least := "", (len(word)+2)/3+1
	for _, c := range candidates {
		if n := slips(strings.ToLower(word), strings.ToLower(c)); n < least {
			best, least = c, n
		}
	}
	return best
}

// slips counts the letters to change, add, drop or swap with their neighbour to
// get from a to b.
func slips(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// subPath is the path of a key in the object at path, itemPath that of an item
// in a list.
func subPath(path, key string) string {
	key = llm.Mask(key) // somebody may put a credential in the place of a name
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(shortened(key, 80)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// parentPath drops the last key or index of a path. A key in brackets may hold
// any character; that it is cut in a strange place costs an exact position and
// nothing else.
func parentPath(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// someNames lists names in an error.
func someNames(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " …"
	}
	return strings.Join(names, ", ")
}
