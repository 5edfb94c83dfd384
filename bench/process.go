package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kartei/instance"
	"kartei/instance/config"
	"kartei/integration/limit"
)

// helper is a subprocess of this program. It reads JSON from standard input and
// answers in JSON on standard output.
type helper struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	in      *json.Encoder
	out     *json.Decoder
}

func startHelper(ctx context.Context, role string) (*helper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, role)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &helper{c, stdin, json.NewEncoder(stdin), json.NewDecoder(bufio.NewReader(stdout))}, nil
}

// ask sends a question and reads the answer.
func (h *helper) ask(question, answer any) error {
	if err := h.in.Encode(question); err != nil {
		return err
	}
	return h.out.Decode(answer)
}

// end closes the standard input of the process, which then ends.
func (h *helper) end() error {
	h.stdin.Close()
	return h.command.Wait()
}

// eachJob is the helper's side. It runs each incoming job, one after the other,
// and answers with the result until the input ends.
func eachJob[J any](in io.Reader, out io.Writer, do func(*J) (result, error)) error {
	jobs, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var job J
		if err := jobs.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := do(&job)
		if err != nil {
			return err
		}
		if err := results.Encode(r); err != nil {
			return err
		}
	}
}

// server is a running Kartei in a process of its own.
type server struct {
	command  *exec.Cmd
	stdin    io.WriteCloser
	profiled bool
	address  string
	operator string // the address of the operator's listener; empty with a profiler
	memory   *memory
}

// highestLimits returns all limits at their maximum, so that calls are counted
// but never refused.
func highestLimits() []string {
	var list []string
	for _, p := range limit.Policies() {
		list = append(list, fmt.Sprintf("%s=%d", p.Name, int64(10_000_000_000)))
	}
	return list
}

// serve starts a server on a folder and a database. If profile is set, this
// program runs the same parts together with a profiler. flags are extra
// settings, of the form --name=value if the profiler must understand them too.
func serve(ctx context.Context, program, dir, database string, profile bool, flags ...string) (*server, error) {
	return serveIn(ctx, nil, program, dir, database, profile, flags...)
}

// serveIn is serve with extra environment variables.
func serveIn(
	ctx context.Context, environment []string, program, dir, database string, profile bool, flags ...string,
) (*server, error) {
	arguments := []string{"serve", "--data-dir", dir, "--database-url", database, "--listen", "127.0.0.1:0",
		"--operator-listen", "127.0.0.1:0",
		"--limits", strings.Join(highestLimits(), ","), "--log-format", "json"}
	arguments = append(arguments, flags...)
	if profile {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		program, arguments = self, append([]string{"serve", dir, database}, flags...)
	}
	c := exec.CommandContext(ctx, program, arguments...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "KARTEI_") && !strings.HasPrefix(v, "OTEL_") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, environment...)
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	s := &server{command: c, stdin: stdin, profiled: profile}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var line struct{ Msg, API, Operator, Level string }
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Level == "ERROR" {
			say("server: %s", lines.Text())
		}
		if line.Msg == "ready" {
			s.operator = line.Operator
			s.address = strings.TrimSuffix(strings.TrimPrefix(line.API, "http://"), "/v1")
			break
		}
	}
	if s.address == "" {
		return nil, errors.Join(errors.New("the server did not become ready"), c.Wait())
	}
	go func() {
		for lines.Scan() {
			say("server: %s", lines.Text())
		}
	}()
	s.memory = watchMemory(c.Process.Pid)
	return s, nil
}

// profile starts a CPU profile in a file. An empty name ends it.
func (s *server) profile(file string) error {
	_, err := fmt.Fprintln(s.stdin, file)
	return err
}

// end stops the server and waits for it.
func (s *server) end() error {
	s.memory.end()
	err := s.stdin.Close() // ends a server with a profiler, after its last profile
	if !s.profiled {
		err = s.command.Process.Signal(syscall.SIGTERM)
	}
	return errors.Join(err, s.command.Wait())
}

// serveProfiled is the process of a server with a profiler. Each input line
// names the file of the next profile, and an empty line ends the profile. flags
// are settings of the server.
func serveProfiled(dir, database string, flags []string) error {
	ctx := context.Background()
	var c instance.Config
	c.Store.DataDir, c.Store.DatabaseURL = config.Dir(dir), config.DatabaseURL(database)
	c.Logger = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	var err error
	if c.Server, err = unbounded(append(flags, "--listen=127.0.0.1:0")...); err != nil {
		return err
	}
	instance.TuneCollector()
	i, err := instance.Start(ctx, c)
	if err != nil {
		return err
	}
	c.Logger.Info("ready", "api", i.BaseURL+"/v1")
	var file *os.File
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		pprof.StopCPUProfile()
		if file != nil {
			file.Close()
		}
		if lines.Text() == "" {
			continue
		}
		if file, err = os.Create(lines.Text()); err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
	}
	return i.Close(ctx)
}

// unbounded returns the settings of a server in this process, which refuses no call. flags
// have the form --name=value.
func unbounded(flags ...string) (s config.Server, err error) {
	s = config.Server{
		Metered: true, Guesses: 30,
		ReadHeaderTimeout: config.Duration(10 * time.Second), BodyTimeout: config.Duration(30 * time.Second),
		WriteTimeout: config.Duration(time.Minute), IdleTimeout: config.Duration(2 * time.Minute),
		MaxConnections: 4096, MaxConnectionsPerAddress: 512, MaxHeaderBytes: 256 << 10,
	}
	for _, text := range highestLimits() {
		var o limit.Override
		if err := o.UnmarshalText([]byte(text)); err != nil {
			return s, err
		}
		s.Limit = append(s.Limit, o)
	}
	for _, flag := range flags {
		if err := set(&s, flag); err != nil {
			return s, err
		}
	}
	return s, nil
}

// memory watches the memory of a process.
type memory struct {
	pid  int
	stop chan struct{}
	done chan struct{}
	peak chan chan float64
}

// watchMemory samples RssAnon, the private memory of a process, ten times a
// second. VmRSS also counts the mapped pages of the database file. They are the
// kernel's page cache, which it reclaims as needed.
func watchMemory(pid int) *memory {
	m := &memory{pid, make(chan struct{}), make(chan struct{}), make(chan chan float64)}
	go func() {
		defer close(m.done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		highest := 0.0
		for {
			select {
			case <-tick.C:
				highest = max(highest, anonymous(pid))
			case reply := <-m.peak:
				reply <- max(highest, anonymous(pid))
				highest = 0
			case <-m.stop:
				return
			}
		}
	}()
	return m
}

// take returns the peak since the last call, in MB (10⁶ bytes).
func (m *memory) take() float64 {
	reply := make(chan float64)
	m.peak <- reply
	return <-reply
}

func (m *memory) end() {
	close(m.stop)
	<-m.done
}

// anonymous returns RssAnon in MB, or 0 if the system does not provide it.
func anonymous(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "RssAnon:")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(words[0], 64)
	return kib * 1024 / 1e6
}

// usedWithChildren is used for a process and its children, such as a PostgreSQL
// server and its connections. For children that have ended, it counts the times
// that the parent has collected.
func usedWithChildren(pid int) time.Duration {
	sum := used(pid)
	if fields := stat(pid); len(fields) >= 15 {
		sum += ticks(fields[13]) + ticks(fields[14])
	}
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range found {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if fields := stat(child); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			sum += used(child)
		}
	}
	return sum
}

// used returns the processor time of a process so far, or 0 if the system does
// not provide it. Unlike throughput, it does not depend on the load of the
// machine.
func used(pid int) time.Duration {
	fields := stat(pid)
	if len(fields) < 13 {
		return 0
	}
	return ticks(fields[11]) + ticks(fields[12])
}

// ticks reads one of the fields 14 to 17 of proc(5), in hundredths of a second.
func ticks(field string) time.Duration {
	n, _ := strconv.Atoi(field)
	return time.Duration(n) * 10 * time.Millisecond
}

// stat returns the fields of /proc/PID/stat (proc(5)) from the third on, since
// the second is a name in parentheses. It returns nil if the system does not
// provide them.
func stat(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// set applies a flag of the form --name=value to the settings.
func set(s *config.Server, flag string) error {
	name, text, _ := strings.Cut(flag, "=")
	if off, found := strings.CutPrefix(name, "--no-"); found {
		name, text = "--"+off, "false"
	}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if "--"+v.Type().Field(i).Tag.Get("name") == name {
			return config.Parse(text, v.Field(i))
		}
	}
	return fmt.Errorf("there is no setting %s", flag)
}
