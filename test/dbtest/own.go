package dbtest

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Server is a PostgreSQL server that one test, or a benchmark, has for itself
// and may stop, start and spoil.
type Server struct{ c *cluster }

// Disposable are settings for NewServer that give durability away for speed.
func Disposable() []string { return append([]string(nil), disposable...) }

// OwnServer starts a server that ends with the test. Settings have the form
// name=value. Without PostgreSQL it skips the test, or fails it if CI is set.
func OwnServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	return OwnServerIn(t, parent(), settings...)
}

// OwnServerIn is OwnServer with the server's data in a folder below dir, whose
// path has at most 60 bytes.
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

// NewServer starts a server; Remove must follow.
func NewServer(settings ...string) (*Server, error) { return newServerIn(parent(), settings) }

func newServerIn(dir string, settings []string) (*Server, error) {
	c, err := startCluster(dir, settings)
	if err != nil {
		return nil, err
	}
	return &Server{c}, nil
}

// KeepServer starts a server whose data stay in a folder from one process to the
// next. It makes them if there are none. Stop must follow. If this process is
// root's, the folders above must let the server's user through.
func KeepServer(dir string, settings ...string) (*Server, error) {
	c, err := keepCluster(dir, settings)
	if err != nil {
		return nil, err
	}
	return &Server{c}, nil
}

// URL is that of the server's first database, which is empty; its user may do
// everything.
func (s *Server) URL() string { return s.c.url }

// Dir is the server's folder. Its owner runs the server.
func (s *Server) Dir() string { return s.c.dir }

// Pid is the number of the server's process, the parent of its connections'; 0
// while it is stopped.
func (s *Server) Pid() int {
	if s.c.running == nil {
		return 0
	}
	return s.c.running.pid
}

// Programs is the folder of PostgreSQL's programs.
func (s *Server) Programs() string { return s.c.bin }

// Stop ends the server in order, without waiting for its clients.
func (s *Server) Stop() { s.c.halt(syscall.SIGINT) }

// Kill ends it as a crash does.
func (s *Server) Kill() { s.c.halt(syscall.SIGQUIT) }

// Start starts it again after Stop or Kill, or where it ended by itself.
func (s *Server) Start() error { return s.c.start() }

// Ended is closed when the server has ended, by itself too.
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
