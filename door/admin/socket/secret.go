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

// SecretName is the file in the data folder whose content each request on the
// socket must name. The kernel says only whose process is at the other end, and
// the process that reads texts is the server's user too; it can open no file.
const SecretName = "kartei.secret"

// ErrNoSecret is returned, wrapped, if the secret cannot be written.
var ErrNoSecret = errors.New("the secret of the administration socket cannot be written")

// ErrRefused is returned, wrapped, if a server does not take a request's secret.
var ErrRefused = errors.New("the server refuses the command")

const (
	// scheme stands before the secret in the header Authorization (RFC 6750).
	scheme = "Bearer "
	// maxSecret bounds what is read of the file; rand.Text has 26 bytes.
	maxSecret = 1 << 10
	// maxTries is how often a client reads the secret anew: a server that started
	// meanwhile has written another.
	maxTries = 3
)

// Listener is the socket, open, and the secret of its server. To close it
// removes both.
type Listener struct {
	net.Listener
	path string
	sum  [sha256.Size]byte
}

// writeSecret gives the listener a new secret. The file is there whole or not at
// all, and its owner's alone.
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

// Close closes the socket and removes it, and the secret, unless another server
// has written its own since.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	if secret, _ := readSecret(l.path); sha256.Sum256([]byte(secret)) == l.sum {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}

// knows reports whether a request names the secret. Its time tells nothing of
// how much of it is right.
func (l *Listener) knows(r *http.Request) bool {
	secret, named := strings.CutPrefix(r.Header.Get("Authorization"), scheme)
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], l.sum[:]) == 1 && named
}

// guard refuses requests that do not name the secret, before anything of them is
// looked at.
func (l *Listener) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.knows(r) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", strings.TrimSpace(scheme))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		body, _ := encodeError(fmt.Errorf("%w: it does not name the secret that the server wrote into %s of its data folder. "+
			"A command of an older release names none: use the one of the server's release", ErrRefused, SecretName))
		w.Write(body)
	})
}

// refused reports whether a server answered that it does not know the secret.
func refused(r *http.Response) bool {
	return r.StatusCode == http.StatusUnauthorized && r.Header.Get("WWW-Authenticate") != ""
}

// readSecret returns what the file holds.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	return strings.TrimSpace(string(b)), err
}

// refusal says what to do about a secret that was not taken.
func refusal(path string, why error) error {
	if why != nil {
		return fmt.Errorf("admin: %w: its secret cannot be read: %w. A server writes it when it starts. "+
			"Run the command as the user that runs the server; if the file is missing, restart the server", ErrRefused, why)
	}
	return fmt.Errorf("admin: %w: the secret in %s is not its own. A server writes it when it starts: restart the server", ErrRefused, path)
}
