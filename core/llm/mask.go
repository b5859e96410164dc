package llm

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// masked stands where a secret was.
const masked = "[secret]"

// secretPrefixes are how the credentials begin that people paste and providers
// echo.
var secretPrefixes = []string{
	"sk-", "sk_", "pk-", "rk_", "xox", "xapp-", "AIza", "ya29.", "eyJ", "gsk_", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "github_pat_",
	"glpat-", "AKIA", "ASIA", "xai-", "nvapi-", "pplx-", "r8_", "sess-", "fw_", "key-", "csk-", "tgp_",
}

// secretsFrom are the secretPrefixes by their first byte.
var secretsFrom = func() (t [256][]string) {
	for _, p := range secretPrefixes {
		t[p[0]] = append(t[p[0]], p)
	}
	return
}()

// secretNames are the parameters whose values are credentials.
var secretNames = []string{
	"key", "api_key", "apikey", "api-key", "x-api-key", "x-goog-api-key", "token", "access_token", "refresh_token", "id_token", "auth", "secret", "client_secret",
	"password", "passwd", "authorization", "signature", "sig", "credential", "x-amz-signature", "x-amz-security-token",
}

// headingNames are those of secretNames that are more than one word.
var headingNames = slices.DeleteFunc(slices.Clone(secretNames), func(n string) bool { return !strings.ContainsAny(n, "-_") })

// Mask is s with everything that has the shape of a credential replaced, and
// with the queries and user names of URLs cut off. It may replace too much, and
// is for logs.
func Mask(s string) string {
	var b strings.Builder
	kept := 0 // s[:kept] is written
	put := func(from, to int, with string) {
		if b.Cap() == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[kept:from])
		b.WriteString(with)
		kept = to
	}
	bearer := false
	for i := 0; i < len(s); {
		if charClass[s[i]]&charSecret == 0 {
			i++
			continue
		}
		start := i
		for i < len(s) && charClass[s[i]]&charSecret != 0 {
			i++
		}
		switch word := s[start:i]; {
		case i < len(s) && s[i] == ':' && strings.HasPrefix(s[i:], "://"):
			end := urlEnd(s, i)
			if from, to, with := maskURL(s[start:end]); with != "" || from != to {
				put(start+from, start+to, with)
			}
			i, bearer = end, false
		case bearer && len(word) >= 6 && !allLetters(word), isSecret(word):
			put(start, i, masked)
			bearer = false
		default:
			bearer = len(word) == len("bearer") && strings.EqualFold(word, "bearer") || len(word) == len("basic") && strings.EqualFold(word, "basic")
			if eq := assignment(s, start, i); eq > 0 {
				end := valueEnd(s, eq)
				if end > eq && !strings.HasPrefix(lower(s[eq:end]), "bearer") {
					put(eq, end, masked)
					i = end
				}
			}
		}
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// isSecret judges a word by its shape: a known beginning, or a long mixture.
func isSecret(w string) bool {
	if len(w) < 7 {
		return false
	}
	for _, p := range secretsFrom[w[0]] {
		if strings.HasPrefix(w, p) {
			return len(w) >= 16 || strings.IndexByte(w, '*') > 0 || p == "sk-" || p == "xox"
		}
	}
	if len(w) < 32 {
		return strings.IndexByte(w, '*') >= 0 && strings.Contains(w, "***")
	}
	path := w[0] == '/' || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../") || strings.HasPrefix(w, "~/")
	for part := range strings.SplitSeq(w, "/") {
		if len(part) >= 32 && mixed(part) && !(path && readable(part)) || strings.Contains(part, "***") {
			return true
		}
	}
	return false
}

// readable reports whether a part of a path is a name of words and numbers, such
// as "TestReplyLinkInThreads1873620945", and no noise: a capital begins a word,
// and numbers are few. In encoded bytes hardly a capital is followed by a small
// letter each time, and digits stand everywhere.
func readable(part string) bool {
	odd, numbers := 0, 0
	for i := 0; i < len(part); i++ {
		switch c := part[i]; {
		case isDigit(c):
			if i == 0 || !isDigit(part[i-1]) {
				numbers++
			}
		case 'A' <= c && c <= 'Z':
			if i+1 == len(part) || part[i+1] < 'a' || part[i+1] > 'z' {
				odd++
			}
		}
	}
	return odd <= 2 && numbers <= 2
}

// allLetters reports whether w is an ordinary word: "bearer tokens".
func allLetters(w string) bool {
	for i := 0; i < len(w); i++ {
		if !isLetter(w[i]) {
			return false
		}
	}
	return len(w) < 16
}

// mixed reports whether a long word is hexadecimal, or mixes digits with letters
// of both cases as encoded bytes do.
func mixed(w string) bool {
	hex, digits, upper, small := true, 0, 0, 0
	for i := 0; i < len(w); i++ {
		switch c := w[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'A' <= c && c <= 'Z':
			upper++
			hex = hex && c <= 'F'
		case 'a' <= c && c <= 'z':
			small++
			hex = hex && c <= 'f'
		default:
			hex = false
		}
	}
	return digits > 0 && (hex && upper+small > 0 || digits > 1 && upper > 1 && small > 1)
}

// hookRoads lead to URLs that are credentials themselves.
var hookRoads = []string{"/webhooks/", "/interactions/", "hooks.slack.com/services/", "hooks.slack.com/commands/", "hooks.slack.com/actions/"}

// maskURL says what of a URL is cut: its query and what stands before "@".
func maskURL(u string) (from, to int, with string) {
	at := strings.IndexByte(u, '@')
	query := strings.IndexAny(u, "?#")
	hook := -1
	if strings.Contains(u, "hooks") || strings.Contains(u, "/interactions/") {
		for _, road := range hookRoads {
			if hook = strings.Index(u, road); hook >= 0 {
				break
			}
		}
	}
	switch {
	case at > 0 && (query < 0 || at < query):
		return strings.Index(u, "://") + 3, len(u), masked
	case hook > 0:
		return hook, len(u), "/" + masked
	case query > 0:
		return query, len(u), ""
	}
	for part := range strings.SplitSeq(u[strings.Index(u, "://")+3:], "/") {
		if isSecret(part) {
			return strings.Index(u, part), len(u), masked
		}
	}
	return 0, 0, ""
}

// assignment is where the value begins if s[start:end] is the name of a
// credential that is being set, else 0.
func assignment(s string, start, end int) int {
	i := end
	quote := i < len(s) && (s[i] == '"' || s[i] == '\'')
	if quote {
		i++
	}
	for i < len(s) && s[i] == ' ' {
		i++
	}
	if i >= len(s) || s[i] != '=' && s[i] != ':' {
		return 0
	}
	name := lower(s[start:end])
	value := i + 1
	for value < len(s) && (s[value] == ' ' || s[value] == '"' || s[value] == '\'') {
		value++
	}
	if s[i] == ':' && !quote {
		if headed(name, s[value:]) {
			return value
		}
		return 0
	}
	for _, n := range secretNames {
		if at := endsIn(name, n); at == 0 || at > 0 && (name[at-1] == '_' || name[at-1] == '.') {
			return value
		}
	}
	return 0
}

// endsIn is where the end of name begins that is n, else -1.
func endsIn(name, n string) int {
	if at := len(name) - len(n); at >= 0 && name[at:] == n {
		return at
	}
	return -1
}

// headed reports whether "name: value", with something behind it, gives a
// credential away. Sentences have colons, too ("invalid_auth: copy the token",
// "the key: please check it"), so only names of two words count, and values that
// no sentence goes on with; a password may be any word.
func headed(name, rest string) bool {
	switch name {
	case "password", "passwd":
		return true
	case "authorization":
		return looksSecret(rest[:valueEnd(rest, 0)])
	}
	for _, n := range headingNames {
		if at := endsIn(name, n); at == 0 || at > 0 && name[at-1] == '_' {
			return looksSecret(rest[:valueEnd(rest, 0)])
		}
	}
	return false
}

// looksSecret reports whether a value is none that a sentence goes on with.
func looksSecret(value string) bool {
	return slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(value, p) }) ||
		len(value) >= 8 && strings.ContainsAny(value, "0123456789")
}

// valueEnd is where a value ends.
func valueEnd(s string, i int) int {
	for i < len(s) && charClass[s[i]]&charValueEnd == 0 {
		i++
	}
	return i
}

// maxDetail is the most of a provider's sentence that is kept, in runes.
const maxDetail = 300

// oneLine is s masked, on one line, without control characters, and cut.
func oneLine(s string) string {
	// What is cut off anyway need not be masked; a secret at the very cut is
	// longer than the slack.
	const slack = 512
	if len(s) > 4*maxDetail+slack {
		s = strings.ToValidUTF8(s[:4*maxDetail+slack], "")
	}
	s = Mask(s)
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f && !(s[i] == ' ' && i+1 < len(s) && s[i+1] == ' ')
	}
	if clean && len(s) <= maxDetail {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	b.Grow(min(len(s), 4*maxDetail))
	n, space := 0, true
	for _, c := range s {
		switch {
		case c == utf8.RuneError || !unicode.IsPrint(c) || c == ' ':
			if !space && n < maxDetail-1 {
				b.WriteByte(' ')
				n++
			}
			space = true
			continue
		case n >= maxDetail-1:
			b.WriteString("…")
			return b.String()
		}
		b.WriteRune(c)
		n++
		space = false
	}
	return strings.TrimSpace(b.String())
}
