package socket_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/door/admin/socket"
)

// secretOf returns the path of the secret in a data folder.
func secretOf(dir string) string { return filepath.Join(dir, socket.SecretName) }

// TestRequestsNameTheSecret checks that requests without the secret are refused, even from the
// server's own user.
func TestRequestsNameTheSecret(t *testing.T) {
	dir := folder(t)
	carried := 0
	serve(t, dir, socket.Acts{
		"count": socket.Do(func(context.Context, input) (output, error) { carried++; return output{}, nil }),
	})
	info := must(os.Stat(secretOf(dir)))
	secret := string(must(os.ReadFile(secretOf(dir))))
	if info.Mode() != 0o600 || len(secret) < 26 {
		t.Fatalf("a secret of %d bytes with mode %v", len(secret), info.Mode())
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, socket.SocketName))
	}}}
	defer client.CloseIdleConnections()
	for _, header := range []string{"", "Bearer", "Bearer ", secret, "Basic " + secret, "Bearer " + secret[:25],
		"Bearer " + secret + "A",
		"Bearer " + strings.ToLower(secret), "Bearer " + strings.Repeat("A", 26), "Bearer " + secret} {
		for _, path := range []string{"/acts/count", "/acts/unknown", "/"} {
			r := must(http.NewRequest("POST", "http://kartei"+path, strings.NewReader("{}")))
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if right := header == "Bearer "+secret; (answer.StatusCode == http.StatusUnauthorized) == right {
				t.Errorf("%s with %q: %d", path, header, answer.StatusCode)
			}
		}
	}
	if carried != 1 {
		t.Errorf("%d acts were carried out, want 1", carried)
	}
}

// TestCommandsWithoutTheSecret checks that the error names the next step if the secret is missing
// or wrong.
func TestCommandsWithoutTheSecret(t *testing.T) {
	dir := folder(t)
	serve(t, dir, acts)
	client := must(socket.Dial(dir))
	defer client.Close()
	right := must(os.ReadFile(secretOf(dir)))
	call := func() error { return client.Call(ctx, "greet", input{}, nil) }

	for _, wrong := range []string{"", "another", strings.Repeat("x", 1<<20)} {
		if err := os.WriteFile(secretOf(dir), []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := call(); !errors.Is(err, socket.ErrRefused) || !strings.Contains(err.Error(), secretOf(dir)) ||
			!strings.Contains(err.Error(), "restart the server") {
			t.Errorf("with %.10q: %v", wrong, err)
		}
	}
	if err := os.Remove(secretOf(dir)); err != nil {
		t.Fatal(err)
	}
	if err := call(); !errors.Is(err, socket.ErrRefused) || !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "restart the server") {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(secretOf(dir), right, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := call(); err != nil {
		t.Errorf("with its own again: %v", err)
	}
}

// TestLifeOfTheSecret checks that a server replaces the secret when it starts. When it ends, it
// removes its own secret, and not the secret of another server.
func TestLifeOfTheSecret(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(secretOf(dir), []byte("of one that died"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := must(socket.Listen(dir))
	first := must(os.ReadFile(secretOf(dir)))
	if info := must(os.Stat(secretOf(dir))); info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if _, err := socket.Listen(dir); !errors.Is(err, socket.ErrServed) {
		t.Errorf("a second server: %v", err)
	}
	if now := must(os.ReadFile(secretOf(dir))); string(now) != string(first) {
		t.Error("the second server has changed the secret of the first")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(secretOf(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
	l = must(socket.Listen(dir))
	if again := must(os.ReadFile(secretOf(dir))); string(again) == string(first) || string(again) == "of one that died" {
		t.Error("the secret is an old one")
	}
	if err := os.WriteFile(secretOf(dir), []byte("of the next"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if now := must(os.ReadFile(secretOf(dir))); string(now) != "of the next" {
		t.Errorf("the end of one server removed the secret of another: %q", now)
	}
	if left := must(filepath.Glob(filepath.Join(dir, ".secret-*"))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCommandRacesAStart checks that a client succeeds although it has read the secret just before
// a new server replaced it.
func TestCommandRacesAStart(t *testing.T) {
	dir := folder(t)
	l := must(socket.Listen(dir))
	current := must(os.ReadFile(secretOf(dir)))
	if err := os.WriteFile(secretOf(dir), []byte("of one that died"), 0o600); err != nil {
		t.Fatal(err)
	}
	connections := 0
	l.Listener = hookListener{l.Listener, func() {
		if connections++; connections == 2 { // the first is Dial's, and the second follows the read
			if err := os.WriteFile(secretOf(dir), current, 0o600); err != nil {
				t.Error(err)
			}
		}
	}}
	client := must(socket.Dial(dir))
	defer client.Close()
	serving, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- socket.Serve(serving, l, acts) }()
	var out output
	if err := client.Call(ctx, "greet", input{"Ada"}, &out); err != nil || out.Greeting != "Guten Tag, Ada" {
		t.Errorf("%+v, %v", out, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// hookListener calls do for each connection before it returns the connection.
type hookListener struct {
	net.Listener
	do func()
}

func (h hookListener) Accept() (net.Conn, error) {
	conn, err := h.Listener.Accept()
	if err == nil {
		h.do()
	}
	return conn, err
}
