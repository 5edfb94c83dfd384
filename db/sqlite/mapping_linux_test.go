package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	lib "modernc.org/sqlite/lib"
)

// mapped returns where the file is mapped, and how much of it.
func (c *Conn) mapped(t *testing.T) (at uintptr, size int64) {
	t.Helper()
	file, err := c.file()
	if err != nil {
		t.Fatal(err)
	}
	f := (*lib.TunixFile)(pointer(file))
	return f.FpMapRegion, f.FmmapSize
}

// Others' commits do not take the mapping away; what they wrote is seen all the
// same, whether it is in the log, in the file, or makes the file longer.
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
	run("create table t (id integer primary key, v text); insert into t values (1, 'a'), (2, '" + strings.Repeat("x", 100_000) + "')")
	checkpoint()
	reader := open()
	sees := func(want string) {
		t.Helper()
		if got, err := reader.Value("select v from t where id = 1"); got != want || err != nil {
			t.Fatalf("the reader sees %q, %v, want %q", got, err, want)
		}
	}
	sees("a")
	at, size := reader.mapped(t)
	if at == 0 {
		t.Fatal("the file is not mapped")
	}
	for _, v := range []string{"b", "c", "d"} {
		run("update t set v = '" + v + "' where id = 1")
		sees(v)
		checkpoint()
		sees(v)
		if now, _ := reader.mapped(t); now != at {
			t.Errorf("after %s the file is mapped at %x, before at %x", v, now, at)
		}
	}
	run("insert into t values (3, '" + strings.Repeat("y", 1_000_000) + "'); update t set v = 'e' where id = 1")
	checkpoint()
	sees("e")
	if got, err := reader.Value("select length(v) from t where id = 3"); got != "1000000" || err != nil {
		t.Errorf("what was appended reads as %q, %v", got, err)
	}
	if _, now := reader.mapped(t); now < size+900_000 {
		t.Errorf("%d bytes are mapped of a file that grew from %d by a million", now, size)
	}
}
