// Package seal encrypts the few secrets that are kept: what somebody who reads
// the database, or a copy of it, must not be able to use.
//
// # What is promised
//
// A sealed text opens only with its key and only in its place: in another row
// or column it is worth nothing, and one of which a single bit was changed does
// not open. Sealing the same secret twice gives different texts. How long a
// secret is can be seen from outside, nothing else.
//
// # How
//
// AES-256-GCM with a random nonce. Its key is drawn from the given one by HKDF
// with SHA-256, so that any text with enough chance in it will do; for the same
// reason a short or a guessable one is no protection. The place is authenticated
// with the text and not stored in it. The form is
//
//	sealed:<base64url of: version 1, id of the key (8 bytes), nonce (12), ciphertext, tag (16)>
//
// A key may seal 2^32 texts before chance is used up; a bot seals some a day.
//
// # Keys
//
// A [Box] has one key that seals and may have more that only open: those of
// before a change. [Load] says where keys are kept.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"understudy/core"
)

// MinKey is the length of the shortest key that is taken, in bytes. A key of 16
// random bytes in hexadecimal has as many.
const MinKey = 32

const (
	prefix  = "sealed:"
	version = 1
	idSize  = 8
	// overhead is what a sealed text has beside the ciphertext, in bytes before
	// base64: version, id, nonce and tag.
	overhead = 1 + idSize + 12 + 16
)

// Why a text does not open.
var (
	// ErrPlain: it was never sealed.
	ErrPlain = errors.New("the text is not sealed")
	// ErrOtherKey: it was sealed with a key that the box does not have.
	ErrOtherKey = errors.New("the text was sealed with another key")
	// ErrDamaged: it was changed, or belongs to another place.
	ErrDamaged = errors.New("the sealed text was changed or belongs elsewhere")
)

// Place is where a secret is kept: a column, or a part of a document in one, of
// one row of a table. The row is named by what never changes about it.
type Place struct{ Table, Row, Field string }

// Box seals and opens secrets. It is safe for concurrent use.
type Box struct{ keys []key } // the first one seals

type key struct {
	id   [idSize]byte
	aead cipher.AEAD
}

// New is a box with a key that seals and others that only open. Keys are texts
// of at least [MinKey] bytes.
func New(current core.Secret, old ...core.Secret) (*Box, error) {
	b := &Box{}
	for _, secret := range append([]core.Secret{current}, old...) {
		k, err := newKey(secret.Reveal())
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, k)
	}
	return b, nil
}

func newKey(secret string) (k key, err error) {
	if len(secret) < MinKey {
		return k, fmt.Errorf("a key has %d characters and needs at least %d; make one with: openssl rand -base64 32", len(secret), MinKey)
	}
	derive := func(purpose string, size int) []byte {
		b, failed := hkdf.Key(sha256.New, []byte(secret), nil, "understudy seal v1 "+purpose, size)
		err = errors.Join(err, failed)
		return b
	}
	block, failed := aes.NewCipher(derive("aes-256-gcm", 32))
	if err = errors.Join(err, failed); err != nil {
		return k, fmt.Errorf("a key cannot be used: %w", err)
	}
	copy(k.id[:], derive("id", idSize))
	if k.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return k, fmt.Errorf("a key cannot be used: %w", err)
	}
	return k, err
}

// Seal is the text to be kept at a place in the place of a secret. An unset
// secret is kept as an empty text.
func (b *Box) Seal(at Place, secret core.Secret) string {
	if !secret.Set() {
		return ""
	}
	k := b.keys[0]
	head := k.head()
	return prefix + base64.RawURLEncoding.EncodeToString(k.aead.Seal(head, nil, []byte(secret.Reveal()), at.context(head)))
}

// Open is the secret that was sealed at a place. The error is one of this
// package's.
func (b *Box) Open(at Place, text string) (core.Secret, error) {
	if text == "" {
		return core.Secret{}, nil
	}
	raw, k, err := b.read(text)
	if err != nil {
		return core.Secret{}, err
	}
	head := k.head()
	plain, err := k.aead.Open(nil, nil, raw[len(head):], at.context(head))
	if err != nil {
		return core.Secret{}, ErrDamaged
	}
	return core.NewSecret(string(plain)), nil
}

// Current reports whether a text is sealed with the key that seals now. A box
// cannot tell this way whether the text is whole.
func (b *Box) Current(text string) bool {
	_, k, err := b.read(text)
	return err == nil && k.id == b.keys[0].id
}

// Sealed reports whether a text says of itself that it is sealed.
func Sealed(text string) bool { return strings.HasPrefix(text, prefix) }

// read takes a sealed text apart, and finds its key.
func (b *Box) read(text string) (raw []byte, k key, err error) {
	coded, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return nil, k, ErrPlain
	}
	raw, err = base64.RawURLEncoding.DecodeString(coded)
	// The decoder passes over line breaks and spare bits; a text that was
	// changed must not open, even where the change means nothing.
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != coded || len(raw) < overhead || raw[0] != version {
		return nil, k, ErrDamaged
	}
	id := [idSize]byte(raw[1 : 1+idSize])
	for _, k := range b.keys {
		if k.id == id {
			return raw, k, nil
		}
	}
	return nil, k, ErrOtherKey
}

// head is how every text sealed with the key begins.
func (k key) head() []byte {
	return append([]byte{version}, k.id[:]...)
}

// context is what is authenticated beside a secret: the head and the place,
// each part with its length before it, so that no two places look alike.
func (p Place) context(head []byte) []byte {
	b := append([]byte{}, head...)
	for _, part := range []string{p.Table, p.Row, p.Field} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// Row makes the name of a row out of the columns that identify it.
func Row(columns ...string) string {
	var b []byte
	for _, c := range columns {
		b = binary.AppendUvarint(b, uint64(len(c)))
		b = append(b, c...)
	}
	return string(b)
}
