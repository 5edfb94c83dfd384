package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mapped returns the address and the size of the mapping.
func (c *Conn) mapped() (at uintptr, size int64) {
	r := c.mapping.file.now.Load()
	return r.base, r.size
}

// TestTheMappingIsKept checks that commits of other connections do not drop the mapping. Their
// changes are visible in the log, in the file, and after the former end of the file.
func TestTheMappingIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	open := func() *Conn {
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.Script("pragma journal_mode = wal; pragma mmap_size = 1000000000"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	writer := open()
	run := func(text string) {
		t.Helper()
		if err := writer.Script(text); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint := func() {
		t.Helper()
		if _, _, err := writer.Checkpoint(Restart); err != nil {
			t.Fatal(err)
		}
	}
	run("create table t (id integer primary key, v text); insert into t values (1, 'a'), (2, '" +
		strings.Repeat("x", 100_000) + "')")
	checkpoint()
	reader := open()
	sees := func(want string) {
		t.Helper()
		if got, err := reader.Value("select v from t where id = 1"); got != want || err != nil {
			t.Fatalf("the reader sees %q, %v, want %q", got, err, want)
		}
	}
	sees("a")
	at, size := reader.mapped()
	if at == 0 {
		t.Fatal("the file is not mapped")
	}
	for _, v := range []string{"b", "c", "d"} {
		run("update t set v = '" + v + "' where id = 1")
		sees(v)
		checkpoint()
		sees(v)
		if now, _ := reader.mapped(); now != at {
			t.Errorf("after %s the file is mapped at %x, before at %x", v, now, at)
		}
	}
	run("insert into t values (3, '" + strings.Repeat("y", 1_000_000) + "'); update t set v = 'e' where id = 1")
	checkpoint()
	sees("e")
	if got, err := reader.Value("select v from t where id = 3"); got != strings.Repeat("y", 1_000_000) || err != nil {
		t.Errorf("what was appended reads as %.20q, %v", got, err)
	}
	if _, now := reader.mapped(); now < size+900_000 {
		t.Errorf("%d bytes are mapped of a file that grew from %d by a million", now, size)
	}
}

// TestTheMappingIsShared checks that all connections to a file share one mapping. The last one to
// close unmaps the file.
func TestTheMappingIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var all []*Conn
	for i := range 3 {
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Script("pragma journal_mode = wal; pragma mmap_size = 1000000000"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := c.Script("create table t (v text); create table u (v text); insert into t values ('a'); pragma wal_checkpoint(truncate)"); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := c.Value("select v from t"); got != "a" || err != nil {
			t.Fatal(got, err)
		}
		all = append(all, c)
	}
	first := all[0].mapping.file
	if len(first.regions) != 1 {
		t.Errorf("the file is mapped %d times", len(first.regions))
	}
	for _, c := range all {
		if c.mapping.file != first {
			t.Error("a connection has a mapping of its own")
		}
		if got := mappedFiles.open[first.key]; got != first {
			t.Error("the mapping went before the last connection")
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, left := mappedFiles.open[first.key]; left {
		t.Error("the mapping stayed behind the last connection")
	}
}

// TestTheMappingMoves checks that pages in use stay mapped when a larger mapping replaces the old
// one.
func TestTheMappingMoves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	writer, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	run := func(text string) {
		t.Helper()
		if err := writer.Script(text); err != nil {
			t.Fatal(err)
		}
	}
	run("pragma journal_mode = wal; pragma mmap_size = 1000000000; create table t (id integer primary key, v text)")
	run("insert into t values (1, 'a'), (2, '" + strings.Repeat("x", 100_000) + "'); pragma wal_checkpoint(truncate)")
	reader, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.Script("pragma mmap_size = 1000000000"); err != nil {
		t.Fatal(err)
	}
	rows, err := reader.Prepare("select id, v from t order by id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Reset()
	if more, err := rows.Step(); !more || err != nil {
		t.Fatal(more, err)
	}
	m := reader.mapping.file
	m.mu.Lock()
	m.now.Store(&region{limit: maxMapped}) // as if the region could not grow
	m.mu.Unlock()
	if got, err := writer.Value("select substr(v, 99999) from t where id = 2"); got != "xx" || err != nil {
		t.Fatal(got, err)
	}
	if len(m.regions) != 2 {
		t.Errorf("the file is mapped %d times", len(m.regions))
	}
	if got := rows.Text(1); got != "a" {
		t.Errorf("the row that was being read is now %q", got)
	}
	if more, err := rows.Step(); !more || err != nil || rows.Text(1) != strings.Repeat("x", 100_000) {
		t.Error(more, err)
	}
	if more, err := rows.Step(); more || err != nil {
		t.Error(more, err)
	}
}

// TestNoRoomToMap checks that a file that cannot be mapped is read, and that mapping is not tried
// again.
func TestNoRoomToMap(t *testing.T) {
	folder, err := os.Open(t.TempDir()) // a folder cannot be mapped
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	m := &mappedFile{}
	m.now.Store(&region{limit: maxMapped})
	if r := m.grow(int(folder.Fd()), 1); r.size != 0 || r.limit != 0 || m.now.Load() != r {
		t.Errorf("got %+v", *r)
	}
}
