//go:build unix

package exposure

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/instance/config"
)

// TestWarnings checks that each exposed part has one warning with advice. An instance without
// exposed parts has none.
func TestWarnings(t *testing.T) {
	address := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 8080} }
	local, every, public := address("127.0.0.1"), address("::"), address("192.0.2.7")
	proxy := config.Server{TrustedProxies: []config.Network{{Prefix: netip.MustParsePrefix("192.0.2.0/24")}}}
	for _, c := range []struct {
		name             string
		mode             fs.FileMode
		server           config.Server
		public, operator net.Addr
		want             []string
	}{
		{"all shut", 0o700, config.Server{}, local, local, nil},
		{"nobody listens", 0o700, config.Server{}, nil, nil, nil},
		{"::1", 0o700, config.Server{}, address("::1"), address("::1"), nil},
		{"a folder for all", 0o777, config.Server{}, local, local, []string{"may write to the data folder"}},
		{"a folder that a group writes", 0o720, config.Server{}, local, local, []string{"may write to the data folder"}},
		{"a folder that others read", 0o705, config.Server{}, local, local, []string{"may look into the data folder"}},
		{"a folder that a group reads", 0o750, config.Server{}, local, local, nil},
		{"plain HTTP", 0o700, config.Server{}, public, local, []string{"--tls-cert"}},
		{"plain HTTP everywhere", 0o700, config.Server{}, every, local, []string{"--tls-cert"}},
		{"behind a proxy", 0o700, proxy, public, local, nil},
		{"TLS", 0o700, config.Server{TLSCert: "cert.pem"}, public, local, nil},
		{"the operator's listener", 0o700, config.Server{}, local, every, []string{"--operator-listen"}},
		{
			"everything",
			0o777,
			config.Server{},
			public,
			public,
			[]string{"chmod 700", "--trusted-proxies", "--operator-listen"},
		},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, c.mode)); err != nil {
			t.Fatal(err)
		}
		words := Warnings(&c.server, dir, c.public, c.operator)
		if len(words) != len(c.want) {
			t.Errorf("%s: %q", c.name, words)
			continue
		}
		for i := range words {
			if !strings.Contains(words[i], c.want[i]) {
				t.Errorf("%s: %q, want %q", c.name, words[i], c.want[i])
			}
		}
	}
}

// TestFolderOfAnotherUser checks the warning about a data folder that another user owns. The owner
// may replace its files, whatever the mode is.
func TestFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	const nobody = 65534
	dir := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, nobody, -1)); err != nil {
		t.Fatal(err)
	}
	if words := Warnings(&config.Server{}, dir, nil, nil); len(words) != 1 ||
		!strings.Contains(words[0], "another user (65534) owns") || !strings.Contains(words[0], "chown -R 0") {
		t.Errorf("%q", words)
	}
}
