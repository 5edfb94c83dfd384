package move_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/db/open"
	"kartei/store/schema"
	"kartei/test/dbtest"
)

// directions runs f twice: from SQLite to an empty PostgreSQL database, and in the other direction.
func directions(t *testing.T, f func(t *testing.T, from, to db.DB)) {
	t.Run("to postgres", func(t *testing.T) { f(t, dbtest.SQLite(t), dbtest.Postgres(t)) })
	t.Run("to sqlite", func(t *testing.T) { f(t, dbtest.Postgres(t), dbtest.SQLite(t)) })
}

func TestCopyMovesEveryTable(t *testing.T) {
	directions(t, func(t *testing.T, from, to db.DB) {
		const rows = 1203 // several pages, the last one not full
		dbtest.Fill(t, from, rows)
		copied, err := move.Copy(ctx, from, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := schema.Tables(ctx, from)
		if err != nil {
			t.Fatal(err)
		}
		if len(copied)+len(move.NotCopied) != len(tables) {
			t.Errorf("%d tables were copied, %d are named as left out, of %d", len(copied), len(move.NotCopied), len(tables))
		}
		for _, table := range tables {
			had, has := dbtest.Count(t, from, table.Name), dbtest.Count(t, to, table.Name)
			if had < rows {
				t.Errorf("the source has only %d rows in %s", had, table.Name)
			}
			if left := move.NotCopied[table.Name] != ""; left && has != 0 || !left && has != had {
				t.Errorf("%s has %d rows of %d", table.Name, has, had)
			}
		}
		if err := move.CheckCopied(ctx, to); err != nil {
			t.Error(err)
		}
		if _, err := move.Copy(ctx, from, to, nil); !errors.Is(err, move.ErrOtherInstance) {
			t.Errorf("a second copy: %v", err)
		}
	})
}

// TestInterruptedCopyResumes interrupts a copy after each page, and checks that the next call
// continues it. Until the end, CheckCopied reports an unfinished copy, and another instance cannot
// be copied to the target.
func TestInterruptedCopyResumes(t *testing.T) {
	directions(t, func(t *testing.T, from, to db.DB) {
		dbtest.Fill(t, from, 600)
		other := dbtest.SQLite(t)
		dbtest.Fill(t, other, 2)
		err := other.Write(context.Background(), func(tx db.Tx) error {
			tx.Queue("update organizations set id = 'org_other' where number = 1")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		broken := 0
		for {
			ctx, cancel := context.WithCancel(context.Background())
			pages := 0
			_, err := move.Copy(ctx, from, to, func(int64, int64) {
				if pages++; pages == 5 {
					cancel()
				}
			})
			cancel()
			if move.CheckCopied(context.Background(), to) == nil {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if broken++; broken > 100 {
				t.Fatal("it does not come to an end")
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("broken off: %v", err)
			}
			if _, err := move.Copy(context.Background(), other, to, nil); !errors.Is(err, move.ErrOtherInstance) {
				t.Fatalf("another instance: %v", err)
			}
			if broken == 8 { // the comparison alone reads more than 5 pages
				if _, err := move.Copy(context.Background(), from, to, nil); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if broken == 0 {
			t.Error("it was not broken off")
		}
	})
}

// halfCopy copies nine pages, prints a line, and waits to be killed. It runs in a second process.
func halfCopy(source, target string) {
	from, err := open.Database(ctx, source, db.Options{})
	if err == nil {
		var to db.DB
		if to, err = open.Database(ctx, target, db.Options{}); err == nil {
			pages := 0
			_, err = move.Copy(ctx, from, to, func(int64, int64) {
				if pages++; pages == 9 {
					fmt.Println("half")
					select {}
				}
			})
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// TestKilledCopyResumes checks that the next call continues the copy of a killed process.
func TestKilledCopyResumes(t *testing.T) {
	for name, urls := range map[string]func() (from, to string){
		"to postgres": func() (string, string) { return dbtest.SQLiteURL(t), dbtest.PostgresURL(t) },
		"to sqlite":   func() (string, string) { return dbtest.PostgresURL(t), dbtest.SQLiteURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := urls()
			source, err := open.Database(ctx, from, db.Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			dbtest.Fill(t, source, 700)
			if err := source.Close(); err != nil {
				t.Fatal(err)
			}
			cmd, lines := dbtest.Child(t, childSource+"="+from, childTarget+"="+to)
			if !lines.Scan() || lines.Text() != "half" {
				t.Fatalf("child said %q", lines.Text())
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			a, b := dbtest.Open(t, from, db.Options{}), dbtest.Open(t, to, db.Options{})
			if !errors.Is(move.CheckCopied(ctx, b), move.ErrUnfinishedCopy) {
				t.Error("half a copy counts as finished")
			}
			copied, err := move.Copy(ctx, a, b, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range copied {
				if n := dbtest.Count(t, b, table.Table); n < 700 || int64(n) != table.Rows {
					t.Errorf("%s has %d rows, and %d were copied", table.Table, n, table.Rows)
				}
			}
		})
	}
}

// TestCopyFindsADifference checks that the comparison detects rows that changed during the copy.
func TestCopyFindsADifference(t *testing.T) {
	directions(t, func(t *testing.T, from, to db.DB) {
		dbtest.Fill(t, from, 3)
		changed := false
		_, err := move.Copy(ctx, from, to, func(int64, int64) {
			if changed || dbtest.Count(t, to, "tasks") == 0 {
				return
			}
			changed = true
			err := to.Write(ctx, func(tx db.Tx) error {
				tx.Queue("update tasks set content = 'x' where organization = 2")
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		if err == nil || !strings.Contains(err.Error(), "tasks is not the same") {
			t.Errorf("the copy: %v", err)
		}
		if !errors.Is(move.CheckCopied(ctx, to), move.ErrUnfinishedCopy) {
			t.Error("the target counts as finished")
		}
	})
}
