package move_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
	"kartei/store/schema"
	"kartei/test/dbtest"
)

// TestBackupWhileServing checks a backup during writes. The backup contains each write completely
// or not at all. It contains all writes that were acknowledged before its start.
func TestBackupWhileServing(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		needTools(t, url)
		d := dbtest.Open(t, url, db.Options{NoSync: true})
		table(t, d)
		stop, started, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				err := d.Write(ctx, func(tx db.Tx) error {
					tx.Queue("insert into things (n, size) values ($1, $2)", 2*i, i)
					tx.Queue("insert into things (n, size) values ($1, $2)", 2*i+1, i)
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				if i == 100 {
					close(started)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		<-started
		file := filepath.Join(t.TempDir(), "it's a backup")
		if err := move.Backup(ctx, d, file); err != nil {
			t.Fatal(err)
		}
		close(stop)
		<-done
		if err := move.Backup(ctx, d, file); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("an existing file was replaced: %v", err)
		}
		left, err := os.ReadDir(filepath.Dir(file))
		if err != nil || len(left) != 1 {
			t.Errorf("drafts stayed: %v %v", left, err)
		}
		target := "sqlite:" + filepath.Join(t.TempDir(), "restored.db")
		if strings.HasPrefix(url, "postgres:") {
			target = dbtest.EmptyPostgresURL(t)
		}
		if _, err := move.Restore(ctx, file, target, false); err != nil {
			t.Fatal(err)
		}
		restored := dbtest.Open(t, target, db.Options{})
		if state, err := schema.Status(ctx, restored); err != nil || !state.Current() {
			t.Errorf("restored: %+v, %v", state, err)
		}
		pairs := map[string]int{}
		for _, n := range dbtest.Texts(t, restored, "select cast(size as text) from things") {
			pairs[n]++
		}
		for n, rows := range pairs {
			if rows != 2 {
				t.Errorf("write %s is half in the backup", n)
			}
		}
		for i := range 101 {
			if pairs[fmt.Sprint(i)] != 2 {
				t.Errorf("write %d is not in the backup", i)
			}
		}
		dbtest.Run(t, restored, "insert into things (n) values (-1)")
	})
}

// needTools puts PostgreSQL's client programs on PATH. It skips the test if they are not installed.
func needTools(t *testing.T, url string) {
	t.Helper()
	if !strings.HasPrefix(url, "postgres:") {
		return
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(found)
	t.Setenv("PATH", strings.Join(append([]string{os.Getenv("PATH")}, found...), string(os.PathListSeparator)))
	if _, err := exec.LookPath("pg_dump"); err != nil {
		t.Skip("needs pg_dump and pg_restore (on Debian: apt-get install postgresql-client)")
	}
}

// TestRestoreMakesChanges checks that a restore makes the changes before the database becomes
// visible. If a change fails, the old database stays. A change is skipped if the copy does not have
// its table.
func TestRestoreMakesChanges(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		needTools(t, url)
		source := dbtest.Open(t, url, db.Options{NoSync: true})
		table(t, source)
		dbtest.Run(t, source, "insert into things (n, name) values (1, 'old')")
		file, changed := filepath.Join(t.TempDir(),
			"backup"), move.Change{Table: "things", Statement: "update things set name = 'changed' where n = 1"}
		if err := move.Backup(ctx, source, file); err != nil {
			t.Fatal(err)
		}
		target := "sqlite:" + filepath.Join(t.TempDir(), "kartei.db")
		if strings.HasPrefix(url, "postgres:") {
			target = dbtest.EmptyPostgresURL(t)
		}
		names := func() string {
			t.Helper()
			d, err := open.Database(ctx, target, db.Options{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			return strings.Join(dbtest.Texts(t, d, "select name from things"), " ")
		}
		for _, test := range []struct {
			want    string
			changes []move.Change
		}{
			{"changed", []move.Change{{Table: "none", Statement: "delete from none"}, changed}},
			{"old", nil},
			{"old", []move.Change{changed, {Table: "things", Statement: "update things set none = 1"}}}, // unchanged
		} {
			_, err := move.RestoreWith(ctx, file, target, true, nil, test.changes)
			if fails := len(test.changes) == 2 && test.want == "old"; (err != nil) != fails {
				t.Errorf("%v: %v", test.changes, err)
			}
			if got := names(); got != test.want {
				t.Errorf("%v: the row says %q", test.changes, got)
			}
		}
	})
}

func TestRestoreReplacesOnlyWithForce(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		needTools(t, url)
		source := dbtest.Open(t, url, db.Options{NoSync: true})
		table(t, source)
		dbtest.Run(t, source, "insert into things (n, name) values (1, 'old')")
		file := filepath.Join(t.TempDir(), "backup")
		if err := move.Backup(ctx, source, file); err != nil {
			t.Fatal(err)
		}
		target := "sqlite:" + filepath.Join(t.TempDir(), "kartei.db")
		if strings.HasPrefix(url, "postgres:") {
			target = dbtest.PostgresURL(t)
		} else {
			d := dbtest.Open(t, target, db.Options{})
			dbtest.Run(t, d, "create table other (n bigint)")
			var inUse *sqlite.InUse
			if _, err := move.Restore(ctx, file, target, true); !errors.As(err, &inUse) {
				t.Errorf("a database in use: %v", err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := move.Restore(ctx, file, target, false); err == nil {
			t.Error("an existing database was replaced without being told to")
		}
		aside, err := move.Restore(ctx, file, target, true)
		if err != nil {
			t.Fatal(err)
		}
		d := dbtest.Open(t, target, db.Options{})
		if got := dbtest.Texts(t, d, "select name from things"); strings.Join(got, " ") != "old" {
			t.Error(got)
		}
		if strings.HasPrefix(url, "sqlite:") {
			old := dbtest.Open(t, "sqlite:"+aside, db.Options{})
			dbtest.Run(t, old, "insert into other (n) values (1)")
		}
	})
}

// TestBackupToAFullDisk checks that a backup to a full disk fails and leaves no file. The error
// names the full disk. The database is larger than the page cache of the copy.
func TestBackupToAFullDisk(t *testing.T) {
	d := dbtest.SQLite(t)
	table(t, d)
	for n := range 300 {
		if err := dbtest.Exec(d, "insert into things (n, note) values ($1, $2)", n,
			strings.Repeat("x", 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	dir, resize := dbtest.SmallDisk(t, "64k")
	for _, size := range []string{"1m", "20m"} {
		resize(size)
		err := move.Backup(t.Context(), d, filepath.Join(dir, "copy.db"))
		if !errors.Is(err, db.ErrUnavailable) || !strings.Contains(err.Error(), dir) ||
			!strings.Contains(err.Error(), "full") {
			t.Errorf("with %s: %v", size, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("with %s these are left: %v, %v", size, left, err)
		}
	}
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	dir := t.TempDir()
	d := dbtest.SQLite(t)
	table(t, d)
	for i := range 500 {
		dbtest.Run(t, d, "insert into things (n, name, note) values ($1, $2, $3)", i, fmt.Sprint("name", i),
			strings.Repeat("x", 500))
	}
	good := filepath.Join(dir, "good")
	if err := move.Backup(ctx, d, good); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	spoilt := slices.Clone(content)
	for i := range 4096 {
		spoilt[len(spoilt)/4096/2*4096+i] = 0xff
	}
	other := slices.Clone(content)
	copy(other[68:72], "ELSE")
	open := strings.TrimPrefix(dbtest.SQLiteURL(t), "sqlite:")
	held := dbtest.Open(t, "sqlite:"+open, db.Options{})
	dbtest.Run(t, held, "create table x (n bigint)")
	for name, from := range map[string]string{
		"missing":         filepath.Join(dir, "nothing"),
		"text":            write("text", []byte("no database")),
		"empty":           write("empty", nil),
		"cut":             write("cut", content[:len(content)/2/4096*4096]),
		"spoilt":          write("spoilt", spoilt),
		"another program": write("other", other),
		"a live one":      open,
	} {
		target := filepath.Join(t.TempDir(), "kartei.db")
		if _, err := move.Restore(ctx, from, "sqlite:"+target, false); err == nil {
			t.Errorf("%s was restored", name)
		} else if !strings.Contains(err.Error(), from) || strings.Contains(err.Error(), ".kartei-restore-") {
			t.Errorf("%s: the error does not name the file of the backup alone: %v", name, err)
		}
		if _, err := os.Stat(target); err == nil {
			t.Errorf("%s left a database", name)
		}
	}
	if _, err := move.Restore(ctx, good, "sqlite:"+filepath.Join(t.TempDir(), "kartei.db"), false); err != nil {
		t.Errorf("the good one: %v", err)
	}
	// A copy cannot be restored over itself, even through a link.
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{good, link} {
		if _, err := move.Restore(ctx, good, "sqlite:"+target, true); err == nil ||
			!strings.Contains(err.Error(), "the database itself") {
			t.Errorf("over itself: %v", err)
		}
	}
	// A restore to the wrong engine fails. The error names the engine of the file.
	archive := write("archive", append([]byte("PGDMP"), content[:4096]...))
	_, err = move.Restore(ctx, archive, "sqlite:"+filepath.Join(t.TempDir(), "kartei.db"), false)
	if err == nil || !strings.Contains(err.Error(), archive+" is an archive of pg_dump") ||
		!strings.Contains(err.Error(), "--database-url postgres://") {
		t.Errorf("an archive of PostgreSQL into SQLite: %v", err)
	}
	_, err = move.Restore(ctx, good, "postgres://nobody@127.0.0.1:1/none", false)
	if err == nil || !strings.Contains(err.Error(), good+" is a copy of an SQLite database") ||
		!strings.Contains(err.Error(), "kartei copy") {
		t.Errorf("a copy of SQLite into PostgreSQL: %v", err)
	}
}

// TestOldDraftsAreRemoved checks that a backup and a restore remove the drafts of killed processes
// from their folder. Recent drafts stay, because a process may still write them, and so do other
// files.
func TestOldDraftsAreRemoved(t *testing.T) {
	d := dbtest.SQLite(t)
	table(t, d)
	backups := t.TempDir()
	dir := backups
	leave := func(name string, age time.Duration) {
		t.Helper()
		path, at := filepath.Join(dir, name), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, []byte("half"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	lay := func() {
		t.Helper()
		leave(".kartei-backup-1", 20*time.Hour)
		leave(".kartei-backup-1-journal", 20*time.Hour)
		leave(".kartei-restore-2", 20*time.Hour)
		leave(".kartei-backup-3", time.Hour)
		leave("kartei-backup-4", 20*time.Hour)
	}
	stay := func(also ...string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if want := append([]string{".kartei-backup-3", "kartei-backup-4"}, also...); !slices.Equal(names, want) {
			t.Errorf("there are %q, want %q", names, want)
		}
	}
	lay()
	if err := move.Backup(ctx, d, filepath.Join(backups, "made")); err != nil {
		t.Fatal(err)
	}
	stay("made")
	dir = t.TempDir()
	lay()
	if _, err := move.Restore(ctx, filepath.Join(backups, "made"), "sqlite:"+filepath.Join(dir, "kartei.db"),
		false); err != nil {
		t.Fatal(err)
	}
	stay("kartei.db", "kartei.db.lock")
}
