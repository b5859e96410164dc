package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const configDoc = "../../docs/configuration.md"

// exampleOf is the first block of JSON in a document.
func exampleOf(doc string) string {
	_, rest, _ := strings.Cut(doc, "```jsonc\n")
	text, _, _ := strings.Cut(rest, "```")
	return text
}

// rows are the cells of a document's tables by the code in the first cell.
func rows(doc string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(doc) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		name := strings.Trim(cells[0], " `")
		if strings.HasPrefix(line, "| `") {
			all[name] = cells
		}
	}
	return all
}

func TestConfigDocument(t *testing.T) {
	data, err := os.ReadFile(configDoc)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	table := rows(doc)
	var keys []string
	walkKeys(reflect.ValueOf(*defaultConfig()), "", func(path string, value reflect.Value) {
		keys = append(keys, path)
		row, ok := table[path]
		if !ok {
			t.Errorf("no row for `%s`", path)
			return
		}
		if len(row) != 4 {
			t.Errorf("the row of %s has %d cells, not key, type, default and meaning", path, len(row))
			return
		}
		if want := shownDefault(value); want != "" && row[2] != want {
			t.Errorf("the default of %s is said to be %s, and is %s", path, row[2], want)
		}
	})
	for _, f := range envFields() {
		keys = append(keys, f.name)
		if _, ok := table[f.name]; !ok {
			t.Errorf("no row for %s", f.name)
		}
	}
	for name := range table {
		if !slices.Contains(keys, name) && !strings.Contains(name, "_API_KEY") && !slices.Contains(builtinProviders(), name) {
			t.Errorf("there is a row for %s, which does not exist", name)
		}
	}
	for _, p := range providers {
		if row, ok := table[p.ID]; !ok || p.BaseURL != "" && !strings.Contains(row[2], p.BaseURL) || p.NeedsKey && !strings.Contains(row[3], keyName(p.ID)) {
			t.Errorf("the row of provider %s is %q", p.ID, row)
		}
	}
	example := exampleOf(doc)
	c, err := parseConfig("example", []byte(example))
	if err != nil {
		t.Fatalf("the example: %v", err)
	}
	if c.Agents.Defaults.Model.Zero() {
		t.Error("the example sets no model")
	}
}

// walkKeys calls f for every key below v that is no object of fixed keys.
func walkKeys(v reflect.Value, path string, f func(path string, value reflect.Value)) {
	t := v.Type()
	switch {
	case t == reflect.TypeFor[byKind]():
		f(path, v.Field(0))
		return
	case t == reflect.TypeFor[profilesConfig]():
		walkKeys(reflect.Zero(t.Elem()), path+".<id>", f)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		if len(t.Elem().Name()) == 0 || t.Elem().Kind() != reflect.Struct {
			f(path, v)
			return
		}
		walkKeys(reflect.Zero(t.Elem()), path, f)
	case reflect.Struct:
		fields := configFields(t)
		if len(fields) == 0 {
			f(path, v)
		}
		for _, field := range fields {
			walkKeys(v.FieldByIndex(field.index), strings.TrimPrefix(path+"."+field.name, "."), f)
		}
	case reflect.Map:
		if path != "models.providers" && t.Elem() != reflect.TypeFor[placeConfig]() {
			f(path, v)
			return
		}
		walkKeys(reflect.Zero(t.Elem()), path+".<id>", f)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Struct || len(configFields(t.Elem())) == 0 || path == "agents.list" {
			f(path, v)
			return
		}
		walkKeys(reflect.Zero(t.Elem()), path+"[]", f)
	default:
		f(path, v)
	}
}

// shownDefault is how the document writes a default; "" for what has none.
func shownDefault(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		s := x.String()
		if strings.HasSuffix(s, "m0s") {
			s = strings.TrimSuffix(s, "0s")
		}
		return fmt.Sprintf("`%q`", s)
	case int, float64, bool:
		return fmt.Sprintf("`%v`", x)
	}
	if v.Kind() == reflect.String {
		return fmt.Sprintf("`%q`", v.String())
	}
	return ""
}

func TestEnvironmentExample(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	comment := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		name, _, isVariable := strings.Cut(strings.TrimPrefix(line, "#"), "=")
		switch {
		case line == "":
			comment = false
		case isVariable && !strings.Contains(name, " "):
			if listed[name] {
				t.Errorf("%s is there twice", name)
			}
			if !comment {
				t.Errorf("%s has no comment above it", name)
			}
			listed[name] = true
		default:
			comment = true
		}
	}
	var want []string
	for _, f := range envFields() {
		want = append(want, f.name)
	}
	for _, p := range providers {
		if p.NeedsKey {
			want = append(want, keyName(p.ID))
		}
	}
	for _, name := range want {
		if !listed[name] {
			t.Errorf("%s is missing", name)
		}
	}
	for name := range listed {
		if m := keyVariable.FindStringSubmatch(name); !slices.Contains(want, name) && (m == nil || !slices.Contains(want, m[1])) {
			t.Errorf("%s is read by nobody", name)
		}
	}
}
