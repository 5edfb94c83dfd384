package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/db/sqlite"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// promised is the time after a deletion within which the record is erased from all files
// (SECURITY.md).
const promised = time.Minute

// TestErasedIsInNoFile checks that a deleted record is in no file after some time, without further
// writes. This includes the unused middle of pages and the write-ahead log.
func TestErasedIsInNoFile(t *testing.T) {
	url, now := dbtest.SQLiteURL(t), clock.NewFake(time.Unix(0, 0))
	d := dbtest.Open(t, url, db.Options{NoSync: true, Clock: now})
	carryOut(t, d, "create table people (organization bigint, id text primary key, email text, note text)",
		"create index people_email on people (email)")
	random := seed.Rand(t)
	mark := func(limit int) string { return "Geheimwort" + strings.Repeat("x", random.IntN(limit)) }
	change := func(query string, args ...any) {
		if err := d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	const people = 1000
	for _, i := range random.Perm(people) {
		change("insert into people values (1, $1, $2, $3)", fmt.Sprint(i), mark(50), mark(400))
	}
	for range 2 * people { // rows grow, so pages are split
		change("update people set email = $2, note = $3 where id = $1", fmt.Sprint(random.IntN(people)), mark(50), mark(5000))
	}
	for _, i := range random.Perm(people) {
		change("update people set email = null, note = '{}' where id = $1", fmt.Sprint(i))
	}
	if n := marked(t, url, "-wal"); n == 0 {
		t.Error("the log holds nothing of what was deleted: this test cannot fail")
	}
	now.Await(1)
	now.Advance(15 * time.Second)
	untilEmpty(t, d, 1)
	for _, file := range []string{"", "-wal", "-shm"} {
		if n := marked(t, url, file); n > 0 {
			t.Errorf("%d marks are in the file %q", n, file)
		}
	}
	if got := dbtest.Texts(t, d, "pragma integrity_check"); strings.Join(got, "") != "ok" {
		t.Error(got)
	}
	// The next change schedules the next truncation of the log.
	change("update people set note = 'Geheimwort' where id = '1'")
	change("delete from people")
	now.Await(1)
	now.Advance(15 * time.Second)
	untilEmpty(t, d, 2)
	if n := marked(t, url, "-wal") + marked(t, url, ""); n > 0 {
		t.Errorf("%d marks are there after the second deletion", n)
	}
}

// TestErasedBeforeALongReadEnds checks that an endless read delays the erasure at most until the
// promised time. A short read is not interrupted.
func TestErasedBeforeALongReadEnds(t *testing.T) {
	url, now := dbtest.SQLiteURL(t), clock.NewFake(time.Unix(0, 0))
	log := new(dbtest.LogCollector)
	d := dbtest.Open(t, url, db.Options{NoSync: true, Clock: now, Logger: slog.New(slog.NewTextHandler(log, nil))})
	carryOut(t, d, "create table people (id text, note text)", "insert into people values ('1', 'Geheimwort')")
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- d.Read(ctx, func(tx db.Tx) error {
			var n int
			if err := errors.Join(tx.Snapshot(ctx), tx.QueryRow(ctx, "select count(*) from people").Scan(&n)); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, "with recursive all_numbers (n) as (select 1 union all select n + 1 from all_numbers) select n from all_numbers")
			if err != nil {
				return err
			}
			defer rows.Close()
			rows.Next()
			close(begun) // the statement runs and will be interrupted
			for rows.Next() {
			}
			return rows.Err()
		})
	}()
	<-begun
	carryOut(t, d, "delete from people")
	deleted := now.Now()
	people := func() int { return len(dbtest.Texts(t, d, "select id from people")) }
	tried := func(next <-chan struct{}) bool {
		select {
		case <-next:
			return true
		default:
			return sqlite.Empties(d) > 0
		}
	}
	var err error
	now.Await(1)
	now.Advance(10 * time.Second)
	for next := now.Waited(); sqlite.Empties(d) == 0; next = now.Waited() {
		if err == nil && strings.Contains(log.String(), "a long read was interrupted") {
			err = <-ended
		}
		if n := people(); n != 0 { // uses another reader
			t.Fatalf("%d people", n)
		}
		now.Advance(5 * time.Second)
		if after := now.Now().Sub(deleted); after > promised {
			t.Fatalf("the log is not empty after %s\n%s", after, log)
		}
		for !tried(next) {
			runtime.Gosched()
		}
	}
	if !errors.Is(err, db.ErrBusy) {
		t.Errorf("the read that was in the way ended with %v", err)
	}
	if n := marked(t, url, "-wal") + marked(t, url, ""); n > 0 {
		t.Errorf("%d marks", n)
	}
	if n := people(); n != 0 {
		t.Errorf("afterwards %d people", n)
	}
}

// TestErasedAfterABackup checks that a backup is not interrupted, and that the log is truncated
// after the backup.
func TestErasedAfterABackup(t *testing.T) {
	url, now := dbtest.SQLiteURL(t), clock.NewFake(time.Unix(0, 0))
	d := dbtest.Open(t, url, db.Options{NoSync: true, Clock: now})
	carryOut(t, d, "create table people (id text, note text)", "insert into people values ('1', 'Geheimwort')")
	copied := filepath.Join(t.TempDir(), "backup")
	if err := move.Backup(ctx, d, copied); err != nil {
		t.Fatal(err)
	}
	carryOut(t, d, "delete from people")
	now.Await(1)
	now.Advance(15 * time.Second)
	untilEmpty(t, d, 1)
	if n := marked(t, url, "-wal") + marked(t, url, ""); n > 0 {
		t.Errorf("%d marks", n)
	}
	if n := marked(t, "sqlite:"+copied, ""); n == 0 {
		t.Error("the backup has lost the record")
	}
}

// untilEmpty waits until the log was truncated n times.
func untilEmpty(t *testing.T, d db.DB, n int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); sqlite.Empties(d) < n; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the log is not emptied")
		}
	}
}

// marked returns the number of marks in a file of the database.
func marked(t *testing.T, url, suffix string) int {
	t.Helper()
	b, err := os.ReadFile(strings.TrimPrefix(url, "sqlite:") + suffix)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("Geheimwort"))
}

// carryOut runs each statement in its own transaction.
func carryOut(t *testing.T, d db.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		err := d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, s)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
