package dbtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cluster is a PostgreSQL server of this process. initdb makes its folder, which also has its
// socket. The folder is removed when the process ends.
type cluster struct {
	url      string
	dir      string
	bin      string
	account  *syscall.Credential
	settings []string
	lease    *os.File // locked until this process ends
	running  *process // nil if the server is stopped
	once     sync.Once
}

// process is a running postgres process.
type process struct {
	pid   int
	halt  chan os.Signal
	ended chan struct{}
}

// disposable are the settings of a server whose data may be lost in a crash.
var disposable = []string{
	"max_connections=600", "shared_buffers=64MB", // for many replicas at the same time
	// The data need not survive a crash of the machine.
	"fsync=off", "synchronous_commit=off", "full_page_writes=off",
	// These settings turn off background work of the server.
	"autovacuum=off", "checkpoint_timeout=1h", "max_wal_size=512MB",
}

const folder = "kartei-postgres-"

// startCluster makes and starts a server in a new folder below the folder below. settings have the
// form name=value. If PostgreSQL is not installed, it returns a *missingError.
func startCluster(below string, settings []string) (_ *cluster, err error) {
	sweep()
	dir, err := os.MkdirTemp(below, folder)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(dir, settings)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if err := c.start(); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// keepCluster starts the server in dir. The folder stays when this process ends.
func keepCluster(dir string, settings []string) (*cluster, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c, err := newCluster(dir, settings)
	if err != nil {
		return nil, err
	}
	return c, c.start()
}

// newCluster returns the cluster in dir. It runs initdb if dir has none.
func newCluster(dir string, settings []string) (*cluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	c := &cluster{
		url:      "postgres://postgres@/postgres?host=" + dir,
		dir:      dir,
		bin:      bin,
		account:  account,
		settings: settings,
	}
	if c.lease, err = takeLease(dir); err != nil {
		return nil, err
	}
	if account != nil {
		if err := os.Chown(dir, int(account.Uid), int(account.Gid)); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "PG_VERSION")); err == nil {
		return c, nil
	}
	return c, initialize(bin, dir, account)
}

// parent returns the folder for clusters whose data belongs on a disk. The path of a socket is
// limited to 107 bytes, and the path of the temporary folder may be too long.
func parent() string {
	if dir := os.TempDir(); len(dir) <= 60 {
		return dir
	}
	return "/tmp"
}

// findBinaries returns the folder of initdb and postgres. It prefers the folder on PATH, and then
// the newest version in the usual folders of distributions.
func findBinaries() (string, error) {
	var candidates []string
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/opt/postgresql*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
	} {
		found, _ := filepath.Glob(pattern)
		slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
		candidates = append(candidates, found...)
	}
	for _, dir := range candidates {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", &missingError{"neither on PATH nor under /usr/lib/postgresql"}
}

// version returns the first number in a path, or 0.
func version(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(digits[0])
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// unprivileged returns the account for the server if this process runs as root,
// because PostgreSQL refuses to run as root. Otherwise it returns nil.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, &missingError{"PostgreSQL refuses to run as root, and there is no user postgres or nobody"}
}

// takeLease locks the file lease in dir, which marks dir as used by a living process. A new lease
// is locked before it gets this name. So sweep, in another process, cannot see it unlocked.
func takeLease(dir string) (*os.File, error) {
	name := filepath.Join(dir, "lease")
	lease, err := os.OpenFile(name, os.O_RDWR, 0)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		lease, err = os.CreateTemp(dir, "unlocked-")
	}
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(lease.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && missing {
		err = errors.Join(os.Link(lease.Name(), name), os.Remove(lease.Name()))
	}
	if err != nil {
		lease.Close()
		return nil, err
	}
	return lease, nil
}

// sweep removes folders of processes that ended without removing them. Their servers ended with
// them. A folder without a lease may be in the making, so sweep waits an hour before it removes
// such a folder.
func sweep() {
	var found []string
	for _, dir := range []string{parent(), fastParent()} {
		below, _ := filepath.Glob(filepath.Join(dir, folder+"*"))
		found = append(found, below...)
	}
	for _, dir := range found {
		file, err := os.OpenFile(filepath.Join(dir, "lease"), os.O_RDWR, 0)
		if err != nil {
			if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Hour {
				os.RemoveAll(dir)
			}
			continue
		}
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.RemoveAll(dir)
		}
		file.Close()
	}
}

// initialize runs initdb. The cluster sorts text by the rules of a language and not by bytes. So
// tests detect a column without an explicit collation.
func initialize(bin, dir string, account *syscall.Credential) error {
	data := filepath.Join(dir, "data")
	args := []string{"--pgdata", data, "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	if _, err := command(bin, "initdb", account, append(args, "--locale-provider=icu", "--icu-locale=de")...); err == nil {
		return nil
	}
	// The first initdb fails if PostgreSQL has no ICU or is older than version 15.
	os.RemoveAll(data)
	if out, err := command(bin, "initdb", account, args...); err != nil {
		return fmt.Errorf("dbtest: initdb: %w\n%s", err, out)
	}
	return nil
}

func command(bin, name string, account *syscall.Credential, args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	return cmd.CombinedOutput()
}

// start starts the server, and returns when the server accepts connections.
func (c *cluster) start() error {
	args := []string{"-D", filepath.Join(c.dir, "data")}
	for _, setting := range append([]string{
		"listen_addresses=", "unix_socket_directories=" + c.dir,
		"logging_collector=off", "log_destination=stderr", "lc_messages=C",
	}, c.settings...) {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = serverAttributes(c.account)
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	p := &process{halt: make(chan os.Signal, 1), ended: make(chan struct{})}
	running := make(chan error)
	go func() {
		// The kernel signals the server when the thread that started it ends. So this thread stays
		// alive until the server has ended.
		runtime.LockOSThread()
		err := cmd.Start()
		running <- err
		if err != nil {
			return
		}
		select {
		case signal := <-p.halt:
			cmd.Process.Signal(signal)
			<-p.ended
		case <-p.ended:
		}
	}()
	if err := <-running; err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	p.pid = cmd.Process.Pid
	c.running = p
	ready := make(chan error, 1)
	go func() {
		follow(log, ready)
		cmd.Wait()
		close(p.ended)
	}()
	select {
	case err = <-ready:
	case <-time.After(timeout):
		err = errors.New("dbtest: PostgreSQL did not start in time")
	}
	if err != nil {
		c.halt(syscall.SIGQUIT)
	}
	return err
}

// halt sends a signal to the server and waits for its end.
func (c *cluster) halt(signal os.Signal) {
	if c.running != nil {
		c.running.halt <- signal
		<-c.running.ended
		c.running = nil
	}
}

// follow reads the server's log to its end. It sends one value to ready: nil when the server
// accepts connections, or an error if the server has failed.
func follow(log io.Reader, ready chan<- error) {
	var seen bytes.Buffer
	up := false
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if up {
			continue
		}
		if bytes.Contains(lines.Bytes(), []byte("ready to accept connections")) {
			up = true
			ready <- nil
			continue
		}
		seen.Write(lines.Bytes())
		seen.WriteByte('\n')
	}
	if !up {
		ready <- fmt.Errorf("dbtest: PostgreSQL did not start:\n%s", &seen)
	}
}

// remove stops the server at once and removes its folder.
func (c *cluster) remove() {
	c.once.Do(func() {
		c.halt(syscall.SIGQUIT)
		os.RemoveAll(c.dir)
		c.lease.Close()
	})
}
