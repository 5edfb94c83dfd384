package driver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// buffered opens a connection with BufferLog. Its cache is so small that a transaction writes pages
// to the log before its end.
func buffered(t *testing.T, path string) *Conn {
	t.Helper()
	c := plain(t, path)
	if err := c.BufferLog(); err != nil {
		t.Fatal(err)
	}
	return c
}

func plain(t *testing.T, path string) *Conn {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Script("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 0; pragma cache_size = 10"); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBufferedLog checks that after each commit other connections, and a copy of the files, have
// the content of the connection. The transactions are larger than the cache and the buffer. They
// roll back, read and rewrite parts.
func TestBufferedLog(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	writer, reader, wanted := buffered(t, path), plain(t, path), plain(t, filepath.Join(dir, "wanted.db"))
	value := func(c *Conn, query string) string {
		t.Helper()
		got, err := c.Value(query)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	const content = "select count(*) || ' ' || total(length(v)) || ' ' || coalesce(group_concat(substr(v, 1, 8)), '') from (select v from t order by id)"
	run := func(text string) {
		t.Helper()
		for _, c := range []*Conn{writer, wanted} {
			if err := c.Script(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if got, want := value(writer, content), value(wanted, content); got != want {
			t.Fatalf("after %.60s the connection reads %.200q, want %.200q", text, got, want)
		}
	}
	run("create table t (id integer primary key, v text); create index t_v on t (v)")
	for n := range 60 {
		run("begin immediate")
		for range 1 + random.IntN(40) {
			id, size := random.IntN(400), random.IntN(6000)
			switch text := fmt.Sprintf("%08d%s", random.IntN(1e8), strings.Repeat("x", size)); random.IntN(8) {
			case 0:
				run("savepoint s")
				run(fmt.Sprintf("update t set v = '%s' where id between %d and %d", text, id, id+20))
				run("rollback to s; release s")
			case 1:
				run(fmt.Sprintf("delete from t where id = %d", id))
			default:
				run(fmt.Sprintf("insert or replace into t values (%d, '%s')", id, text))
			}
		}
		if random.IntN(4) == 0 {
			run("rollback")
		} else {
			run("commit")
		}
		want := value(wanted, content)
		if got := value(reader, content); got != want {
			t.Fatalf("another connection reads %.200q, want %.200q", got, want)
		}
		if n%10 == 0 {
			if _, _, err := writer.Checkpoint([]int32{Passive, Restart, Truncate}[random.IntN(3)]); err != nil {
				t.Fatal(err)
			}
		}
		// These are the files that a process leaves if it is killed now.
		killed := filepath.Join(t.TempDir(), "a.db")
		for _, end := range []string{"", "-wal"} {
			b, err := os.ReadFile(path + end)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(killed+end, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		left := plain(t, killed)
		if got := value(left, content); got != want {
			t.Fatalf("the files have %.200q, want %.200q", got, want)
		}
		if got := value(left, "pragma integrity_check"); got != "ok" {
			t.Fatal(got)
		}
		left.Close()
	}
}

// TestBufferedLogIsWrittenOnce checks that the pages of a commit are written to the log with one
// system call, and not before the commit.
func TestBufferedLogIsWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := buffered(t, path)
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	script := func(text string) {
		t.Helper()
		if err := c.Script(text); err != nil {
			t.Fatal(err)
		}
	}
	script("create table t (v text); pragma cache_size = 1000")
	before := size()
	script("begin; insert into t values ('" + strings.Repeat("x", 50_000) + "')")
	if err := c.Script("pragma cache_size = 1"); err != nil { // makes SQLite write pages to the log early
		t.Fatal(err)
	}
	script("insert into t values ('" + strings.Repeat("y", 50_000) + "')")
	if now := size(); now != before {
		t.Errorf("the log grew from %d to %d bytes before the commit", before, now)
	}
	if c.log.begin == c.log.end {
		t.Error("no page is in the buffer")
	}
	script("commit")
	if c.log.begin != c.log.end {
		t.Error("a page is still in the buffer")
	}
	if now := size(); now < before+100_000 {
		t.Errorf("the log grew from %d to %d bytes with the commit", before, now)
	}
}

// TestBufferedLogOnAFullDisk checks that a full disk fails the transaction that does not fit, in
// each of its writes. Later transactions succeed.
func TestBufferedLogOnAFullDisk(t *testing.T) {
	for fails := range 6 {
		path := filepath.Join(t.TempDir(), "a.db")
		c, reader := buffered(t, path), plain(t, path)
		if err := c.Script("create table t (v text); insert into t values ('before')"); err != nil {
			t.Fatal(err)
		}
		disk, writes := c.log.usual.FxWrite, 0
		full := func(tls *libc.TLS, file, from uintptr, size int32, offset int64) int32 {
			if writes++; writes > fails {
				return lib.SQLITE_FULL
			}
			return (*(*write)(unsafe.Pointer(&struct{ uintptr }{disk})))(tls, file, from, size, offset)
		}
		c.log.usual.FxWrite = *(*uintptr)(unsafe.Pointer(&full))
		var err error
		for _, text := range []string{
			"begin",
			"with recursive n (i) as (select 1 union all select i + 1 from n where i < 200) insert into t select 'lost' || hex(randomblob(2000)) from n",
			"select count(*) from t",
			"commit",
		} {
			if err = c.Script(text); err != nil {
				break
			}
		}
		switch {
		case writes <= fails:
			t.Fatalf("%d writes: the disk was never full", writes)
		case err == nil:
			t.Fatalf("%d of the writes failed, and the transaction was committed", writes-fails)
		case c.InTransaction():
			if err := c.Script("rollback"); err != nil {
				t.Fatal(err)
			}
		}
		c.log.usual.FxWrite = disk
		if err := c.Script("insert into t values ('after')"); err != nil {
			t.Fatal(err)
		}
		const want = "before,after"
		for _, conn := range []*Conn{c, reader} {
			if got, err := conn.Value("select group_concat(v) from t"); got != want || err != nil {
				t.Fatalf("after %d writes: %.100q, %v, want %q", fails, got, err, want)
			}
			if got, err := conn.Value("pragma integrity_check"); got != "ok" || err != nil {
				t.Fatal(got, err)
			}
		}
	}
}
