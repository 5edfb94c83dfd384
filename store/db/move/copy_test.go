package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// fill inserts rows into every table. Each column gets a value of its type that
// differs from row to row. So a table that Copy omits is detected.
func fill(t *testing.T, d db.DB, rows int) {
	t.Helper()
	ctx := context.Background()
	tables, err := db.Tables(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	fixed := map[string]string{"level": "on", "state": "open", "role": "admin", "environment": "live", "sandbox_of": ""}
	err = d.Write(ctx, func(tx db.Tx) error {
		for _, table := range tables {
			for i := range rows {
				var names, marks []string
				var args []any
				for _, c := range table.Columns {
					var value any
					switch text, known := fixed[c.Name]; {
					case c.Name == "kind" && table.Name == "principals":
						value = "user"
					case known && c.Type == "text" && table.Name != "limits":
						value = text
					case known && c.Name == "sandbox_of":
						value = nil
					case c.Name == "external_id" && i%3 == 0, c.Name == "email_folded" && table.Name == "principals" && i%2 == 0:
						value = nil
					case c.Name == "principal_id" && table.Name == "api_keys":
						value = fmt.Sprintf("é\"<%d", i) // as principals has it
					case c.Type == "text":
						value = fmt.Sprintf("é\"<%d", i)
					case c.Type == "bigint" && c.Name == "rank", c.Name == "status":
						value = i % 7
						if c.Type == "text" {
							value = "open"
						}
					case c.Type == "bigint":
						value = i + 1
					default:
						value = i%2 == 0
					}
					names, args = append(names, c.Name), append(args, value)
					marks = append(marks, fmt.Sprintf("$%d", len(args)))
				}
				tx.Queue("insert into "+table.Name+" ("+strings.Join(names, ", ")+") values ("+strings.Join(marks, ", ")+")", args...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// directions runs f with a source and an empty target of the other engine.
func directions(t *testing.T, f func(t *testing.T, from, to db.DB)) {
	t.Run("to postgres", func(t *testing.T) { f(t, dbtest.SQLite(t), dbtest.Postgres(t)) })
	t.Run("to sqlite", func(t *testing.T) { f(t, dbtest.Postgres(t), dbtest.SQLite(t)) })
}

// countIn returns the number of rows of a table, without the help of Copy.
func countIn(t *testing.T, d db.DB, table string) (n int) {
	t.Helper()
	ctx := context.Background()
	if err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, "select count(*) from "+table).Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCopyMovesEveryTable(t *testing.T) {
	directions(t, func(t *testing.T, from, to db.DB) {
		ctx := context.Background()
		const rows = 1203 // several pages, the last one not full
		fill(t, from, rows)
		copied, err := db.Copy(ctx, from, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := db.Tables(ctx, from)
		if err != nil {
			t.Fatal(err)
		}
		if len(copied)+len(db.NotCopied) != len(tables) {
			t.Errorf("%d tables were copied, %d are named as left out, of %d", len(copied), len(db.NotCopied), len(tables))
		}
		for _, table := range tables {
			had, has := countIn(t, from, table.Name), countIn(t, to, table.Name)
			if had < rows {
				t.Errorf("the source has only %d rows in %s", had, table.Name)
			}
			if left := db.NotCopied[table.Name] != ""; left && has != 0 || !left && has != had {
				t.Errorf("%s has %d rows of %d", table.Name, has, had)
			}
		}
		if err := db.CheckCopied(ctx, to); err != nil {
			t.Error(err)
		}
		if _, err := db.Copy(ctx, from, to, nil); !errors.Is(err, db.ErrOtherInstance) {
			t.Errorf("a second copy: %v", err)
		}
	})
}

// An interrupted copy, after any page, is continued. Until its end it is
// reported as unfinished, and no other instance can be copied to the target.
func TestCopyGoesOn(t *testing.T) {
	directions(t, func(t *testing.T, from, to db.DB) {
		fill(t, from, 600)
		other := dbtest.SQLite(t)
		fill(t, other, 2)
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
			_, err := db.Copy(ctx, from, to, func(int64, int64) {
				if pages++; pages == 5 {
					cancel()
				}
			})
			cancel()
			if db.CheckCopied(context.Background(), to) == nil {
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
			if _, err := db.Copy(context.Background(), other, to, nil); !errors.Is(err, db.ErrOtherInstance) {
				t.Fatalf("another instance: %v", err)
			}
			if broken == 8 { // the comparison alone reads more than 5 pages
				if _, err := db.Copy(context.Background(), from, to, nil); err != nil {
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

// halfCopy copies nine pages, reports it, and waits.
func halfCopy(from db.DB, url string) {
	to, err := db.Open(ctx, url, db.Options{})
	if err == nil {
		pages := 0
		_, err = db.Copy(ctx, from, to, func(int64, int64) {
			if pages++; pages == 9 {
				fmt.Println("half")
				select {}
			}
		})
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// A killed copy is continued.
func TestCopyIsKilled(t *testing.T) {
	for name, urls := range map[string]func() (from, to string){
		"to postgres": func() (string, string) { return dbtest.SQLiteURL(t), dbtest.PostgresURL(t) },
		"to sqlite":   func() (string, string) { return dbtest.PostgresURL(t), dbtest.SQLiteURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := urls()
			source, err := db.Open(ctx, from, db.Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			fill(t, source, 700)
			if err := source.Close(); err != nil {
				t.Fatal(err)
			}
			cmd, lines := startChild(t, "copy "+to, from)
			if !lines.Scan() || lines.Text() != "half" {
				t.Fatalf("child said %q", lines.Text())
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			a, b := dbtest.Open(t, from, db.Options{}), dbtest.Open(t, to, db.Options{})
			if !errors.Is(db.CheckCopied(ctx, b), db.ErrUnfinishedCopy) {
				t.Error("half a copy counts as finished")
			}
			copied, err := db.Copy(ctx, a, b, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range copied {
				if n := countIn(t, b, table.Table); n < 700 || int64(n) != table.Rows {
					t.Errorf("%s has %d rows, and %d were copied", table.Table, n, table.Rows)
				}
			}
		})
	}
}

// The comparison detects rows that changed during the copy.
func TestCopyFindsADifference(t *testing.T) {
	directions(t, func(t *testing.T, from, to db.DB) {
		fill(t, from, 3)
		ctx := context.Background()
		changed := false
		_, err := db.Copy(ctx, from, to, func(int64, int64) {
			if changed || countIn(t, to, "tasks") == 0 {
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
		if !errors.Is(db.CheckCopied(ctx, to), db.ErrUnfinishedCopy) {
			t.Error("the target counts as finished")
		}
	})
}
