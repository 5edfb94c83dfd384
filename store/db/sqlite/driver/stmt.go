package driver

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// ErrText means that a text is not UTF-8 or contains a NUL character. PostgreSQL accepts no such
// text, so this engine refuses it too.
var ErrText = errors.New("sqlite: text is not UTF-8 or holds NUL")

// The kinds of values.
const (
	Integer = lib.SQLITE_INTEGER
	Float   = lib.SQLITE_FLOAT
	Text    = lib.SQLITE_TEXT
	Blob    = lib.SQLITE_BLOB
	Null    = lib.SQLITE_NULL
)

// Stmt is a prepared statement. It is in use from Prepare to Reset.
type Stmt struct {
	c        *Conn
	p        uintptr
	params   []int32 // SQLite's index of parameter $1, $2, ...; 0 for an unused one
	columns  int
	readOnly bool
	cached   bool
	inUse    bool
	bound    int     // parameters bound since the last Reset
	text     uintptr // C memory with the bound texts, which SQLite does not copy
	textCap  int
	textLen  int
}

// Prepare returns the statement of a query. It takes the statement from the connection's cache
// unless that is in use.
func (c *Conn) Prepare(query string) (*Stmt, error) {
	if s, ok := c.statements[query]; ok && !s.inUse {
		s.inUse = true
		return s, nil
	}
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	s.inUse = true
	if c.statements[query] == nil {
		c.makeRoom()
		s.cached = true
		c.statements[query] = s
	}
	return s, nil
}

// makeRoom removes an unused statement if the cache is full.
func (c *Conn) makeRoom() {
	if len(c.statements) < maxStatements {
		return
	}
	for query, s := range c.statements {
		if !s.inUse {
			s.finalize()
			delete(c.statements, query)
			return
		}
	}
}

func (c *Conn) prepare(query string) (*Stmt, error) {
	sql, err := libc.CString(query)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, sql)
	rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, sql, int32(len(query)), lib.SQLITE_PREPARE_PERSISTENT, c.out, c.out+8)
	if rc != lib.SQLITE_OK {
		return nil, c.fail(rc)
	}
	p, tail := *word(c.out), *word(c.out + 8)
	if p == 0 {
		return nil, errors.New("sqlite: empty statement")
	}
	if strings.TrimSpace(query[tail-sql:]) != "" {
		lib.Xsqlite3_finalize(c.tls, p)
		return nil, errors.New("sqlite: more than one statement")
	}
	return &Stmt{
		c:        c,
		p:        p,
		params:   c.parameters(p),
		columns:  int(lib.Xsqlite3_column_count(c.tls, p)),
		readOnly: lib.Xsqlite3_stmt_readonly(c.tls, p) != 0,
	}, nil
}

// parameters returns SQLite's indexes of $1, $2, ... . For SQLite these are names, with indexes in
// the order of their first use.
func (c *Conn) parameters(p uintptr) []int32 {
	var places []int32
	for i := range lib.Xsqlite3_bind_parameter_count(c.tls, p) {
		name := libc.GoString(lib.Xsqlite3_bind_parameter_name(c.tls, p, i+1))
		number := int(i + 1)
		if n, err := strconv.Atoi(strings.TrimLeft(name, "$?")); err == nil && n > 0 && n < 1000 {
			number = n
		}
		for len(places) < number {
			places = append(places, 0)
		}
		places[number-1] = i + 1
	}
	return places
}

func (s *Stmt) finalize() {
	lib.Xsqlite3_finalize(s.c.tls, s.p)
	if s.text != 0 {
		libc.Xfree(s.c.tls, s.text)
	}
	s.p, s.text = 0, 0
}

// Params returns the highest parameter number of the statement.
func (s *Stmt) Params() int { return len(s.params) }

// Columns returns the number of columns of a row.
func (s *Stmt) Columns() int { return s.columns }

// ReadOnly reports whether the statement does not change the database.
func (s *Stmt) ReadOnly() bool { return s.readOnly }

// Reserve allocates memory for n bytes of bound texts. Callers call it before the first BindText,
// because SQLite does not copy bound texts.
func (s *Stmt) Reserve(n int) error {
	s.textLen = 0
	if n < s.textCap {
		return nil
	}
	size := max(256, 2*n)
	if s.text != 0 {
		libc.Xfree(s.c.tls, s.text)
	}
	s.text, s.textCap = libc.Xmalloc(s.c.tls, types.Size_t(size)), size
	if s.text == 0 {
		s.textCap = 0
		return errors.New("sqlite: out of memory")
	}
	return nil
}

// BindText binds a text to parameter $i. The caller must first call Reserve with at least the total
// length of all texts.
func (s *Stmt) BindText(i int, value string) error {
	if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
		return ErrText
	}
	at := s.text + uintptr(s.textLen)
	copy(unsafe.Slice((*byte)(pointer(at)), len(value)), value)
	s.textLen += len(value)
	s.bound++
	return s.check(lib.Xsqlite3_bind_text(s.c.tls, s.p, s.params[i-1], at, int32(len(value)), lib.SQLITE_STATIC))
}

// BindInt binds an integer to parameter $i.
func (s *Stmt) BindInt(i int, value int64) error {
	s.bound++
	return s.check(lib.Xsqlite3_bind_int64(s.c.tls, s.p, s.params[i-1], value))
}

// BindFloat binds a float to parameter $i.
func (s *Stmt) BindFloat(i int, value float64) error {
	s.bound++
	return s.check(lib.Xsqlite3_bind_double(s.c.tls, s.p, s.params[i-1], value))
}

// BindNull binds NULL to parameter $i.
func (s *Stmt) BindNull(i int) error {
	return s.check(lib.Xsqlite3_bind_null(s.c.tls, s.p, s.params[i-1]))
}

func (s *Stmt) check(rc int32) error {
	if rc != lib.SQLITE_OK {
		return s.c.fail(rc)
	}
	return nil
}

// Step advances the statement to its next row and reports whether there is one.
func (s *Stmt) Step() (bool, error) {
	switch rc := lib.Xsqlite3_step(s.c.tls, s.p); rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.fail(rc)
	}
}

// Finish runs a writing statement to its end, so that it takes effect even if its rows are not
// read. It does nothing for a reading statement.
func (s *Stmt) Finish() error {
	if s.readOnly {
		return nil
	}
	for {
		if more, err := s.Step(); err != nil || !more {
			return err
		}
	}
}

// Reset ends the use of the statement. The statement returns to the cache or is freed.
func (s *Stmt) Reset() {
	if !s.inUse {
		return
	}
	s.inUse = false
	lib.Xsqlite3_reset(s.c.tls, s.p)
	if !s.cached {
		s.finalize()
		return
	}
	if s.bound > 0 {
		lib.Xsqlite3_clear_bindings(s.c.tls, s.p)
		s.bound = 0
	}
	// A cached statement must not keep the memory of a large text.
	if s.textCap > 64<<10 {
		libc.Xfree(s.c.tls, s.text)
		s.text, s.textCap = 0, 0
	}
}

// Kind returns the kind of the value in column i of the current row.
func (s *Stmt) Kind(i int) int {
	return int(lib.Xsqlite3_column_type(s.c.tls, s.p, int32(i)))
}

// Int returns the integer in column i of the current row.
func (s *Stmt) Int(i int) int64 { return lib.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

// Float returns the float in column i of the current row.
func (s *Stmt) Float(i int) float64 { return lib.Xsqlite3_column_double(s.c.tls, s.p, int32(i)) }

// Text returns the text in column i of the current row.
func (s *Stmt) Text(i int) string { return string(s.bytes(i)) }

// Bytes returns a copy of the bytes in column i of the current row.
func (s *Stmt) Bytes(i int) []byte { return append([]byte{}, s.bytes(i)...) }

// bytes returns the text in column i in SQLite's memory. It is valid until the next Step.
func (s *Stmt) bytes(i int) []byte {
	p := lib.Xsqlite3_column_text(s.c.tls, s.p, int32(i))
	if p == 0 {
		return nil
	}
	n := lib.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i))
	return unsafe.Slice((*byte)(pointer(p)), int(n))
}
