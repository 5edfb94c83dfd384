package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/s3test"
	"kartei/test/waittest"
)

// binary is the path of the tested binary. If KARTEI_BINARY is not set, the tests build it once.
var binary = os.Getenv("KARTEI_BINARY")

// sideBySide is the number of tests that run in parallel, unless -parallel is given. They mostly
// wait for leases to expire, for receivers that do not respond, and for the disk.
const sideBySide = "8"

// TestMain runs the tests in parallel. Each test has its own data folder, database and ports. Tests
// with deadlines of a few seconds are not parallel, because other tests would slow the server down.
func TestMain(m *testing.M) {
	runWithout(os.Args)
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", sideBySide)
	}
	remove := func() {}
	if binary == "" {
		dir, err := build()
		if err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			os.Exit(1)
		}
		remove = func() { os.RemoveAll(dir) }
	}
	dbtest.Main(m, remove, s3test.Stop)
}

func build() (dir string, err error) {
	dir, err = os.MkdirTemp("", "kartei-e2e-")
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "kartei")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", binary,
		"kartei/cmd/kartei").CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
}

// command returns a command that runs the binary. Its environment has the credentials for the
// tests' buckets, and nothing else of this process except PATH and TMPDIR.
func command(args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=" + os.TempDir(),
		"AWS_ACCESS_KEY_ID=" + s3test.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3test.SecretKey}
	return c
}

// kartei runs a command and returns its output. It fails the test unless the command succeeds.
func kartei(t testing.TB, args ...string) string {
	t.Helper()
	out, errs, status := try(t, args...)
	if status != 0 {
		t.Fatalf("kartei %s: exit %d\n%s%s", strings.Join(args, " "), status, out, errs)
	}
	return out
}

// try runs a command and returns its output, its error output and its exit status. It kills the
// command after waittest.Bound.
func try(t testing.TB, args ...string) (out, errs string, status int) {
	t.Helper()
	c := command(args...)
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(waittest.Bound, func() { c.Process.Kill() })
	defer overdue.Stop()
	err := c.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

// read runs a command with --json and decodes its output.
func read[T any](t testing.TB, args ...string) (v T) {
	t.Helper()
	decode(t, kartei(t, append(args, "--json")...), &v)
	return v
}

func decode(t testing.TB, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
}

// server is a running server process.
type server struct {
	cmd *exec.Cmd
	// URL is the public base URL. Operator is the base URL of the operator's listener.
	URL, Operator string
	// First is the first line of standard output, with the keys of kartei demo --json.
	First string
	temp  string        // TMPDIR of the demo
	ready chan struct{} // closed when the server is ready
	ended chan struct{}
	err   error // the result of the process, valid once ended is closed

	mu    sync.Mutex
	log   bytes.Buffer
	spoke chan struct{} // closed at the next line of the log
}

// start starts a server and waits until it is ready. The server is killed when the test ends. Both
// listeners use free ports unless args set others.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	s, err := launch(args...)
	if err != nil {
		t.Fatal(err)
	}
	s.endsWith(t)
	return s
}

// endsWith kills the server when the test ends. If the test has failed, it prints the log.
func (s *server) endsWith(t testing.TB) {
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("log of process %d:\n%s", s.cmd.Process.Pid, tail(s.Log()))
		}
	})
}

func launch(args ...string) (*server, error) {
	return launchCommand(command(append(args, "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0",
		"--log-format", "json", "--log-level", "info")...))
}

// launchCommand starts a serving command and waits until it is ready.
func launchCommand(c *exec.Cmd) (*server, error) {
	s, err := spawn(c)
	if err != nil {
		return nil, err
	}
	overdue := time.NewTimer(waittest.Bound)
	defer overdue.Stop()
	select {
	case <-s.ready:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("kartei ended before it was ready: %v\n%s", s.err, s.Log())
	case <-overdue.C:
		s.kill()
		return nil, fmt.Errorf("kartei was not ready within %s\n%s", waittest.Bound, s.Log())
	}
}

// spawn starts a server and reads its output in the background. No polling is needed, because a
// server logs that it is ready, and the demo prints it.
func spawn(c *exec.Cmd) (*server, error) {
	s := &server{cmd: c, ready: make(chan struct{}), ended: make(chan struct{}), spoke: make(chan struct{})}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	once := sync.OnceFunc(func() { close(s.ready) })
	var readers sync.WaitGroup
	readers.Go(func() { s.readLog(errs, once) })
	readers.Go(func() { s.readOutput(out, once) })
	go func() {
		readers.Wait()
		s.err = c.Wait()
		close(s.ended)
	}()
	return s, nil
}

func (s *server) readLog(r io.Reader, ready func()) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.mu.Lock()
		s.log.Write(lines.Bytes())
		s.log.WriteByte('\n')
		close(s.spoke)
		s.spoke = make(chan struct{})
		s.mu.Unlock()
		var line struct{ Msg, API, Operator string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			s.URL, s.Operator = strings.TrimSuffix(line.API, "/v1"), line.Operator
			ready()
		}
	}
}

func (s *server) readOutput(r io.Reader, ready func()) {
	lines := bufio.NewReader(r)
	first, err := lines.ReadString('\n')
	if err == nil {
		s.First = first
		var line struct{ WebURL string }
		if json.Unmarshal([]byte(first), &line) == nil && line.WebURL != "" {
			s.URL = line.WebURL
			ready()
		}
	}
	io.Copy(io.Discard, lines)
}

// Log returns the standard error of the process so far.
func (s *server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// says waits until the server has logged a text.
func (s *server) says(t testing.TB, text string) {
	t.Helper()
	overdue := time.After(waittest.Bound)
	for {
		s.mu.Lock()
		said, spoke := strings.Contains(s.log.String(), text), s.spoke
		s.mu.Unlock()
		if said {
			return
		}
		select {
		case <-spoke:
		case <-s.ended:
			t.Fatalf("the server ended without saying %q\n%s", text, tail(s.Log()))
		case <-overdue:
			t.Fatalf("the server did not say %q within %s\n%s", text, waittest.Bound, tail(s.Log()))
		}
	}
}

func tail(log string) string { return log[max(0, len(log)-4000):] }

// kill kills the process with SIGKILL and waits for its end.
func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

// stop sends SIGTERM and waits for the end of the process. It fails the test if the process fails.
func (s *server) stop(t testing.TB) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.wait(t)
}

// wait waits for a process that was asked to end. It fails the test if the process fails.
func (s *server) wait(t testing.TB) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(waittest.Bound):
		t.Fatalf("the server did not end within %s\n%s", waittest.Bound, tail(s.Log()))
	}
	if s.err != nil {
		t.Fatalf("the server ended with %v\n%s", s.err, tail(s.Log()))
	}
}

// answer is the response to a call.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Text returns a member of a JSON body as text. It is empty if there is none.
func (a *answer) Text(name string) string {
	var v map[string]any
	if json.Unmarshal(a.Body, &v) != nil || v[name] == nil {
		return ""
	}
	return fmt.Sprint(v[name])
}

// httpClient is an HTTP client with its own connections.
type httpClient struct {
	http *http.Client
	key  string
}

func newHTTPClient(key string) *httpClient {
	return &httpClient{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: waittest.Bound}, key}
}

// call sends a request to a server. headers are names and values in turn. Writes get Svc-Preview,
// and requests with a body get a Content-Type.
func (c *httpClient) call(base, method, path, body string, headers ...string) (*answer, error) {
	request, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if method != "GET" && method != "HEAD" {
		request.Header.Set("Svc-Preview", "true")
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
		} else {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err // an incomplete response is an error
	}
	return &answer{response.StatusCode, response.Header, content}, nil
}

// client calls the API for a test. It checks that each response conforms to the frozen OpenAPI
// document.
type client struct {
	testing.TB
	*server
	key string
}

// call sends a request for a path below /v1. It fails the test unless the response has the status
// and, for a problem, the code.
func (s client) call(method, path, body string, status int, code string, headers ...string) *answer {
	s.Helper()
	c := newHTTPClient(s.key)
	defer c.http.CloseIdleConnections() // the listener limits the number of connections
	a, err := c.call(s.URL+"/v1", method, path, body, headers...)
	if err != nil {
		s.Fatal(err)
	}
	if a.Status != status || a.Text("code") != code {
		s.Fatalf("%s %s: %d %s, want %d %s\n%s", method, path, a.Status, a.Text("code"), status, code, a.Body)
	}
	apitest.Conform(s.TB, a.Header.Get("Svc-Version"), method, path, a.Status, a.Header, a.Body)
	return a
}

// get requests a URL outside the API. It repeats the request until the response has the status and
// contains all words, for example /readyz on a busy machine. After waittest.Bound it fails the
// test.
func get(t testing.TB, url string, status int, words ...string) string {
	t.Helper()
	c := newHTTPClient("")
	defer c.http.CloseIdleConnections() // the operator's listener limits the number of connections
	for end := time.Now().Add(waittest.Bound); ; time.Sleep(50 * time.Millisecond) {
		a, err := c.call(url, "GET", "", "")
		if err != nil {
			t.Fatal(err)
		}
		body := string(a.Body)
		missing := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(body, w) })
		switch {
		case a.Status == status && len(missing) == 0:
			return body
		case strings.HasSuffix(url, "/readyz") && time.Now().Before(end):
		case a.Status != status:
			t.Fatalf("GET %s: %d, want %d\n%.500s", url, a.Status, status, body)
		default:
			t.Errorf("GET %s does not say %q\n%.2000s", url, missing, body)
			return body
		}
	}
}

// office has the ids and the key of an organization that a command has created.
type office struct{ ID, SandboxID, User, Key string }

// found creates an organization with an admin, and a test key with the scopes for contacts.
func found(t testing.TB, store ...string) office {
	t.Helper()
	with := func(args ...string) []string { return append(args, store...) }
	org := read[struct{ ID, SandboxID string }](t,
		with("org", "create", "Kanzlei Beispiel", "--module", "on", "--secrecy", "declared", "--level", "on")...)
	user := read[struct{ ID string }](t, with("user", "create", "--org", org.ID, "--name", "Anna Berg", "--email",
		"anna.berg@example.com", "--role", "admin")...)
	key := read[struct{ Key string }](t, with("key", "create", "--org", org.ID, "--principal", user.ID, "--env", "test",
		"--scopes", "contacts:read,contacts:write", "--ip", "127.0.0.1/32")...)
	return office{org.ID, org.SandboxID, user.ID, key.Key}
}

// times returns a number of repetitions from the environment, or else standard. So CI can repeat
// more often than a developer.
func times(name string, standard int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return standard
}
