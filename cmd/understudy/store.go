package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"understudy/store"
)

const storeUsage = "write: understudy store check, understudy store backup [FILE], or understudy store vacuum; each takes --json"

// storeCommand is "understudy store …": the bot's database file in the hands of
// an operator.
func storeCommand(ctx context.Context, c console, args []string) error {
	verbs := map[string]func(ctx context.Context, c console, path, to string, asJSON bool) error{
		"check": checkStore, "backup": backupStore, "vacuum": vacuumStore,
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Fprintln(c.out, storeUsage)
		return nil
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return misuse("%s", storeUsage)
	}
	f := flags(c, "store "+args[0])
	configPath := f.String("config", "", "the configuration file")
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args[1:]); err != nil {
		return err
	}
	if f.NArg() > 1 || f.NArg() == 1 && args[0] != "backup" {
		return misuse("%q is one word too many; %s", f.Arg(f.NArg()-1), storeUsage)
	}
	s, err := loadFor(c, *configPath)
	if err != nil {
		return err
	}
	return storeMistake(s.config.Store.Path, verbs[args[0]](ctx, c, s.config.Store.Path, f.Arg(0), *asJSON))
}

// storeMistake tells the errors of whoever named a path from those of the store.
func storeMistake(path string, err error) error {
	var (
		locked *store.LockedError
		bad    *store.Error
	)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !there(path):
		return misuse("there is no store at %s; set UNDERSTUDY_STORE to the one that the bot uses", path)
	case errors.As(err, &locked):
		return misuse("%v; nothing could be stored while the file is rewritten. Where the bot must not stop, leave it: free space in the file is used again", err)
	case errors.As(err, &bad) && slices.Contains(unusable, bad.Problem):
		return misuse("%v", err)
	}
	return err
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// checkStore is "understudy store check".
func checkStore(ctx context.Context, c console, path, _ string, asJSON bool) error {
	r, err := store.Examine(ctx, path)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(c.out, r)
	} else {
		printReport(c.out, r)
	}
	if err == nil && !r.Sound {
		err = errFailed
	}
	return err
}

func printReport(out io.Writer, r *store.Report) {
	if r.Sound {
		fmt.Fprintf(out, "store %s is sound\n", r.Path)
	} else {
		fmt.Fprintf(out, "store %s is not sound\n", r.Path)
	}
	for _, x := range r.Findings {
		fmt.Fprintf(out, "  found: %s\n  to do: %s\n", x.What, x.Do)
	}
	fmt.Fprintf(out, "  file      %s, of which %s are free; journal %s\n", bytesOf(r.Size), bytesOf(r.Free), bytesOf(r.Log))
	switch {
	case r.Schema == r.Newest:
		fmt.Fprintf(out, "  schema    version %d, the newest\n", r.Schema)
	case r.Schema < r.Newest && r.Schema > 0:
		fmt.Fprintf(out, "  schema    version %d; the next start makes it %d, after a copy\n", r.Schema, r.Newest)
	}
	fmt.Fprintf(out, "  sessions  %d, with %d entries in their transcripts and %d turns\n", r.Sessions, r.Entries, r.Turns)
	fmt.Fprintf(out, "  inbox     %d waiting for an answer, %d settled\n", r.Waiting, r.Settled)
	fmt.Fprintf(out, "  posts     %d still to be sent, of %d\n", r.Open, r.Posts)
}

// backupStore is "understudy store backup".
func backupStore(ctx context.Context, c console, path, to string, asJSON bool) error {
	if to == "" {
		to = store.BackupPath(path, time.Now())
	}
	r, err := store.Backup(ctx, path, to)
	switch {
	case errors.Is(err, fs.ErrNotExist) && there(path):
		return misuse("the folder of %s is not there; make it first", to)
	case errors.Is(err, fs.ErrExist):
		return misuse("%s is there already and stays as it is; name another file", to)
	case err != nil:
		return err
	case asJSON:
		return printJSON(c.out, r)
	}
	fmt.Fprintf(c.out, "%s holds everything up to now, and was read back: %s, %d sessions, %d entries.\n", r.Path, bytesOf(r.Size), r.Sessions, r.Entries)
	return nil
}

// vacuumStore is "understudy store vacuum".
func vacuumStore(ctx context.Context, c console, path, _ string, asJSON bool) error {
	before, after, err := store.Vacuum(ctx, path)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.out, map[string]any{"path": path, "before": before, "after": after})
	}
	fmt.Fprintf(c.out, "%s had %s and has %s now.\n", path, bytesOf(before), bytesOf(after))
	return nil
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// bytesOf says a size as people do.
func bytesOf(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	v := float64(n)
	for _, unit := range []string{"kB", "MB"} {
		if v /= 1000; v < 999.95 {
			return fmt.Sprintf("%.1f %s", v, unit)
		}
	}
	return fmt.Sprintf("%.1f GB", v/1000)
}
