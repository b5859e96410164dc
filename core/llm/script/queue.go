package script

// Queue holds answers that are used in order. The last one lasts: it is given
// again and again until another is pushed, and is dropped then if it was given
// at least once. One that was never given stays in front.
//
// The zero value is empty, and so is a nil Queue that is only read. A Queue is
// not safe for concurrent use.
type Queue[T any] struct {
	items []T
	given bool // the first item was given and is the last one
}

// Push appends an answer.
func (q *Queue[T]) Push(v T) {
	if q.given {
		q.items, q.given = q.items[:0], false
	}
	q.items = append(q.items, v)
}

// Next is the answer to give now; ok is false when none was ever pushed.
func (q *Queue[T]) Next() (v T, ok bool) {
	if q == nil || len(q.items) == 0 {
		return v, false
	}
	v = q.items[0]
	if len(q.items) == 1 {
		q.given = true
	} else {
		q.items = q.items[1:]
	}
	return v, true
}
