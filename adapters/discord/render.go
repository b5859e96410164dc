package discord

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"understudy/core"
)

// render writes a post in Discord's dialect of Markdown. That is close to what
// models write; only tables have no counterpart and become code blocks. Notices
// are set in small type.
func render(p core.Post) string {
	if quietKind(p.Kind) {
		return fitting(small(p.Text), p.Text)
	}
	return fitting(tables(p.Text), p.Text)
}

// fitting is the first of the texts that Discord takes.
func fitting(text, otherwise string) string {
	if utf8.RuneCountInString(text) > maxText {
		return otherwise
	}
	return text
}

func small(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = "-# " + line
		}
	}
	return strings.Join(lines, "\n")
}

// separator is the line under the head of a table.
var separator = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)

// tables puts each table into a code block with its columns aligned.
func tables(text string) string {
	if !strings.Contains(text, "|") {
		return text
	}
	var (
		out   []string
		lines = strings.Split(text, "\n")
		fence string
	)
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if mark := fenceMark(line); mark != "" {
			switch {
			case fence == "":
				fence = mark
			case strings.HasPrefix(mark, fence) && strings.Trim(line, " `~") == "":
				fence = ""
			}
		}
		head := fence == "" && strings.Contains(line, "|") && i+1 < len(lines) &&
			strings.Contains(lines[i+1], "|") && separator.MatchString(lines[i+1])
		if !head {
			out = append(out, line)
			continue
		}
		end := i + 2
		for end < len(lines) && strings.Contains(lines[end], "|") && fenceMark(lines[end]) == "" {
			end++
		}
		out = append(out, "```")
		out = append(out, align(lines[i], lines[i+2:end])...)
		out = append(out, "```")
		i = end - 1
	}
	return strings.Join(out, "\n")
}

// fenceMark is the run of back-ticks or tildes that a line opens or closes a
// code block with.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// align writes the rows of a table with columns of equal width.
func align(head string, body []string) []string {
	rows := [][]string{cells(head)}
	for _, line := range body {
		rows = append(rows, cells(line))
	}
	var widths []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	var out []string
	for i, row := range rows {
		out = append(out, join(row, widths))
		if i == 0 {
			rule := make([]string, len(widths))
			for c, w := range widths {
				rule[c] = strings.Repeat("-", w)
			}
			out = append(out, join(rule, widths))
		}
	}
	return out
}

func join(row []string, widths []int) string {
	var b strings.Builder
	for c, cell := range row {
		if c > 0 {
			b.WriteString("  ")
		}
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell)))
	}
	return strings.TrimRight(b.String(), " ")
}

// cells splits a row. Back-ticks would end the code block, so they go.
func cells(line string) []string {
	const escaped = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, escaped)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	parts := strings.Split(line, "|")
	for i, p := range parts {
		p = strings.ReplaceAll(p, escaped, "|")
		parts[i] = strings.TrimSpace(strings.ReplaceAll(p, "`", ""))
	}
	return parts
}
