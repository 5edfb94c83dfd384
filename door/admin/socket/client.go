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

// maxAnswer is the maximum number of bytes that a client reads of a response.
const maxAnswer = 256 << 20

// ErrNoServer is returned, wrapped, if no server uses the data folder.
var ErrNoServer = errors.New("no server is running on it")

// ErrNoAnswer is returned, wrapped, if a server ended before it answered.
var ErrNoAnswer = errors.New("the server ended before it answered, so it is unknown whether the command was executed")

// errForeignServer is the error for a server process of another user.
var errForeignServer = errors.New("a process of another user answers there, and gets no command: see who may write to the folder")

// Client runs operations and acts in a running server.
type Client struct {
	path   string
	secret string // path of the file with the secret
	http   *http.Client
}

// Dial returns a client for the server that uses the data folder. It returns ErrNoServer, wrapped,
// if there is no socket, or only the socket of a dead server.
func Dial(dataDir string) (*Client, error) {
	path, err := socketPath(dataDir)
	if errors.Is(err, ErrPathTooLong) { // then no server can have a socket either
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

// Call runs an operation or act in the server. It waits until the result arrives.
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

// ask sends a request with the secret. A server writes a new secret when it starts. So if the
// secret is refused, ask reads it again and repeats the request.
func (c *Client) ask(ctx context.Context, name string, body []byte) ([]byte, error) {
	secret, _ := readSecret(c.secret) // on an error, the file is read again below
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

// send sends a request. known reports whether the server accepted the secret.
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

// broken returns the error for a connection that broke. If the request may have arrived, the error
// says that the act may have been executed.
func (c *Client) broken(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is { // the text of url.Error has an internal URL
		err = wrapped.Err
	}
	if failed, is := errors.AsType[*net.OpError](err); is && failed.Op == "dial" {
		return fmt.Errorf("admin: %s: %w", c.path, err)
	}
	return fmt.Errorf("admin: %s: %w: %w. See what is stored before you repeat the command: if it changed anything, kartei audit has its line", c.path, ErrNoAnswer, err)
}

// Close closes the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Config is the location of the data.
type Config struct {
	// DataDir is the data folder. It is empty if there can be no server with a socket.
	DataDir string
	// Open opens the database in this process. It returns a Caller, and a function that closes the
	// database. On SQLite, it fails if another process has the database open.
	Open func(ctx context.Context) (Caller, func(), error)
}

// Connect returns a Caller for the running server, or else for the database opened in this process.
// The caller must call the returned function at the end.
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
