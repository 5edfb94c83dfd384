package postgres

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadAddress checks that a server on another machine must prove its identity, unless the URL
// explicitly says otherwise.
func TestReadAddress(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{
		"PGSSLMODE", "PGSSLROOTCERT", "PGHOST", "PGSERVICE", "PGSERVICEFILE", "PGREQUIREAUTH", "PGPORT",
	} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("HOME", home)
	services := filepath.Join(home, "services")
	if err := os.WriteFile(services, []byte("[away]\nhost=db.example\n[required]\nhost=db.example\nsslmode=require\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		url, environment string
		verified         bool
		// plain means that a connection could be without TLS. refused means that a password in
		// clear text is refused.
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
			a, err := readAddress(test.url)
			if err != nil {
				t.Fatal(err)
			}
			plain := false
			for _, way := range a.ways() {
				plain = plain || way.TLSConfig == nil
				if test.verified && (way.TLSConfig == nil || way.TLSConfig.InsecureSkipVerify ||
					way.TLSConfig.ServerName == "" && net.ParseIP(way.Host) == nil) {
					t.Errorf("%s is not verified: %+v", way.Host, way.TLSConfig)
				}
			}
			if a.verified != test.verified || plain != test.plain ||
				(a.config.ConnConfig.RequireAuth == noClearText) != test.refused {
				t.Errorf("verified %t, plain %t, require_auth %q", a.verified, plain, a.config.ConnConfig.RequireAuth)
			}
			if told := a.config.ConnString(); a.verified != strings.HasSuffix(told, "sslmode=verify-full&sslrootcert=system") {
				t.Errorf("pg_dump is told %s", told)
			}
		})
	}
}
