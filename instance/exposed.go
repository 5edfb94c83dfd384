package instance

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"kartei/instance/config"
)

// warnExposed logs each part of the instance that is more open than it should
// be.
func (i *Instance) warnExposed() {
	var public, operator net.Addr
	if i.public != nil {
		public = i.public.Addr()
	}
	if i.operator != nil {
		operator = i.operator.Addr()
	}
	for _, words := range exposed(&i.config.Server, string(i.config.Store.DataDir), public, operator) {
		i.logger.Warn(words)
	}
}

// exposed returns a warning with a cure for each part that others can reach.
// They are only warnings, because the operator may have a reason that the
// program cannot see, such as a firewall. A nil address means no listener.
func exposed(s *config.Server, dir string, public, operator net.Addr) (words []string) {
	if folder := exposedFolder(dir); folder != "" {
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

// exposedFolder returns a warning about the owner and the mode of the data
// folder, or the empty text. A user who may write there can replace the master
// key and the database, and the folder's owner always may. If root owns the folder and the process runs as another user, the
// group may have access. Kubernetes hands over volumes this way.
func exposedFolder(dir string) string {
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

// loopback reports whether an address is reachable from this machine only.
func loopback(a net.Addr) bool {
	tcp, is := a.(*net.TCPAddr)
	return !is || tcp.IP.IsLoopback()
}
