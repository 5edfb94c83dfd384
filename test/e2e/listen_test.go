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

	"kartei/cmd/remote"
	"kartei/test/waittest"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// hook is a developer's webhook receiver. It stops and starts on the same address.
type hook struct {
	testing.TB
	address string
	took    chan string // the ids of events, in order of arrival

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
	if err := errors.Join(verifier.Verify(body, r.Header), json.Unmarshal(body, &e)); err != nil ||
		e.ID != r.Header.Get("webhook-id") ||
		r.Header.Get("User-Agent") != "Kartei-Webhooks/1.0" || r.Header.Get("Content-Type") != "application/json" {
		h.Errorf("%v: %v %s", err, r.Header, body)
	}
	w.WriteHeader(status)
	h.took <- e.ID
}

// takes waits for the next event. It fails the test if this is another event.
func (h *hook) takes(id string) {
	h.Helper()
	if got := h.next(id); got != id {
		h.Fatalf("the receiver got %s, want %s", got, id)
	}
}

// next waits for the next event and returns its id. expected is for the failure.
func (h *hook) next(expected string) string {
	h.Helper()
	select {
	case got := <-h.took:
		return got
	case <-time.After(waittest.Bound):
		h.Fatalf("the receiver did not get %s", expected)
	}
	return ""
}

// tool is a running command that prints one line for each step.
type tool struct {
	testing.TB
	cmd   *exec.Cmd
	out   io.Closer // standard output
	lines chan string
	errs  bytes.Buffer // read only after the tool has ended
}

// startTool starts the binary with these arguments.
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
	l.out, l.cmd.Stderr = out, &l.errs
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
	case <-time.After(waittest.Bound):
		l.Fatalf("%s says nothing", l.cmd.Args[1])
	}
	return ""
}

// kill kills the tool with SIGKILL.
func (l *tool) kill() {
	l.cmd.Process.Kill()
	for range l.lines {
	}
	l.cmd.Wait()
}

// TestListen checks kartei listen. Events arrive at a local receiver, signed, in order and once,
// even if the listener, the receiver or the server stops for a while.
func TestListen(t *testing.T) {
	t.Parallel()
	story := func(t *testing.T, h *cluster) {
		d := newDeveloper(t, h)
		d.trigger("contact.created") // before the first start, so this event is not delivered
		d.listens(false)
		d.arrive("contact.created", "company.created", "task.created")
		last := d.receiverAway()
		d.listenerKilled(last)
		h.kill()
		h.open()
		d.arrive("contact.created")
		d.tool.kill()
		d.listens(true, "--events", "document.created,task.completed")
		d.arrive("task.completed", "document.created")
		d.keyRevoked()
	}
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		story(t, newCluster(t, 1, "sqlite:"+dir+"/kartei.db", "--data-dir", dir))
	})
	t.Run("postgres", func(t *testing.T) { story(t, newPostgresCluster(t, 1)) })
}

// developer has a receiver and runs kartei listen against an instance.
type developer struct {
	*cluster
	key      struct{ ID, Key string }
	receiver *hook
	place    string
	tool     *tool
}

func newDeveloper(t *testing.T, h *cluster) *developer {
	t.Helper()
	h.front = newFront(t)
	h.front.set(0, h.servers[0])
	everything := "contacts:write,companies:write,tasks:write,documents:write"
	d := &developer{cluster: h, receiver: newHook(t), place: filepath.Join(t.TempDir(), "deep", "place.json")}
	d.key = read[struct{ ID, Key string }](t,
		append([]string{"key", "create", "--org", h.office.ID, "--principal", h.office.User, "--env", "test",
			"--scopes", everything + "," + strings.ReplaceAll(everything, ":write", ":read"), "--ip", "127.0.0.1/32"},
			h.store...)...)
	return d
}

// with returns the arguments of a command against the instance.
func (d *developer) with(args ...string) []string {
	return append(args, "--url", d.front.URL, "--key", d.key.Key, "--json")
}

func (d *developer) trigger(eventType string) (id string) {
	d.Helper()
	made := read[remote.TriggerResult](d, d.with("trigger", eventType)...)
	if made.EventID == "" || made.ID == "" || made.Type != eventType {
		d.Fatalf("trigger %s: %+v", eventType, made)
	}
	return made.EventID
}

// listenLine is a line in the output of kartei listen.
type listenLine struct {
	EventID, EventType, Secret string
	Status                     int
	Resumed                    bool
	// The reasons of an event, as in the event itself.
	RequestID *string
	Revision  *int64
	Changed   []string
}

// listens starts kartei listen. resumed says whether it must resume at an earlier position.
func (d *developer) listens(resumed bool, more ...string) {
	d.Helper()
	d.tool = startTool(d, append(d.with("listen", "--forward", "http://"+d.receiver.address+"/hook", "--place",
		d.place), more...)...)
	var line listenLine
	decode(d, d.tool.next(), &line)
	if line.Resumed != resumed || d.receiver.secret != "" && line.Secret != d.receiver.secret {
		d.Errorf("listen %v begins with %+v, want resumed %t", more, line, resumed)
	}
	d.receiver.answers(line.Secret, 200)
}

// says checks the next line of output.
func (d *developer) says(id string, status int) {
	d.Helper()
	var line listenLine
	if decode(d, d.tool.next(), &line); line.EventID != id || line.Status != status {
		d.Fatalf("listen says %+v, want %s %d", line, id, status)
	}
	called, revised := line.RequestID != nil, line.Revision != nil
	if byJob := line.EventType == "document.created"; called == byJob || !revised {
		d.Errorf("listen does not say why: %+v", line)
	}
	if changed := strings.Join(line.Changed, " "); changed != "" != (line.EventType == "task.completed") {
		d.Errorf("%s changed %q", line.EventType, changed)
	}
}

// arrives checks that the receiver gets the event, and that kartei listen prints the status of the
// receiver's response.
func (d *developer) arrives(id string, status int) {
	d.Helper()
	d.receiver.takes(id)
	d.says(id, status)
}

// arrive triggers events of these types. Each event must arrive before the next.
func (d *developer) arrive(eventTypes ...string) {
	d.Helper()
	for _, eventType := range eventTypes {
		d.arrives(d.trigger(eventType), 200)
	}
}

// receiverAway stops the receiver, and checks that its events wait. Then the receiver responds with
// 500, and its events do not wait.
func (d *developer) receiverAway() (last string) {
	d.Helper()
	d.receiver.close()
	first, second := d.trigger("contact.created"), d.trigger("contact.created")
	d.receiver.open(d.receiver.address)
	d.arrives(first, 200)
	d.arrives(second, 200)
	d.receiver.answers(d.receiver.secret, 500)
	last = d.trigger("task.created")
	d.arrives(last, 500)
	d.receiver.answers(d.receiver.secret, 200)
	return last
}

// listenerKilled kills kartei listen, which then resumes at its position. The event that was last
// delivered may arrive again, because its position may not have been stored.
func (d *developer) listenerKilled(last string) {
	d.Helper()
	d.tool.kill()
	id := d.trigger("company.created")
	d.listens(true)
	if got := d.receiver.next(id); got == last {
		d.says(last, 200)
		d.receiver.takes(id)
	} else if got != id {
		d.Fatalf("after a restart the receiver got %s, want %s", got, id)
	}
	d.says(id, 200)
}

// keyRevoked revokes the API key. Both commands must end with an error that names the command to
// run next.
func (d *developer) keyRevoked() {
	d.Helper()
	kartei(d, append([]string{"key", "revoke", d.key.ID}, d.store...)...)
	for range d.tool.lines {
	}
	if err := d.tool.cmd.Wait(); fmt.Sprint(err) != "exit status 1" ||
		!strings.Contains(d.tool.errs.String(), "kartei log req_") {
		d.Errorf("with a revoked key listen ends with %v: %s", err, d.tool.errs.String())
	}
	_, errs, status := try(d, d.with("trigger", "contact.created")...)
	if status != 1 || !strings.Contains(errs, "kartei log req_") {
		d.Errorf("with a revoked key trigger ends with %d: %s", status, errs)
	}
}
