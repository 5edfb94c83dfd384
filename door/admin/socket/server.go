package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// SocketName is the name of the socket in the data folder.
const SocketName = "kartei.sock"

const (
	maxInput = 1 << 20
	// maxCalls is the maximum number of acts that run at the same time. Further calls wait.
	maxCalls = 16
	// maxPath is the maximum length of the path of a socket in bytes: 107 on Linux, because the
	// kernel's field ends with NUL.
	maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1
	// grace is the maximum time for which Serve waits for running acts when the server stops.
	grace = 10 * time.Second
)

// ErrServed is returned, wrapped, if another server uses the socket in the data folder.
var ErrServed = errors.New("another server is running on it")

// ErrPathTooLong is returned, wrapped, if the path of the data folder is too long for a socket.
var ErrPathTooLong = errors.New("path too long for a socket")

func socketPath(dataDir string) (string, error) {
	path := filepath.Join(dataDir, SocketName)
	if len(path) > maxPath {
		return "", fmt.Errorf("admin: %s: %w: %d bytes, at most %d; use a data folder with a shorter path",
			path, ErrPathTooLong, len(path), maxPath)
	}
	return path, nil
}

// Listen opens the socket in the data folder with mode 0600, and writes a new secret. It first
// removes the socket of a dead server. It fails if the socket belongs to a running server, or if
// another file has the name.
func Listen(dataDir string) (*Listener, error) {
	path, err := socketPath(dataDir)
	if err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("admin: %w", err)
	}
	listener := &Listener{Listener: ownersOnly{l}}
	if err := listener.writeSecret(dataDir); err != nil {
		l.Close()
		return nil, err
	}
	return listener, nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("admin: %s exists and is not a socket; move it away", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return fmt.Errorf("admin: %s: %w", path, ErrServed)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("admin: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// ownersOnly accepts only connections of root and of the process's own user. This helps if the file
// mode of the socket has no effect.
type ownersOnly struct{ net.Listener }

func (l ownersOnly) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || ownPeer(conn) {
			return conn, err
		}
		conn.Close()
	}
}

// Serve serves c on the listener until ctx ends. It then waits for running acts, at most for grace,
// and removes the socket and the secret.
func Serve(ctx context.Context, l *Listener, c Carrier) error {
	mux := http.NewServeMux()
	mux.Handle("POST /acts/{name}", handler(c))
	server := &http.Server{
		Handler:           l.guard(mux),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := server.Shutdown(bounded)
		if err != nil {
			server.Close()
		}
		done <- err
	})
	err := server.Serve(l)
	if stop() { // the server failed
		server.Close()
		return fmt.Errorf("admin: %w", err)
	}
	if err := <-done; err != nil {
		return fmt.Errorf("admin: commands were still running at the end: %w", err)
	}
	return nil
}

func handler(c Carrier) http.Handler {
	slots := make(chan struct{}, maxCalls)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-r.Context().Done():
			return
		}
		status, body := run(c, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write(body)
	})
}

// run runs one operation or act, and returns the status and body of the response.
func run(c Carrier, r *http.Request) (int, []byte) {
	answer, err := func() (any, error) {
		in, err := io.ReadAll(io.LimitReader(r.Body, maxInput+1))
		if err != nil {
			return nil, fmt.Errorf("admin: input: %w", err)
		}
		if len(in) > maxInput {
			return nil, fmt.Errorf("admin: the input is larger than %d bytes", maxInput)
		}
		return c.Carry(r.Context(), r.PathValue("name"), in)
	}()
	if err == nil {
		var body []byte
		if body, err = json.Marshal(answer); err == nil {
			return http.StatusOK, body
		}
	}
	body, encodeErr := encodeError(err)
	if encodeErr != nil {
		return http.StatusInternalServerError, nil
	}
	return statusOf(err), body
}
