package socket_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kartei/door/admin/socket"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/test/dbtest"
	"kartei/test/leaktest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var ctx = context.Background()

type input struct {
	Name string `json:"name"`
}

type output struct {
	Greeting string       `json:"greeting"`
	At       clock.Micros `json:"at"`
}

var acts = socket.Acts{
	"greet": socket.Do(func(_ context.Context, in input) (output, error) {
		return output{"Guten Tag, " + in.Name, 1_000_000}, nil
	}),
	"refuse": socket.Do(func(context.Context, input) (output, error) {
		return output{}, fault.Invalid(
			fault.Field{Name: "scopes[1]", Code: fault.NotInEnum, Limit: []string{"a", "b"}},
			fault.Field{Name: "name", Code: fault.TooLong, Limit: 200})
	}),
	"miss": socket.Do(func(context.Context, input) (output, error) {
		return output{}, &fault.Fault{Code: fault.NotFound, Detail: "It is missing."}
	}),
	"fail":   socket.Do(func(context.Context, input) (output, error) { return output{}, errors.New("the disk is full") }),
	"broken": socket.Do(func(context.Context, input) (chan int, error) { return make(chan int), nil }),
}

// serve serves acts in a folder until the test ends.
func serve(t *testing.T, dir string, acts socket.Acts) {
	t.Helper()
	l, err := socket.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- socket.Serve(serving, l, acts) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// folder returns a new folder with a short path. The path of t.TempDir can be too long for a
// socket.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kartei")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestBothWays checks that an act has the same results in this process and through the socket.
func TestBothWays(t *testing.T) {
	dir := folder(t)
	serve(t, dir, acts)
	client, err := socket.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, caller := range map[string]socket.Caller{"here": acts, "there": client} {
		t.Run(name, func(t *testing.T) {
			var out output
			if err := caller.Call(ctx, "greet", input{"Ada"}, &out); err != nil || out != (output{"Guten Tag, Ada", 1_000_000}) {
				t.Errorf("greet: %+v %v", out, err)
			}
			if err := caller.Call(ctx, "greet", input{"Ada"}, nil); err != nil {
				t.Errorf("without an answer: %v", err)
			}
			for act, want := range map[string]string{
				"refuse":  "--scopes[1]: Allowed values: a, b; name: At most 200 characters are allowed",
				"miss":    "It is missing",
				"fail":    "the disk is full",
				"unknown": `admin: this release has no command "unknown"; use a server and a command of the same release`,
			} {
				err := caller.Call(ctx, act, input{}, &out)
				if err == nil {
					t.Errorf("%s: no error", act)
				} else if got := socket.Sentence(err, map[string]string{"scopes": "--scopes"}); got != want {
					t.Errorf("%s: %q, want %q", act, got, want)
				}
			}
			if err := caller.Call(ctx, "refuse", input{}, nil); !fault.Is(err, fault.ValidationFailed) {
				t.Errorf("a fault arrives as another error: %v", err)
			}
			if err := caller.Call(ctx, "broken", input{}, &out); err == nil {
				t.Error("an answer that is no JSON is accepted")
			}
			misunderstood := map[string]string{"name": "Ada", "title": "Dr."}
			if err := caller.Call(ctx, "greet", misunderstood, &out); err == nil || !strings.Contains(err.Error(), "title") {
				t.Errorf("an unknown member is passed over: %v", err)
			}
			if err := caller.Call(ctx, "greet", input{strings.Repeat("x", 2<<20)}, &out); name == "there" && err == nil {
				t.Error("an input of 2 MiB is taken")
			}
			if err := caller.Call(ctx, "greet", make(chan int), &out); err == nil {
				t.Error("an input that is no JSON is taken")
			}
		})
	}
}

func TestSocketIsPrivate(t *testing.T) {
	dir := folder(t)
	serve(t, dir, acts)
	info, err := os.Stat(filepath.Join(dir, socket.SocketName))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v %v, want a socket for its owner only", info.Mode(), err)
	}
}

func TestLeftoverSockets(t *testing.T) {
	t.Run("a dead server's socket", func(t *testing.T) {
		dir := folder(t)
		l, err := net.Listen("unix", filepath.Join(dir, socket.SocketName))
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
		if _, err := socket.Dial(dir); !errors.Is(err, socket.ErrNoServer) {
			t.Errorf("dial: %v", err)
		}
		serve(t, dir, acts)
		if err := must(socket.Dial(dir)).Call(ctx, "greet", input{}, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("a living server", func(t *testing.T) {
		dir := folder(t)
		serve(t, dir, acts)
		if _, err := socket.Listen(dir); !errors.Is(err, socket.ErrServed) {
			t.Errorf("a second server: %v", err)
		}
		if err := must(socket.Dial(dir)).Call(ctx, "greet", input{}, nil); err != nil {
			t.Errorf("the first one is disturbed: %v", err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		dir := folder(t)
		path := filepath.Join(dir, socket.SocketName)
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := socket.Listen(dir); err == nil {
			t.Error("served over a file")
		}
		if b, _ := os.ReadFile(path); string(b) != "precious" {
			t.Error("the file is gone")
		}
	})
	t.Run("no folder", func(t *testing.T) {
		dir := filepath.Join(folder(t), "missing")
		if _, err := socket.Listen(dir); err == nil {
			t.Error("served in a folder that does not exist")
		}
		if _, err := socket.Dial(dir); !errors.Is(err, socket.ErrNoServer) {
			t.Errorf("dial: %v", err)
		}
	})
	t.Run("a path too long", func(t *testing.T) {
		dir := filepath.Join(folder(t), strings.Repeat("x", 100))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := socket.Listen(dir); !errors.Is(err, socket.ErrPathTooLong) || !strings.Contains(err.Error(), dir) {
			t.Errorf("serve: %v", err)
		}
		if _, err := socket.Dial(dir); !errors.Is(err, socket.ErrNoServer) {
			t.Errorf("dial: %v", err)
		}
	})
}

// TestEnd checks that running acts finish when the server ends, and that the socket is removed.
func TestEnd(t *testing.T) {
	defer leaktest.None(t)
	dir := folder(t)
	running, finish := make(chan struct{}), make(chan struct{})
	slow := socket.Acts{"slow": socket.Do(func(ctx context.Context, _ input) (output, error) {
		close(running)
		<-finish
		return output{Greeting: "done"}, ctx.Err()
	})}
	serving, stop := context.WithCancel(ctx)
	l := must(socket.Listen(dir))
	ended := make(chan error)
	go func() { ended <- socket.Serve(serving, l, slow) }()
	client := must(socket.Dial(dir))
	answered := make(chan error)
	var out output
	go func() { answered <- client.Call(ctx, "slow", input{}, &out) }()
	<-running
	stop()
	close(finish)
	if err := <-answered; err != nil || out.Greeting != "done" {
		t.Errorf("the act that ran: %+v %v", out, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("end: %v", err)
	}
	client.Close()
	if _, err := os.Stat(filepath.Join(dir, socket.SocketName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// TestCallersMayGo checks that the context of an act ends if the client disconnects.
func TestCallersMayGo(t *testing.T) {
	dir := folder(t)
	running, gone := make(chan struct{}), make(chan struct{})
	serve(t, dir, socket.Acts{"wait": socket.Do(func(ctx context.Context, _ input) (output, error) {
		close(running)
		<-ctx.Done()
		close(gone)
		return output{}, ctx.Err()
	})})
	calling, leave := context.WithCancel(ctx)
	client := must(socket.Dial(dir))
	defer client.Close()
	answered := make(chan error)
	go func() { answered <- client.Call(calling, "wait", input{}, nil) }()
	<-running
	leave()
	<-gone
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("call: %v", err)
	}
}

// TestActsAreBounded checks that at most 16 acts run at the same time. Further calls wait and then
// run.
func TestActsAreBounded(t *testing.T) {
	dir := folder(t)
	var mu sync.Mutex
	now, peak := 0, 0
	full, filled := make(chan struct{}), sync.Once{}
	serve(t, dir, socket.Acts{"count": socket.Do(func(context.Context, input) (output, error) {
		mu.Lock()
		now++
		peak = max(peak, now)
		if now == 16 {
			filled.Do(func() { close(full) })
		}
		mu.Unlock()
		<-full
		mu.Lock()
		now--
		mu.Unlock()
		return output{}, nil
	})})
	var calls sync.WaitGroup
	for range 31 {
		calls.Go(func() {
			client := must(socket.Dial(dir))
			defer client.Close()
			if err := client.Call(ctx, "count", input{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if peak != 16 {
		t.Errorf("%d acts at once, want 16", peak)
	}
}

// TestOtherRequests checks the responses to malformed requests and unknown paths.
func TestOtherRequests(t *testing.T) {
	dir := folder(t)
	serve(t, dir, acts)
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, socket.SocketName))
	}}}
	defer client.CloseIdleConnections()
	secret := string(must(os.ReadFile(filepath.Join(dir, socket.SecretName))))
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/acts/greet", "", 405}, {"POST", "/", "{}", 404}, {"POST", "/acts/", "{}", 404},
		{"POST", "/acts/greet", "", 500}, {"POST", "/acts/greet", "[]", 500}, {"POST", "/acts/greet", `{"name":1}`, 500},
		{"POST", "/acts/greet", `{"name":"x"}`, 200},
	} {
		r := must(http.NewRequest(c.method, "http://kartei"+c.path, strings.NewReader(c.body)))
		r.Header.Set("Authorization", "Bearer "+secret)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != c.want {
			t.Errorf("%s %s %q: %d, want %d", c.method, c.path, c.body, answer.StatusCode, c.want)
		}
		answer.Body.Close()
	}
}

// TestConnect checks that Connect returns a running server, and opens the data if there is none.
func TestConnect(t *testing.T) {
	dir := folder(t)
	opened, closed := 0, 0
	config := socket.Config{DataDir: dir, Open: func(context.Context) (socket.Caller, func(), error) {
		opened++
		return acts, func() { closed++ }, nil
	}}
	connect := func() {
		t.Helper()
		caller, done, err := socket.Connect(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if err := caller.Call(ctx, "greet", input{}, nil); err != nil {
			t.Error(err)
		}
	}
	connect()
	if opened != 1 || closed != 1 {
		t.Errorf("without a server: opened %d, closed %d", opened, closed)
	}
	serve(t, dir, acts)
	connect()
	if opened != 1 {
		t.Error("the data was opened beside a server")
	}
	held := errors.New("somebody has it")
	config.DataDir, config.Open = "", func(context.Context) (socket.Caller, func(), error) { return nil, nil, held }
	if _, _, err := socket.Connect(ctx, config); !errors.Is(err, held) {
		t.Errorf("connect: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestServerEndsBeforeItsAnswer checks the error if a server ends before its response. The error
// says that the act may have been executed, and what to do.
func TestServerEndsBeforeItsAnswer(t *testing.T) {
	dir := folder(t)
	serve(t, dir, socket.Acts{
		"die": socket.Do(func(context.Context, input) (output, error) { panic(http.ErrAbortHandler) }),
	})
	client, err := socket.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	err = client.Call(ctx, "die", input{}, nil)
	if !errors.Is(err, socket.ErrNoAnswer) || !strings.Contains(err.Error(), "kartei audit") ||
		strings.Contains(err.Error(), "http://") {
		t.Errorf("%v", err)
	}
}
