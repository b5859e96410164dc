package main

import (
	"os"
	"strings"
	"testing"
)

// tableRows are the rows of a document's tables whose first cell begins with one
// of the letters and goes on with digits, such as "f012". Each must have as many
// cells as columns.
func tableRows(t *testing.T, file, letters string, columns int) [][]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rest := strings.TrimLeft(cells[0], letters)
		if rest == "" || rest == cells[0] || strings.Trim(rest, "0123456789") != "" {
			continue
		}
		if len(cells) != columns {
			t.Errorf("%s: a row has %d cells, not %d: %s", file, len(cells), columns, line)
			continue
		}
		rows = append(rows, cells)
	}
	return rows
}
