package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"kartei/door/admin/socket"

	"github.com/alecthomas/kong"
)

// Line is a pointer to a struct of commands that embeds Globals.
type Line interface{ globals() *Globals }

// Run executes a command line and returns the exit status: 0, 1 if the command failed, or 2 if the
// command line was wrong. kartei api has further statuses. The command writes results to out and
// all other text to errs.
func Run(
	ctx context.Context, commands Line, args []string, environ func(string) (string, bool), out, errs io.Writer,
) (status int) {
	g := commands.globals()
	g.Out, g.Err, g.settings = out, errs, newResolver(environ)
	parser, err := kong.New(commands,
		kong.Name("kartei"),
		kong.Description("Kartei keeps the contacts, companies, tasks and documents of an office and serves them as an HTTP API."),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { panic(exitStatus(code)) }),
		kong.Resolvers(g.settings),
		kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(g.settings.help),
	)
	if err != nil {
		panic(err) // the tags are wrong, and every test finds that
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exitStatus:
			status = int(r)
		default:
			panic(r)
		}
	}()
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		args = []string{"version"}
	}
	if err := execute(ctx, g, parser, args); err != nil {
		return report(errs, err)
	}
	return 0
}

// execute parses the arguments and runs their command.
func execute(ctx context.Context, g *Globals, parser *kong.Kong, args []string) error {
	parsed, err := parser.Parse(joinNegative(args))
	if err != nil {
		return usageError{err}
	}
	ctx, stop := untilHangup(ctx, parsed)
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	g.settings.note(parsed)
	g.words = commandWords(parsed.Command())
	err = parsed.Run(g)
	if failed := giveToOwners(&g.Store, writesDocuments(parsed)); failed != nil {
		err = errors.Join(err, failed)
	}
	return err
}

// negative matches a negative number, with or without a unit.
var negative = regexp.MustCompile(`^-[0-9.]`)

// joinNegative joins a flag and a negative number after it: --limit -4 becomes --limit=-4. Otherwise
// kong takes the number for a short flag, and the flag cannot say what it accepts.
func joinNegative(args []string) (joined []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(joined, args[i:]...)
		}
		last := len(joined) - 1
		if negative.MatchString(arg) && last >= 0 && strings.HasPrefix(joined[last], "--") &&
			!strings.Contains(joined[last], "=") {
			joined[last] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

// DocumentWriter is a command that writes files of documents.
type DocumentWriter interface{ WritesDocuments() }

func writesDocuments(parsed *kong.Context) bool {
	_, writes := selected(parsed).(DocumentWriter)
	return writes
}

// selected returns a pointer to the command that was parsed, or nil if there is none.
func selected(parsed *kong.Context) any {
	node := parsed.Selected()
	if node == nil || !node.Target.CanAddr() {
		return nil
	}
	return node.Target.Addr().Interface()
}

// Reloader is a command that SIGHUP does not end. The command receives the signal itself, and reads
// files again that may have changed.
type Reloader interface{ ReloadsOnHangup() }

// untilHangup returns a context that ends with SIGHUP, which a closed terminal sends. If nohup has
// made the process ignore SIGHUP, or if the command is a Reloader, SIGHUP does not end the context.
func untilHangup(ctx context.Context, parsed *kong.Context) (context.Context, context.CancelFunc) {
	if _, reloads := selected(parsed).(Reloader); reloads {
		return ctx, func() {}
	}
	if signal.Ignored(syscall.SIGHUP) { // NotifyContext would undo that
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// report prints an error and returns its exit status.
func report(errs io.Writer, err error) (status int) {
	status = exitFailed
	if with := new(statusError); errors.As(err, with) {
		status = with.status
	}
	if errors.As(err, new(usageError)) {
		status = ExitUsage
		if file := new(fileError); errors.As(err, file) {
			err = *file
		}
	}
	fmt.Fprintf(errs, "kartei: %s%s\n", socket.Sentence(err, nil), cure(err))
	return status
}

// cure returns advice for a file that this process may not use. Commands that ran as another user,
// such as root, may have created files of that user. It returns an empty string for other errors.
func cure(err error) string {
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	switch {
	case !path && !link:
		return ""
	case errors.Is(err, syscall.EROFS):
		return ". The disk is mounted for reading only: mount it for writing"
	case errors.Is(err, fs.ErrPermission):
		return ". Run the command as the user to whom the data folder belongs, or give that user the file with chown"
	}
	return ""
}

// help prints a help text. Commands that only call the API do not use the data of this machine. So
// their help omits the flags that locate data.
func help(options kong.HelpOptions, parsed *kong.Context) error {
	if command := parsed.Selected(); command != nil &&
		slices.Contains([]string{"api", "listen", "trigger"}, command.Name) {
		for _, flag := range parsed.Model.Flags {
			flag.Hidden = flag.Name != "help" && flag.Name != "config"
		}
	}
	return kong.DefaultHelpPrinter(options, parsed)
}

// commandWords returns the words of a command without its arguments.
func commandWords(command string) string {
	words := slices.DeleteFunc(strings.Fields(command), func(w string) bool { return strings.HasPrefix(w, "<") })
	return strings.Join(words, " ")
}

// exitStatus is the value of a panic in place of an exit of the process. kong exits for example
// after --help.
type exitStatus int
