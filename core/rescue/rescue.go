// Package rescue keeps a mistake of this program inside of what it happened in.
//
// A panic that nobody catches ends the process, and the runtime writes its value
// on standard error as it is: no log masks it. So whatever begins a goroutine
// that handles what comes from outside defers one of these two in it. Both write
// one line into the log, with the value as a text, which the log masks like every
// other; the goroutine then ends in order, and whoever started it goes on.
package rescue

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Err is what became of what panicked. The log has the rest.
var Err = errors.New("a mistake of this program; the log says more")

// Panic is deferred. It ends a panic with a line in the log; what names what
// was being done.
func Panic(log *slog.Logger, what string) {
	if v := recover(); v != nil {
		report(log, what, v)
	}
}

// Error is deferred by a function with the result err. It ends a panic with a
// line in the log and sets the result to [Err].
func Error(err *error, log *slog.Logger, what string) {
	if v := recover(); v != nil {
		report(log, what, v)
		*err = Err
	}
}

func report(log *slog.Logger, what string, v any) {
	log.Error("a mistake of this program; please report it", "in", what, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
}
