package db_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
	"kartei/test/dbtest"
)

// watched opens a database with a fake clock. It returns the database, the clock and the log.
func watched(t *testing.T, url string) (db.DB, *clock.Fake, *bytes.Buffer) {
	t.Helper()
	now, log := clock.NewFake(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)), &bytes.Buffer{}
	d := dbtest.Open(t, url, db.Options{Readers: 2, Clock: now, Logger: slog.New(slog.NewTextHandler(log, nil))})
	log.Reset()
	return d, now, log
}

// refused fails the test unless writes are refused with a reason that contains the words.
func refused(t *testing.T, d db.DB, words ...string) {
	t.Helper()
	err := d.Writes().Refused()
	if err == nil {
		t.Error("writes are not refused")
		return
	}
	if strings.Contains(err.Error(), "db: ") {
		t.Errorf("the operator is told %q", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("refused because %q, which does not say %q", err, w)
		}
	}
}

// accepted fails the test if writes are refused.
func accepted(t *testing.T, d db.DB) {
	t.Helper()
	if err := d.Writes().Refused(); err != nil {
		t.Errorf("writes are refused: %v", err)
	}
}

// TestFullDiskIsReported checks that a full disk is logged at its beginning, once a minute and at
// its end, but not for each failed write. The message contains the folder and the free space.
func TestFullDiskIsReported(t *testing.T) {
	dir, resize := dbtest.SmallDisk(t, "3m")
	d, now, log := watched(t, "sqlite:"+filepath.Join(dir, "kartei.db"))
	dbtest.Things(t, d)
	n := 0
	write := func(size int) error {
		n++
		return dbtest.Exec(d, "insert into things (n, note) values ($1, $2)", n, strings.Repeat("x", size))
	}
	accepted(t, d)
	const large = 4 << 20
	for range 5 {
		if err := write(large); !errors.Is(err, db.ErrRefused) || !errors.Is(err, db.ErrUnavailable) {
			t.Fatalf("more than there is room for: %v", err)
		}
	}
	refused(t, d, "the disk of "+dir+" is full", "bytes are free")
	// The write-ahead log may have a log message, too.
	told := func() int { return strings.Count(log.String(), `msg="writes are`) }
	if told() != 1 || !strings.Contains(log.String(), "writes are refused") {
		t.Errorf("5 refused writes were told as\n%s", log)
	}
	// A small change still succeeds, but the disk counts as full.
	if err := write(1); err != nil {
		t.Error(err)
	}
	refused(t, d)
	now.Advance(61 * time.Second)
	for range 3 {
		_ = write(large)
	}
	if told() != 2 || !strings.Contains(log.String(), "still refused") || !strings.Contains(log.String(), "writes=6") {
		t.Errorf("a minute later it was told as\n%s", log)
	}
	resize("30m")
	now.Advance(time.Second)
	// A transaction without changes needs no room, so it does not end the problem.
	if err := dbtest.Exec(d, "update things set note = 'y' where n = -1"); err != nil {
		t.Error(err)
	}
	refused(t, d)
	if err := write(large); err != nil {
		t.Error(err)
	}
	accepted(t, d)
	if !strings.Contains(log.String(), `msg="writes are accepted again" after=1m2s refused=8`) {
		t.Errorf("the end was told as\n%s", log)
	}
	if total := d.Writes().Total(); total != 8 {
		t.Errorf("%d refused writes, not 8", total)
	}
}

// TestReadOnlyIsReported checks that a read-only PostgreSQL database is reported until a change is
// stored.
func TestReadOnlyIsReported(t *testing.T) {
	url := dbtest.PostgresURL(t)
	alter := func(setting string) {
		t.Helper()
		admin, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer admin.Close(ctx)
		for _, s := range []string{
			"set default_transaction_read_only = off",
			fmt.Sprintf("alter database %s %s", pgx.Identifier{admin.Config().Database}.Sanitize(), setting),
		} {
			if _, err := admin.Exec(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 0
	insert := func(tx db.Tx) error {
		n++
		tx.Queue("insert into settings (name, value) values ($1, '')", fmt.Sprint(n))
		return nil
	}
	look := func(tx db.Tx) error { return tx.QueryRow(ctx, "select 1").Scan(new(int)) }
	for _, name := range []string{"Write", "WriteIn"} {
		alter("set default_transaction_read_only = on")
		d, now, log := watched(t, url) // new sessions
		write := map[string]func(func(db.Tx) error) error{
			"Write":   func(f func(db.Tx) error) error { return d.Write(ctx, f) },
			"WriteIn": func(f func(db.Tx) error) error { return d.WriteIn(ctx, 1, f) },
		}[name]
		for range 3 {
			if err := write(insert); !errors.Is(err, db.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		refused(t, d, "the database is read-only")
		alter("reset default_transaction_read_only")
		now.Advance(2 * time.Second)
		if err := write(look); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		refused(t, d) // no change was stored yet
		if err := write(insert); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		accepted(t, d)
		if strings.Count(log.String(), "\n") != 2 || d.Writes().Total() != 3 {
			t.Errorf("%s: %d refused, told as\n%s", name, d.Writes().Total(), log)
		}
	}
}

// TestMissingFilesAreNotWrittenTo checks an open database whose files are deleted or replaced. It
// refuses writes, and a backup of the replacement fails.
func TestMissingFilesAreNotWrittenTo(t *testing.T) {
	for _, file := range []string{"", "-wal"} {
		for _, how := range []string{"deleted", "replaced"} {
			t.Run("kartei.db"+file+" "+how, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "kartei.db")
				d, now, log := watched(t, "sqlite:"+path)
				dbtest.Things(t, d)
				now.Advance(2 * time.Second)
				dbtest.Run(t, d, "insert into things (n) values (1)")
				accepted(t, d)
				if err := os.Rename(path+file, path+file+".away"); err != nil {
					t.Fatal(err)
				}
				if how == "replaced" {
					if err := os.WriteFile(path+file, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := move.Backup(ctx, d, path+".copy"); err == nil || !strings.Contains(err.Error(), path+file+" was "+how) {
					t.Errorf("backup: %v", err)
				}
				now.Advance(time.Second)
				refused(t, d, path+file+" was "+how)
				if err := dbtest.Exec(d, "insert into things (n) values (2)"); !errors.Is(err, db.ErrRefused) {
					t.Errorf("written into a file without a name: %v", err)
				}
				if !strings.Contains(log.String(), path+file+" was "+how) {
					t.Errorf("the log says\n%s", log)
				}
				if _, err := os.Stat(path + file); how == "deleted" && err == nil {
					t.Error("the file was made anew")
				}
				// The original file is put back.
				if err := os.Rename(path+file+".away", path+file); err != nil {
					t.Fatal(err)
				}
				now.Advance(time.Second)
				dbtest.Run(t, d, "insert into things (n) values (3)")
				accepted(t, d)
			})
		}
	}
}

// TestLockFileDeleted checks that a deleted lock file is created again. If another process takes
// the lock first, only that process can write.
func TestLockFileDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kartei.db")
	d, now, _ := watched(t, "sqlite:"+path)
	dbtest.Things(t, d)
	remove := func() {
		t.Helper()
		if err := os.Remove(path + ".lock"); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	now.Advance(time.Second)
	accepted(t, d)
	var inUse *sqlite.InUse
	if second, err := open.Database(ctx, "sqlite:"+path, db.Options{}); !errors.As(err, &inUse) {
		t.Errorf("a second one came in: %v", err)
		second.Close()
	}
	remove()
	second := dbtest.Open(t, "sqlite:"+path, db.Options{Readers: 1})
	now.Advance(time.Second)
	refused(t, d, "the lock file was deleted", "in use by process")
	if err := dbtest.Exec(d, "insert into things (n) values (1)"); !errors.Is(err, db.ErrRefused) {
		t.Errorf("both write: %v", err)
	}
	dbtest.Run(t, second, "insert into things (n) values (2)")
	second.Close()
	now.Advance(time.Second)
	dbtest.Run(t, d, "insert into things (n) values (3)")
}
