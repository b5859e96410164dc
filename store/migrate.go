package store

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed migrations/*.sql
var migrations embed.FS

// step is one change of the schema; the n-th leads to version n.
type step struct{ name, sql string }

// embedded are the steps of this program, in order of their file names.
func embedded() []step {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	var steps []step
	for _, f := range files {
		b, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			panic(err)
		}
		steps = append(steps, step{f.Name(), string(b)})
	}
	return steps
}

// upgrade copies the database beside itself and brings it up to date.
func upgrade(ctx context.Context, path string, version int, steps []step) error {
	db, c, err := dial(ctx, path, "_journal_mode=WAL", "_synchronous=FULL")
	if err != nil {
		return err
	}
	defer db.Close()
	defer c.close()
	if err := backup(ctx, c, path, version); err != nil {
		return err
	}
	return migrate(ctx, c, version, steps)
}

// backup writes path.v<version>, whole and with nothing left in a journal. An
// older copy of that name gives way only to a finished new one.
func backup(ctx context.Context, c *conn, path string, version int) error {
	draft, err := copyOut(ctx, c, filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("store: the copy before the upgrade cannot be made: %w", err)
	}
	defer removeAll(draft)
	if err := os.Rename(draft, fmt.Sprintf("%s.v%d", path, version)); err != nil {
		return fmt.Errorf("store: the copy before the upgrade cannot be kept: %w", err)
	}
	return nil
}

// migrate runs the steps after version, each in a transaction of its own.
func migrate(ctx context.Context, c *conn, version int, steps []step) error {
	for i, st := range steps[version:] {
		if err := take(ctx, c, version+i+1, st); err != nil {
			return fmt.Errorf("store: upgrade step %s: %w", st.name, err)
		}
	}
	return nil
}

func take(ctx context.Context, c *conn, version int, st step) (err error) {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.exec("ROLLBACK")
		}
	}()
	if _, err := c.c.ExecContext(ctx, st.sql); err != nil {
		return explain(c.path, err)
	}
	if _, err := c.exec(fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		return err
	}
	_, err = c.exec("COMMIT")
	return err
}
