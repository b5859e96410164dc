package main

import (
	"errors"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"understudy/core"
	"understudy/core/llm"
)

// tidy trims texts and drops empty items of lists, which envconfig keeps.
func tidy(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = strings.TrimSpace(*p)
	case *[]string:
		for i, s := range *p {
			(*p)[i] = strings.TrimSpace(s)
		}
		*p = slices.DeleteFunc(*p, func(s string) bool { return s == "" })
	case *[]llm.Ref:
		*p = slices.DeleteFunc(*p, func(r llm.Ref) bool { return r == llm.Ref{} })
	case *[]address:
		*p = slices.DeleteFunc(*p, func(a address) bool { return a == address{} })
	case *core.Secret:
		*p = core.NewSecret(strings.TrimSpace(p.Reveal()))
	}
}

// inRange checks what the tags ask for.
func inRange(v reflect.Value, tag reflect.StructTag) bool {
	switch x := v.Interface().(type) {
	case int:
		least, _ := strconv.Atoi(tag.Get("min"))
		most, _ := strconv.Atoi(tag.Get("max"))
		return least <= x && x <= most
	case time.Duration:
		least, _ := time.ParseDuration(tag.Get("min"))
		most, _ := time.ParseDuration(tag.Get("max"))
		return least <= x && x <= most
	case core.Secret:
		return isSecretText(x.Reveal()) && (!x.Set() || fits(tag, x.Reveal()))
	case string:
		if words := tag.Get("words"); words != "" {
			return slices.Contains(strings.Split(words, "|"), x)
		}
		return fits(tag, x)
	case []string:
		return !slices.ContainsFunc(x, func(s string) bool { return !fits(tag, s) })
	}
	return true
}

func fits(tag reflect.StructTag, s string) bool {
	form, ok := forms[tag.Get("form")]
	return !ok || form.fits(s)
}

// isSecretText reports whether a secret can stand in a header.
func isSecretText(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > unicode.MaxASCII || c <= ' ' || c == 0x7f })
}

// listenAddress is an address to listen on; "off" is empty.
type listenAddress string

// Decode reads it for envconfig.
func (a *listenAddress) Decode(value string) error {
	value = strings.TrimSpace(value)
	if strings.EqualFold(value, "off") {
		*a = ""
		return nil
	}
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return err
	}
	*a = listenAddress(value)
	return nil
}

// presence is true for a variable that is set to anything.
type presence bool

// Decode reads it for envconfig.
func (p *presence) Decode(value string) error {
	*p = value != ""
	return nil
}

// milliseconds is a duration written as a number of milliseconds.
type milliseconds time.Duration

// Decode reads it for envconfig.
func (m *milliseconds) Decode(value string) error {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
	*m = milliseconds(time.Duration(n) * time.Millisecond)
	return err
}

// waitCap is a duration written as a number of seconds; zero is no cap.
type waitCap time.Duration

// Decode reads it for envconfig.
func (w *waitCap) Decode(value string) error {
	value = strings.TrimSpace(value)
	if strings.EqualFold(value, "off") {
		*w = 0
		return nil
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0 && n <= 86400) {
		return errors.New("out of range")
	}
	*w = waitCap(n * float64(time.Second))
	return nil
}

// Decode reads an address of a person for envconfig.
func (a *address) Decode(value string) error {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	read, err := parsePerson(value)
	*a = read
	return err
}
