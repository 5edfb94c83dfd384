package dbtest

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Server is a PostgreSQL server for a single test or benchmark, which may stop,
// start and damage it.
type Server struct{ c *cluster }

// Disposable are settings for NewServer that trade durability for speed.
func Disposable() []string { return append([]string(nil), disposable...) }

// OwnServer starts a server that ends with the test. Settings have the form
// name=value. If PostgreSQL is not installed, the test is skipped, or fails
// with CI=true.
func OwnServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	return OwnServerIn(t, parent(), settings...)
}

// OwnServerIn is like OwnServer, with the server's data in a folder below dir.
// The path of dir has at most 60 bytes.
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

// NewServer starts a server. The caller must call Remove.
func NewServer(settings ...string) (*Server, error) { return newServerIn(parent(), settings) }

func newServerIn(dir string, settings []string) (*Server, error) {
	c, err := startCluster(dir, settings)
	if err != nil {
		return nil, err
	}
	return &Server{c}, nil
}

// KeepServer starts a server whose data is kept for later processes. It makes
// the data if there is none. The caller must call Stop. If this process runs as
// root, the server's user must be able to enter the folders above.
func KeepServer(dir string, settings ...string) (*Server, error) {
	c, err := keepCluster(dir, settings)
	if err != nil {
		return nil, err
	}
	return &Server{c}, nil
}

// URL is the URL of the server's first database, which is empty. Its user may
// do everything.
func (s *Server) URL() string { return s.c.url }

// Dir is the server's folder. The owner of the folder runs the server.
func (s *Server) Dir() string { return s.c.dir }

// Pid is the id of the server's process, the parent of its connections'
// processes. It is 0 if the server is stopped.
func (s *Server) Pid() int {
	if s.c.running == nil {
		return 0
	}
	return s.c.running.pid
}

// Programs is the folder of PostgreSQL's programs.
func (s *Server) Programs() string { return s.c.bin }

// Stop shuts the server down, without waiting for its clients.
func (s *Server) Stop() { s.c.halt(syscall.SIGINT) }

// Kill ends the server like a crash.
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

// Remove ends the server and removes its data.
func (s *Server) Remove() { s.c.remove() }
