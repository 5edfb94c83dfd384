package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"syscall"
	"time"
)

// maxAnswer bounds the bytes that a client reads of an answer.
const maxAnswer = 256 << 20

// ErrNoServer is returned, wrapped, if no server serves on the data folder.
var ErrNoServer = errors.New("no server is running on it")

// ErrNoAnswer is returned, wrapped, if a server ended before it answered.
var ErrNoAnswer = errors.New("the server ended before it answered, so it is unknown whether the command was executed")

// errForeignServer is the error for a process of another user that answers in
// the data folder.
var errForeignServer = errors.New("a process of another user answers there, and gets no command: see who may write to the folder")

// Client calls the acts of a running server.
type Client struct {
	path   string
	secret string // path of the file
	http   *http.Client
}

// Dial returns a client of the server on a data folder. It returns ErrNoServer
// if there is no socket, or only a dead server's socket.
func Dial(dataDir string) (*Client, error) {
	path, err := socketPath(dataDir)
	if errors.Is(err, ErrPathTooLong) { // no server can have a socket there
		return nil, fmt.Errorf("admin: %s: %w", dataDir, ErrNoServer)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
		if err != nil {
			return conn, err
		}
		if !servesFolder(conn, dataDir) {
			conn.Close()
			return nil, fmt.Errorf("%s: %w", path, errForeignServer)
		}
		return conn, nil
	}
	probe, err := dial(context.Background(), "", "")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("admin: %s: %w", dataDir, ErrNoServer)
	}
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	probe.Close()
	return &Client{
		path, filepath.Join(dataDir, SecretName),
		&http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1, DisableCompression: true}},
	}, nil
}

// Call executes an act in the server. It waits as long as the act takes.
func (c *Client) Call(ctx context.Context, name string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("admin: %s: %w", name, err)
	}
	answer, err := c.ask(ctx, name, body)
	if err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("admin: %s: answer: %w", name, err)
	}
	return nil
}

// ask sends a request with the secret. A server that starts writes a new secret
// before it answers. So if a request is refused, ask sends it again with the
// new secret.
func (c *Client) ask(ctx context.Context, name string, body []byte) ([]byte, error) {
	secret, _ := readSecret(c.secret) // if it cannot be read, it is read again below
	for try := 1; ; try++ {
		answer, known, err := c.send(ctx, name, body, secret)
		if err != nil || known {
			return answer, err
		}
		before := secret
		var failed error
		if secret, failed = readSecret(c.secret); failed != nil || secret == before || try == maxTries {
			return nil, refusal(c.secret, failed)
		}
	}
}

// send sends a request, and reports whether the server accepted its secret.
func (c *Client) send(
	ctx context.Context, name string, body []byte, secret string,
) (answer []byte, known bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://kartei/acts/"+name, bytes.NewReader(body))
	if err != nil {
		return nil, false, fmt.Errorf("admin: %s: %w", name, err)
	}
	request.Header.Set("Authorization", scheme+secret)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, false, c.broken(err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, false, c.broken(err)
	case refused(response):
		return nil, false, nil
	case response.StatusCode != http.StatusOK:
		return nil, true, decodeError(response.StatusCode, answer)
	}
	return answer, true, nil
}

// broken returns the error for a connection that broke. If the request may have
// arrived, nobody knows whether the act was executed.
func (c *Client) broken(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is { // its text names a URL that only this package knows
		err = wrapped.Err
	}
	if failed, is := errors.AsType[*net.OpError](err); is && failed.Op == "dial" {
		return fmt.Errorf("admin: %s: %w", c.path, err)
	}
	return fmt.Errorf("admin: %s: %w: %w. See what is stored before you repeat the command: if it changed anything, kartei audit has its line", c.path, ErrNoAnswer, err)
}

// Close ends the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Config locates the data.
type Config struct {
	// DataDir is the folder with a server's socket. It is empty if no server
	// can be asked.
	DataDir string
	// Open opens the database in this process. It returns the door to it, and a
	// function that closes it. On SQLite it takes the single-process lock, and
	// fails if another process has it.
	Open func(ctx context.Context) (Caller, func(), error)
}

// Connect returns the server that runs on the data. If none runs, it opens the
// data itself. The caller must call the returned function at the end.
func Connect(ctx context.Context, cfg Config) (Caller, func(), error) {
	if cfg.DataDir != "" {
		client, err := Dial(cfg.DataDir)
		if err == nil {
			return client, client.Close, nil
		}
		if !errors.Is(err, ErrNoServer) {
			return nil, nil, err
		}
	}
	acts, closeAll, err := cfg.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return acts, closeAll, nil
}
