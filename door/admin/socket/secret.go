package socket

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// SecretName is the name of the file in the data folder with the secret that each request must
// contain. The user id of the client is not enough: the process that reads document texts runs as
// the same user. That process cannot open files.
const SecretName = "kartei.secret"

// ErrNoSecret is returned, wrapped, if the secret cannot be written.
var ErrNoSecret = errors.New("the secret of the administration socket cannot be written")

// ErrRefused is returned, wrapped, if the server refuses the secret.
var ErrRefused = errors.New("the server refuses the command")

const (
	// scheme precedes the secret in the Authorization header (RFC 6750).
	scheme = "Bearer "
	// maxSecret is the maximum number of bytes that are read of the file. rand.Text returns 26.
	maxSecret = 1 << 10
	// maxTries is the maximum number of times that a client reads the secret. A server that has
	// just started has written a new secret.
	maxTries = 3
)

// Listener is the open socket and the checksum of its secret. Close removes the socket and the
// secret.
type Listener struct {
	net.Listener
	path string
	sum  [sha256.Size]byte
}

// writeSecret writes a new secret. It replaces the file atomically, and only the owner can read the
// file.
func (l *Listener) writeSecret(dataDir string) error {
	secret := rand.Text()
	l.path, l.sum = filepath.Join(dataDir, SecretName), sha256.Sum256([]byte(secret))
	f, err := os.CreateTemp(dataDir, ".secret-*") // mode 0600
	if err != nil {
		return fmt.Errorf("admin: %w: %w", ErrNoSecret, err)
	}
	_, err = f.WriteString(secret)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), l.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("admin: %w: %w", ErrNoSecret, err)
	}
	return nil
}

// Close closes and removes the socket. It also removes the secret, unless another server has
// replaced it.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	if secret, _ := readSecret(l.path); sha256.Sum256([]byte(secret)) == l.sum {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}

// knows reports whether the request contains the secret. The comparison takes constant time.
func (l *Listener) knows(r *http.Request) bool {
	secret, named := strings.CutPrefix(r.Header.Get("Authorization"), scheme)
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], l.sum[:]) == 1 && named
}

// guard returns a handler that refuses requests without the secret before it reads their bodies.
func (l *Listener) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.knows(r) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", strings.TrimSpace(scheme))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		body, _ := encodeError(fmt.Errorf("%w: it does not name the secret in the file %s of the data folder. "+
			"A command of an older release does not name it: use the command of the server's release", ErrRefused, SecretName))
		w.Write(body)
	})
}

// refused reports whether the server refused the secret.
func refused(r *http.Response) bool {
	return r.StatusCode == http.StatusUnauthorized && r.Header.Get("WWW-Authenticate") != ""
}

// readSecret returns the secret in the file.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	return strings.TrimSpace(string(b)), err
}

// refusal returns the error for a refused secret, with the next step. why is the error of reading
// the secret, or nil.
func refusal(path string, why error) error {
	if why != nil {
		return fmt.Errorf("admin: %w: its secret cannot be read: %w. A server writes it when it starts. "+
			"Run the command as the user that runs the server; if the file is missing, restart the server", ErrRefused, why)
	}
	return fmt.Errorf("admin: %w: the secret in %s belongs to another server. A server writes its secret when it starts: restart the server", ErrRefused, path)
}
