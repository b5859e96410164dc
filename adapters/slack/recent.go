package slack

import "sync"

// recent remembers the newest keys it was given, up to a bound.
type recent[K comparable] struct {
	mu   sync.Mutex
	keys map[K]bool
	ring []K
	at   int
}

func newRecent[K comparable](most int) *recent[K] {
	return &recent[K]{keys: map[K]bool{}, ring: make([]K, most)}
}

// add remembers a key and reports whether it is new.
func (r *recent[K]) add(k K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys[k] {
		return false
	}
	delete(r.keys, r.ring[r.at])
	r.keys[k] = true
	r.ring[r.at] = k
	r.at = (r.at + 1) % len(r.ring)
	return true
}

func (r *recent[K]) has(k K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[k]
}
