package config

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kartei/extract/clamd"
	"kartei/extract/filetype"
	"kartei/integration/limit"
	"kartei/kit/egress"
)

var names = []string{"listen", "metered", "limit", "max-connections", "trusted-proxies"}

func open(t *testing.T, text string) (*Sources, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kartei.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Sources{Environ: func(string) (string, bool) { return "", false }}
	return s, s.Open(path, names)
}

func TestFile(t *testing.T) {
	s, err := open(t, "listen = ':9'\nmetered = false\nmax_connections = 7\nlimit = ['key=1', 'writes=2/3']\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"listen": ":9", "metered": "false", "max-connections": "7", "limit": "key=1,writes=2/3",
	} {
		value, source, found := s.Look(name)
		if !found || value != want || !strings.HasSuffix(source, "kartei.toml") {
			t.Errorf("%s: %q from %q, %v; want %q", name, value, source, found, want)
		}
	}
	if _, _, found := s.Look("trusted-proxies"); found {
		t.Error("a setting that the file does not have was found")
	}
}

func TestFileRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"listen = ':9'\n\nlissten = ':9'\n", `line 3: there is no setting "lissten"`},
		{"[server]\nlisten = ':9'\n", "there is no setting"},
		{"max-connections = 7\n", "there is no setting"},
		{"listen = \n", "line 1"},
		{"listen = ':9'\nlisten = ':8'\n", "line 2"},
		{"limit = [1]\n", "limit: 1 is not accepted"},
		{"listen = 1.5\n", "listen: 1.5 is not accepted"},
	} {
		if _, err := open(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if err := new(Sources).Open(filepath.Join(t.TempDir(), "none"), names); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestEnvironmentOverridesFile(t *testing.T) {
	s, err := open(t, "listen = ':9'\nmetered = true\n")
	if err != nil {
		t.Fatal(err)
	}
	s.Environ = func(name string) (string, bool) {
		v, ok := map[string]string{"KARTEI_LISTEN": ":7", "KARTEI_METERED": ""}[name]
		return v, ok
	}
	if value, source, _ := s.Look("listen"); value != ":7" || source != "KARTEI_LISTEN" {
		t.Errorf("%q from %q", value, source)
	}
	if value, _, _ := s.Look("metered"); value != "true" {
		t.Errorf("an empty variable counts as a value: %q", value)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want any // a value, or a part of the error
		bad  string
	}{
		{text: "30s", want: Duration(30 * time.Second)},
		{text: "0s", want: Duration(0), bad: "above 0"},
		{text: "30", want: Duration(0), bad: "with a unit"},
		{text: "[::1]:8080", want: Address("[::1]:8080")},
		{text: ":0", want: Address(":0")},
		{text: "localhost", want: Address(""), bad: "HOST:PORT"},
		{text: "x:70000", want: Address(""), bad: "0 to 65535"},
		{text: "https://kartei.example.com/", want: BaseURL("https://kartei.example.com")},
		{text: "https://kartei.example.com/v1", want: BaseURL("https://kartei.example.com")},
		{text: "https://kartei.example.com/a", want: BaseURL(""), bad: "without a path"},
		{text: "ftp://x", want: BaseURL(""), bad: "http:// or https://"},
		{text: "sqlite:a.db", want: DatabaseURL("sqlite:a.db")},
		{text: "postgres://u:geheim@h/n", want: DatabaseURL("postgres://u:geheim@h/n")},
		{text: "mysql://u:geheim@h/n", want: DatabaseURL(""), bad: "accepted are sqlite:PATH and postgres://"},
		{text: "sqlite:", want: DatabaseURL(""), bad: "accepted are"},
		{text: "sqlite:///srv/a.db", want: DatabaseURL("sqlite:///srv/a.db")},
		{text: "sqlite://srv/a.db", want: DatabaseURL(""), bad: "accepted are"},
		{text: "sqlite:s3://bucket/a.db", want: DatabaseURL(""), bad: "accepted are"},
		{text: "file:///srv/files", want: BlobURL("file:///srv/files")},
		{text: "file://srv/files", want: BlobURL(""), bad: "accepted are file:PATH"},
		{text: "gs://bucket", want: BlobURL(""), bad: "file:PATH or s3://"},
		{text: "/srv/a:b/c", want: Dir("/srv/a:b/c")},
		{text: `C:\data`, want: Dir(`C:\data`)},
		{text: "s3://bucket/a", want: Dir(""), bad: "because of s3://; accepted is the path of a folder on this machine"},
		{text: "sftp://host/a", want: File(""), bad: "because of sftp://; accepted is the path of a file on this machine"},
		{text: "smtp://u:geheim@mail.example.com:587", want: SMTPURL("smtp://u:geheim@mail.example.com:587")},
		{text: "http://u:geheim@mail.example.com", want: SMTPURL(""), bad: "accepted are smtp://"},
		{text: "kartei@example.com", want: Email("kartei@example.com")},
		{text: "Kartei <kartei@example.com>", want: Email(""), bad: "not an email address"},
		{
			text: "10.0.0.0/8, 2001:db8::/32",
			want: []Network{{netip.MustParsePrefix("10.0.0.0/8")}, {netip.MustParsePrefix("2001:db8::/32")}},
		},
		{text: "10.0.0.0", want: []Network(nil), bad: "such as 10.0.0.0/8"},
		{text: "10.0.0.300", want: []Network(nil), bad: `"10.0.0.300" is not a network; accepted is`},
		{
			text: "key=3/6,writes=9",
			want: []limit.Override{{Name: "key", Quota: 3, Capacity: 6}, {Name: "writes", Quota: 9, Capacity: 9}},
		},
		{text: "application/pdf, text/XML", want: []filetype.Name{"application/pdf", "application/xml"}},
		{text: "video/mp4", want: []filetype.Name(nil), bad: "accepted are application/pdf"},
		{text: "unix:/run/clamav/clamd.ctl", want: clamd.URL("unix:/run/clamav/clamd.ctl")},
		{text: "http://clamav", want: clamd.URL(""), bad: "unix:/PATH"},
		{text: "refuse", want: ClamdAway("refuse")},
		{text: "ignore", want: ClamdAway(""), bad: "wait, refuse"},
		{text: "Hook.test=127.0.0.1:8443,b=::1,c=[::1]:8443", want: []egress.Mapping{
			{Host: "hook.test", To: netip.MustParseAddrPort("127.0.0.1:8443")},
			{Host: "b", To: netip.AddrPortFrom(netip.IPv6Loopback(), 0)},
			{Host: "c", To: netip.MustParseAddrPort("[::1]:8443")}}},
		{text: "hook.test=localhost:8443", want: []egress.Mapping(nil), bad: "HOST=ADDRESS:PORT"},
		{text: "127.0.0.1:8443", want: []egress.Mapping(nil), bad: "HOST=ADDRESS:PORT"},
		{text: "true", want: true},
		{text: "yes", want: false, bad: "true and false"},
		{text: "12", want: 12},
		{text: "x", want: 0, bad: "whole number"},
		{text: "json", want: LogFormat("json")},
		{text: "xml", want: LogFormat(""), bad: "text, json"},
	} {
		v := reflect.New(reflect.TypeOf(c.want)).Elem()
		err := Parse(c.text, v)
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%T %q: %v, want %q", c.want, c.text, err, c.bad)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(v.Interface(), c.want) {
			t.Errorf("%q: %v, %v; want %v", c.text, v, err, c.want)
		}
	}
}

func TestRedacted(t *testing.T) {
	if s := SMTPURL("smtp://u:geheim@h:25").Redacted(); strings.Contains(s, "geheim") || !strings.Contains(s, "h:25") {
		t.Error(s)
	}
	u := DatabaseURL("postgres://user:geheim@host/name?password=geheim")
	if s := u.Redacted(); strings.Contains(s, "geheim") || !strings.Contains(s, "host/name") {
		t.Error(s)
	}
}

func TestCheck(t *testing.T) {
	good := Server{
		Guesses: 1, LockAfter: 1, KeyShare: 1, AlertAt: 1, MaxCalls: 1, MaxTransfers: 1, MaxTransfersEach: 1,
		MaxConnections: 1, MaxConnectionsPerAddress: 1, MaxHeaderBytes: 1 << 20, BodyTimeout: 1,
		WriteTimeout: 1,
	}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for flag, spoil := range map[string]func(*Server){
		"--tls-cert":                    func(s *Server) { s.TLSCert = "x" },
		"--write-timeout":               func(s *Server) { s.BodyTimeout = 2 },
		"--text-size":                   func(s *Server) { s.TextSize = -1 },
		"--guesses":                     func(s *Server) { s.Guesses = 0 },
		"--lock-after":                  func(s *Server) { s.LockAfter = 0 },
		"--key-share":                   func(s *Server) { s.KeyShare = 101 },
		"--alert-at":                    func(s *Server) { s.AlertAt = 0 },
		"--max-calls":                   func(s *Server) { s.MaxCalls = 0 },
		"--max-transfers:":              func(s *Server) { s.MaxTransfers = 0 },
		"--max-transfers-per":           func(s *Server) { s.MaxTransfersEach = 0 },
		"--max-staged":                  func(s *Server) { s.MaxFileSize = 1 },
		"--max-connections:":            func(s *Server) { s.MaxConnections = 0 },
		"--max-connections-per-address": func(s *Server) { s.MaxConnectionsPerAddress = 0 },
		"--max-header-bytes":            func(s *Server) { s.MaxHeaderBytes = 10 },
		"--webhook-allow-nets": func(s *Server) {
			s.WebhookAllowNets = []Network{{netip.MustParsePrefix("127.0.0.0/8")}}
		},
		"--webhook-ca is for":          func(s *Server) { s.WebhookCA = "x" },
		"--webhook-dial":               func(s *Server) { s.WebhookDial = []egress.Mapping{{Host: "a"}} },
		"--webhook-ca: open":           func(s *Server) { s.WebhookDevelopment, s.WebhookCA = true, "none" },
		"--webhook-ca: config_test.go": func(s *Server) { s.WebhookDevelopment, s.WebhookCA = true, "config_test.go" },
		"--limits":                     func(s *Server) { s.Limit = []limit.Override{{Name: "none", Quota: 1, Capacity: 1}} },
	} {
		s := good
		spoil(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestOIDCSettings checks that incomplete settings of single sign-on are refused, and addresses of
// issuers that an attacker could impersonate.
func TestOIDCSettings(t *testing.T) {
	whole := Server{
		OIDCIssuer: "https://login.example.com", OIDCClientID: "kartei", OIDCClientSecret: "geheim",
		OIDCName: "Login", BaseURL: "https://kartei.example.com",
	}
	if err := whole.checkOIDC(); err != nil {
		t.Error(err)
	}
	if err := new(Server).checkOIDC(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Server){
		"need --oidc-issuer":      func(s *Server) { s.OIDCIssuer = "" },
		"needs --oidc-client-id":  func(s *Server) { s.OIDCClientID = "" },
		"--oidc-client-secret":    func(s *Server) { s.OIDCClientSecret = "" },
		"--oidc-name":             func(s *Server) { s.OIDCName = " " },
		"1 to 40 characters":      func(s *Server) { s.OIDCName = strings.Repeat("ä", 41) },
		"needs --base-url":        func(s *Server) { s.BaseURL = "" },
		"--oidc-ca: open /none/x": func(s *Server) { s.OIDCCA = "/none/x" },
	} {
		s := whole
		change(&s)
		if err := s.checkOIDC(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for text, taken := range map[string]bool{
		"https://login.example.com": true, "https://login.example.com:8443/realms/office/": true, "https://10.0.0.7/": true,
		"http://localhost:9000": true, "http://127.0.0.1": true, "http://[::1]:80/x": true,
		"http://login.example.com": false, "http://10.0.0.7": false, "http://localhost.example.com": false,
		"login.example.com": false, "https://": false,
		"https://a:b@login.example.com": false, "https://login.example.com?x": false,
		"https://login.example.com/?": false, "https://login.example.com#x": false,
		"ftp://login.example.com": false, "": false,
	} {
		var i Issuer
		if err := i.UnmarshalText([]byte(text)); (err == nil) != taken {
			t.Errorf("%q: %v", text, err)
		}
	}
	if text := fmt.Sprintf("%v %+v", whole.OIDCClientSecret, whole); strings.Contains(text, "geheim") ||
		!strings.HasPrefix(text, "[set]") || Secret("").String() != "" {
		t.Errorf("a secret is shown: %s", text)
	}
}

// TestDevelopmentSettings checks that settings for development are accepted
// only with --webhook-development, or for a release candidate.
func TestDevelopmentSettings(t *testing.T) {
	s := Server{
		Guesses: 1, LockAfter: 1, KeyShare: 1, AlertAt: 1, MaxCalls: 1, MaxTransfers: 1, MaxTransfersEach: 1,
		MaxConnections: 1, MaxConnectionsPerAddress: 1, MaxHeaderBytes: 1 << 20, BodyTimeout: 1,
		WriteTimeout: 1,
	}
	s.WebhookDial = []egress.Mapping{{Host: "a", To: netip.MustParseAddrPort("127.0.0.1:1")}}
	for _, c := range []struct {
		environment Environment
		told, want  bool
	}{{"production", false, false}, {"production", true, true}, {"rc", false, true}} {
		s.Environment, s.WebhookDevelopment = c.environment, c.told
		if err := s.Check(); (err == nil) != c.want {
			t.Errorf("%s, told %v: %v", c.environment, c.told, err)
		}
	}
}

// TestHosts checks that only names of hosts are accepted as a Host.
func TestHosts(t *testing.T) {
	for text, want := range map[string]Host{
		"app.example.com": "app.example.com", "App.EXAMPLE.com": "app.example.com", "localhost": "localhost",
		"": "", "https://app.example.com": "", "app.example.com:443": "", "app.example.com/": "", "*.example.com": "",
		"a b": "", "a,b": "", "u@app.example.com": "", "a?b": "", "a#b": "",
	} {
		var h Host
		if err := h.UnmarshalText([]byte(text)); h != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", text, h, err)
		}
	}
}

// TestOrigins checks that only origins are accepted as an Origin.
func TestOrigins(t *testing.T) {
	for text, taken := range map[string]bool{
		"https://inspector.example.com": true, "http://localhost:6274": true, "https://inspector.example.com/": false,
		"https://Inspector.example.com": false,
		"inspector.example.com":         false, "*": false, "null": false, "": false, "https://a:b@c.example": false,
		"https://c.example?x": false,
	} {
		var o Origin
		if err := o.UnmarshalText([]byte(text)); (err == nil) != taken {
			t.Errorf("%q: %v", text, err)
		}
	}
}
