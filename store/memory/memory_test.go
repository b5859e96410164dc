package memory_test

import (
	"testing"

	"understudy/store/memory"
	"understudy/store/storetest"
)

func TestSuite(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Opener {
		m := memory.New()
		return func(_ testing.TB, fault func(string) error) storetest.Store {
			return m.Open(memory.Options{Fault: fault})
		}
	})
}
