package seal

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"understudy/core"
)

var place = Place{"guests", "x", "code"}

func load(t *testing.T, folder string, given Keys) (*Box, string) {
	t.Helper()
	said := &strings.Builder{}
	b, err := Load(folder, given, slog.New(slog.NewTextHandler(said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return b, said.String()
}

func opens(t *testing.T, b *Box, text string) {
	t.Helper()
	if got, err := b.Open(place, text); err != nil || got.Reveal() != "ABCDEFGH" {
		t.Errorf("it opens as %q, %v", got.Reveal(), err)
	}
}

func sealed(b *Box) string { return b.Seal(place, core.NewSecret("ABCDEFGH")) }

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode().Perm()
}

// The first start makes the file, the second one reads it.
func TestTheFileIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	b, said := load(t, dir, Keys{})
	if m := mode(t, filepath.Join(dir, FileName)); m != 0o600 {
		t.Errorf("the file has mode %o", m)
	}
	if !strings.Contains(said, "a key was made") {
		t.Errorf("the log says %q", said)
	}
	text := sealed(b)
	again, said := load(t, dir, Keys{})
	opens(t, again, text)
	if said != "" {
		t.Errorf("the second time the log says %q", said)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the folder holds %v, %v", list, err)
	}
}

// Processes that start at once agree on one key.
func TestManyMakeOneKey(t *testing.T) {
	dir := t.TempDir()
	boxes := make([]*Box, 20)
	var wg sync.WaitGroup
	for i := range boxes {
		wg.Go(func() { boxes[i], _ = Load(dir, Keys{}, slog.New(slog.DiscardHandler)) })
	}
	wg.Wait()
	for i, b := range boxes {
		if b == nil {
			t.Fatalf("number %d has no key", i)
		}
		opens(t, b, sealed(boxes[0]))
	}
}

// A change of the key, by file and by variable: what was sealed before opens.
func TestKeysChange(t *testing.T) {
	dir := t.TempDir()
	first, _ := load(t, dir, Keys{})
	text := sealed(first)
	path := filepath.Join(dir, FileName)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	second, _ := load(t, dir, Keys{})
	opens(t, second, text)
	if second.Current(text) {
		t.Error("the old file still seals")
	}
	given, _ := load(t, dir, Keys{Current: core.NewSecret(one)})
	opens(t, given, text)
	opens(t, given, sealed(second))
	if given.Current(sealed(second)) {
		t.Error("the file seals in spite of the given key")
	}
	back, _ := load(t, t.TempDir(), Keys{Old: core.NewSecret(one)})
	opens(t, back, sealed(given))
	if back.Current(sealed(given)) {
		t.Error("the old key still seals")
	}
}

// With a given key there is no need of a file, and none is made.
func TestAGivenKeyNeedsNoFile(t *testing.T) {
	dir := t.TempDir()
	b, _ := load(t, dir, Keys{Current: core.NewSecret(one)})
	text := sealed(b)
	elsewhere, _ := load(t, t.TempDir(), Keys{Current: core.NewSecret(one)})
	opens(t, elsewhere, text)
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("the folder holds %v, %v", list, err)
	}
}

// A file that others can read is closed, and its owner told.
func TestAWideFileIsClosed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	dir := t.TempDir()
	load(t, dir, Keys{})
	path := filepath.Join(dir, FileName)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, said := load(t, dir, Keys{}); !strings.Contains(said, "others could read") || mode(t, path) != 0o600 {
		t.Errorf("mode %o, the log says %q", mode(t, path), said)
	}
}

// What is no key is refused with a word on what to do, and stays as it is.
func TestABadFileIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "remarks only": remark, "too short": "abc\n", "two keys": one + "\n" + other + "\n", "a large file": strings.Repeat("x", 5000),
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir, Keys{}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "holds no key") || !strings.Contains(err.Error(), "move the file away") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), one) || strings.Contains(err.Error(), "xxxx")) {
			t.Errorf("%s: the error shows what is in it: %v", name, err)
		}
		if left, _ := os.ReadFile(path); string(left) != content {
			t.Errorf("%s: the file was changed", name)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, Keys{}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "no ordinary file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "nowhere"), Keys{}, slog.New(slog.DiscardHandler)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
