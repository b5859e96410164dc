package main

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"understudy/core/seal"
)

// hoard is everything that a program wrote somewhere, by where that is.
type hoard map[string][]byte

// add takes something up. What was written in two goes is looked at as one.
func (h hoard) add(where string, content []byte) {
	h[where] = append(append(h[where], content...), '\n')
}

func (h hoard) addJSON(t *testing.T, where string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	// Escapes of HTML would hide a value from the search.
	b, err = unescaped(b)
	if err != nil {
		t.Fatal(err)
	}
	h.add(where, b)
}

// unescaped is a document without the escapes that the encoder makes for pages.
func unescaped(doc []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// addFolder takes up all files below a folder, and the rows of those that are
// databases: a long value lies in pieces in the file. The files that hold
// secrets by right are left out.
func (h hoard) addFolder(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "understudy.jsonc" || d.Name() == seal.FileName {
			return err
		}
		content, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		h.add("file "+rel, content)
		if bytes.HasPrefix(content, []byte("SQLite format 3\x00")) {
			h.add("rows of "+rel, rowsOf(t, p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rowsOf is everything in all tables of a database, a column a line.
func rowsOf(t *testing.T, path string) []byte {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b bytes.Buffer
	each := func(query string, row func(values []any)) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %s: %v", path, query, err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			row(values)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	var tables []string
	each("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", func(v []any) { tables = append(tables, fmt.Sprint(v[0])) })
	for _, table := range tables {
		each("SELECT * FROM "+table, func(values []any) {
			for _, v := range values {
				fmt.Fprintf(&b, "%s: %v\n", table, v)
				if text, ok := v.(string); ok && json.Valid([]byte(text)) {
					if plain, err := unescaped([]byte(text)); err == nil {
						b.Write(plain)
					}
				}
			}
		})
	}
	return b.Bytes()
}

// find says where a value is, and in which form. That is written here once more
// and in another way than in the product: the two shall not have one mistake.
func (h hoard) find(value string) (found []string) {
	forms := formsOf(value)
	order := slices.Sorted(maps.Keys(forms)) // "as it is" comes first
	for where, content := range h {
		flat := flattened(content)
		for _, name := range order {
			if form := forms[name]; bytes.Contains(content, form) || bytes.Contains(flat, form) {
				found = append(found, where+" ("+name+")")
				break // the others say nothing more
			}
		}
	}
	slices.Sort(found)
	return found
}

// flattened is a text without its line breaks, also those that are escaped: a
// value may be cut in two by one.
func flattened(content []byte) []byte {
	for _, end := range []string{"\r", "\n", `\r`, `\n`} {
		content = bytes.ReplaceAll(content, []byte(end), nil)
	}
	return content
}

// formsOf are the ways in which a value may come back.
func formsOf(value string) map[string][]byte {
	backwards := []byte(value)
	slices.Reverse(backwards)
	quoted := strconv.Quote(value)
	forms := map[string][]byte{
		"as it is": []byte(value), "backwards": backwards, "in a query": []byte(url.QueryEscape(value)), "in a path": []byte(url.PathEscape(value)),
		"quoted": []byte(quoted[1 : len(quoted)-1]), "in hexadecimal": []byte(hex.EncodeToString([]byte(value))),
		"in capital hexadecimal": []byte(strings.ToUpper(hex.EncodeToString([]byte(value)))),
	}
	for before := range 3 {
		// What stands before moves the letters; the first and the last of them
		// hold something of the neighbours, too.
		for name, e := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64 for URLs": base64.URLEncoding} {
			coded := strings.TrimRight(e.EncodeToString([]byte(strings.Repeat("\x00", before)+value)), "=")
			first := []int{0, 2, 3}[before]
			if last := len(coded) - 1; last-first >= 8 {
				forms[fmt.Sprintf("%s, %d in", name, before)] = []byte(coded[first:last])
			}
		}
	}
	for name, half := range map[string]string{"its first half": value[:len(value)/2], "its second half": value[len(value)/2:]} {
		// A number alone is an id that stands in other places by right.
		if len(half) >= 12 && strings.Trim(half, "0123456789") != "" {
			forms[name] = []byte(half)
		}
	}
	return forms
}

// The search must find what is there, in every form and wherever it is kept.
func TestThePlantedSearchFinds(t *testing.T) {
	const value = "Seven+Copper/Kettles=boil~over"
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + value + "!"))
	doc, err := json.Marshal(map[string]string{"text": "it is <" + value + ">"})
	if err != nil {
		t.Fatal(err)
	}
	backwards := []byte(value)
	slices.Reverse(backwards)
	for name, content := range map[string]string{
		"plain":             "the key is " + value + ".",
		"in two lines":      "the key is " + value[:11] + "\n" + value[11:],
		"in two, escaped":   `{"text": "` + value[:17] + `\r\n` + value[17:] + `"}`,
		"half":              "…" + value[len(value)/2:],
		"a query":           "https://example.com/?key=" + url.QueryEscape(value),
		"a path":            "https://example.com/" + url.PathEscape(value) + "/x",
		"hexadecimal":       fmt.Sprintf("%x", "before"+value+"after"),
		"HEXADECIMAL":       fmt.Sprintf("%X", value),
		"basic":             "Authorization: Basic " + basic,
		"base64":            base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 for URLs":   base64.RawURLEncoding.EncodeToString([]byte("x" + value)),
		"base64 with lines": basic[:20] + "\r\n" + basic[20:],
		"backwards":         string(backwards),
		"a document":        string(doc),
		"binary":            "\x00\x01" + value + "\xff",
	} {
		h := hoard{}
		h.add("x", []byte(content))
		if len(h.find(value)) == 0 {
			t.Errorf("%s: it is not found in %q", name, content)
		}
	}
	h := hoard{}
	h.addJSON(t, "x", map[string]any{"body": json.RawMessage(doc), "more": []string{value}})
	h.add("y", []byte("Seven Copper Kettles boil over, and nobody said the key"))
	if found := h.find(value); !slices.Contains(found, "x (as it is)") || slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, "y") }) {
		t.Errorf("in documents: %q", found)
	}
}

// It must find what lies in files and in databases, however long the row is.
func TestThePlantedSearchReadsFiles(t *testing.T) {
	const value = "Seven+Copper/Kettles=boil~over"
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "deep", "note.txt"), []byte("say "+value), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "some.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		"CREATE TABLE things (a TEXT, b TEXT)", "INSERT INTO things VALUES ('x', 'short')",
		// Somewhere in this the value crosses the end of a page.
		"INSERT INTO things VALUES ('y', replace(hex(zeroblob(4000)), '00', '" + value + "'))",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	h := hoard{}
	h.addFolder(t, dir)
	for _, want := range []string{"file deep/note.txt (as it is)", "rows of some.db (as it is)", "file some.db (as it is)"} {
		if found := h.find(value); !slices.Contains(found, want) {
			t.Errorf("%q is missing in %q", want, found)
		}
	}
}
