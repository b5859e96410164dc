package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"understudy/core/failover"
	"understudy/core/llm"
)

// The most that is read of a file.
const (
	largestConfig = 1 << 20
	largestPrompt = 256 << 10
)

// builtinTools are the names that an agent's list of tools may hold.
var builtinTools = []string{"session_status"}

// loadConfig reads a configuration file and the files that it names. An empty
// path is an empty file. An error about the content is a *configErrors, which
// holds every error of the file.
func loadConfig(path string) (*config, error) {
	if path == "" {
		return defaultConfig(), nil
	}
	data, err := readSmallFile(path, largestConfig)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return readConfig(path, data, builtinTools, func(name string) (string, error) {
		text, err := readSmallFile(beside(path, name), largestPrompt)
		if err == nil && !utf8.Valid(text) {
			err = errors.New("the file is not in UTF-8")
		}
		return string(text), err
	})
}

// parseConfig reads a configuration from memory; name stands in errors. It reads
// no other file: system prompts in files keep their name and have no text.
// Agents may also use the given tools.
func parseConfig(name string, data []byte, tools ...string) (*config, error) {
	return readConfig(name, data, slices.Concat(builtinTools, tools), nil)
}

func readConfig(name string, data []byte, tools []string, readFile func(string) (string, error)) (*config, error) {
	d := &configDecoder{file: name, data: data, at: map[string]int{}, tools: tools}
	c := defaultConfig()
	if root, ok := d.parse(); ok {
		d.aliases = fullAliases(root)
		d.value(root, "", reflect.ValueOf(c).Elem(), "")
		if !d.hopeless() {
			d.check(c)
		}
		if readFile != nil {
			d.readPrompts(c, readFile)
		}
	}
	if err := sortedConfigErrors(d.errs); err != nil {
		return nil, err
	}
	if c.Store.Path != "" {
		c.Store.Path = beside(name, c.Store.Path)
	}
	return c, nil
}

// byteOrderMark is what some editors put before a text.
var byteOrderMark = []byte("\ufeff")

// hujsonPosition is where the parser says that it is; the decoder's own
// positions count characters and know the file.
var hujsonPosition = regexp.MustCompile(`^hujson: line (\d+), column (\d+): `)

// parse makes the syntax tree; ok is false when there is none.
func (d *configDecoder) parse() (root *hujson.Value, ok bool) {
	d.data = bytes.TrimPrefix(d.data, byteOrderMark)
	if len(d.data) > largestConfig {
		d.failAt(0, "", "the file is larger than %d KiB", largestConfig>>10)
		return nil, false
	}
	if i := firstNonUTF8(d.data); i >= 0 {
		d.failAt(i, "", "the file is not in UTF-8 here")
		return nil, false
	}
	if i := tooDeep(d.data); i >= 0 {
		d.failAt(i, "", "more than %d objects and lists lie in each other here", deepest)
		return nil, false
	}
	whole := append(slices.Clip(d.data), '\n') // a comment may be all of the last line
	v, err := hujson.Parse(whole)
	if err == nil {
		return &v, true
	}
	if _, none := hujson.Parse(append(whole, "{}"...)); none == nil {
		d.failAt(0, "", "the file is empty; write {} for no settings, or leave the file out")
		return nil, false
	}
	text := err.Error()
	offset := 0
	if m := hujsonPosition.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		offset = min(offsetOf(whole, line, column), len(d.data))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		d.failAt(offset, "", "the file ends in the middle of something: a bracket, quote or comment is not closed")
		return nil, false
	}
	text = strings.Join(strings.Fields(llm.Mask(text)), " ")
	d.failAt(offset, "", "this is not JSON with comments: %s", shortened(text, 200))
	return nil, false
}

// deepest is how deep objects and lists may lie in each other; the parser of
// the file recurses, so something must stop it.
const deepest = 100

// tooDeep finds the first bracket that lies too deep, or -1.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		rest := data[i:]
		switch c := data[i]; {
		case c == '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(rest, []byte("//")):
			i = after(data, i, "\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			i = after(data, i+2, "*/")
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// after is the index of the last byte of the next end at or behind i.
func after(data []byte, i int, end string) int {
	if n := bytes.Index(data[min(i, len(data)):], []byte(end)); n >= 0 {
		return i + n + len(end) - 1
	}
	return len(data)
}

// firstNonUTF8 is where the data stops to be UTF-8, or -1.
func firstNonUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	i := 0
	for {
		c, n := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
}

// fullAliases are the aliases that stand for a full ref, without a word about
// the others: those are found when their place in the file is read.
func fullAliases(root *hujson.Value) map[string]llm.Ref {
	v := root.Find("/models/aliases")
	if v == nil {
		return nil
	}
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	list := map[string]llm.Ref{}
	for _, m := range obj.Members {
		if m.Value.Value.Kind() != '"' || !isAlias(keyOf(m)) {
			continue
		}
		if r, ok := llm.ParseRef(m.Value.Value.(hujson.Literal).String()); ok {
			list[strings.ToLower(keyOf(m))] = r
		}
	}
	return list
}

// readPrompts reads the system prompts that have files of their own.
func (d *configDecoder) readPrompts(c *config, readFile func(string) (string, error)) {
	read := func(p *promptConfig, path string) {
		if p.File == "" {
			return
		}
		text, err := readFile(p.File)
		if err != nil {
			d.fail(subPath(path, "file"), "%v", err)
		}
		p.Text = text
	}
	read(&c.Agents.Defaults.SystemPrompt, "agents.defaults.systemPrompt")
	for _, id := range sortedNames(c.Agents.Entries) {
		a := c.Agents.Entries[id]
		read(&a.SystemPrompt, subPath(d.placeOf(c, id), "systemPrompt"))
		c.Agents.Entries[id] = a
	}
}

// readSmallFile reads a regular file of at most limit bytes.
func readSmallFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no ordinary file", path)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s is larger than %d KiB", path, limit>>10)
	}
	return os.ReadFile(path)
}

// beside is a path that the file at config names.
func beside(config, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(config), path)
}

// decodeConfig reads a text, or an object that names a file.
func (p *promptConfig) decodeConfig(d *configDecoder, v *hujson.Value, path string, _ reflect.StructTag) {
	p.set = true
	switch v.Value.Kind() {
	case '"':
		p.Text = v.Value.(hujson.Literal).String()
	case '{':
		var o struct {
			File string `json:"file"`
		}
		before := len(d.errs)
		d.object(v, path, reflect.ValueOf(&o).Elem())
		if o.File == "" && len(d.errs) == before {
			d.fail(path, "file is missing")
		}
		p.File = o.File
	default:
		d.mismatch(v, path, `a text, or {"file": "path"}`)
	}
}

// decodeConfig reads an object and keeps the order in which it is written.
func (list *profilesConfig) decodeConfig(d *configDecoder, v *hujson.Value, path string, _ reflect.StructTag) {
	for _, m := range d.members(v, path) {
		id := keyOf(m)
		at := subPath(path, id)
		if !isProfile(id) {
			d.failAt(m.Name.StartOffset, at, "found the id %s; want %s", quoted(id), forms["profile"].want)
			continue
		}
		p := profileConfig{ID: id, Mode: failover.APIKey}
		d.value(&m.Value, at, reflect.ValueOf(&p).Elem(), "")
		if of := failover.ProviderOf(id); p.Provider == "" {
			p.Provider = of
		} else if p.Provider != of {
			d.fail(subPath(at, "provider"), "found %s; the id says %s", quoted(p.Provider), quoted(of))
		}
		*list = append(*list, p)
	}
}
