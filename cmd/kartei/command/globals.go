// Package command owns what every command shares: flags for the data, calls of operations, output, exit statuses.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/kit/trace"
	"kartei/store/db/sqlite"
)

// Globals is the input of every command: the location of the data, and the outputs. Commands write
// results to Out and all other text to Err.
type Globals struct {
	Config       config.File `name:"config" placeholder:"FILE" help:"Configuration file in TOML; without it /etc/kartei/kartei.toml, if it exists. Its keys are the names of the flags, with underscores in place of hyphens."`
	config.Store `embed:""`

	Out io.Writer `kong:"-"`
	Err io.Writer `kong:"-"`

	// settings has the source of each flag's value.
	settings *configResolver
	// words are the words of the command, such as key create. Error messages begin with them.
	words string
}

// globals implements Line.
func (g *Globals) globals() *Globals { return g }

// Connect returns a caller of operations. It calls the server that runs on the data, or the data
// itself if no server runs. The caller of Connect must call the returned function at the end.
func (g *Globals) Connect(ctx context.Context) (socket.Caller, func(), error) {
	return g.ConnectWith(ctx, instance.OpenDoor)
}

// ConnectWith is like Connect. It calls open for access to the data if no server runs.
func (g *Globals) ConnectWith(
	ctx context.Context, open func(context.Context, *config.Store) (*admin.Door, func(), error),
) (socket.Caller, func(), error) {
	caller, done, err := socket.Connect(ctx, socket.Config{
		DataDir: string(g.DataDir),
		Open:    func(ctx context.Context) (socket.Caller, func(), error) { return open(ctx, &g.Store) },
	})
	return caller, done, g.Explain(err)
}

// Explain adds advice to an error about missing data, or about data in use. It returns other errors
// unchanged.
func (g *Globals) Explain(err error) error {
	if errors.As(err, new(*sqlite.InUse)) {
		return fmt.Errorf("%w. If that process is a server, none answers on the socket in %s: give the server's own --data-dir. "+
			"If this is it, wait until the server is ready; its log says why if it has no socket, and a restart makes a new one", err, Absolute(string(g.DataDir)))
	}
	if !errors.Is(err, instance.ErrNoData) {
		return err
	}
	where := "in " + Absolute(string(g.DataDir))
	if g.DatabaseURL != "" {
		where = "in the database " + g.DatabaseURL.Redacted()
	}
	return fmt.Errorf("there is no Kartei data %s. Is the server running with another --data-dir? A new database is made by: %s migrate", where, g.CommandLine())
}

// CommandLine returns a command line with the flags that select the same data from any folder, for a
// shell.
func (g *Globals) CommandLine() string {
	words := g.RunningCommandLine()
	switch url := string(g.DatabaseURL); {
	case !g.settings.flagged["database-url"]:
	case strings.HasPrefix(url, "sqlite:"):
		words += " --database-url " + quote(url)
	default: // it may contain a password
		words += " --database-url ..."
	}
	return words
}

// RunningCommandLine is CommandLine while a server runs on the data. Commands then need only the data
// folder, in which they find the server.
func (g *Globals) RunningCommandLine() string {
	words := os.Args[0]
	if strings.ContainsRune(words, filepath.Separator) {
		words = Absolute(words)
	}
	words = quote(words)
	if g.Config != "" {
		words += " --config " + quote(Absolute(string(g.Config)))
	}
	return words + " --data-dir " + quote(Absolute(string(g.DataDir)))
}

// plain matches words that a shell takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]+$`)

// quote returns a word as a shell takes it.
func quote(word string) string {
	switch {
	case plain.MatchString(word):
		return word
	case runtime.GOOS == "windows":
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Traces returns the settings of traces from the standard environment variables.
func (g *Globals) Traces() (trace.Settings, error) {
	s, err := trace.FromEnvironment(g.settings.sources.Environ)
	if err != nil {
		return s, Usagef("%w", err)
	}
	return s, nil
}

// Setting returns the value of another command's flag in the environment or the configuration file.
// found says whether there is a value.
func (g *Globals) Setting(name string) (value string, found bool) {
	value, _, found = g.settings.sources.Look(name)
	return value, found
}

// Environ returns the value of an environment variable, and whether it is set.
func (g *Globals) Environ(name string) (value string, found bool) {
	return g.settings.sources.Environ(name)
}

// JSON is embedded by commands with the flag --json.
type JSON struct {
	JSON bool `name:"json" help:"Answer in JSON on one line, for scripts."`
}

// PrintJSON prints v as JSON on one line.
func (g *Globals) PrintJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.Out, "%s\n", b)
	return err
}

// Absolute returns the absolute form of a path. If the current folder is unknown, it returns the
// path unchanged.
func Absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}
