package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/remote"
	"kartei/test/patience"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// hook is a developer's receiver that starts and stops on a fixed address.
type hook struct {
	testing.TB
	address string
	took    chan string // ids of events in order of arrival

	mu     sync.Mutex
	secret string
	status int
	server *http.Server
}

func newHook(t testing.TB) *hook {
	t.Helper()
	h := &hook{TB: t, took: make(chan string, 100), status: 200}
	h.open("127.0.0.1:0")
	t.Cleanup(h.close)
	return h
}

func (h *hook) open(address string) {
	h.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		h.Fatal(err)
	}
	h.address = l.Addr().String()
	h.server = &http.Server{Handler: h}
	go h.server.Serve(l)
}

func (h *hook) close() { h.server.Close() }

func (h *hook) answers(secret string, status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secret, h.status = secret, status
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	secret, status := h.secret, h.status
	h.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	verifier, wrong := standardwebhooks.NewWebhook(secret)
	if err != nil || wrong != nil {
		h.Error(err, wrong)
		return
	}
	var e feedEntry
	if err := errors.Join(verifier.Verify(body, r.Header), json.Unmarshal(body, &e)); err != nil || e.ID != r.Header.Get("webhook-id") ||
		r.Header.Get("User-Agent") != "Kartei-Webhooks/1.0" || r.Header.Get("Content-Type") != "application/json" {
		h.Errorf("%v: %v %s", err, r.Header, body)
	}
	w.WriteHeader(status)
	h.took <- e.ID
}

// takes waits for an event and fails the test if another arrives.
func (h *hook) takes(id string) {
	h.Helper()
	if got := h.next(id); got != id {
		h.Fatalf("the receiver got %s, want %s", got, id)
	}
}

// next waits for an event while one is expected.
func (h *hook) next(expected string) string {
	h.Helper()
	select {
	case got := <-h.took:
		return got
	case <-time.After(patience.Bound):
		h.Fatalf("the receiver did not get %s", expected)
	}
	return ""
}

// tool is a running command that prints a line for each step.
type tool struct {
	testing.TB
	cmd   *exec.Cmd
	lines chan string
	errs  bytes.Buffer // read after the tool has ended
}

// startTool runs the binary.
func startTool(t testing.TB, args ...string) *tool {
	t.Helper()
	return startCommand(t, command(args...))
}

func startCommand(t testing.TB, c *exec.Cmd) *tool {
	t.Helper()
	l := &tool{TB: t, cmd: c, lines: make(chan string, 1000)}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stderr = &l.errs
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { l.cmd.Process.Kill() })
	return l
}

// next returns the next line.
func (l *tool) next() (line string) {
	l.Helper()
	select {
	case line, more := <-l.lines:
		if !more {
			l.cmd.Wait()
			l.Fatalf("%s ended: %s", l.cmd.Args[1], l.errs.String())
		}
		return line
	case <-time.After(patience.Bound):
		l.Fatalf("%s says nothing", l.cmd.Args[1])
	}
	return ""
}

// kill ends the tool like kill -9.
func (l *tool) kill() {
	l.cmd.Process.Kill()
	for range l.lines {
	}
	l.cmd.Wait()
}

// TestListen is a developer's day. Events arrive at a local receiver, signed,
// in order and once, even if one of the three programs is away for a while.
func TestListen(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, h *cluster) {
		h.front = newFront(t)
		h.front.set(0, h.servers[0])
		everything := "contacts:write,companies:write,tasks:write,documents:write"
		made := read[struct{ ID, Key string }](t, append([]string{"key", "create", "--org", h.office.ID, "--principal", h.office.User, "--env", "test",
			"--scopes", everything + "," + strings.ReplaceAll(everything, ":write", ":read"), "--ip", "127.0.0.1/32"}, h.store...)...)
		with := func(args ...string) []string { return append(args, "--url", h.front.URL, "--key", made.Key, "--json") }
		trigger := func(eventType string) (id string) {
			t.Helper()
			made := read[remote.Made](t, with("trigger", eventType)...)
			if made.EventID == "" || made.ID == "" || made.Type != eventType {
				t.Fatalf("trigger %s: %+v", eventType, made)
			}
			return made.EventID
		}
		receiver := newHook(t)
		place := filepath.Join(t.TempDir(), "deep", "place.json")
		var line struct {
			EventID, EventType, Secret string
			Status                     int
			Resumed                    bool
		}
		listen := func(resumed bool, more ...string) *tool {
			t.Helper()
			l := startTool(t, append(with("listen", "--forward", "http://"+receiver.address+"/hook", "--place", place), more...)...)
			decode(t, l.next(), &line)
			if line.Resumed != resumed || receiver.secret != "" && line.Secret != receiver.secret {
				t.Errorf("listen begins with %+v", line)
			}
			receiver.answers(line.Secret, 200)
			return l
		}
		says := func(l *tool, id string, status int) {
			t.Helper()
			if decode(t, l.next(), &line); line.EventID != id || line.Status != status {
				t.Fatalf("listen says %+v, want %s %d", line, id, status)
			}
		}

		trigger("contact.created") // before the first start, so not delivered
		l := listen(false)
		for _, eventType := range []string{"contact.created", "company.created", "task.created"} {
			id := trigger(eventType)
			receiver.takes(id)
			says(l, id, 200)
		}

		// If the receiver is away, its events wait. If it fails, they do not.
		receiver.close()
		first, second := trigger("contact.created"), trigger("contact.created")
		receiver.open(receiver.address)
		for _, id := range []string{first, second} {
			receiver.takes(id)
			says(l, id, 200)
		}
		receiver.answers(receiver.secret, 500)
		id := trigger("task.created")
		receiver.takes(id)
		says(l, id, 500)
		receiver.answers(receiver.secret, 200)

		// The listener is killed and resumes at its position. The event in
		// progress at the kill, not yet recorded, may arrive again.
		l.kill()
		last := id
		id = trigger("company.created")
		l = listen(true)
		if got := receiver.next(id); got == last {
			says(l, last, 200)
			receiver.takes(id)
		} else if got != id {
			t.Fatalf("after a restart the receiver got %s, want %s", got, id)
		}
		says(l, id, 200)

		// The instance is killed.
		h.kill()
		h.open()
		id = trigger("contact.created")
		receiver.takes(id)
		says(l, id, 200)

		// Only some types.
		l.kill()
		l = listen(true, "--events", "document.created,task.completed")
		for _, eventType := range []string{"task.completed", "document.created"} {
			id := trigger(eventType)
			receiver.takes(id)
			says(l, id, 200)
		}

		// The key is revoked.
		kartei(t, append([]string{"key", "revoke", made.ID}, h.store...)...)
		for range l.lines {
		}
		if err := l.cmd.Wait(); fmt.Sprint(err) != "exit status 1" || !strings.Contains(l.errs.String(), "kartei log req_") {
			t.Errorf("with a revoked key listen ends with %v: %s", err, l.errs.String())
		}
		_, errs, status := try(t, with("trigger", "contact.created")...)
		if status != 1 || !strings.Contains(errs, "kartei log req_") {
			t.Errorf("with a revoked key trigger ends with %d: %s", status, errs)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		each(t, newCluster(t, 1, "sqlite:"+dir+"/kartei.db", "--data-dir", dir))
	})
	t.Run("postgres", func(t *testing.T) { each(t, newPostgresCluster(t, 1)) })
}
