package store

import (
	"path/filepath"
	"testing"

	"understudy/store/storetest"
)

func TestSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		path := filepath.Join(t.TempDir(), "data", "understudy.db")
		return func(t testing.TB, fault func(string) error) storetest.Store {
			s, err := Open(t.Context(), Options{Path: path, Fault: fault})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}
