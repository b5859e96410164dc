package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"understudy/core"
	"understudy/sessions"
)

// Sessions are all sessions, by agent and thread.
func (s *Store) Sessions(ctx context.Context) (all []sessions.Kept, err error) {
	err = s.read(ctx, func(d *data) error {
		for k, r := range d.sessions {
			record, err := r.session(k)
			if err != nil {
				return err
			}
			kept := sessions.Kept{Session: record}
			for at, entries := range d.transcripts {
				if at.key == k {
					kept.Entries += len(entries)
				}
			}
			all = append(all, kept)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b sessions.Kept) int {
		return cmp.Or(strings.Compare(a.Key.Agent, b.Key.Agent), strings.Compare(a.Key.Thread, b.Key.Thread))
	})
	return all, err
}

// Transcripts are the ids of a session's transcripts, the oldest first.
func (s *Store) Transcripts(ctx context.Context, k core.Key) (ids []string, err error) {
	first := map[string]int64{}
	err = s.read(ctx, func(d *data) error {
		for at, entries := range d.transcripts {
			if at.key == k && len(entries) > 0 {
				ids, first[at.id] = append(ids, at.id), entries[0].seq
			}
		}
		return nil
	})
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	return ids, err
}

// Following are the entries of a transcript after one of them.
func (s *Store) Following(ctx context.Context, k core.Key, id string, after int64, limit int) (list []sessions.Entry, err error) {
	err = s.read(ctx, func(d *data) error {
		bytes := 0
		for _, e := range d.transcripts[transcript{k, id}] {
			if e.seq <= after || len(list) >= limit || bytes >= sessions.HistoryBytes {
				continue
			}
			bytes += len(e.doc)
			v, err := decode[sessions.Entry](e.doc)
			if err != nil {
				return err
			}
			v.Seq = e.seq
			list = append(list, v)
		}
		return nil
	})
	return list, err
}
