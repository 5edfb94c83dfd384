package db_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/test/dbtest"
	"kartei/test/leaktest"
)

func TestMain(m *testing.M) {
	if act := os.Getenv(childAct); act != "" {
		child(act, os.Getenv(childURL))
		return
	}
	dbtest.Main(m)
}

var ctx = context.Background()

type (
	title string
	yes   bool
	rank  int32
)

func TestValuesAreReadAsWritten(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		word, number, off := "Zoë", int64(-7), false
		long := strings.Repeat("straße ", 30_000)
		for i, row := range []struct {
			name any
			ok   any
			size any
			text *string
			yes  *bool
			n    *int64
		}{
			{nil, nil, nil, nil, nil, nil},
			{"", true, int64(math.MaxInt64), ptr(""), ptr(true), ptr(int64(math.MaxInt64))},
			{word, false, int64(math.MinInt64), &word, &off, ptr(int64(math.MinInt64))},
			{long, true, 0, &long, ptr(true), ptr(int64(0))},
			{title("t"), yes(true), rank(3), ptr("t"), ptr(true), ptr(int64(3))},
			{ptr("p"), &off, &number, ptr("p"), &off, &number},
			{(*string)(nil), (*bool)(nil), (*int64)(nil), nil, nil, nil},
			{[]byte("raw"), true, clock.Micros(5), ptr("raw"), ptr(true), ptr(int64(5))},
			{ptr(title("pt")), true, uint16(9), ptr("pt"), ptr(true), ptr(int64(9))},
		} {
			dbtest.Run(t, d, "insert into things (n, note, ok, size) values ($1, $2, $3, $4)", i, row.name, row.ok, row.size)
			var text *string
			var ok *bool
			var size *int64
			dbtest.Get(t, d, []any{&text, &ok, &size}, "select note, ok, size from things where n = $1", i)
			if !equal(text, row.text) || !equal(ok, row.yes) || !equal(size, row.n) {
				t.Errorf("row %d came back different", i)
			}
		}
	})
}

func ptr[T any](v T) *T { return &v }

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func TestScanTakesEveryKindOfPointer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		dbtest.Run(t, d, "insert into things (n, name, ok, size) values (1, 'x', true, 300)")
		var (
			name  title
			raw   []byte
			none  []byte
			ok    yes
			size  rank
			plain int
			part  float64
			far   *rank
			when  clock.Micros
		)
		dbtest.Get(t, d, []any{&name, &raw, &ok, &size, &plain, &part, &far, &when},
			"select name, name, ok, size, size, size, size, size from things")
		if name != "x" || string(raw) != "x" || !ok || size != 300 || plain != 300 || part != 300 || *far != 300 ||
			when != 300 {
			t.Error(name, raw, ok, size, plain, part, far, when)
		}
		dbtest.Run(t, d, "update things set name = null")
		none = []byte("before")
		dbtest.Get(t, d, []any{&none, &far}, "select name, cast(name as bigint) from things")
		if none != nil || far != nil {
			t.Errorf("null gave %q and %v", none, far)
		}
		var there bool
		dbtest.Get(t, d, []any{&there}, "select exists(select 1 from things where n = $1)", 1)
		if !there {
			t.Error("exists is false")
		}
	})
}

func TestScanRefusesWhatDoesNotFit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		dbtest.Run(t, d, "insert into things (n, name) values (1, null)")
		var text string
		var number int64
		for _, c := range []struct {
			query string
			dest  []any
		}{
			{"select name from things", []any{&text}},          // a null into a string
			{"select size from things", []any{&number}},        // a null into a number
			{"select 'word' from things", []any{&number}},      // a text into a number
			{"select n, name from things", []any{&number}},     // too few destinations
			{"select n from things", []any{&number, &text}},    // too many destinations
			{"select n from things", []any{number}},            // not a pointer
			{"select n + 40000 from things", []any{new(int8)}}, // does not fit
		} {
			err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, c.query).Scan(c.dest...) })
			if err == nil {
				t.Errorf("%s into %T was taken", c.query, c.dest[0])
			}
		}
		err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, "select n from things where n = 2").Scan(&number) })
		if !errors.Is(err, db.ErrNoRows) {
			t.Errorf("no row gave %v", err)
		}
	})
}

func TestDuplicateHasItsOwnError(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		dbtest.Run(t, d, "create table parts (n bigint not null references things (n), kind text check (kind = 'a'))")
		dbtest.Run(t, d, "insert into things (n, name) values (1, 'secret name')")
		for _, c := range []struct {
			query     string
			duplicate bool
		}{
			{"insert into things (n) values (1)", true},
			{"insert into things (n, name) values (2, 'secret name')", true},
			{"insert into things (n) values (null)", false},
			{"insert into parts (n, kind) values (99, 'a')", false},
			{"insert into parts (n, kind) values (1, 'b')", false},
			{"insert into nowhere (n) values (1)", false},
		} {
			err := dbtest.Exec(d, c.query)
			if err == nil || errors.Is(err, db.ErrDuplicate) != c.duplicate {
				t.Errorf("%s: %v", c.query, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") && !strings.Contains(c.query, "secret") {
				t.Errorf("error tells data: %v", err)
			}
			if strings.Contains(fmt.Sprint(err), "secret name") {
				t.Errorf("error tells data: %v", err)
			}
		}
		// The statement itself must fail, and not only the shared commit.
		for name, insert := range map[string]func(tx db.Tx, query string) error{
			"row": func(tx db.Tx, query string) error { return tx.QueryRow(ctx, query).Scan(new(int)) },
			"rows": func(tx db.Tx, query string) error {
				rows, err := tx.Query(ctx, query)
				if err != nil {
					return err
				}
				rows.Next()
				rows.Close()
				return rows.Err()
			},
		} {
			d.Write(ctx, func(tx db.Tx) error {
				if err := insert(tx, "insert into parts (n, kind) values (99, 'a') returning n"); err == nil {
					t.Errorf("%s: broken reference was stored through returning", name)
				}
				return nil
			})
		}
		if n := dbtest.Count(t, d, "things"); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

func TestTextThatPostgresCannotStoreIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		for _, text := range []string{"a\x00b", "\xff", "a\xed\xa0\x80"} {
			err := dbtest.Exec(d, "insert into things (n, name) values (1, $1)", text)
			if !errors.Is(err, db.ErrText) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// TestParametersAreNumbered checks that $2 is the second argument, even if it comes first in the
// text. SQLite would treat $2 as a name, with an index by its place in the text.
func TestParametersAreNumbered(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		var s string
		dbtest.Get(t, d, []any{&s}, "select cast($2 as text) || cast($1 as text) || cast($2 as text) || cast($3 as text)",
			"x", "y", "z")
		if s != "yxyz" {
			t.Error(s)
		}
		for query, args := range map[string][]any{
			"select cast($1 as text) || cast($2 as text)": {"too few"},
			"select cast($1 as text)":                     {"too", "many"},
			"select cast($2 as text)":                     {"one", "unused"},
		} {
			err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, query, args...).Scan(&s) })
			if err == nil {
				t.Errorf("%s took %d arguments", query, len(args))
			}
		}
	})
}

// TestTextSortsByBytes checks that texts sort by bytes on both engines, so that both end a page at
// the same row.
func TestTextSortsByBytes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		for i, name := range []string{"b", "a", "Z", "ä", "a b", "ab", "a-b", "😀", "z", "\uffff"} {
			dbtest.Run(t, d, "insert into things (n, name) values ($1, $2)", i, name)
		}
		got := strings.Join(dbtest.Texts(t, d, "select name from things order by name"), "|")
		if want := "Z|a|a b|a-b|ab|b|z|ä|\uffff|😀"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		after := strings.Join(dbtest.Texts(t, d, "select name from things where name > $1 order by name limit 3", "a b"), "|")
		if after != "a-b|ab|b" {
			t.Error(after)
		}
	})
}

func TestRowValuesPage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		for i := range 6 {
			dbtest.Run(t, d, "insert into things (n, name, size) values ($1, $2, $3)", i, fmt.Sprint("n", i), i/2)
		}
		got := dbtest.Texts(t, d, "select name from things where (size, n) < ($1, $2) order by size desc, n desc limit 2",
			2, 5)
		if strings.Join(got, " ") != "n4 n3" {
			t.Error(got)
		}
	})
}

func TestReturningAndUpsert(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		const upsert = `insert into things (n, name, size) values ($1, $2, 1)
			on conflict (n) do update set size = things.size + 1 where things.size < $3 returning size`
		for i, want := range []int{1, 2, 3} {
			var size int
			err := d.Write(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, upsert, 1, "a", 3).Scan(&size) })
			if err != nil || size != want {
				t.Errorf("time %d: %d, %v", i, size, err)
			}
		}
		err := d.Write(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, upsert, 1, "a", 3).Scan(new(int)) })
		if !errors.Is(err, db.ErrNoRows) {
			t.Errorf("unmet condition gave %v", err)
		}
		err = d.Write(ctx, func(tx db.Tx) error {
			n, err := tx.Exec(ctx, "insert into things (n) values (1), (2), (3) on conflict do nothing")
			if n != 2 {
				t.Errorf("%d rows inserted, want 2", n)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		err = d.Write(ctx, func(tx db.Tx) error {
			n, err := tx.Exec(ctx, "update things set ok = $1 where n >= $2", true, 2)
			if n != 2 {
				t.Errorf("%d rows updated, want 2", n)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestTextList(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		for i, name := range []string{"a", "b", `c"ö`} {
			dbtest.Run(t, d, "insert into things (n, name) values ($1, $2)", i, name)
		}
		for _, in := range []string{
			"in (select value from " + fmt.Sprintf(d.Dialect().TextList, "$2") + ")", d.Dialect().In("$2"),
		} {
			query := "select name from things where n >= $1 and name " + in + " order by n"
			if got := dbtest.Texts(t, d, query, 0, db.Texts([]string{`c"ö`, "a", "none"})); strings.Join(got, " ") != `a c"ö` {
				t.Error(in, got)
			}
			for _, none := range [][]string{nil, {}} {
				if got := dbtest.Texts(t, d, query, 0, db.Texts(none)); got != nil {
					t.Error(in, got)
				}
			}
		}
		rows := fmt.Sprintf(d.Dialect().Rows, "$2")
		query := "select r.value ->> 1 from " + rows +
			" as r cross join things where things.n >= $1 and things.n = cast(r.value ->> 0 as bigint) order by n"
		if got := dbtest.Texts(t, d, query, 1, `[[2,"x"],[0,"z"],[1,"\"ü"]]`); strings.Join(got, " ") != `"ü x` {
			t.Error(got)
		}
	})
}

func TestReadCannotWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		for name, f := range map[string]func(tx db.Tx) error{
			"exec": func(tx db.Tx) error {
				_, err := tx.Exec(ctx, "insert into things (n) values (1)")
				return err
			},
			"query": func(tx db.Tx) error {
				return tx.QueryRow(ctx, "insert into things (n) values (1) returning n").Scan(new(int))
			},
			"queue": func(tx db.Tx) error {
				tx.Queue("insert into things (n) values (1)")
				return nil
			},
			"lock": func(tx db.Tx) error {
				_, err := tx.Lock(ctx, "key")
				return err
			},
		} {
			if err := d.Read(ctx, f); err == nil {
				t.Errorf("%s inside Read was taken", name)
			}
		}
		if n := dbtest.Count(t, d, "things"); n != 0 {
			t.Errorf("%d rows were written by reads", n)
		}
	})
}

// TestSnapshotSeesOneMoment checks that after Snapshot all statements of a Read see the same
// snapshot, despite later commits. The next Read on the same connection sees the newest rows.
func TestSnapshotSeesOneMoment(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		inserted := 0
		insert := func() {
			t.Helper()
			inserted++
			dbtest.Run(t, d, "insert into things (n) values ($1)", inserted)
		}
		read := func(snapshot bool, wantMore int) {
			t.Helper()
			err := d.Read(ctx, func(tx db.Tx) error {
				if snapshot {
					if err := tx.Snapshot(ctx); err != nil {
						return err
					}
				}
				var before, after int
				if err := tx.QueryRow(ctx, "select count(*) from things").Scan(&before); err != nil {
					return err
				}
				insert()
				if err := tx.QueryRow(ctx, "select count(*) from things").Scan(&after); err != nil {
					return err
				}
				if after != before+wantMore || before != inserted-1 {
					t.Errorf("snapshot %v: %d rows, then %d, of %d", snapshot, before, after, inserted)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		for range 20 { // each connection in turn
			read(true, 0)
			read(false, 1)
		}
		if err := d.Write(ctx, func(tx db.Tx) error { return tx.Snapshot(ctx) }); err != nil {
			t.Error(err)
		}
	})
}

func TestErrorUndoesEverything(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		stop := errors.New("stop")
		err := d.Write(ctx, func(tx db.Tx) error {
			if _, err := tx.Exec(ctx, "insert into things (n) values (1)"); err != nil {
				return err
			}
			tx.Queue("insert into things (n) values (2)")
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
		if n := dbtest.Count(t, d, "things"); n != 0 {
			t.Errorf("%d rows stayed", n)
		}
	})
}

// TestFailedStatementEndsTheTransaction checks that no statement succeeds after a failed one.
// PostgreSQL works that way, but SQLite would continue. Then a faulty function would fail only on
// PostgreSQL.
func TestFailedStatementEndsTheTransaction(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		err := d.Write(ctx, func(tx db.Tx) error {
			tx.Exec(ctx, "insert into things (n) values (1)")
			tx.Exec(ctx, "insert into things (n) values (1)")
			if _, err := tx.Exec(ctx, "insert into things (n) values (2)"); err == nil {
				t.Error("a statement ran after the failed one")
			}
			return nil
		})
		if !errors.Is(err, db.ErrDuplicate) {
			t.Errorf("commit gave %v", err)
		}
		if n := dbtest.Count(t, d, "things"); n != 0 {
			t.Errorf("%d rows stayed", n)
		}
	})
}

func TestQueuedStatements(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		// a transaction with only queued statements, which run in order
		err := d.Write(ctx, func(tx db.Tx) error {
			tx.Queue("insert into things (n, size) values (1, 1)")
			tx.Queue("update things set size = size * 10 where n = $1", 1)
			tx.Queue("update things set size = size + 1 where n = $1", 1)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var size int
		dbtest.Get(t, d, []any{&size}, "select size from things where n = 1")
		if size != 11 {
			t.Errorf("size %d, want 11", size)
		}
		// A later query sees the effect of queued statements.
		err = d.Write(ctx, func(tx db.Tx) error {
			tx.Queue("insert into things (n, size) values (2, 5)")
			if err := tx.QueryRow(ctx, "select size from things where n = 2").Scan(&size); err != nil {
				return err
			}
			tx.Queue("update things set size = 6 where n = 2")
			n, err := tx.Exec(ctx, "update things set size = 7 where n = 2 and size = 6")
			if n != 1 {
				t.Errorf("%d rows changed, want 1", n)
			}
			return err
		})
		if err != nil || size != 5 {
			t.Errorf("size %d, %v", size, err)
		}
		// If a queued statement fails, the commit fails.
		err = d.Write(ctx, func(tx db.Tx) error {
			tx.Queue("insert into things (n) values (3)")
			tx.Queue("insert into things (n) values (1)")
			tx.Queue("insert into things (n) values (4)")
			return nil
		})
		if !errors.Is(err, db.ErrDuplicate) {
			t.Errorf("queued duplicate gave %v", err)
		}
		if n := dbtest.Count(t, d, "things"); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
	})
}

func TestQueueWhileRowsAreRead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		dbtest.Run(t, d, "insert into things (n) values (1), (2), (3)")
		err := d.Write(ctx, func(tx db.Tx) error {
			rows, err := tx.Query(ctx, "select n from things order by n")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var n int
				if err := rows.Scan(&n); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, "delete from things"); err == nil {
					t.Error("a second statement ran while rows were open")
				}
				tx.Queue("insert into things (n) values ($1)", n+10)
			}
			return rows.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := dbtest.Count(t, d, "things"); n != 6 {
			t.Errorf("%d rows, want 6", n)
		}
	})
}

func TestTransactionEndsWithItsFunction(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		var kept []db.Tx
		keep := func(tx db.Tx) error {
			kept = append(kept, tx)
			return nil
		}
		if err := errors.Join(d.Read(ctx, keep), d.Write(ctx, keep)); err != nil {
			t.Fatal(err)
		}
		for _, tx := range kept {
			if err := tx.QueryRow(ctx, "select 1").Scan(new(int)); err == nil {
				t.Error("a transaction works after its end")
			}
		}
	})
}

// TestUnreadReturningTakesEffect checks that an insert with a returning clause takes effect even if
// its rows are not read.
func TestUnreadReturningTakesEffect(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		err := d.Write(ctx, func(tx db.Tx) error {
			for i := range 3 {
				rows, err := tx.Query(ctx, "insert into things (n) values ($1), ($2) returning n", 2*i, 2*i+1)
				if err != nil {
					return err
				}
				for range i {
					rows.Next()
				}
				rows.Close()
				rows.Close()
				if err := rows.Err(); err != nil {
					return err
				}
			}
			return nil
		})
		if n := dbtest.Count(t, d, "things"); err != nil || n != 6 {
			t.Errorf("%d rows, want 6 (%v)", n, err)
		}
	})
}

// TestRowsLeftOpen checks that a connection stays usable if a function does not read all rows.
func TestRowsLeftOpen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		dbtest.Run(t, d, "insert into things (n) values (1), (2), (3)")
		for range 40 {
			leave := func(tx db.Tx) error {
				rows, err := tx.Query(ctx, "select n from things order by n")
				if err != nil {
					return err
				}
				rows.Next()
				return nil
			}
			if err := errors.Join(d.Read(ctx, leave), d.Write(ctx, leave)); err != nil {
				t.Fatal(err)
			}
		}
		if n := dbtest.Count(t, d, "things"); n != 3 {
			t.Error(n)
		}
	})
}

func TestPanicReachesTheCaller(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		cause := errors.New("broken")
		func() {
			defer func() {
				v := recover()
				err, ok := v.(error)
				if !ok || !errors.Is(err, cause) {
					t.Errorf("recovered %v", v)
				}
			}()
			d.Write(ctx, func(tx db.Tx) error {
				tx.Exec(ctx, "insert into things (n) values (1)")
				panic(cause)
			})
			t.Error("no panic")
		}()
		dbtest.Run(t, d, "insert into things (n) values (2)")
		if n := dbtest.Count(t, d, "things"); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

// TestGoexitLeavesTheWriterAlive checks that runtime.Goexit in a Write does not end the writer.
// testing.T.FailNow calls Goexit.
func TestGoexitLeavesTheWriterAlive(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		for range 3 {
			ended, went := make(chan struct{}), false
			go func() {
				defer close(ended)
				d.Write(ctx, func(tx db.Tx) error {
					tx.Exec(ctx, "insert into things (n) values (1)")
					runtime.Goexit()
					return nil
				})
				went = true
			}()
			<-ended
			if went {
				t.Error("Write returned although its function ended the goroutine")
			}
		}
		dbtest.Run(t, d, "insert into things (n) values (2)")
		if n := dbtest.Count(t, d, "things"); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

func TestConflictIsTriedAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		for _, c := range []struct{ fails, calls int }{{0, 1}, {2, 3}, {4, 5}, {5, 5}, {100, 5}} {
			calls := 0
			err := d.Write(ctx, func(tx db.Tx) error {
				calls++
				if _, err := tx.Exec(ctx, "insert into things (n) values ($1)", 100*c.fails+calls); err != nil {
					return err
				}
				if calls <= c.fails {
					return fmt.Errorf("revision: %w", db.ErrConflict)
				}
				return nil
			})
			if calls != c.calls || errors.Is(err, db.ErrConflict) != (c.fails >= 5) {
				t.Errorf("%d conflicts: %d calls, %v", c.fails, calls, err)
			}
		}
		if n := dbtest.Count(t, d, "things"); n != 3 {
			t.Errorf("%d rows, want one for each that went through", n)
		}
	})
}

func TestClosedRefuses(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		d, err := open.Database(ctx, url, db.Options{})
		if err != nil {
			t.Fatal(err)
		}
		running, proceed, closed := make(chan struct{}), make(chan struct{}), make(chan error)
		var read error
		done := make(chan struct{})
		go func() {
			defer close(done)
			read = d.Read(ctx, func(tx db.Tx) error {
				close(running)
				<-proceed
				return tx.QueryRow(ctx, "select 1").Scan(new(int))
			})
		}()
		<-running
		go func() { closed <- d.Close() }()
		for d.Ping(ctx) == nil {
		}
		select {
		case <-closed:
			t.Error("Close did not wait for a running call")
		default:
		}
		close(proceed)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if <-done; read != nil {
			t.Errorf("running call failed: %v", read)
		}
		nothing := func(db.Tx) error { return nil }
		for _, err := range []error{d.Read(ctx, nothing), d.Write(ctx, nothing), d.Ping(ctx)} {
			if !errors.Is(err, db.ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCancelledContextIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		gone, cancel := context.WithCancel(ctx)
		cancel()
		called := func(tx db.Tx) error { return tx.QueryRow(gone, "select 1").Scan(new(int)) }
		if err := d.Read(gone, called); !errors.Is(err, context.Canceled) {
			t.Errorf("Read: %v", err)
		}
		if err := d.Write(gone, called); !errors.Is(err, context.Canceled) {
			t.Errorf("Write: %v", err)
		}
	})
}

// TestExpect checks that a wrong expectation makes the whole transaction fail, without effect and
// without a result.
func TestExpect(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		write := func(ctx context.Context, f func(db.Tx) error) error { return d.WriteIn(ctx, 1, f) }
		for name, run := range map[string]func(context.Context, func(db.Tx) error) error{
			"read": d.Read, "write": d.Write, "write in": write,
		} {
			for _, want := range []int64{7, 8} {
				answered, wants := 0, map[bool]error{true: db.ErrStale}[want == 8]
				expect := func(tx db.Tx) error { return tx.Expect(ctx, "select 3 + 4", want) }
				for what, f := range map[string]func(db.Tx) error{
					"nothing": expect,
					"a query": func(tx db.Tx) error {
						if err := expect(tx); err != nil {
							return err
						}
						var one int64
						if err := tx.QueryRow(ctx, "select 1").Scan(&one); err == nil && one == 1 {
							answered++
						}
						return tx.QueryRow(ctx, "select 1").Scan(&one)
					},
					"a fault that was met before": func(tx db.Tx) error {
						if err := expect(tx); err != nil {
							return err
						}
						return wants
					},
				} {
					if err := run(ctx, f); !errors.Is(err, wants) {
						t.Errorf("%s of %s, %d expected: %v", name, what, want, err)
					}
				}
				if (answered > 0) != (want == 7) {
					t.Errorf("%s, %d expected: %d answers", name, want, answered)
				}
			}
		}
		stale := d.WriteIn(ctx, 1, func(tx db.Tx) error {
			if err := tx.Expect(ctx, "select 3 + 4", 8); err != nil {
				return err
			}
			tx.Queue("insert into settings (name, value) values ($1, $2)", "stale", "")
			return nil
		})
		var n int
		err := d.Read(ctx, func(tx db.Tx) error {
			return tx.QueryRow(ctx, "select count(*) from settings where name = $1", "stale").Scan(&n)
		})
		if !errors.Is(stale, db.ErrStale) || err != nil || n != 0 {
			t.Errorf("%v, then %d rows are there (%v)", stale, n, err)
		}
	})
}

// TestNotifyLocal checks that a local notification is delivered in this process after the commit,
// and is not delivered without a commit. This holds for a single write and for a group.
func TestNotifyLocal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx, end := context.WithCancel(context.Background())
		heard := make(chan string, 100)
		var listening sync.WaitGroup
		listening.Go(func() { d.Listen(ctx, "topic", func(word string) { heard <- word }) })
		near := make(chan string, 100)
		deaf := d.SubscribeLocal("topic", func(word string) { near <- word })
		defer listening.Wait()
		defer end()
		<-heard // the subscription is active
		stop := errors.New("stop")
		tell := func(topic string, end error) {
			t.Helper()
			var committing bool
			err := d.WriteIn(ctx, 1, func(tx db.Tx) error {
				tx.Queue(`insert into clocks (organization, tick) values ($1, 1) on conflict (organization) do nothing`, int64(1))
				if known := tx.NotifyLocal(topic, "word"); known != (topic == "topic") {
					t.Errorf("somebody listens to %s: %v", topic, known)
				}
				committing = len(heard) == 0
				return end
			})
			if !errors.Is(err, end) || !committing {
				t.Fatalf("%v, heard before the commit: %v", err, !committing)
			}
		}
		tell("topic", stop)
		tell("other", nil)
		tell("topic", nil)
		if word := <-heard; word != "word" {
			t.Errorf("heard %q", word)
		}
		var together sync.WaitGroup
		for i := range 20 {
			together.Go(func() {
				d.WriteIn(ctx, 1, func(tx db.Tx) error {
					tx.NotifyLocal("topic", "word")
					if i%2 == 0 {
						return stop
					}
					return nil
				})
			})
		}
		together.Wait()
		if n, close := len(heard), len(near); n != 10 || close != 11 {
			t.Errorf("heard %d of 10, and %d of 11", n, close)
		}
		for range 10 {
			<-heard
		}
		deaf()
		tell("topic", nil)
		if n := len(near); n != 11 {
			t.Error("heard after the end")
		}
	})
}

// TestAssumptions checks the assumptions of a change on both engines. If an assumption is wrong,
// the change runs again, and then its query decides.
func TestAssumptions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Things(t, d)
		dbtest.Run(t, d, "create unique index things_n on things (n)")
		dbtest.Run(t, d, "insert into things (n) values (1)")
		insertNew := func(n int) error {
			return d.WriteIn(ctx, 1, func(tx db.Tx) error {
				var found int
				switch err := tx.AssumeNone(ctx, "select n from things where n = $1", n).Scan(&found); {
				case err == nil:
					return fmt.Errorf("%d is there", found)
				case !errors.Is(err, db.ErrNoRows):
					return err
				}
				tx.Queue("insert into things (n) values ($1)", n)
				return nil
			})
		}
		if err := insertNew(1); err == nil || err.Error() != "1 is there" {
			t.Errorf("what is there: %v", err)
		}
		if err := insertNew(2); err != nil {
			t.Errorf("what is new: %v", err)
		}
		change := func(from, to int) error {
			calls := 0
			return d.WriteIn(ctx, 1, func(tx db.Tx) error {
				if calls++; calls > 1 && from == 2 {
					t.Error("an assumption that was right was checked again")
				}
				return tx.ExecOne(ctx, db.Statement{Query: "update things set n = $2 where n = $1", Args: []any{from, to}},
					db.Statement{Query: "select 1 / count(*) from things where n = $1", Args: []any{to}})
			})
		}
		if err := change(2, 3); err != nil {
			t.Errorf("a row: %v", err)
		}
		if err := change(7, 8); !errors.Is(err, db.ErrConflict) {
			t.Errorf("no row: %v", err)
		}
		var n int
		if dbtest.Get(t, d, []any{&n}, "select sum(n) from things"); n != 4 {
			t.Errorf("the sum is %d", n)
		}
	})
}
