package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// TestNoPasswordWithoutTLS checks a server that claims to have no TLS. Neither a restore nor
// PostgreSQL's programs may send it a password.
func TestNoPasswordWithoutTLS(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for _, c := range []struct {
		host, query string
		asks        bool // whether the server asks for a password: only without TLS
	}{
		{"127.0.0.1", "", true},
		{"0.0.0.0", "", false},
		{"0.0.0.0", "?sslmode=prefer", true},
		{"127.0.0.1", "?sslmode=disable", true},
	} {
		l := dbtest.NewLiar(t)
		url := fmt.Sprintf("postgres://kartei:geheimwort@%s:%d/kartei%s", c.host, l.Port(), c.query)
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Bound)
		defer cancel()
		backup := filepath.Join(t.TempDir(), "copy")
		if err := os.WriteFile(backup, []byte("PGDMP and more"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(ctx, backup, url, true); err == nil {
			t.Errorf("%s: restored", url)
		} else if strings.Contains(err.Error(), "geheimwort") {
			t.Errorf("the error repeats the password: %v", err)
		}
		if asked, _ := l.Heard(); (asked > 0) != c.asks {
			t.Errorf("%s: asked %d times", url, asked)
		}
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		config.RequireAuth = "!password" // as in a postgres.DB
		if knowsRequireAuth() {
			if err := runTool(ctx, config, streams{}, "pg_dump"); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("pg_dump: %v", err)
			}
		}
		if _, told := l.Heard(); strings.Contains(told, "geheimwort") {
			t.Errorf("%s: the password was sent", url)
		}
	}
}

// knowsRequireAuth reports whether pg_dump is installed and has version 16 or later.
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
