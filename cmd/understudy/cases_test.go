package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"understudy/core"
	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/notices"
	"understudy/sessions"
)

// caseIDs are the reported failures that testdata/cases.md answers for.
const caseIDs = `
	f002 f004 f006 f007 f008 f012 f013 f015 f016 f020 f022 f023 f025 f027 f029
	f030 f031 f032 f035 f036 f038 f039 f042 f044 f046 f048 f051 f052 f055 f056
	f057 f059 f062 f066 f067 f069 f071 f072 f074 f075 f076 f078 f079 f080 f084
	f089 f092 f095 f098 f099 f100 f101 f106 f108 f109 f110 f114 f115 f117 f118
	f119 f120 f121 f122 f123 f124 f126 f131 f132 f133 f135 f136 f138 f140 f142
	f143 f144 f145 f146 f147 f148 f149 f150 f152 f153 f154 f156 f157 f158 f160
	f161 f163 f167 f168 f169 f171 f174 f175 f177 f179 f181 f183 f184 f185 f186
	f188 f189 f191 f193 f194 f195 f196 f199 f200 f203 f204 f205 f208 f209 f210
	f211 f212 f213 f214 f215 f216 f218 f220 f221 f224
`

// caseRow is a row of testdata/cases.md.
type caseRow struct{ id, outcome, where string }

func caseTable(t *testing.T) []caseRow {
	t.Helper()
	var rows []caseRow
	for _, cells := range tableRows(t, "testdata/cases.md", "f", 5) {
		rows = append(rows, caseRow{cells[0], cells[2], cells[3]})
	}
	return rows
}

// Every case has one row, and every row says the truth about its test.
func TestCasesTable(t *testing.T) {
	var ids, shown []string
	for _, r := range caseTable(t) {
		ids = append(ids, r.id)
		if strings.HasSuffix(r.where, ".txtar") {
			shown = append(shown, r.where)
		}
		if err := r.check(); err != nil {
			t.Errorf("%s: %v", r.id, err)
		}
	}
	if want := strings.Fields(caseIDs); !slices.Equal(ids, want) {
		t.Errorf("the table has %v, want %v", ids, want)
	}
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(shown, filepath.Base(file)) {
			t.Errorf("%s is in no row", file)
		}
	}
}

// check looks for what a row names.
func (r caseRow) check() error {
	name, file, isTest := strings.Cut(r.where, " in ")
	switch {
	case r.outcome == "passes" && r.where == "":
		return fmt.Errorf("it names no scenario and no test")
	case strings.HasPrefix(r.outcome, "waits: "), r.outcome == "no such feature":
		if r.where != "" {
			return fmt.Errorf("it names %s, but is said to be %s", r.where, r.outcome)
		}
		return nil
	case r.outcome != "passes" && r.outcome != "overruled":
		return fmt.Errorf("%q is no outcome", r.outcome)
	case r.where == "":
		return nil
	case !isTest:
		if r.outcome == "passes" && r.where != r.id+".txtar" {
			return fmt.Errorf("its scenario is %s", r.where)
		}
		_, err := os.Stat(filepath.Join("testdata", "cases", r.where))
		return err
	}
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^func ` + name + `\(t \*testing\.T\)`).Match(data) {
		return fmt.Errorf("%s has no test %s", file, name)
	}
	return nil
}

// An answer in three parts whose second one is refused, or has an unknown
// outcome, is there whole and once, with no second answer beside it.
func TestF095(t *testing.T) {
	for _, fault := range []string{"platform fails post 2", "platform unknown post 2"} {
		story := fmt.Sprintf(`
-- config.jsonc --
{"agents": {"defaults": {"model": {"primary": "a/m1", "fallbacks": ["b/m2"]}}}, "streaming": "off"}
-- script --
%s
model a/m1: text "%s%s%s"
user ann in t1: tell me everything
wait 2m
expect request a/m1
expect answer in t1: /^(one )+$/
expect linked
expect answer in t1: /^(two )+$/
expect not linked
expect answer in t1: /^(three )+$/
expect not linked
expect nothing
expect total requests 1
`, fault, part("one"), part("two"), part("three"))
		for _, kind := range []string{"memory", "sqlite"} {
			t.Run(fault+"/"+kind, func(t *testing.T) {
				s, err := readScenario("f095", []byte(story))
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) { play(t, s, opener(t, kind, dir)) })
			})
		}
	}
}

// part is as much of one word as a post of the scenarios' platform holds.
func part(word string) string { return strings.Repeat(word+" ", 2000/(len(word)+1)) }

// A turn that stores what it told and a user who picks a model write the same
// record at the same time; both are kept.
func TestF119(t *testing.T) {
	const rounds = 1000
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			s := opener(t, kind, t.TempDir())(nil)
			defer s.Close()
			ctx, key := context.Background(), core.Key{Agent: mainAgent, Thread: "t1"}
			ref := func(i int) llm.Ref { return llm.Ref{Provider: "a", Model: fmt.Sprint("m", i)} }
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := range rounds {
					err := s.Commit(ctx, key, 0, func(tx sessions.Tx) error {
						r := tx.Session()
						r.Notice = notices.State{Selected: ref(i), Active: ref(i + 1)}
						tx.SetSession(r)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
			wg.Go(func() {
				for i := range rounds {
					pick := sessions.Choice{Model: ref(i), Source: failover.FromUser}
					err := s.CommitChoice(ctx, key, 0, func(tx sessions.ChoiceTx) error {
						tx.SetChoice(pick)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
					if r, err := s.Session(ctx, key); err != nil || r.Choice != pick {
						t.Errorf("the pick %v became %v: %v", pick, r.Choice, err)
					}
				}
			})
			wg.Wait()
			r, err := s.Session(ctx, key)
			if err != nil || r.Choice.Model != ref(rounds-1) || r.Notice.Active != ref(rounds) {
				t.Errorf("the record holds %v and %v: %v", r.Choice, r.Notice, err)
			}
		})
	}
}
