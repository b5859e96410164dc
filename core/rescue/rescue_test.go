package rescue

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestAPanicBecomesALine(t *testing.T) {
	said := &strings.Builder{}
	log := slog.New(slog.NewJSONHandler(said, nil))
	func() {
		defer Panic(log, "reading a post")
		panic(errors.New("a broken post"))
	}()
	fail := func(v any) (err error) {
		defer Error(&err, log, "sending a post")
		if v != nil {
			panic(v)
		}
		return errors.New("its own")
	}
	if err := fail(map[string]int{"a": 1}); !errors.Is(err, Err) {
		t.Errorf("the error is %v", err)
	}
	if err := fail(nil); err == nil || err.Error() != "its own" {
		t.Errorf("without a panic the error is %v", err)
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("the log has %d lines:\n%s", len(lines), said)
	}
	for i, want := range [][]string{{`"in":"reading a post"`, `"panic":"a broken post"`}, {`"in":"sending a post"`, `"panic":"map[a:1]"`}} {
		for _, w := range append(want, `"level":"ERROR"`, "TestAPanicBecomesALine") { // the last from the stack
			if !strings.Contains(lines[i], w) {
				t.Errorf("the line lacks %s: %s", w, lines[i])
			}
		}
	}
}
