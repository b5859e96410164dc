package discord

// Sizes of what is remembered. Everything remembered can be forgotten: it is
// asked for again, or a repetition is sorted out by whoever gets it.
const (
	manyThreads  = 10000
	manyPlaces   = 20000
	manyMessages = 2000
	manyActive   = 200 // direct messages that are read again after a gap
)

// bounded is a map that forgets its oldest entry when it is full. It is not
// safe for concurrent use.
type bounded[V any] struct {
	max   int
	all   map[string]V
	order []string
	next  int // where in order the oldest entry is, once it is full
}

func newBounded[V any](most int) *bounded[V] {
	return &bounded[V]{max: most, all: map[string]V{}}
}

func (b *bounded[V]) get(key string) (V, bool) {
	v, ok := b.all[key]
	return v, ok
}

func (b *bounded[V]) put(key string, v V) {
	if _, ok := b.all[key]; !ok {
		if len(b.order) < b.max {
			b.order = append(b.order, key)
		} else {
			delete(b.all, b.order[b.next])
			b.order[b.next] = key
			b.next = (b.next + 1) % b.max
		}
	}
	b.all[key] = v
}

// drop empties an entry; its place in the order stays until its time comes.
func (b *bounded[V]) drop(key string) { delete(b.all, key) }
