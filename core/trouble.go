package core

import "errors"

// StoreTrouble reports whether an error says that a store itself is at fault
// (full, locked, damaged, out of reach) and not what was asked of it, so that the
// same may well be taken later. Such errors have a method StoreTrouble that says
// so.
func StoreTrouble(err error) bool {
	var e interface{ StoreTrouble() bool }
	return errors.As(err, &e) && e.StoreTrouble()
}
