package open_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
	"kartei/store/db/sqlite/driver"
	"kartei/store/schema"
)

func TestOpenRefusesOtherURLs(t *testing.T) {
	for _, url := range []string{"", "sqlite:", "mysql://root:secret@h/x", "/tmp/x.db", "postgres://user:secret@%zz"} {
		_, err := open.Database(t.Context(), url, db.Options{})
		if err == nil {
			t.Errorf("%s was opened", url)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("error tells the password: %v", err)
		}
	}
}

func TestUnreachableServerIsUnavailable(t *testing.T) {
	_, err := open.Database(t.Context(), "postgres://u@/db?host="+t.TempDir(), db.Options{})
	if !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// TestAwayMeansTemporary checks that Away reports temporary failures, and not failures that the
// operator must fix.
func TestAwayMeansTemporary(t *testing.T) {
	server := func(code string) error { return fmt.Errorf("db: migrations: %w", &pgconn.PgError{Code: code}) }
	for name, c := range map[string]struct {
		err  error
		away bool
	}{
		"the server is starting":      {server("57P03"), true},
		"the server is shutting down": {server("57P01"), true},
		"no connection is left":       {server("53300"), true},
		"its disk is full":            {server("53100"), true},
		"it may only read":            {server("25006"), true},
		"the password is wrong":       {fmt.Errorf("%w: %w", db.ErrUnavailable, server("28P01")), false},
		"there is no such database":   {fmt.Errorf("%w: %w", db.ErrUnavailable, server("3D000")), false},
		"a right is missing":          {server("42501"), false},
		"another's certificate":       {fmt.Errorf("%w: %w", db.ErrUnavailable, &tls.CertificateVerificationError{}), false},
		"nobody listens":              {fmt.Errorf("%w: dial", db.ErrUnavailable), true},
		"SQLite's disk is full":       {fmt.Errorf("%w: %w", db.ErrUnavailable, &driver.Error{Code: driver.Full}), true},
		"it cannot be opened": {
			fmt.Errorf("%w: %w", db.ErrUnavailable, &driver.Error{Code: driver.CannotOpen}), false,
		},
		"no room for the lock":   {&fs.PathError{Op: "write", Err: syscall.ENOSPC}, true},
		"another process has it": {&sqlite.InUse{}, false},
		"a newer program's":      {&schema.NewerError{}, false},
		"nothing":                {nil, false},
	} {
		if got := open.Away(c.err); got != c.away {
			t.Errorf("%s: %t", name, got)
		}
	}
}
