package db

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPostgresAddress: a server on another machine must prove its identity
// unless the URL explicitly says otherwise.
func TestPostgresAddress(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"PGSSLMODE", "PGSSLROOTCERT", "PGHOST", "PGSERVICE", "PGSERVICEFILE", "PGREQUIREAUTH", "PGPORT"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("HOME", home)
	services := filepath.Join(home, "services")
	if err := os.WriteFile(services, []byte("[away]\nhost=db.example\n[required]\nhost=db.example\nsslmode=require\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		url, environment string
		verified         bool
		// plain means that a connection may lack TLS; refused, that no
		// clear-text password is sent.
		plain, refused bool
	}{
		{"postgres://u:p@db.example/n", "", true, false, false},
		{"postgresql://u:p@db.example/n", "", true, false, false},
		{"postgres://u:p@db.example:6432/n?pool_max_conns=9", "", true, false, false},
		{"postgres://u:p@192.0.2.7/n", "", true, false, false},
		{"postgres://u:p@[2001:db8::1]/n", "", true, false, false},
		{"postgres://u:p@0.0.0.0/n", "", true, false, false},
		{"postgres://u:p@localhost.example/n", "", true, false, false},
		{"postgres://u:p@localhost,db.example/n", "", true, false, false},
		{"postgres://u:p@one.example:5432,two.example:5433/n", "", true, false, false},
		{"postgres://u:p@/n?host=db.example", "", true, false, false},
		{"postgres://u:p@/n", "PGHOST=db.example", true, false, false},
		{"postgres:///n?service=away", "PGSERVICEFILE=" + services, true, false, false},
		{"postgres:///n?service=required", "PGSERVICEFILE=" + services, false, false, false},
		{"postgres://u:p@db.example/n?sslmode=require", "", false, false, false},
		{"postgres://u:p@db.example/n?sslmode=verify-ca", "", false, false, false},
		{"postgres://u:p@db.example/n?sslmode=prefer", "", false, true, true},
		{"postgres://u:p@db.example/n?sslmode=disable", "", false, true, true},
		{"postgres://u:p@db.example/n?sslmode=allow", "", false, true, true},
		{"postgres://u:p@db.example/n", "PGSSLMODE=prefer", false, true, true},
		{"postgres://u:p@db.example/n", "PGSSLMODE=require", false, false, false},
		{"postgres://u:p@db.example/n?sslmode=disable&require_auth=password", "", false, true, false},
		{"postgres://u:p@127.0.0.1/n", "", false, true, true},
		{"postgres://u:p@127.8.9.10/n", "", false, true, true},
		{"postgres://u:p@[::1]/n", "", false, true, true},
		{"postgres://u:p@LocalHost/n", "", false, true, true},
		{"postgres://u:p@/n?host=/run/postgresql", "", false, true, false},
	} {
		t.Run(test.url+" "+test.environment, func(t *testing.T) {
			if name, value, set := strings.Cut(test.environment, "="); set {
				t.Setenv(name, value)
			}
			a, err := readPostgres(test.url)
			if err != nil {
				t.Fatal(err)
			}
			plain := false
			for _, way := range a.ways() {
				plain = plain || way.TLSConfig == nil
				if test.verified && (way.TLSConfig == nil || way.TLSConfig.InsecureSkipVerify || way.TLSConfig.ServerName == "" && net.ParseIP(way.Host) == nil) {
					t.Errorf("%s is not verified: %+v", way.Host, way.TLSConfig)
				}
			}
			if a.verified != test.verified || plain != test.plain || (a.config.ConnConfig.RequireAuth == noClearText) != test.refused {
				t.Errorf("verified %t, plain %t, require_auth %q", a.verified, plain, a.config.ConnConfig.RequireAuth)
			}
			if a.verified != strings.HasSuffix(a.url, "sslmode=verify-full&sslrootcert=system") {
				t.Errorf("pg_dump is told %s", a.url)
			}
		})
	}
}

// liar is an impostor of a PostgreSQL server: it has no TLS, and asks for the
// password in clear text.
type liar struct {
	net.Listener
	mu    sync.Mutex
	heard []byte
	asked int // number of such requests
}

func newLiar(t *testing.T) *liar {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lies := &liar{Listener: l}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { lies.talk(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return lies
}

func (l *liar) talk(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	for {
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		if binary.BigEndian.Uint32(head[4:]) == 80877103 || binary.BigEndian.Uint32(head[4:]) == 80877104 { // SSLRequest, GSSENCRequest
			conn.Write([]byte("N"))
			continue
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[:4])-8)
		if _, err := io.ReadFull(conn, rest); err != nil {
			return
		}
		break
	}
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // AuthenticationCleartextPassword
	said, _ := io.ReadAll(conn)
	l.mu.Lock()
	l.heard = append(l.heard, said...)
	l.mu.Unlock()
}

// TestNoPasswordForALiar: a server that claims to have no TLS gets no password.
func TestNoPasswordForALiar(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for host, query := range map[string]string{"127.0.0.1": "", "localhost": "?sslmode=prefer", "0.0.0.0": "", "0.0.0.0 ": "?sslmode=prefer", "127.0.0.1 ": "?sslmode=disable"} {
		l := newLiar(t)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		url := fmt.Sprintf("postgres://kartei:geheimwort@%s:%s/kartei%s", strings.TrimSpace(host), port, query)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if d, err := Open(ctx, url, Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
			d.Close()
			t.Errorf("%s: opened", url)
		} else if query == "" && host == "0.0.0.0" && !strings.Contains(err.Error(), "sslmode=verify-full") {
			t.Errorf("%s: nobody is told why: %v", url, err)
		} else if strings.Contains(err.Error(), "geheimwort") {
			t.Errorf("the error repeats the password: %v", err)
		}
		backup := filepath.Join(t.TempDir(), "copy")
		if err := os.WriteFile(backup, []byte("PGDMP and more"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(ctx, backup, url, true); err == nil {
			t.Errorf("%s: restored", url)
		}
		a, err := readPostgres(url)
		if err != nil {
			t.Fatal(err)
		}
		if knowsRequireAuth() {
			if err := runTool(ctx, a.url, streams{}, "pg_dump"); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("pg_dump: %v", err)
			}
		}
		l.mu.Lock()
		if strings.Contains(string(l.heard), "geheimwort") {
			t.Errorf("%s: the password was sent", url)
		}
		if (l.asked > 0) != !a.verified {
			t.Errorf("%s: asked %d times", url, l.asked)
		}
		l.mu.Unlock()
	}
}

// knowsRequireAuth reports whether pg_dump is installed, from PostgreSQL 16 or
// later.
func knowsRequireAuth() bool {
	said, err := exec.Command("pg_dump", "--version").Output()
	words := strings.Fields(string(said))
	if err != nil || len(words) < 3 {
		return false
	}
	major, _, _ := strings.Cut(words[2], ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 16
}
