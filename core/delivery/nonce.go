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
// version is not written out, and platforms do not see the halvings: a text
// that was refused as too long made no message.
type version struct {
	halvings int // how often the platform found the text too long
	message  int // counts the messages of the row
}

// maxHalvings bounds how small a text is cut that the platform refuses as too
// long.
const maxHalvings = 4

// versionOf reads the version of a nonce: "base~hm", with one digit of
// halvings, and the message in base 36.
func versionOf(nonce string) version {
	_, v, ok := strings.Cut(nonce, "~")
	if !ok || len(v) < 2 {
		return version{}
	}
	message, err := strconv.ParseInt(v[1:], 36, 16)
	if err != nil || v[0] < '0' || v[0] > '9' {
		return version{}
	}
	return version{int(v[0] - '0'), int(message)}
}

// plain is the nonce as platforms see it.
func plain(nonce string) string {
	v := versionOf(nonce)
	if v.message > 0 {
		return withVersion(nonce, version{message: v.message})
	}
	if v.halvings > 0 {
		nonce, _, _ = strings.Cut(nonce, "~")
	}
	return nonce
}

// withVersion is the nonce of another message of the same row.
func withVersion(nonce string, v version) string {
	base, _, _ := strings.Cut(nonce, "~")
	return fmt.Sprintf("%.*s~%d%s", nonceSize, base, v.halvings, strconv.FormatInt(int64(v.message), 36))
}
