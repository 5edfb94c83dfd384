package check

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/extract"
	"kartei/extract/clamd"
	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
	"kartei/test/certtest"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) {
	extract.Child(os.Args) // the process that reads texts
	dbtest.Main(m)
}

// sound returns options with nothing wrong: a data folder that a server has used.
func sound(t *testing.T) Options {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	o := Options{
		Store: &config.Store{DataDir: config.Dir(dir)},
		Server: &config.Server{
			Listen: "127.0.0.1:0", OperatorListen: "127.0.0.1:0", BaseURL: "https://kartei.example.com",
			ReaderConfinement: "prefer",
		},
		Environ: []string{"PATH=/bin", "KARTEI_LISTEN=127.0.0.1:0", "KARTEI_KEY=kart_test_x"}, Clock: clock.System,
	}
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := masterkey.LoadOrCreate(o.Server.MasterKey(o.Store)); err != nil {
		t.Fatal(err)
	}
	d, err := open.Database(t.Context(), o.Store.Database(), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = schema.Migrate(t.Context(), d)
	if err = errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return o
}

// closed returns the address of a port on which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// certified gives a server a certificate for a host, which ends after a time.
func certified(t *testing.T, o *Options, host string, left time.Duration) {
	t.Helper()
	cert, key := certtest.Write(t, t.TempDir(), host, 1, o.Clock.Now().Add(left))
	o.Server.TLSCert, o.Server.TLSKey = config.File(cert), config.File(key)
}

const day = 24 * time.Hour

// TestFindings breaks one thing at a time, and checks that the finding about it says so and has a cure.
func TestFindings(t *testing.T) {
	type change func(t *testing.T, o *Options)
	for name, c := range map[string]struct {
		change change
		about  string
		state  State
		says   string
	}{
		"nothing":          {func(*testing.T, *Options) {}, "database", OK, "at version"},
		"unknown variable": {func(_ *testing.T, o *Options) { o.Environ = append(o.Environ, "KARTEI_LISTN=x") }, "environment", Warning, "KARTEI_LISTN"},
		"no folder yet": {func(t *testing.T, o *Options) {
			o.Store.DataDir = config.Dir(filepath.Join(t.TempDir(), "new"))
		}, "data folder", OK, "the first start creates it"},
		"folder is a file": {func(t *testing.T, o *Options) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			o.Store.DataDir = config.Dir(file)
		}, "data folder", Wrong, "is not a folder"},
		"open folder": {func(t *testing.T, o *Options) {
			if err := os.Chmod(string(o.Store.DataDir), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "data folder", Warning, "other users may look"},
		"lost key": {func(t *testing.T, o *Options) {
			if err := os.Remove(o.Server.MasterKey(o.Store)); err != nil {
				t.Fatal(err)
			}
		}, "master key", Wrong, "and the database does"},
		"no database server": {func(t *testing.T, o *Options) {
			o.Store.DatabaseURL = config.DatabaseURL("postgres://u:p@" + closed(t) + "/n")
		}, "database", Wrong, "refused"},
		"dropped table": {func(t *testing.T, o *Options) {
			d, err := open.Database(t.Context(), o.Store.Database(), db.Options{})
			if err != nil {
				t.Fatal(err)
			}
			dbtest.Run(t, d, "drop table bulk_lines")
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}, "database", Wrong, "bulk_lines"},
		"no bucket": {func(t *testing.T, o *Options) {
			t.Setenv("AWS_ACCESS_KEY_ID", "a")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
			o.Store.BlobURL = config.BlobURL("s3://bucket?endpoint=http://" + closed(t) + "&region=x")
		}, "files of documents", Wrong, "not available"},
		"taken port": {func(t *testing.T, o *Options) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			o.Server.Listen = config.Address(l.Addr().String())
		}, "--listen", Wrong, "another program"},
		"running server":  {func(_ *testing.T, o *Options) { o.Running = true }, "--listen", OK, "is running"},
		"public listener": {func(_ *testing.T, o *Options) { o.Server.Listen = "0.0.0.0:0" }, "listeners", Warning, "unencrypted"},
		"no address":      {func(_ *testing.T, o *Options) { o.Server.BaseURL = "" }, "--base-url", Warning, "not set"},
		"plain address":   {func(_ *testing.T, o *Options) { o.Server.BaseURL = "http://kartei.example.com" }, "--base-url", Warning, "not https"},
		"no certificate":  {func(_ *testing.T, o *Options) { o.Server.TLSCert, o.Server.TLSKey = "/none", "/none" }, "certificate", Wrong, "/none"},
		"wrong host": {func(t *testing.T, o *Options) {
			certified(t, o, "kartei.example.org", 30*day)
		}, "certificate", Wrong, "not for kartei.example.com"},
		"certificate": {func(t *testing.T, o *Options) {
			certified(t, o, "kartei.example.com", 30*day)
		}, "certificate", OK, "valid until"},
		"certificate ends": {func(t *testing.T, o *Options) {
			certified(t, o, "kartei.example.com", 6*day)
		}, "certificate", Warning, "it ends on"},
		"certificate ended": {func(t *testing.T, o *Options) {
			certified(t, o, "kartei.example.com", -time.Minute)
		}, "certificate", Wrong, "it ended on"},
		"no mail server":   {func(_ *testing.T, o *Options) { o.Server.SMTPURL = "" }, "mail server", Warning, "none is set"},
		"dead mail server": {func(t *testing.T, o *Options) { o.Server.SMTPURL = config.SMTPURL("smtp://" + closed(t)) }, "mail server", Wrong, "refused"},
		"dead provider": {func(t *testing.T, o *Options) {
			o.Server.OIDCIssuer, o.Server.OIDCClientID, o.Server.OIDCClientSecret = config.Issuer("https://"+closed(t)+"/office"), "a", "b"
		}, "single sign-on", Wrong, "cannot be reached"},
		"dead scanner": {func(t *testing.T, o *Options) { o.Server.Clamd = clamd.URL("tcp://" + closed(t)) }, "scanner for malware", Wrong, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			o := sound(t)
			c.change(t, &o)
			said := false
			for _, f := range Run(t.Context(), o) {
				if (f.State == OK) != (f.Cure == "") {
					t.Errorf("%+v: a cure is for what is not ok", f)
				}
				said = said || f.About == c.about && f.State == c.state && strings.Contains(f.Says, c.says)
				if f.State == Wrong && f.About != c.about && name != "folder is a file" {
					t.Errorf("%+v is wrong too", f)
				}
			}
			if !said {
				t.Errorf("no finding %q about %s says %q: %+v", c.state, c.about, c.says, Run(t.Context(), o))
			}
		})
	}
}

// TestNothingIsCreated checks that a look at a folder that does not exist leaves it so.
func TestNothingIsCreated(t *testing.T) {
	o := sound(t)
	o.Store.DataDir = config.Dir(filepath.Join(t.TempDir(), "new"))
	Run(t.Context(), o)
	if _, err := os.Stat(string(o.Store.DataDir)); !os.IsNotExist(err) {
		t.Errorf("the data folder exists: %v", err)
	}
}
