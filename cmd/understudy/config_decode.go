package main

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
)

// configDecoder fills a config from the syntax tree of a file. It goes on after
// an error, so that all errors are told at once; what could not be read keeps
// its default.
type configDecoder struct {
	file    string
	data    []byte
	errs    []*configError
	at      map[string]int     // where the value of each key that was read begins
	aliases map[string]llm.Ref // by name in lower case
	tools   []string           // the names of tools that exist
}

// selfDecoder is a part of the config with a form of its own.
type selfDecoder interface {
	decodeConfig(d *configDecoder, v *hujson.Value, path string, tag reflect.StructTag)
}

// fail notes an error at the value of a key.
func (d *configDecoder) fail(path, format string, args ...any) {
	offset, ok := d.at[path]
	for p := path; !ok && p != ""; offset, ok = d.at[p] {
		p = parentPath(p) // a missing value is where the object is that lacks it
	}
	d.failAt(offset, path, format, args...)
}

func (d *configDecoder) failAt(offset int, path, format string, args ...any) {
	if d.hopeless() {
		return
	}
	line, column := lineColumn(d.data, offset)
	d.errs = append(d.errs, &configError{
		File: d.file, Line: line, Column: column, Key: path, Text: fmt.Sprintf(format, args...), offset: offset,
	})
}

// mismatch says that a value is of the wrong kind.
func (d *configDecoder) mismatch(v *hujson.Value, path, want string) {
	d.fail(path, "found %s; want %s", foundText(v), want)
}

func foundText(v *hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return quoted(v.Value.(hujson.Literal).String())
	case '0':
		return "the number " + strings.Trim(quoted(string(v.Value.(hujson.Literal))), `"`)
	}
	return string(v.Value.(hujson.Literal))
}

// hopeless reports whether there are so many errors that no more are looked for.
func (d *configDecoder) hopeless() bool { return len(d.errs) >= mostCollected }

// value reads one value of the file into one of the config.
func (d *configDecoder) value(v *hujson.Value, path string, into reflect.Value, tag reflect.StructTag) {
	if d.hopeless() {
		return
	}
	d.at[path] = v.StartOffset
	if v.Value.Kind() == 'n' {
		d.fail(path, "found null; leave the key out instead")
		return
	}
	switch p := into.Addr().Interface().(type) {
	case selfDecoder:
		p.decodeConfig(d, v, path, tag)
		return
	case *llm.Ref:
		d.ref(v, path, p)
		return
	case *failover.Models:
		d.models(v, path, p)
		return
	case *time.Duration:
		d.duration(v, path, p, tag)
		return
	case *core.Secret:
		d.secret(v, path, p)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		p := reflect.New(into.Type().Elem())
		before := len(d.errs)
		d.value(v, path, p.Elem(), tag)
		if len(d.errs) == before {
			into.Set(p)
		}
	case reflect.Struct:
		d.object(v, path, into)
	case reflect.Map:
		d.dict(v, path, into, tag)
	case reflect.Slice:
		d.list(v, path, into, tag)
	case reflect.String:
		if s, ok := d.text(v, path, tag); ok {
			into.SetString(s)
		}
	case reflect.Bool:
		if k := v.Value.Kind(); k != 't' && k != 'f' {
			d.mismatch(v, path, "true or false")
			return
		}
		into.SetBool(v.Value.(hujson.Literal).Bool())
	case reflect.Int, reflect.Float64:
		d.number(v, path, into, tag)
	default:
		panic("config has a field of a kind that cannot be read: " + path)
	}
}

// members are the members of an object whose keys occur for the first time.
func (d *configDecoder) members(v *hujson.Value, path string) []hujson.ObjectMember {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		d.mismatch(v, path, "an object")
		return nil
	}
	first := map[string]int{}
	list := make([]hujson.ObjectMember, 0, len(obj.Members))
	for _, m := range obj.Members {
		if d.hopeless() {
			break
		}
		key := keyOf(m)
		if at, dup := first[key]; dup {
			line, column := lineColumn(d.data, at)
			d.failAt(m.Name.StartOffset, subPath(path, key), "the key is there twice; it was first written at line %d, column %d", line, column)
			continue
		}
		first[key] = m.Name.StartOffset
		list = append(list, m)
	}
	return list
}

func keyOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

func (d *configDecoder) object(v *hujson.Value, path string, into reflect.Value) {
	fields := configFields(into.Type())
	for _, m := range d.members(v, path) {
		key := keyOf(m)
		f, ok := fieldOf(fields, key)
		if !ok {
			d.unknownKey(m, path, fields)
			continue
		}
		d.value(&m.Value, subPath(path, key), into.FieldByIndex(f.index), f.tag)
	}
}

func (d *configDecoder) unknownKey(m hujson.ObjectMember, path string, fields []configField) {
	d.failAt(m.Name.StartOffset, subPath(path, keyOf(m)), "unknown key%s", keyHint(keyOf(m), fields))
}

// secretKey are keys that people write who look for a place for a secret.
var secretKey = regexp.MustCompile(`(?i)^keys?$|(token|secret|password|api_?key)s?$`)

func keyHint(key string, fields []configField) string {
	if secretKey.MatchString(key) {
		return "; secrets do not belong in this file, set them in the environment (see .env.example)"
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return didYouMean(key, names) + "; allowed here: " + strings.Join(names, ", ")
}

func (d *configDecoder) dict(v *hujson.Value, path string, into reflect.Value, tag reflect.StructTag) {
	made := reflect.MakeMap(into.Type())
	form := keyForms[tag.Get("keys")]
	for _, m := range d.members(v, path) {
		key := keyOf(m)
		at := subPath(path, key)
		if !form.fits(key) {
			d.failAt(m.Name.StartOffset, at, "found the name %s; want %s", quoted(key), form.want)
			continue
		}
		if form.fold {
			key = strings.ToLower(key)
		}
		if made.MapIndex(reflect.ValueOf(key)).IsValid() {
			d.failAt(m.Name.StartOffset, at, "the name is there twice; upper and lower case are the same here")
			continue
		}
		elem := reflect.New(made.Type().Elem()).Elem()
		d.value(&m.Value, at, elem, tag)
		made.SetMapIndex(reflect.ValueOf(key), elem)
	}
	into.Set(made)
}

func (d *configDecoder) list(v *hujson.Value, path string, into reflect.Value, tag reflect.StructTag) {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		d.mismatch(v, path, "a list")
		return
	}
	made := reflect.MakeSlice(into.Type(), len(arr.Elements), len(arr.Elements))
	for i := range arr.Elements {
		d.value(&arr.Elements[i], itemPath(path, i), made.Index(i), tag)
	}
	into.Set(made)
}

// text reads a string that fits the words or the form of its tag.
func (d *configDecoder) text(v *hujson.Value, path string, tag reflect.StructTag) (string, bool) {
	if v.Value.Kind() != '"' {
		want := "a text in quotes"
		if v.Value.Kind() == '0' {
			want += `, as in "` + string(v.Value.(hujson.Literal)) + `"`
		}
		d.mismatch(v, path, want)
		return "", false
	}
	s := v.Value.(hujson.Literal).String()
	if list := tag.Get("words"); list != "" {
		words := strings.Split(list, "|")
		for _, w := range words {
			if s == w {
				return s, true
			}
		}
		d.fail(path, "found %s; want one of %s%s", quoted(s), strings.Join(words, ", "), didYouMean(s, words))
		return "", false
	}
	form, ok := forms[tag.Get("form")]
	if !ok {
		form = forms["text"]
	}
	if !form.fits(s) {
		d.fail(path, "found %s; want %s", quoted(s), form.want)
		return "", false
	}
	return s, true
}

func (d *configDecoder) number(v *hujson.Value, path string, into reflect.Value, tag reflect.StructTag) {
	whole := into.Kind() == reflect.Int
	want := "a number"
	if whole {
		want = "a whole number"
	}
	least, _ := strconv.ParseFloat(tag.Get("min"), 64)
	most, _ := strconv.ParseFloat(tag.Get("max"), 64)
	want += fmt.Sprintf(" from %s to %s", tag.Get("min"), tag.Get("max"))
	if v.Value.Kind() != '0' {
		d.mismatch(v, path, want)
		return
	}
	n, err := strconv.ParseFloat(string(v.Value.(hujson.Literal)), 64)
	if err != nil || n < least || n > most || whole && n != math.Trunc(n) {
		d.mismatch(v, path, want)
		return
	}
	if whole {
		into.SetInt(int64(n))
	} else {
		into.SetFloat(n)
	}
}

// duration reads "90s" and the like, and numbers as seconds.
func (d *configDecoder) duration(v *hujson.Value, path string, into *time.Duration, tag reflect.StructTag) {
	least, _ := time.ParseDuration(tag.Get("min"))
	most, _ := time.ParseDuration(tag.Get("max"))
	want := fmt.Sprintf(`a duration from %s to %s, as "90s", "5m" or a number of seconds`, tag.Get("min"), tag.Get("max"))
	var n time.Duration
	var err error
	switch v.Value.Kind() {
	case '"':
		n, err = time.ParseDuration(v.Value.(hujson.Literal).String())
	case '0':
		var seconds float64
		seconds, err = strconv.ParseFloat(string(v.Value.(hujson.Literal)), 64)
		if err == nil && seconds > most.Seconds() {
			seconds = most.Seconds() + 1 // out of range as well, but not too large for a Duration
		}
		n = time.Duration(max(seconds, -1) * float64(time.Second))
	default:
		d.mismatch(v, path, want)
		return
	}
	if err != nil || n < least || n > most {
		d.mismatch(v, path, want)
		return
	}
	*into = n
}

// ref reads a model: a full ref or an alias.
func (d *configDecoder) ref(v *hujson.Value, path string, into *llm.Ref) {
	const want = "a model as provider/model, for example anthropic/claude-sonnet-4-5, or an alias"
	if v.Value.Kind() != '"' {
		d.mismatch(v, path, want)
		return
	}
	s := v.Value.(hujson.Literal).String()
	if r, ok := d.aliases[strings.ToLower(s)]; ok {
		*into = r
		return
	}
	r, ok := llm.ParseRef(s)
	if !ok || !isProvider(r.Provider) {
		d.fail(path, "found %s; want %s%s", quoted(s), want, didYouMean(s, sortedNames(d.aliases)))
		return
	}
	*into = r
}

// models reads a model with its fallbacks: one text, or an object. Fallbacks
// that are not written stay nil, an empty list does not.
func (d *configDecoder) models(v *hujson.Value, path string, into *failover.Models) {
	var o struct {
		Primary   llm.Ref   `json:"primary"`
		Fallbacks []llm.Ref `json:"fallbacks"`
	}
	switch v.Value.Kind() {
	case '"':
		d.ref(v, path, &o.Primary)
	case '{':
		d.object(v, path, reflect.ValueOf(&o).Elem())
	default:
		d.mismatch(v, path, "a model as provider/model, or an object with primary and fallbacks")
	}
	*into = failover.Models{Primary: o.Primary, Fallbacks: o.Fallbacks}
}

// secret reads a text that no error shows.
func (d *configDecoder) secret(v *hujson.Value, path string, into *core.Secret) {
	lit, _ := v.Value.(hujson.Literal)
	s := lit.String()
	if lit.Kind() != '"' || s == "" || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		d.fail(path, "want a text without line breaks and control characters")
		return
	}
	*into = core.NewSecret(s)
}

// configField is a field of a struct of the config.
type configField struct {
	name  string // the key
	index []int
	tag   reflect.StructTag
}

// configFields are the keys of an object, those of embedded structs among them.
func configFields(t reflect.Type) []configField {
	var list []configField
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("json"); name != "" {
			list = append(list, configField{name, f.Index, f.Tag})
		}
	}
	return list
}

func fieldOf(fields []configField, name string) (configField, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return configField{}, false
}
