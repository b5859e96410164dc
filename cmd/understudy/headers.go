package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"understudy/core/llm"
)

// publicHeaders hold what everybody may know: hiding it would make holes in
// texts. Every other header of a provider may hold a credential.
var publicHeaders = []string{
	"accept", "accept-encoding", "accept-language", "anthropic-beta", "anthropic-version", "cache-control", "content-type", "helicone-cache-enabled",
	"http-referer", "openai-beta", "origin", "referer", "user-agent", "x-title",
}

// loadFor is load, for a command that hides from its outputs what the
// configuration file holds of credentials: the headers of providers. They are
// looked for before the file is read, since errors quote what they complain of.
func loadFor(c console, configPath string) (*setup, error) {
	paths := []string{configPath}
	if env, err := readEnv(); err == nil {
		paths = append(paths, env.Config)
	}
	for _, path := range paths {
		// A file that cannot be read is for load to complain of.
		if data, err := readSmallFile(path, largestConfig); path != "" && err == nil {
			c.hides(headerSecrets(data)...)
		}
	}
	return load(configPath)
}

// hides makes a console hide more values, in both outputs.
func (c console) hides(values ...string) {
	if v := c.veil(); v != nil {
		v.Add(values...)
	}
}

// veil is what the console of a command hides; nil outside of one.
func (c console) veil() *llm.Veil {
	if w, ok := c.err.(*veiledWriter); ok {
		return w.veil
	}
	return nil
}

// hide is a text without what looks like a credential and without those that the
// console hides.
func (c console) hide(text string) string {
	text = llm.Mask(text)
	if v := c.veil(); v != nil {
		return v.Hide(text)
	}
	return text
}

// headerSecrets are the values of all headers in a configuration file that may
// be credentials, also if the file is broken.
func headerSecrets(data []byte) []string {
	root, err := hujson.Parse(bytes.TrimPrefix(data, byteOrderMark))
	if err != nil || tooDeep(data) >= 0 {
		return headerTexts(string(data))
	}
	var found []string
	var look func(v *hujson.Value, inside bool, header string)
	look = func(v *hujson.Value, inside bool, header string) {
		switch x := v.Value.(type) {
		case hujson.Literal:
			if inside && x.Kind() == '"' {
				found = append(found, credentials(header, x.String())...)
			}
		case *hujson.Array:
			for i := range x.Elements {
				look(&x.Elements[i], inside, header)
			}
		case *hujson.Object:
			for i, m := range x.Members {
				look(&x.Members[i].Value, inside || strings.EqualFold(keyOf(m), "headers"), keyOf(m))
			}
		}
	}
	look(&root, false, "")
	return found
}

var (
	headersText = regexp.MustCompile(`(?is)"headers"\s*:\s*\{([^}]*)`)
	pairText    = regexp.MustCompile(`("(?:[^"\\\n]|\\.)*")\s*:\s*"((?:[^"\\\n]|\\.)*)`)
)

// headerTexts finds them in a text that is no configuration, as well as it goes.
func headerTexts(text string) (found []string) {
	for _, block := range headersText.FindAllStringSubmatch(text, -1) {
		for _, pair := range pairText.FindAllStringSubmatch(block[1], -1) {
			name, _ := strconv.Unquote(pair[1])
			value, err := strconv.Unquote(`"` + pair[2] + `"`)
			if err != nil {
				value = pair[2]
			}
			found = append(found, credentials(name, value)...)
		}
	}
	return found
}

// credentials are what is to be hidden of a header: its value, and that without
// the word of a scheme before it.
func credentials(name, value string) []string {
	value = strings.TrimSpace(value)
	if value == "" || slices.Contains(publicHeaders, strings.ToLower(name)) {
		return nil
	}
	scheme, bare, _ := strings.Cut(value, " ")
	if strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "basic") {
		return []string{value, strings.TrimSpace(bare)}
	}
	return []string{value}
}

// newVeil hides what the environment holds of credentials.
func newVeil() *llm.Veil {
	return llm.NewVeil(slices.Concat(secretsInEnv(), proxyPasswords())...)
}

// proxyPasswords are those in the addresses of proxies, which the libraries
// read.
func proxyPasswords() (list []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		for _, name := range []string{name, strings.ToLower(name)} {
			if user, _, ok := strings.Cut(os.Getenv(name), "@"); ok {
				if at := strings.LastIndexByte(user, ':'); at >= 0 {
					list = append(list, user[at+1:])
				}
			}
		}
	}
	return list
}
