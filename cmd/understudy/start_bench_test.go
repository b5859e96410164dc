package main

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/adapters/discord/discordtest"
	"understudy/store"
)

// BenchmarkStart measures how long the program takes from its start until it
// runs, with nothing stored and with 100,000 conversations, and how long until
// "understudy version" has ended: what a program with the same imports takes that
// does nothing. They follow each other, so that all see the same machine.
//
//	go test -run '^$' -bench Start -benchtime 20x ./cmd/understudy
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "understudy")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			b.Skip("NOT MEASURED: there is no go tool to build the program with")
		}
		b.Fatalf("building the program: %v\n%s", err, out)
	}
	little, much := filepath.Join(dir, "little.db"), filepath.Join(dir, "much.db")
	crowd(b, little, 10)
	crowd(b, much, 100_000)
	town, err := discordtest.Start(discordtest.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer town.Close()
	config := filepath.Join(dir, "understudy.jsonc")
	if err := os.WriteFile(config, []byte(`{"agents": {"defaults": {"model": {"primary": "lead/actor"}}}, "models": {"providers": {"lead": {"baseUrl": "http://127.0.0.1:1/v1"}}}}`), 0o600); err != nil {
		b.Fatal(err)
	}
	env := append([]string{"HOME=" + dir, "UNDERSTUDY_HTTP=127.0.0.1:0", "UNDERSTUDY_CONFIG=" + config, "LEAD_API_KEY=key"}, discordTown{town}.env()...)
	var empty, small, large []time.Duration
	for range b.N {
		began := time.Now()
		version := exec.Command(program, "version")
		if out, err := version.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		empty = append(empty, time.Since(began))
		small = append(small, startUntilRunning(b, program, append(env, "UNDERSTUDY_STORE="+little)))
		large = append(large, startUntilRunning(b, program, append(env, "UNDERSTUDY_STORE="+much)))
	}
	b.ReportMetric(0, "ns/op")
	for what, all := range map[string][]time.Duration{"version": empty, "little": small, "much": large} {
		b.ReportMetric(float64(quantile(all, 0.5).Microseconds())/1e3, what+"-p50-ms")
	}
	b.ReportMetric(float64(quantile(large, 0.5))/float64(quantile(empty, 0.5)), "x-version")
	b.ReportMetric(float64(quantile(large, 0.5))/float64(quantile(small, 0.5)), "x-little")
}

// startUntilRunning starts the program, waits until it says that it runs, and
// ends it.
func startUntilRunning(b *testing.B, program string, env []string) time.Duration {
	b.Helper()
	c := exec.Command(program, "run")
	c.Env = env
	log, err := c.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); said.WriteString(lines.Text() + "\n") {
		if strings.Contains(lines.Text(), "msg=running ") {
			took := time.Since(began)
			_ = c.Process.Kill()
			_ = c.Wait() // it was killed
			return took
		}
	}
	b.Fatalf("the program ended; it said\n%s", said.String())
	return 0
}

// crowd makes a store with so many conversations, each with one message that was
// answered long ago.
func crowd(b *testing.B, path string, size int) {
	b.Helper()
	st, err := store.Open(b.Context(), store.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	at := time.Now().Add(-time.Hour).UnixNano() // not too old yet
	thread := `'discord:default:g:900:c:' || value`
	each := fmt.Sprintf(" FROM generate_series WHERE value <= %d", size)
	_, err = db.Exec(`BEGIN;
		CREATE TEMP TABLE generate_series AS WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < ` + fmt.Sprint(size) + `) SELECT value FROM n;
		INSERT INTO sessions (agent, thread, record) SELECT 'main', ` + thread + `, '{"transcript":"t' || value || '","engaged":true}'` + each + `;
		INSERT INTO inbox (key, agent, thread, at, settled, message) SELECT 'm' || value, 'main', ` + thread + `, ` + fmt.Sprint(at) + `, 1, '{}'` + each + `;
		INSERT INTO entries (agent, thread, transcript, at, entry) SELECT 'main', ` + thread + `, 't' || value, ` + fmt.Sprint(at) + `, '{"author":"discord:7","inbox":"m' || value || '"}'` + each + `;
		INSERT INTO turns (id, agent, thread, at, turn) SELECT 'u' || value, 'main', ` + thread + `, ` + fmt.Sprint(at) + `, '{}'` + each + `;
		INSERT INTO delivery (agent, thread, turn, kind, part, state, platform_id, tries, settled, error, post)
			SELECT 'main', ` + thread + `, 'u' || value, 'answer', 0, 'sent', 'p', 0, ` + fmt.Sprint(at) + `, '', '{}'` + each + `;
		COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`)
	if err != nil {
		b.Fatal(err)
	}
}
