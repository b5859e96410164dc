package slack

import (
	"regexp"
	"strings"
)

// mrkdwn turns Markdown into Slack's own markup. It parses, line by line and
// then character by character, rather than replaces: what is code is set aside
// by the parser and never seen by the rules for prose. No letter or digit of
// the text is lost, except for the language beside a code fence, which Slack
// would show as code. Markup that is not closed, as in text that is still being
// written, stays as it is.
//
// Slack has no headings, lists or tables: a heading becomes a bold line, a list
// lines with bullets, a table a block of code with its columns aligned.
func mrkdwn(markdown string) string {
	lines := strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n")
	var out []string
	for i := 0; i < len(lines); {
		if f := fenceOpen.FindStringSubmatch(lines[i]); f != nil {
			n := fenceEnd(lines[i+1:], f[1])
			out = append(out, codeBlock(lines[i+1:i+1+n]))
			i += n + 1
			if i < len(lines) {
				i++ // the closing fence
			}
			continue
		}
		if n := tableEnd(lines[i:]); n > 0 {
			out = append(out, table(lines[i:i+n]))
			i += n
			continue
		}
		out = append(out, breakFence(proseLine(lines[i])))
		i++
	}
	return strings.Join(out, "\n")
}

var (
	fenceOpen = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})[^`]*$")
	heading   = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)
	quote     = regexp.MustCompile(`^ {0,3}(?:>[ \t]?)+`)
	bullet    = regexp.MustCompile(`^([ \t]*)[-*+][ \t]+(\S.*)$`)
	ruler     = regexp.MustCompile(`^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$`)
)

// fenceEnd is the number of lines before the one that closes the fence, all if
// none does.
func fenceEnd(lines []string, fence string) int {
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if len(l) >= len(fence) && strings.Trim(l, fence[:1]) == "" {
			return i
		}
	}
	return len(lines)
}

// codeBlock is lines of code in Slack's fence.
func codeBlock(lines []string) string {
	return "```\n" + escape.Replace(breakFence(strings.Join(lines, "\n"))) + "\n```"
}

// breakFence breaks up, with a character that does not show, what Slack would
// take for a fence.
func breakFence(s string) string {
	for strings.Contains(s, "```") { // twice at most, for four and more in a row
		s = strings.ReplaceAll(s, "```", "``\u200b`")
	}
	return s
}

// proseLine is one line of prose.
func proseLine(s string) string {
	s = strings.TrimRight(s, " \t")
	switch {
	case ruler.MatchString(s):
		return "———"
	case heading.MatchString(s):
		text := inline(heading.FindStringSubmatch(s)[1], style{bold: true})
		if text == "" {
			return ""
		}
		return "*" + text + "*"
	case quote.MatchString(s):
		// The bracket stays bare: escaped it would not be a quote.
		return "> " + proseLine(s[len(quote.FindString(s)):])
	case bullet.MatchString(s):
		m := bullet.FindStringSubmatch(s)
		return m[1] + "• " + inline(m[2], style{})
	}
	return inline(s, style{})
}

// tableEnd is the number of lines that the table at the front has, 0 for none:
// a header, a line of dashes, and rows.
func tableEnd(lines []string) int {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || !delimiter.MatchString(lines[1]) || len(cells(lines[0])) != len(cells(lines[1])) {
		return 0
	}
	n := 2
	for n < len(lines) && strings.Contains(lines[n], "|") {
		n++
	}
	return n
}

var delimiter = regexp.MustCompile(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// cells are the cells of a row. A bar in code or after a backslash is text.
func cells(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	var found []string
	start, code := 0, false
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '`':
			code = !code
		case '|':
			if !code {
				found = append(found, strings.TrimSpace(row[start:i]))
				start = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(row[min(start, len(row)):]); rest != "" {
		found = append(found, rest)
	}
	return found
}

// table is a table as a block of code, without markup in its cells.
func table(lines []string) string {
	var rows [][]string
	var widths []int
	for i, l := range lines {
		if i == 1 {
			continue
		}
		row := cells(l)
		for c, cell := range row {
			row[c] = bare(cell)
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], len([]rune(row[c])))
		}
		rows = append(rows, row)
	}
	var out []string
	for i, row := range rows {
		var b strings.Builder
		for c, cell := range row {
			if c > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(cell + strings.Repeat(" ", widths[c]-len([]rune(cell))))
		}
		out = append(out, strings.TrimRight(b.String(), " "))
		if i == 0 {
			rule := make([]string, len(widths))
			for c, w := range widths {
				rule[c] = strings.Repeat("-", w)
			}
			out = append(out, strings.Join(rule, "-|-"))
		}
	}
	return codeBlock(out)
}
