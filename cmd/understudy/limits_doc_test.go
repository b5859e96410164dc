package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every limit that docs/limits.md promises is held by a test that exists, and
// every key that it names is one.
func TestLimitsDocument(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := testNames(t)
	quoted := regexp.MustCompile("`([^`]+)`")
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 || strings.HasPrefix(line, "| What |") || strings.HasPrefix(line, "| --- |") {
			if strings.HasPrefix(line, "|") && len(cells) != 5 {
				t.Errorf("a row with %d columns: %s", len(cells), line)
			}
			continue
		}
		rows++
		for _, key := range quoted.FindAllStringSubmatch(cells[2], -1) {
			if !strings.Contains(string(keys), "`"+key[1]) {
				t.Errorf("docs/configuration.md does not know the key %s of %q", key[1], cells[0])
			}
		}
		tests := quoted.FindAllStringSubmatch(cells[4], -1)
		if len(tests) == 0 {
			t.Errorf("no test holds %q", cells[0])
		}
		for _, name := range tests {
			if !have[name[1]] {
				t.Errorf("there is no %s, which is to hold %q", name[1], cells[0])
			}
		}
	}
	if rows < 40 {
		t.Errorf("%d rows were found", rows)
	}
}

// testNames are the tests of all rooms.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	names := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
