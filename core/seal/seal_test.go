package seal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"understudy/core"
)

const (
	one   = "a key for tests, and a long one indeed"
	other = "another key for tests, as long as that"
)

func box(t interface{ Fatal(...any) }, keys ...string) *Box {
	var list []core.Secret
	for _, k := range keys {
		list = append(list, core.NewSecret(k))
	}
	b, err := New(list[0], list[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var places = rapid.Custom(func(t *rapid.T) Place {
	return Place{rapid.String().Draw(t, "table"), rapid.String().Draw(t, "row"), rapid.String().Draw(t, "field")}
})

// What is sealed opens in its place, is nowhere to be read, and is never the
// same twice.
func TestSealAndOpen(t *testing.T) {
	b, elsewhere := box(t, one), box(t, other)
	rapid.Check(t, func(t *rapid.T) {
		at, secret := places.Draw(t, "place"), rapid.StringN(1, -1, 300).Draw(t, "secret")
		text := b.Seal(at, core.NewSecret(secret))
		if got, err := b.Open(at, text); err != nil || got.Reveal() != secret {
			t.Fatalf("%q came back as %q, %v", secret, got.Reveal(), err)
		}
		if !Sealed(text) || !b.Current(text) || elsewhere.Current(text) {
			t.Fatalf("%s does not say how it was sealed", text)
		}
		if len(secret) >= 4 && (strings.Contains(text, secret) || strings.Contains(text, base64.RawURLEncoding.EncodeToString([]byte(secret)))) {
			t.Fatalf("%q can be read in %s", secret, text)
		}
		if text == b.Seal(at, core.NewSecret(secret)) {
			t.Fatal("the same text twice")
		}
		if got, err := elsewhere.Open(at, text); !errors.Is(err, ErrOtherKey) || got.Set() {
			t.Fatalf("another key: %v", err)
		}
	})
}

// In another place it does not open, however alike the two are written.
func TestAPlaceIsPartOfTheSeal(t *testing.T) {
	b := box(t, one)
	rapid.Check(t, func(t *rapid.T) {
		at, to := places.Draw(t, "place"), places.Draw(t, "other place")
		if rapid.Bool().Draw(t, "shifted") && len(at.Row) > 0 {
			to = Place{at.Table + at.Row[:1], at.Row[1:], at.Field}
		}
		if at == to {
			t.Skip("the same place")
		}
		if got, err := b.Open(to, b.Seal(at, core.NewSecret("something"))); !errors.Is(err, ErrDamaged) || got.Set() {
			t.Fatalf("%v opens at %v: %v", at, to, err)
		}
	})
	if Row("a", "bc") == Row("ab", "c") || Row("a", "") == Row("", "a") {
		t.Error("two rows have one name")
	}
}

// A text that was changed anywhere, by any byte, does not open.
func TestATamperedTextStaysClosed(t *testing.T) {
	b := box(t, one)
	rapid.Check(t, func(t *rapid.T) {
		at := places.Draw(t, "place")
		text := b.Seal(at, core.NewSecret(rapid.StringN(1, 40, -1).Draw(t, "secret")))
		i := rapid.IntRange(0, len(text)).Draw(t, "where")
		changed := text[:i] + rapid.StringN(0, 3, -1).Draw(t, "new") + text[min(len(text), i+rapid.IntRange(0, 3).Draw(t, "cut")):]
		if changed == text || changed == "" {
			t.Skip("nothing was changed")
		}
		if got, err := b.Open(at, changed); err == nil || got.Set() {
			t.Fatalf("%q opens as it was changed from %q", changed, text)
		}
	})
	// What a lenient reader of base64 takes for the same.
	at := Place{"t", "r", "f"}
	text := b.Seal(at, core.NewSecret("xy"))
	for _, changed := range []string{text + "\n", text[:20] + "\r\n" + text[20:], text + "=", text + "A", text[:len(text)-1]} {
		if _, err := b.Open(at, changed); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", changed, err)
		}
	}
	raw, _ := base64.RawURLEncoding.DecodeString(text[len(prefix):])
	for i := range raw {
		for bit := range 8 {
			flipped := append([]byte{}, raw...)
			flipped[i] ^= 1 << bit
			if _, err := b.Open(at, prefix+base64.RawURLEncoding.EncodeToString(flipped)); err == nil {
				t.Fatalf("bit %d of byte %d may be flipped", bit, i)
			}
		}
	}
}

func TestOldKeysOnlyOpen(t *testing.T) {
	at := Place{"guests", "x", "code"}
	before := box(t, one).Seal(at, core.NewSecret("ABCDEFGH"))
	b := box(t, other, one)
	if got, err := b.Open(at, before); err != nil || got.Reveal() != "ABCDEFGH" || b.Current(before) {
		t.Errorf("the old key gives %q, %v", got.Reveal(), err)
	}
	if now := b.Seal(at, core.NewSecret("ABCDEFGH")); !b.Current(now) {
		t.Error("the old key seals")
	} else if _, err := box(t, one).Open(at, now); !errors.Is(err, ErrOtherKey) {
		t.Errorf("the old key opens what is new: %v", err)
	}
}

func TestWhatIsNoSecret(t *testing.T) {
	b, at := box(t, one), Place{}
	if text := b.Seal(at, core.Secret{}); text != "" {
		t.Errorf("nothing is kept as %q", text)
	}
	if got, err := b.Open(at, ""); got.Set() || err != nil {
		t.Errorf("nothing opens as %v, %v", got.Reveal(), err)
	}
	if _, err := b.Open(at, "ABCDEFGH"); !errors.Is(err, ErrPlain) || b.Current("ABCDEFGH") {
		t.Errorf("a plain text: %v", err)
	}
	if _, err := New(core.NewSecret("short")); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("a short key: %v", err)
	}
}

// Nothing of a box or its errors shows a key.
func TestABoxDoesNotPrintItsKey(t *testing.T) {
	b := box(t, one, other)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, b); strings.Contains(text, one) || strings.Contains(text, fmt.Sprint([]byte(one))) {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

// good is a text as this version keeps it. It has to open for as long as there
// are such databases.
const good = "sealed:AcQUdS5YJUUroDXA3gT2uu9PB8zjUfvqW5fUyqerBrOrnQGgMKomgcCwyCLb"

// FuzzOpen: whatever is stored, Open says no and does not panic; only what this
// box sealed for the place opens.
func FuzzOpen(f *testing.F) {
	b, err := New(core.NewSecret(one))
	if err != nil {
		f.Fatal(err)
	}
	at := Place{"guests", "discord", "code"}
	for _, seed := range []string{good, "", prefix, prefix + "AQ", "ABCDEFGH", good[:len(good)-4], good + good, prefix + strings.Repeat("A", 60)} {
		f.Add(seed, at.Row)
	}
	f.Fuzz(func(t *testing.T, text, row string) {
		secret, err := b.Open(Place{at.Table, row, at.Field}, text)
		switch {
		case text == good && row == at.Row:
			if err != nil || secret.Reveal() != "ABCDEFGH" {
				t.Errorf("the good one: %v", err)
			}
		case text == "":
			if err != nil || secret.Set() {
				t.Errorf("nothing: %v", err)
			}
		case err == nil || secret.Set():
			t.Errorf("%q opens at %q", text, row)
		}
	})
}
