package delivery

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"

	"understudy/core"
)

// nonceSize is the length of a nonce without a version. Platforms take 25
// bytes; the rest is room for the version.
const nonceSize = 20

// Nonce is the identity, for the platform, of a part of a turn's posts of one
// kind: the same in every process, at most 25 bytes.
func Nonce(turn string, kind core.PostKind, part int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", turn, kind, part))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:nonceSize])
}

// version is what a stored nonce says besides the row it belongs to. The zero
// version is not written out, and platforms see only the messages: a text that
// was refused as too long made none.
type version struct {
	halvings int // how often the platform found the text too long
	message  int // counts the messages of the row
	// anew: the row's PlatformID is that of the message before this one, which
	// is taken away once this one is there.
	anew bool
}

// maxHalvings bounds how small a text is cut that the platform refuses as too
// long.
const maxHalvings = 4

// versionOf reads the version of a nonce: "base~hm", with one digit of
// halvings, and the message in base 36; "base!hm" for one that is made anew.
func versionOf(nonce string) version {
	at := strings.IndexAny(nonce, "~!")
	if at < 0 || len(nonce) < at+3 {
		return version{}
	}
	halvings, digits := nonce[at+1], nonce[at+2:]
	message, err := strconv.ParseInt(digits, 36, 16)
	if err != nil || halvings < '0' || halvings > '9' {
		return version{}
	}
	return version{int(halvings - '0'), int(message), nonce[at] == '!'}
}

// plain is the nonce as platforms see it.
func plain(nonce string) string {
	if v := versionOf(nonce); v.message > 0 {
		return withVersion(nonce, version{message: v.message})
	}
	return base(nonce)
}

// base is a nonce without its version.
func base(nonce string) string {
	if at := strings.IndexAny(nonce, "~!"); at >= 0 {
		return nonce[:at]
	}
	return nonce
}

// withVersion is the nonce of another message of the same row.
func withVersion(nonce string, v version) string {
	mark := "~"
	if v.anew {
		mark = "!"
	}
	return fmt.Sprintf("%.*s%s%d%s", nonceSize, base(nonce), mark, v.halvings, strconv.FormatInt(int64(v.message), 36))
}

// nextMessage is the nonce of the row's next message; anew says that it takes
// the place of the one that is there.
func nextMessage(nonce string, anew bool) string {
	v := versionOf(nonce)
	v.message, v.anew = v.message+1, anew
	return withVersion(nonce, v)
}

// unmade is the nonce of the message before, for a message that is not to be
// made after all.
func unmade(nonce string) string {
	v := versionOf(nonce)
	v.message, v.anew = v.message-1, false
	return withVersion(nonce, v)
}
