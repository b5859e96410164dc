package store

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The driver works only with the very version of modernc.org/libc that it was
// generated for; any other module of the build may silently raise it.
func TestLibcIsTheDriversOwn(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("NOT CHECKED: the go command is needed to see the versions of modules: ", err)
	}
	module := func(name string) (m struct{ Version, GoMod string }) {
		out, err := exec.Command("go", "list", "-m", "-json", name).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", name, err)
		}
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	mod, err := os.ReadFile(filepath.Clean(module("modernc.org/sqlite").GoMod))
	if err != nil {
		t.Fatal(err)
	}
	pin := regexp.MustCompile(`(?m)^\s*(?:require )?modernc\.org/libc (\S+)`).FindSubmatch(mod)
	if pin == nil {
		t.Fatal("modernc.org/sqlite pins no modernc.org/libc any more; this test has lost its reason")
	}
	if got, want := module("modernc.org/libc").Version, string(pin[1]); got != want {
		t.Errorf("modernc.org/libc is %s and modernc.org/sqlite was made for %s: set it so in go.mod, or drop what raised it", got, want)
	}
}
