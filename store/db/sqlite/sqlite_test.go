package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
	"kartei/test/dbtest"
)

// occupy makes the writer run a function until release is called. release also waits for the
// commit.
func occupy(t *testing.T, d db.DB) (release func()) {
	t.Helper()
	running, proceed, done := make(chan struct{}), make(chan struct{}), make(chan error)
	runs := sync.OnceFunc(func() { close(running) })
	go func() {
		done <- d.Write(ctx, func(db.Tx) error {
			runs()
			<-proceed
			return nil
		})
	}()
	<-running
	return func() {
		close(proceed)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// waitFor waits until n writes are in the queue.
func waitFor(d db.DB, n int) {
	for sqlite.Waiting(d) < n {
		runtime.Gosched()
	}
}

// TestGroupMembersFailAlone checks that an operation that fails, panics or ends its goroutine does
// not affect the other operations of its group.
func TestGroupMembersFailAlone(t *testing.T) {
	d := dbtest.SQLite(t)
	dbtest.Things(t, d)
	began := time.Now()
	release := occupy(t, d)
	commits := sqlite.Commits(d)
	stop := errors.New("stop")
	results := make([]error, 12)
	var wait sync.WaitGroup
	for i := range results {
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() {
				if v := recover(); v != nil {
					results[i] = v.(error)
				}
			}()
			results[i] = d.Write(ctx, func(tx db.Tx) error {
				if _, err := tx.Exec(ctx, "insert into things (n) values ($1)", i); err != nil {
					return err
				}
				switch i {
				case 3:
					return stop
				case 5:
					panic(stop)
				case 7:
					_, err := tx.Exec(ctx, "insert into things (n) values ($1)", i)
					return err
				case 9:
					results[i] = stop
					runtime.Goexit()
				}
				return nil
			})
		}()
	}
	waitFor(d, len(results))
	release()
	wait.Wait()
	for i, err := range results {
		failed := i == 3 || i == 5 || i == 7 || i == 9
		if (err != nil) != failed {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	got := strings.Join(dbtest.Texts(t, d, "select cast(n as text) from things order by n"), " ")
	if want := "0 1 2 4 6 8 10 11"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
	// The goroutine that ended splits the group in two. Otherwise all operations share one commit,
	// unless the group takes too long.
	if n := sqlite.Commits(d) - commits; n > 3 && time.Since(began) < 100*time.Millisecond {
		t.Errorf("%d commits for 8 operations that waited together", n)
	}
}

func TestWriterQueueIsBounded(t *testing.T) {
	d := dbtest.Open(t, dbtest.SQLiteURL(t), db.Options{Queue: 2, NoSync: true})
	release := occupy(t, d)
	defer release()
	for range 2 {
		go d.Write(ctx, func(db.Tx) error { return nil })
	}
	waitFor(d, 2)
	if err := d.Write(ctx, func(db.Tx) error { return nil }); !errors.Is(err, db.ErrBusy) {
		t.Errorf("third in a line of two: %v", err)
	}
}

func TestCancelledWhileWaitingIsSkipped(t *testing.T) {
	d := dbtest.SQLite(t)
	dbtest.Things(t, d)
	release := occupy(t, d)
	waiting, cancel := context.WithCancel(ctx)
	result := make(chan error)
	go func() {
		result <- d.Write(waiting, func(tx db.Tx) error {
			t.Error("ran although its caller had gone")
			return nil
		})
	}()
	waitFor(d, 1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	// A running operation completes, because other operations share its commit.
	running, cancel := context.WithCancel(ctx)
	err := d.Write(running, func(tx db.Tx) error {
		cancel()
		_, err := tx.Exec(running, "insert into things (n) values (1)")
		return err
	})
	if err != nil || dbtest.Count(t, d, "things") != 1 {
		t.Errorf("cancelled while running: %v", err)
	}
}

func TestReadersNeverWaitForTheWriter(t *testing.T) {
	d := dbtest.SQLite(t)
	dbtest.Things(t, d)
	err := d.Write(ctx, func(tx db.Tx) error {
		if _, err := tx.Exec(ctx, "insert into things (n) values (1)"); err != nil {
			return err
		}
		if n := dbtest.Count(t, d, "things"); n != 0 {
			t.Errorf("a reader saw %d rows before the commit", n)
		}
		return nil
	})
	if err != nil || dbtest.Count(t, d, "things") != 1 {
		t.Errorf("after the commit: %v", err)
	}
}

// TestWriterHoldsEveryLock checks that Lock always succeeds, because only one writer can run.
func TestWriterHoldsEveryLock(t *testing.T) {
	d := dbtest.SQLite(t)
	err := d.Write(ctx, func(tx db.Tx) error {
		got, err := tx.Lock(ctx, "a")
		if !got {
			t.Error("refused")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadersAreBounded(t *testing.T) {
	d := dbtest.Open(t, dbtest.SQLiteURL(t), db.Options{Readers: 1, Wait: time.Millisecond, NoSync: true})
	err := d.Read(ctx, func(db.Tx) error { return d.Ping(ctx) })
	if !errors.Is(err, db.ErrBusy) {
		t.Errorf("second reader of one: %v", err)
	}
}

func TestDurabilityIsSet(t *testing.T) {
	d := dbtest.Open(t, dbtest.SQLiteURL(t), db.Options{})
	for pragma, want := range map[string]int64{
		"synchronous": 2, "foreign_keys": 1, "mmap_size": 2147418112,
	} {
		for kind, call := range map[string]func(context.Context, func(db.Tx) error) error{"read": d.Read, "write": d.Write} {
			var got int64
			err := call(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, "pragma "+pragma).Scan(&got) })
			if err != nil || got != want {
				t.Errorf("%s: %s is %d, want %d (%v)", kind, pragma, got, want, err)
			}
		}
	}
	var mode string
	dbtest.Get(t, d, []any{&mode}, "pragma journal_mode")
	if mode != "wal" {
		t.Errorf("journal mode %s", mode)
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Database(ctx, "sqlite:"+text, db.Options{}); err == nil ||
		!strings.Contains(err.Error(), "not an SQLite database") {
		t.Errorf("text file: %v", err)
	}
	other := dbtest.SQLiteURL(t)
	path := strings.TrimPrefix(other, "sqlite:")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(content[68:72], "ELSE") // the application id in the header
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Database(ctx, other, db.Options{}); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("another program's file: %v", err)
	}
	if _, err := open.Database(ctx, "sqlite:"+filepath.Join(dir, "missing", "x.db"), db.Options{}); err == nil {
		t.Error("a folder that is not there was taken")
	}
}

// TestLogStaysBounded checks that the write-ahead log does not grow without limit under constant
// reads and writes. It would grow if it were always in use.
func TestLogStaysBounded(t *testing.T) {
	d := dbtest.SQLite(t)
	dbtest.Things(t, d)
	write := func(n int) error {
		return dbtest.Exec(d, `insert into things (n, note) values ($1, $2)
			on conflict (n) do update set note = excluded.note`, n%500, strings.Repeat(fmt.Sprint(n), 4000))
	}
	var writers, readers sync.WaitGroup
	const beginnings = 3
	overdue := time.Now().Add(2 * time.Minute)
	for w := range 64 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for i := 0; sqlite.Restarts(d) < beginnings && time.Now().Before(overdue); i++ {
				if err := write(w*150 + i); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	var stop atomic.Bool
	for range 3 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for !stop.Load() {
				dbtest.Texts(t, d, "select substr(note, 1, 9) from things order by n limit 50")
			}
		}()
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	if n := sqlite.Restarts(d); n < beginnings {
		t.Errorf("the log began anew %d times", n)
	}
}

// TestDiskFull checks that on a full disk a group of writes fails and is not stored. No
// acknowledged write is lost.
func TestDiskFull(t *testing.T) {
	dir, resize := dbtest.SmallDisk(t, "3m")
	d := dbtest.Open(t, "sqlite:"+filepath.Join(dir, "kartei.db"), db.Options{Readers: 2})
	dbtest.Things(t, d)
	text := strings.Repeat("x", 10_000)
	var mu sync.Mutex
	stored := map[int]bool{}
	var failure error
	var wait sync.WaitGroup
	for w := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range 200 {
				n := w*1000 + i
				err := dbtest.Exec(d, "insert into things (n, note) values ($1, $2)", n, text)
				mu.Lock()
				if stored[n] = err == nil; err != nil {
					failure = err
				}
				mu.Unlock()
			}
		}()
	}
	wait.Wait()
	if !errors.Is(failure, db.ErrUnavailable) || !strings.Contains(failure.Error(), "full") {
		t.Errorf("the full disk gave %v", failure)
	}
	there := map[string]bool{}
	for _, n := range dbtest.Texts(t, d, "select cast(n as text) from things") {
		there[n] = true
	}
	for n, acknowledged := range stored {
		if there[fmt.Sprint(n)] != acknowledged {
			t.Errorf("write %d: acknowledged %v, stored %v", n, acknowledged, !acknowledged)
		}
	}
	resize("30m")
	dbtest.Run(t, d, "insert into things (n, note) values (-1, $1)", text)
}

// TestLogFreesRoomOnAFullDisk checks a log that has filled the disk. As soon as some space is free,
// the log is copied to the file and truncated. This holds on a running server and at a start.
func TestLogFreesRoomOnAFullDisk(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restarts), func(t *testing.T) {
			dir, resize := dbtest.SmallDisk(t, "3m")
			path := filepath.Join(dir, "kartei.db")
			open := func() db.DB { return dbtest.Open(t, "sqlite:"+path, db.Options{Readers: 2}) }
			d := open()
			dbtest.Things(t, d)
			// The 20 rows take 240 KB. The log has a new copy of a row for each
			// write.
			write := func(n int) error {
				text := strings.Repeat(string(rune('a'+n%26)), 10_000) // SQLite would not write an unchanged text
				return dbtest.Exec(d, "insert into things (n, note) values ($1, $2) on conflict (n) do update set note = excluded.note", n%20, text)
			}
			n := 0
			for write(n) == nil {
				if n++; n == 2000 {
					t.Fatal("the disk never got full")
				}
			}
			if err := write(0); !errors.Is(err, db.ErrUnavailable) {
				t.Errorf("the full disk gave %v", err)
			}
			if restarts {
				d.Close() // no space to truncate the log
			}
			if size := logSize(t, path); size < 2<<20 {
				t.Fatalf("full with a log of %d bytes", size)
			}
			resize("3500k")
			if restarts {
				d = open()
				if size := logSize(t, path); size != 0 {
					t.Errorf("started with a log of %d bytes", size)
				}
			}
			for n := range 100 { // writes more than a megabyte
				if err := write(n); err != nil {
					t.Fatalf("write %d after room was freed: %v", n, err)
				}
			}
		})
	}
}

// TestReserveEmptiesTheLog checks that a log that has filled the disk is truncated with the space
// of the reserve. Afterwards the reserve exists again. The operator need not free space.
func TestReserveEmptiesTheLog(t *testing.T) {
	dir, _ := dbtest.SmallDisk(t, "3m")
	path := filepath.Join(dir, "kartei.db")
	const size = 512 << 10
	d := dbtest.Open(t, "sqlite:"+path, db.Options{Readers: 2, Reserve: size})
	dbtest.Things(t, d)
	reserved := func() int64 {
		info, err := os.Stat(path + ".reserve")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if reserved() != size {
		t.Errorf("the reserve has %d bytes", reserved())
	}
	write := func(n int) error {
		text := strings.Repeat(string(rune('a'+n%26)), 10_000) // SQLite would not write an unchanged text
		return dbtest.Exec(d, "insert into things (n, note) values ($1, $2) on conflict (n) do update set note = excluded.note", n%20, text)
	}
	n := 0
	for write(n) == nil {
		if n++; n == 2000 {
			t.Fatal("the disk never got full")
		}
	}
	if err := d.Writes().Refused(); err == nil || !strings.Contains(err.Error(), "room for about") {
		t.Errorf("the operator is told %v", err)
	}
	if size := logSize(t, path); size < 1<<20 {
		t.Fatalf("full with a log of %d bytes", size)
	}
	for n := range 50 {
		if err := write(n); err != nil {
			t.Fatalf("write %d after the log filled the disk: %v", n, err)
		}
	}
	if reserved() != size {
		t.Errorf("the reserve has %d bytes after it was needed", reserved())
	}
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
