// Package exposure owns the warnings about what other users and machines can reach: the data folder and the listeners.
package exposure

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"kartei/instance/config"
)

// Warnings returns a warning with advice for each part that others can reach. dir is the data
// folder. A nil address means that there is no such listener. The server starts nevertheless,
// because the operator may have a reason that the program cannot see, such as a firewall.
func Warnings(s *config.Server, dir string, public, operator net.Addr) (words []string) {
	if folder := folderWarning(dir); folder != "" {
		words = append(words, folder)
	}
	if !loopback(public) && s.TLSCert == "" && len(s.TrustedProxies) == 0 {
		words = append(words, fmt.Sprintf("keys and records travel unencrypted: --listen is plain HTTP on %s, which other machines may reach. "+
			"Set --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy with TLS; name the network of a proxy on another machine with --trusted-proxies", public))
	}
	if !loopback(operator) {
		words = append(words, fmt.Sprintf("/metrics, /readyz and /healthz are open to everyone who reaches --operator-listen on %s: "+
			"listen on 127.0.0.1, or let a firewall admit only the machines that need them", operator))
	}
	return words
}

// folderWarning returns a warning about the owner and the mode of the data folder, or an empty
// text. A user who may write to the folder can replace the master key and the database. The owner
// of the folder always may. If root owns the folder and the process runs as another user, the group
// may have access, since Kubernetes provides volumes this way.
func folderWarning(dir string) string {
	info, err := os.Stat(dir)
	if err != nil || !unixModes {
		return ""
	}
	mode, open := info.Mode().Perm(), os.FileMode(0o027)
	uid := ownerOf(info)
	if uid == 0 && os.Geteuid() != 0 {
		open = 0o007
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	cure := fmt.Sprintf("chmod 700 %q, or name a folder within it with --data-dir, which is then created for this user alone", dir)
	switch mode &= open; {
	case uid > 0 && uid != int64(os.Geteuid()):
		return fmt.Sprintf("another user (%d) owns the data folder %s, and so may replace the master key and the database: "+
			"run the server as this user, or chown -R %d %q", uid, dir, os.Geteuid(), dir)
	case mode&0o022 != 0:
		return fmt.Sprintf("other users may write to the data folder %s (mode %04o), and so replace the master key and the database: %s", dir, info.Mode().Perm(), cure)
	case mode != 0:
		return fmt.Sprintf("other users may look into the data folder %s (mode %04o): %s", dir, info.Mode().Perm(), cure)
	}
	return ""
}

// loopback reports whether an address is reachable only from this machine. A nil address counts as
// such.
func loopback(a net.Addr) bool {
	tcp, is := a.(*net.TCPAddr)
	return !is || tcp.IP.IsLoopback()
}
