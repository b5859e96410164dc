package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/core"
	"understudy/core/seal"
	"understudy/sessions"
	"understudy/store"
)

// The command line shows who asks, lets them in and takes that back, beside a
// process that has the store for itself.
func TestPairingCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	setEnv(t, "UNDERSTUDY_STORE="+path)
	says := func(want int, text string, args ...string) {
		t.Helper()
		out, errs, code := command(t, "", append([]string{"pairing"}, args...)...)
		if code != want || !strings.Contains(out+errs, text) {
			t.Errorf("pairing %s: exit %d, %s%s; want %d and %q", strings.Join(args, " "), code, out, errs, want, text)
		}
	}
	says(2, "there is no store", "list")
	st, err := store.Open(t.Context(), store.Options{Path: path, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	says(0, "nobody has asked", "list")
	ask := func(user, name, code string, at time.Time) {
		t.Helper()
		if err := st.UpdateGuest(t.Context(), "discord", accountName, user, func(g sessions.Guest) sessions.Guest {
			g.Name, g.Code, g.Asked = name, code, at
			g.Target.Thread = core.Thread{Platform: "discord", Account: accountName, Channel: "7", Kind: core.KindDirect}
			return g
		}); err != nil {
			t.Fatal(err)
		}
	}
	ask("700", "Zoe \x1b[2J", "ABCDEFGH", time.Now())
	ask("701", "", "JKMNPQRS", time.Now().Add(-2*time.Hour))
	says(0, `discord:700  Zoe \x1b[2J  asks with ABCDEFGH, until `, "list")
	says(0, "asked in vain", "list")
	says(2, `nobody asks with the code "nonsense"`, "approve", "nonsense")
	says(2, `nobody asks with the code "JKMNPQRS"`, "approve", "JKMNPQRS")
	says(0, "discord:700 may write to the bot directly.", "approve", "abcdefgh")
	says(0, "by the command line", "list")
	if g, err := st.Guest(t.Context(), "discord", accountName, "700"); err != nil || g.Approved.IsZero() {
		t.Errorf("the store has %+v, %v", g, err)
	}
	says(0, "discord:700 may no longer write to the bot directly.", "revoke", "discord:700")
	says(2, "discord:700 was not let in", "revoke", "discord:700")
	says(2, "want a person", "revoke", "channel:700")
	for _, args := range [][]string{{}, {"nonsense"}, {"approve"}, {"revoke", "discord:1", "discord:2"}, {"list", "x"}} {
		says(2, "write: understudy pairing list", args...)
	}
	says(0, "write: understudy pairing list", "-h")
}

// A command without the bot's key says why it cannot show a code, and a file
// without a key stops it with a word on what to do.
func TestPairingWithoutTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	setEnv(t, "UNDERSTUDY_STORE="+path)
	st, err := store.Open(t.Context(), store.Options{Path: path, Keys: seal.Keys{Current: core.NewSecret(strings.Repeat("x", seal.MinKey))}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.UpdateGuest(t.Context(), "discord", accountName, "700", func(g sessions.Guest) sessions.Guest {
		g.Code, g.Asked = "ABCDEFGH", time.Now()
		return g
	}); err != nil {
		t.Fatal(err)
	}
	out, errs, code := command(t, "", "pairing", "list")
	if code != 0 || !strings.Contains(out, "UNDERSTUDY_SECRET_KEY") || strings.Contains(out, "ABCDEFGH") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	t.Setenv("UNDERSTUDY_SECRET_KEY", strings.Repeat("x", seal.MinKey))
	if out, errs, code := command(t, "", "pairing", "list"); code != 0 || !strings.Contains(out, "asks with ABCDEFGH") {
		t.Errorf("with the key: exit %d: %s%s", code, out, errs)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), seal.FileName), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := command(t, "", "pairing", "list"); code != 2 || !strings.Contains(errs, "holds no key") || strings.Contains(errs, "short") {
		t.Errorf("a file without a key: exit %d: %s%s", code, out, errs)
	}
}
