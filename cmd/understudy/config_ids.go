package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// address names a person or a channel of a platform. Platform is "channel" for
// a channel of whichever platform is the only one.
type address struct {
	Platform string
	ID       string
}

// is reports whether the address names somebody of a platform.
func (a address) is(platform, id string) bool { return a.Platform == platform && a.ID == id }

// String is the address as written.
func (a address) String() string {
	if a == (address{}) {
		return ""
	}
	return a.Platform + ":" + a.ID
}

// decodeConfig reads "platform:id".
func (a *address) decodeConfig(d *configDecoder, v *hujson.Value, path string, _ reflect.StructTag) {
	const want = `"discord:" or "slack:" and an id`
	if v.Value.Kind() != '"' {
		d.mismatch(v, path, want)
		return
	}
	s := v.Value.(hujson.Literal).String()
	read, ok := parseAddress(s)
	if !ok {
		d.fail(path, "found %s; want %s", quoted(s), want)
		return
	}
	*a = read
}

// parseAddress reads "platform:id". Whether the platform has such ids is not
// looked at.
func parseAddress(s string) (a address, ok bool) {
	platform, id, _ := strings.Cut(s, ":")
	ok = slices.Contains([]string{"discord", "slack", "terminal", "channel"}, platform) && forms["platformID"].fits(id)
	return address{platform, id}, ok
}

// parsePerson reads who a person is, as people write it: the platform and the
// person's id there. The error says what to write instead.
func parsePerson(s string) (address, error) {
	a, ok := parseAddress(s)
	if !ok || a.Platform == "channel" {
		return address{}, fmt.Errorf("want a person, %s", personWant)
	}
	return a, a.personError()
}

// personError says why there can be no such person, or nil: names, for example,
// are no ids, and nobody would ever match them.
func (a address) personError() error {
	if form, ok := forms[a.Platform+"User"]; ok && !form.fits(a.ID) {
		return fmt.Errorf("want %s", form.want)
	}
	return nil
}

// placeError says why there can be no such channel, or nil.
func (a address) placeError() error {
	if form, ok := forms[a.Platform+"Channel"]; ok && !form.fits(a.ID) {
		return fmt.Errorf("want %s", form.want)
	}
	return nil
}

const personWant = `"discord:" or "slack:" and a user id`
