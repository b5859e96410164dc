package store

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

func TestExclusive(t *testing.T) {
	path := at(t)
	first := mustOpen(t, Options{Path: path, Exclusive: true})

	var locked *LockedError
	_, err := Open(t.Context(), Options{Path: path, Exclusive: true})
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("the second got %v", err)
	}
	if want := fmt.Sprintf("store %s: process %d is running on it; stop that one first", locked.Path, os.Getpid()); err.Error() != want {
		t.Errorf("the error reads %q", err)
	}

	beside := mustOpen(t, Options{Path: path})
	for _, s := range []*Store{first, beside, first, beside} {
		if err := count(t, s); err != nil {
			t.Fatal(err)
		}
	}
	if n := counted(t, first); n != 4 {
		t.Errorf("%d of 4 changes are there", n)
	}

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, Options{Path: path, Exclusive: true})
}

func TestAnUnknownHolder(t *testing.T) {
	path := at(t)
	if err := mustOpen(t, Options{Path: path, Exclusive: true}).Close(); err != nil {
		t.Fatal(err)
	}
	l, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.unlock()
	if err := l.f.Truncate(0); err != nil { // between the lock and the id
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := Open(t.Context(), Options{Path: path, Exclusive: true}); !errors.As(err, &locked) || locked.PID != 0 {
		t.Errorf("the error is %v", err)
	}
}
