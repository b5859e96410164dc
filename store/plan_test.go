package store

import (
	"strings"
	"testing"
)

// The queries of every turn look at what they need and no more, however much
// is stored.
func TestQueriesUseTheirIndex(t *testing.T) {
	s := mustOpen(t, Options{Path: at(t)})
	for _, query := range []string{
		sessionQuery,
		transcriptQuery,
		turnQuery,
		waitingQuery,
		inboundQuery,
		outgoingQuery,
		rowByID,
		statesQuery,
		spentQuery,
		followingQuery,
		theirHeardQuery,
		theirSpentQuery,
		theirWaitingQuery,
		othersQuery,
		unsaidQuery,
		summedQuery,
		oldEntries,
		dropSummaries,
		oldTurns,
		oldRows,
		oldKeys,
		withdrawQuery,
	} {
		n := strings.Count(query, "?")
		steps, err := list(t.Context(), s, func(sc scanner) (detail string, err error) {
			var id, parent, unused int
			err = sc.Scan(&id, &parent, &unused, &detail)
			return detail, err
		}, "EXPLAIN QUERY PLAN "+query, make([]any, n)...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, step := range steps {
			if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING INDEX inbox_waiting") && !strings.Contains(step, "USING INDEX delivery_open") {
				t.Errorf("%s:\n%s", query, step)
			}
		}
	}
}
