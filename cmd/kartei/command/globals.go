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
	"strings"

	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/kit/trace"
	"kartei/store/db/sqlite"
)

// Globals is the input of every command: the location of the data, and the
// outputs. Commands write results to Out and everything else to Err.
type Globals struct {
	Config       config.File `name:"config" placeholder:"FILE" help:"Configuration file in TOML. Its keys are the names of the flags, with underscores in place of hyphens."`
	config.Store `embed:""`

	Out io.Writer `kong:"-"`
	Err io.Writer `kong:"-"`

	// settings tells where the value of each flag came from.
	settings *configResolver
	// words are the words of the command, such as key create. Messages begin
	// with them.
	words string
}

// globals makes a struct of commands a Line.
func (g *Globals) globals() *Globals { return g }

// Connect returns a connection to the server that runs on the data. If none
// runs, it returns a door to the data itself. The caller must call the returned
// function at the end.
func (g *Globals) Connect(ctx context.Context) (socket.Caller, func(), error) {
	return g.ConnectWith(ctx, instance.OpenDoor)
}

// ConnectWith is like Connect, and open returns the door if no server runs.
func (g *Globals) ConnectWith(
	ctx context.Context, open func(context.Context, *config.Store) (*admin.Door, func(), error),
) (socket.Caller, func(), error) {
	caller, done, err := socket.Connect(ctx, socket.Config{
		DataDir: string(g.DataDir),
		Open:    func(ctx context.Context) (socket.Caller, func(), error) { return open(ctx, &g.Store) },
	})
	return caller, done, g.Explain(err)
}

// Explain adds to an error about missing data, or about data in use, what the
// user can do.
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

// CommandLine returns the command line that finds the same data from any folder.
func (g *Globals) CommandLine() string {
	words := os.Args[0]
	if strings.ContainsRune(words, filepath.Separator) {
		words = Absolute(words)
	}
	if g.Config != "" {
		words += fmt.Sprintf(" --config %q", Absolute(string(g.Config)))
	}
	words += fmt.Sprintf(" --data-dir %q", Absolute(string(g.DataDir)))
	if g.settings.flagged["database-url"] { // the address itself may hold a password
		words += " --database-url ..."
	}
	return words
}

// Traces reads the standard variables that say where spans are sent.
func (g *Globals) Traces() (trace.Settings, error) {
	s, err := trace.FromEnvironment(g.settings.sources.Environ)
	if err != nil {
		return s, Usagef("%w", err)
	}
	return s, nil
}

// Setting returns the value that a variable or the file gives to a flag of another
// command, and whether there is one.
func (g *Globals) Setting(name string) (value string, found bool) {
	value, _, found = g.settings.sources.Look(name)
	return value, found
}

// Environ returns a variable of the environment, and whether it is set.
func (g *Globals) Environ(name string) (value string, found bool) {
	return g.settings.sources.Environ(name)
}

// JSON is embedded by commands with the flag --json.
type JSON struct {
	JSON bool `name:"json" help:"Answer in JSON on one line, for scripts."`
}

// PrintJSON writes v as one line of JSON.
func (g *Globals) PrintJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.Out, "%s\n", b)
	return err
}

// Absolute returns the absolute form of a path, or the path as it is if the current folder is
// not known.
func Absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}
