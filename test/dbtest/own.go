package dbtest

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Server is a PostgreSQL server for a single test or benchmark. The test may stop, start and damage
// it.
type Server struct{ c *cluster }

// Disposable are settings for NewServer that trade durability for speed.
func Disposable() []string { return append([]string(nil), disposable...) }

// OwnServer starts a server, which is removed when the test ends. settings have the form
// name=value. If PostgreSQL is not installed, OwnServer skips the test, or fails it if CI is true.
func OwnServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	return OwnServerIn(t, parent(), settings...)
}

// OwnServerIn starts a server as OwnServer does, with its data in a new folder below dir. The path
// of dir must have at most 60 bytes.
func OwnServerIn(t testing.TB, dir string, settings ...string) *Server {
	t.Helper()
	s, err := newServerIn(dir, settings)
	var missing *missingError
	if errors.As(err, &missing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

// NewServer starts a server. settings have the form name=value. The caller must call Remove.
func NewServer(settings ...string) (*Server, error) { return newServerIn(parent(), settings) }

func newServerIn(dir string, settings []string) (*Server, error) {
	c, err := startCluster(dir, settings)
	if err != nil {
		return nil, err
	}
	return &Server{c}, nil
}

// KeepServer starts a server on the data in dir, which stays for later processes. It creates the
// data if there is none. The caller must call Stop. If this process runs as root, the server's
// account must have access to all parent folders of dir.
func KeepServer(dir string, settings ...string) (*Server, error) {
	c, err := keepCluster(dir, settings)
	if err != nil {
		return nil, err
	}
	return &Server{c}, nil
}

// URL returns the URL of the server's first database, which is empty. Its user is a superuser.
func (s *Server) URL() string { return s.c.url }

// Dir returns the server's folder. The server runs as the owner of this folder.
func (s *Server) Dir() string { return s.c.dir }

// Pid returns the process id of the server, the parent of the processes for its connections. It is
// 0 if the server is stopped.
func (s *Server) Pid() int {
	if s.c.running == nil {
		return 0
	}
	return s.c.running.pid
}

// Programs returns the folder of PostgreSQL's programs.
func (s *Server) Programs() string { return s.c.bin }

// Stop shuts the server down. It does not wait for clients to disconnect.
func (s *Server) Stop() { s.c.halt(syscall.SIGINT) }

// Kill stops the server without a shutdown, so that the next start recovers as after a crash.
func (s *Server) Kill() { s.c.halt(syscall.SIGQUIT) }

// Start starts the server again after Stop or Kill, or after it ended by
// itself.
func (s *Server) Start() error { return s.c.start() }

// Ended returns a channel that is closed when the server has ended, for any
// reason.
func (s *Server) Ended() <-chan struct{} {
	if s.c.running == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return s.c.running.ended
}

// Remove stops the server and removes its data.
func (s *Server) Remove() { s.c.remove() }
