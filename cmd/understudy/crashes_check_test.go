package main

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the store's files are read as they are

	"understudy/core/failover"
	"understudy/core/llm"
	"understudy/sessions"
	"understudy/store"
)

// autopsy looks at what a killed process left, in a copy of its files: what was
// under way, and whether a block that must be known is.
func (s *crashes) autopsy() {
	s.Helper()
	dir := s.TempDir()
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "left.db")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(s.storeFile()+suffix, path+suffix); err != nil && !os.IsNotExist(err) {
			s.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		s.phases["no store yet"]++
		return
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	hit := 0
	for phase, query := range map[string]string{
		"a message that was admitted":      "SELECT count(*) FROM inbox WHERE settled = 0 AND turn = ''",
		"a turn":                           "SELECT count(*) FROM inbox WHERE settled = 0 AND turn <> '' AND tool = 0",
		"a tool":                           "SELECT count(*) FROM inbox WHERE settled = 0 AND tool = 1",
		"a preview":                        "SELECT count(*) FROM delivery WHERE state = 'preview' AND platform_id <> ''",
		"a preview that nobody knows":      "SELECT count(*) FROM delivery WHERE state = 'preview' AND platform_id = ''",
		"an answer committed and not sent": "SELECT count(*) FROM delivery WHERE state = 'queued' AND kind = 'answer'",
		"a post on its way":                "SELECT count(*) FROM delivery WHERE state = 'sending'",
		"a notice not sent":                "SELECT count(*) FROM delivery WHERE state IN ('queued', 'sending') AND kind = 'notice'",
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil {
			s.phases["a store in the making"]++
			return
		}
		if n > 0 {
			s.phases[phase]++
			hit++
		}
	}
	if hit == 0 {
		s.phases["nothing"]++
	}
	s.blocks(db)
}

// blocks wants the lead's block stored where the lead wants to be left alone and
// the second was asked in its place.
func (s *crashes) blocks(db *sql.DB) {
	s.Helper()
	now := time.Now()
	var played played
	s.fakes.ask(s.T, "/played", nil, &played)
	var state failover.State
	var text string
	if db.QueryRow("SELECT state FROM states WHERE profile = 'lead:env'").Scan(&text) == nil {
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			s.Fatal(err)
		}
	}
	for _, a := range played.Away {
		// An answer that was under way when the lead said so lifts its block.
		if !a.Known || !a.Until.After(now) || played.Back.After(a.Until.Add(-leadAway)) {
			continue
		}
		s.held++
		if until := state.Models["actor"].Until; until.Before(now) {
			s.Errorf("the lead wants to be left alone until %v because of %s, and the second was asked, but the block that is stored is %+v", a.Until, a.Number, state)
		}
	}
}

// played is what the reciting providers have seen.
type played struct {
	Rings map[string]int
	Away  []struct {
		Number string
		Until  time.Time
		Known  bool
	}
	Back time.Time
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// check holds everything that was promised against what is there.
func (s *crashes) check() {
	s.Helper()
	told := 0
	for _, k := range s.threads {
		w := k.walk(k.posts())
		s.answers.Add(int64(w.answers))
		s.notices += w.notices
		s.interrupted += w.interrupted
		if w.wrong == "" && !w.done {
			w.wrong = "it has no end"
		}
		if w.wrong != "" {
			if told++; told <= 3 { // the others are likely the same
				s.Errorf("%s: %s; its story:\n%s", k.name(), w.wrong, s.story(k))
			} else {
				s.Errorf("%s: %s", k.name(), w.wrong)
			}
		}
	}
	if strings.Contains(s.err.String(), "DATA RACE") {
		s.Errorf("the race detector found something:\n%s", s.about(regexp.MustCompile("(?s)DATA RACE")))
	}
	s.checkStage()
	s.checkStore()
}

func (k *crashThread) name() string { return fmt.Sprintf("%s %s %s", k.platform, k.channel, k.id) }

// checkStage looks for tools that ran twice and threads that were opened twice.
func (s *crashes) checkStage() {
	s.Helper()
	var played played
	s.fakes.ask(s.T, "/played", nil, &played)
	for number, n := range played.Rings {
		if n > 1 {
			s.Errorf("the tool ran %d times for %s", n, number)
		}
	}
	var all struct{ Threads []string }
	s.fakes.ask(s.T, "/everything", nil, &all)
	want := 0
	for _, k := range s.threads {
		if k.platform == "discord" && !k.direct && k.id != "" {
			want++
			if !slices.Contains(all.Threads, k.id) {
				s.Errorf("%s was not opened", k.name())
			}
		}
	}
	if len(all.Threads) != want {
		s.Errorf("%d threads were opened on Discord, want %d: %v", len(all.Threads), want, all.Threads)
	}
}

// checkStore wants a whole store in which nothing is left to do, and a
// transcript that holds each line and each answer once.
func (s *crashes) checkStore() {
	s.Helper()
	st, err := store.Open(s.Context(), store.Options{Path: s.storeFile(), Exclusive: true})
	if err != nil {
		s.Fatal(err)
	}
	defer st.Close()
	if err := st.Check(s.Context()); err != nil {
		s.Error(err)
	}
	waiting, err := st.Waiting(s.Context())
	if err != nil || len(waiting) > 0 {
		s.Errorf("%d messages are left in the inbox (%v): %+v", len(waiting), err, waiting)
	}
	rows, err := st.Outgoing(s.Context())
	if err != nil || len(rows) > 0 {
		s.Errorf("%d posts are left to be sent (%v): %+v", len(rows), err, rows)
	}
	kept, err := st.Sessions(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	summaries := 0
	for _, k := range kept {
		if summaries += k.Compactions; k.Summary != nil && !strings.Contains(k.Summary.Text, "were heard") {
			s.Errorf("%s has the summary %q", k.Key, k.Summary.Text)
		}
	}
	s.Logf("%d summaries were made", summaries)
	if summaries == 0 && s.store == "" { // on a disk that is filled there are few lines
		s.Error("nothing was summarised: the windows of the models are too large for this test")
	}
	heard, answered := s.entries()
	for _, k := range s.threads {
		for _, l := range k.said {
			if l.command != "" {
				continue
			}
			n := heard[l.number] + heard[l.number+"b"]
			m := answered[l.number] + answered[l.number+"b"]
			if n > 1 || m > 1 || !l.deleted && n == 0 || m == 0 && !l.deleted && !strings.Contains(l.how, ", ring") {
				s.Errorf("%s: the transcript holds line %s%s %d times, and its answer %d times", k.name(), l.number, l.how, n, m)
			}
		}
	}
}

var crashHeard = regexp.MustCompile(`line (\S+) please`)

// entries counts the lines and the answers in all transcripts, by number.
func (s *crashes) entries() (heard, answered map[string]int) {
	s.Helper()
	db, err := sql.Open("sqlite", s.storeFile())
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	heard, answered = map[string]int{}, map[string]int{}
	s.rows(db, "SELECT entry FROM entries", func(cells []string) {
		var e sessions.Entry
		if err := json.Unmarshal([]byte(cells[0]), &e); err != nil {
			s.Fatal(err)
		}
		text := e.Message.Text()
		if m := crashHeard.FindStringSubmatch(text); m != nil && e.Message.Role == llm.User {
			heard[m[1]]++
		}
		if m := crashAnswer.FindStringSubmatch(strings.TrimSpace(text)); m != nil && e.Message.Role == llm.Assistant {
			answered[m[1]]++
		}
	})
	return heard, answered
}

// rows gives each row of a query to f.
func (s *crashes) rows(db *sql.DB, query string, f func(cells []string), args ...any) {
	s.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		s.Fatal(err)
	}
	for rows.Next() {
		raw := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := rows.Scan(into...); err != nil {
			s.Fatal(err)
		}
		cells := make([]string, len(names))
		for i, c := range raw {
			cells[i] = c.String
		}
		f(cells)
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
}

// story is all that is known of a thread: what stands there, the rows of the
// store, and what the program logged.
func (s *crashes) story(k *crashThread) string {
	var b strings.Builder
	var all struct {
		Messages []struct {
			Platform, Channel, Thread, ID, Text, Key string
			Bot                                      bool
		}
	}
	s.fakes.ask(s.T, "/everything", url.Values{}, &all)
	b.WriteString("-- the thread\n")
	for _, m := range all.Messages {
		if m.Platform == k.platform && m.Channel == k.channel && (m.Thread == k.id || m.ID == k.id) {
			who := "person"
			if m.Bot {
				who = "bot"
			}
			fmt.Fprintf(&b, "%s %s: %.160q %s\n", m.ID, who, m.Text, m.Key)
		}
	}
	db, err := sql.Open("sqlite", s.storeFile())
	if err != nil {
		return b.String()
	}
	defer db.Close()
	where := "%:" + cmp.Or(k.id, k.channel) + "%"
	ids := []string{regexp.QuoteMeta(cmp.Or(k.id, k.channel))}
	b.WriteString("-- inbox: seq, key, turn, tool, settled\n")
	s.rows(db, "SELECT seq, key, turn, tool, settled FROM inbox WHERE thread LIKE ? OR key LIKE ?", func(c []string) {
		fmt.Fprintln(&b, strings.Join(c, " | "))
		if c[2] != "" {
			ids = append(ids, c[2])
		}
	}, where, where)
	b.WriteString("-- delivery: id, turn, kind, part, state, platform id, tries, created, settled, error, post\n")
	s.rows(db, "SELECT id, turn, kind, part, state, platform_id, tries, created, settled, error, substr(json_extract(post, '$.text'), 1, 60), json_extract(post, '$.nonce') FROM delivery WHERE thread LIKE ?", func(c []string) {
		fmt.Fprintln(&b, strings.Join(c, " | "))
	}, where)
	b.WriteString("-- the program\n" + s.about(regexp.MustCompile(strings.Join(ids, "|"))))
	return b.String()
}

// about is what the program logged about something, with its warnings, starts
// and ends.
func (s *crashes) about(what *regexp.Regexp) string {
	var b strings.Builder
	for line := range strings.Lines(s.err.String()) {
		if what.MatchString(line) || strings.HasPrefix(line, "== ") || strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			b.WriteString(line)
		}
	}
	return b.String()
}
