package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
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

// Server is a running Kartei in a separate process.
type Server struct {
	// Address is the host and port of the API. Operator is the URL of the operator's listener. It
	// is empty for a server with a profiler.
	Address, Operator string
	Memory            *Memory

	command  *exec.Cmd
	stdin    io.WriteCloser
	profiled bool
}

// highestLimits returns all limits with very high values. So calls are counted and never refused.
func highestLimits() []string {
	var list []string
	for _, p := range limit.Policies() {
		list = append(list, fmt.Sprintf("%s=%d", p.Name, int64(10_000_000_000)))
	}
	return list
}

// Serve starts a program as the server of a folder and a database, with additional environment
// variables. If profile is set, this program serves instead, together with a profiler. flags are
// additional settings. A server with a profiler needs them in the form --name=value.
func Serve(
	ctx context.Context, program string, environment []string, dir, database string, profile bool, flags ...string,
) (*Server, error) {
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
	s := &Server{command: c, stdin: stdin, profiled: profile}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var line struct{ Msg, API, Operator, Level string }
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Level == "ERROR" {
			fmt.Fprintln(os.Stderr, "server:", lines.Text())
		}
		if line.Msg == "ready" {
			s.Operator = line.Operator
			s.Address = strings.TrimSuffix(strings.TrimPrefix(line.API, "http://"), "/v1")
			break
		}
	}
	if s.Address == "" {
		return nil, errors.Join(errors.New("the server did not become ready"), c.Wait())
	}
	go func() {
		for lines.Scan() {
			fmt.Fprintln(os.Stderr, "server:", lines.Text())
		}
	}()
	s.Memory = watchMemory(c.Process.Pid)
	return s, nil
}

// Pid returns the process id.
func (s *Server) Pid() int { return s.command.Process.Pid }

// Program returns the path of the program.
func (s *Server) Program() string { return s.command.Path }

// Profile starts a CPU profile, which is written to a file. An empty name ends the profile.
func (s *Server) Profile(file string) error {
	_, err := fmt.Fprintln(s.stdin, file)
	return err
}

// End stops the server and waits for its end.
func (s *Server) End() error {
	s.Memory.end()
	err := s.stdin.Close() // ends a server with a profiler after its last profile
	if !s.profiled {
		err = s.command.Process.Signal(syscall.SIGTERM)
	}
	return errors.Join(err, s.command.Wait())
}

// ServeProfiled is the process of a server with a profiler. Each line on standard input is the file
// for the next profile. An empty line ends the profile. flags are settings of the server.
func ServeProfiled(dir, database string, flags []string) error {
	ctx := context.Background()
	var c instance.Config
	c.Store.DataDir, c.Store.DatabaseURL = config.Dir(dir), config.DatabaseURL(database)
	c.Logger = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	var err error
	if c.Server, err = Unbounded(append(flags, "--listen=127.0.0.1:0")...); err != nil {
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

// Unbounded returns the settings of a server that refuses no calls, for a server in this process.
// flags have the form --name=value.
func Unbounded(flags ...string) (s config.Server, err error) {
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

// set applies a flag to the settings.
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

// Allocations returns the number of objects that a server has allocated so far.
func (s *Server) Allocations() (float64, error) { return s.Metric("go_memstats_mallocs_total") }

// Metric returns the value of a server's metric without labels.
func (s *Server) Metric(name string) (float64, error) {
	response, err := http.Get(s.Operator + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, is := strings.CutPrefix(lines.Text(), name+" "); is {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no %s", s.Operator, name)
}
