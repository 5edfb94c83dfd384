// Package driver owns the calls into the SQLite library: connections, statements, the mapping of the file.
//
// It uses the library's C interface directly, as modernc.org/sqlite translates
// it, below database/sql. A point read costs half as much as through the driver
// (see BenchmarkLayers in package db). Nothing is copied, looked up or
// locked without need.
package driver

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Result codes of SQLite that callers distinguish. See https://www.sqlite.org/rescode.html.
const (
	Busy             = lib.SQLITE_BUSY
	Locked           = lib.SQLITE_LOCKED
	Interrupt        = lib.SQLITE_INTERRUPT
	Full             = lib.SQLITE_FULL
	IOError          = lib.SQLITE_IOERR
	CannotOpen       = lib.SQLITE_CANTOPEN
	NotADatabase     = lib.SQLITE_NOTADB
	Corrupt          = lib.SQLITE_CORRUPT
	ReadOnly         = lib.SQLITE_READONLY
	ConstraintUnique = lib.SQLITE_CONSTRAINT_UNIQUE
	ConstraintKey    = lib.SQLITE_CONSTRAINT_PRIMARYKEY
	ConstraintRowID  = lib.SQLITE_CONSTRAINT_ROWID
	// NoRoomForIndex is an extended result code. The index of the write-ahead log cannot grow.
	NoRoomForIndex = lib.SQLITE_IOERR_SHMSIZE
)

// Head is the start of each SQLite file. See https://www.sqlite.org/fileformat.html.
const Head = "SQLite format 3\x00"

// maxStatements is the maximum number of prepared statements of a connection. The product has some
// hundred statements. Each takes about 10 KiB.
const maxStatements = 500

// Error is a failure that SQLite reports. Its text contains names of tables and columns, but no
// values.
type Error struct {
	// Code is the extended result code. Its low byte is the primary code.
	Code int
	text string
	// cause is the error number of the operating system, or 0.
	cause syscall.Errno
}

func (e *Error) Error() string {
	if e.cause != 0 {
		return fmt.Sprintf("sqlite: %s (%d): %s", e.text, e.Code, e.cause)
	}
	return fmt.Sprintf("sqlite: %s (%d)", e.text, e.Code)
}

// Writing reports whether a write to a file failed.
func (e *Error) Writing() bool {
	switch e.Code {
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_DIR_FSYNC, lib.SQLITE_IOERR_TRUNCATE, NoRoomForIndex:
		return true
	}
	return false
}

// Primary returns the primary result code.
func (e *Error) Primary() int { return e.Code & 0xff }

// Conn is a connection. It is not safe for concurrent use.
type Conn struct {
	tls        *libc.TLS
	db         uintptr
	statements map[string]*Stmt
	out        uintptr // C memory: two words for results, then the page count of WatchLog
	methods    methods
	mapping    mapping
	log        logBuffer
}

// Open opens or creates the database file at path.
func Open(path string) (*Conn, error) {
	return open(path, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_CREATE)
}

// OpenExisting opens the database file at path. It fails if the file does not exist.
func OpenExisting(path string) (*Conn, error) {
	return open(path, lib.SQLITE_OPEN_READWRITE)
}

func open(path string, flags int32) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS(), statements: map[string]*Stmt{}}
	c.out = libc.Xmalloc(c.tls, 32)
	name, err := libc.CString(path)
	if err != nil || c.out == 0 {
		c.tls.Close()
		return nil, errors.Join(errors.New("sqlite: out of memory"), err)
	}
	defer libc.Xfree(c.tls, name)
	// A Conn is not used concurrently, so SQLite needs no mutex.
	rc := lib.Xsqlite3_open_v2(c.tls, name, c.out, flags|lib.SQLITE_OPEN_NOMUTEX|lib.SQLITE_OPEN_EXRESCODE, 0)
	c.db = *word(c.out)
	if rc != lib.SQLITE_OK {
		err := c.fail(rc)
		c.Close()
		return nil, err
	}
	// The plan of a statement must not depend on the bound values. Otherwise SQLite plans by the
	// value of a parameter in a limit, and prepares the statement again on every run (0.1 ms and
	// more).
	rc = lib.Xsqlite3_db_config(c.tls, c.db, lib.SQLITE_DBCONFIG_ENABLE_QPSG, libc.VaList(c.out, int32(1), uintptr(0)))
	if rc != lib.SQLITE_OK {
		err := c.fail(rc)
		c.Close()
		return nil, err
	}
	if err := c.ownMethods(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection. Its statements must not be used afterwards.
func (c *Conn) Close() error {
	if c.tls == nil {
		return nil
	}
	for _, s := range c.statements {
		s.finalize()
	}
	rc := lib.Xsqlite3_close_v2(c.tls, c.db)
	libc.Xfree(c.tls, c.out)
	c.dropMethods()
	c.log.drop(c.tls)
	c.tls.Close()
	c.tls, c.db = nil, 0
	if rc != lib.SQLITE_OK {
		return &Error{Code: int(rc), text: "close failed"}
	}
	return nil
}

// Script runs statements separated by semicolons, and ignores their rows.
func (c *Conn) Script(text string) error {
	sql, err := libc.CString(text)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, sql)
	if rc := lib.Xsqlite3_exec(c.tls, c.db, sql, 0, 0, 0); rc != lib.SQLITE_OK {
		return c.fail(rc)
	}
	return nil
}

// Value returns the first column of the first row of a query as text. It returns an empty string if
// there is no row.
func (c *Conn) Value(query string) (string, error) {
	s, err := c.Prepare(query)
	if err != nil {
		return "", err
	}
	defer s.Reset()
	row, err := s.Step()
	if err != nil || !row {
		return "", err
	}
	return s.Text(0), nil
}

// InTransaction reports whether a transaction is open. It returns false after an error that made
// SQLite roll back.
func (c *Conn) InTransaction() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// Changes returns the number of rows that the last statement inserted, updated
// or deleted.
func (c *Conn) Changes() int64 { return lib.Xsqlite3_changes64(c.tls, c.db) }

// TotalChanges returns the number of rows inserted, updated or deleted since
// the connection was opened.
func (c *Conn) TotalChanges() int64 { return lib.Xsqlite3_total_changes64(c.tls, c.db) }

// Interrupt makes the running statement of the connection fail with the code Interrupt. Another
// goroutine may use the connection meanwhile, but the connection must not be closed.
func (c *Conn) Interrupt() {
	tls := libc.NewTLS() // another goroutine may use c.tls
	defer tls.Close()
	lib.Xsqlite3_interrupt(tls, c.db)
}

// BusyTimeout sets the maximum time that a statement waits for locks.
func (c *Conn) BusyTimeout(d time.Duration) {
	lib.Xsqlite3_busy_timeout(c.tls, c.db, int32(d.Milliseconds()))
}

// Modes of Checkpoint.
const (
	// Passive copies as many pages as possible without waiting.
	Passive = lib.SQLITE_CHECKPOINT_PASSIVE
	// Restart waits, up to the connection's busy timeout, until the log can be written from its
	// beginning again.
	Restart = lib.SQLITE_CHECKPOINT_RESTART
	// Truncate does the same as Restart, and then truncates the log.
	Truncate = lib.SQLITE_CHECKPOINT_TRUNCATE
)

// Checkpoint copies the write-ahead log to the database file. It returns the number of pages in the
// log, and how many of them are copied.
func (c *Conn) Checkpoint(mode int32) (log, done int, err error) {
	rc := lib.Xsqlite3_wal_checkpoint_v2(c.tls, c.db, 0, mode, c.out, c.out+4)
	if rc != lib.SQLITE_OK {
		return 0, 0, c.fail(rc)
	}
	return int(*int32At(c.out)), int(*int32At(c.out + 4)), nil
}

// fail returns the Error for a result code.
func (c *Conn) fail(rc int32) error {
	if c.db == 0 {
		return &Error{Code: int(rc), text: libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))}
	}
	e := &Error{Code: int(rc), text: libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))}
	if primary := e.Primary(); primary == IOError || primary == CannotOpen {
		e.cause = syscall.Errno(lib.Xsqlite3_system_errno(c.tls, c.db))
	}
	return e
}

// pointer converts an address in the library's memory to a pointer. This memory is outside the Go
// heap and does not move.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func word(address uintptr) *uintptr  { return (*uintptr)(pointer(address)) }
func int32At(address uintptr) *int32 { return (*int32)(pointer(address)) }
