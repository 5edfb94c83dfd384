// Package main owns the command line: flags, environment, configuration file; one file for each subcommand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"kartei/door/admin/socket"
	"kartei/extract"

	"github.com/alecthomas/kong"
)

// commands is the whole command line.
type commands struct {
	Globals

	Serve          serveCmd          `cmd:"" name:"serve" help:"Serve the API until interrupted."`
	Demo           demoCmd           `cmd:"" name:"demo" help:"Serve a sample office, for trying things out."`
	Org            orgCmd            `cmd:"" name:"org" help:"Organizations."`
	User           userCmd           `cmd:"" name:"user" help:"Users of an organization."`
	Invitation     invitationCmd     `cmd:"" name:"invitation" help:"Open invitations to an organization."`
	Contact        contactCmd        `cmd:"" name:"contact" help:"Contacts: everything about one as a file, or all as vCards."`
	Import         importCmd         `cmd:"" name:"import" help:"Imports of contacts from other programs: tables and vCards."`
	ServiceAccount serviceAccountCmd `cmd:"" name:"service-account" help:"Service accounts of an organization."`
	Key            keyCmd            `cmd:"" name:"key" help:"API keys."`
	Client         clientCmd         `cmd:"" name:"client" help:"Applications that act for service accounts (OAuth 2.1)."`
	Grant          grantCmd          `cmd:"" name:"grant" help:"What applications may do for people and service accounts."`
	Log            logCmd            `cmd:"" name:"log" help:"Read the request log: calls, callers, and why a key was refused."`
	Versions       versionsCmd       `cmd:"" name:"versions" help:"List the versions of the API that keys use."`
	Usage          usageCmd          `cmd:"" name:"usage" help:"Count the calls of keys and the deliveries of webhooks, and show what is left of limits."`
	Audit          auditCmd          `cmd:"" name:"audit" help:"Read the audit log: who administered what, and when."`
	Bell           bellCmd           `cmd:"" name:"bell" help:"Read the bell entries of an organization's users."`
	Jobs           jobsCmd           `cmd:"" name:"jobs" help:"Background jobs: count them, list failed ones, and retry them."`
	Webhook        webhookCmd        `cmd:"" name:"webhook" help:"Webhook endpoints: deliveries, sending events again, enabling endpoints."`
	Listen         listenCmd         `cmd:"" name:"listen" help:"Post the events of an instance to a local address, as webhooks, while you develop."`
	Trigger        triggerCmd        `cmd:"" name:"trigger" help:"Make a change in a sandbox that emits an event of a type."`
	API            apiCmd            `cmd:"" name:"api" help:"Call the API of an instance: by method and path, or by the id of an operation."`
	Pause          pauseCmd          `cmd:"" name:"pause" help:"Pause the API: every call is answered 503 API_PAUSED."`
	Resume         resumeCmd         `cmd:"" name:"resume" help:"End the pause of the API."`
	Backup         backupCmd         `cmd:"" name:"backup" help:"Copy the database and the files of documents while they are in use."`
	Restore        restoreCmd        `cmd:"" name:"restore" help:"Restore the database and the files of documents from a copy."`
	Copy           copyCmd           `cmd:"" name:"copy" help:"Move an instance to another database: from SQLite to PostgreSQL, or back."`
	Blobs          blobsCmd          `cmd:"" name:"blobs" help:"The files of documents."`
	MasterKey      masterKeyCmd      `cmd:"" name:"master-key" help:"The fingerprint of the master key in the database."`
	Migrate        migrateCmd        `cmd:"" name:"migrate" help:"Bring the database to this release's version."`
	Conf           configCmd         `cmd:"" name:"config" help:"Print each setting with its value and its source: flag, environment, file or default."`
	OpenAPI        openapiCmd        `cmd:"" name:"openapi" help:"OpenAPI documents, for developers of Kartei."`
	Release        versionCmd        `cmd:"" name:"version" help:"Print the version."`
}

func main() {
	extract.Child(os.Args)
	if err := noDumps(); err != nil {
		fmt.Fprintln(os.Stderr, "kartei: core dumps cannot be turned off:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}

// interrupts returns the signals that end a command in order. A terminal sends SIGHUP
// when it is closed. NotifyContext would undo that nohup has the signal ignored.
func interrupts() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// run executes one command line and returns the exit status. The status is 0, 1
// if the command failed, or 2 if the command line was wrong. kartei api has
// further ones.
func run(ctx context.Context, args []string, environ func(string) (string, bool), out, errs io.Writer) (status int) {
	var c commands
	c.Out, c.Err = out, errs
	c.settings = newChosen(environ)
	parser, err := kong.New(&c,
		kong.Name("kartei"),
		kong.Description("Kartei keeps the contacts, companies, tasks and documents of an office and serves them as an HTTP API."),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { panic(exitStatus(code)) }),
		kong.Resolvers(c.settings),
		kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(c.settings.help),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		panic(err) // the tags are wrong, which every test finds
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
	parsed, err := parser.Parse(args)
	if err == nil {
		c.settings.note(parsed)
		c.words = commandWords(parsed.Command())
		err = parsed.Run(&c.Globals)
	} else {
		err = usageError{err}
	}
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(usageError)):
		status = exitUsage
		if file := new(fileError); errors.As(err, file) {
			err = *file
		}
	default:
		status = 1
		if with := new(statusError); errors.As(err, with) {
			status = with.status
		}
	}
	fmt.Fprintf(errs, "kartei: %s%s\n", socket.Sentence(err, nil), cure(err))
	return status
}

// cure returns the next step for a file that this process may not use. A
// command that ran as another user, such as root, may have left files of that
// user.
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

// help prints a help text. Commands that work through the API of an instance
// read no data, so theirs leaves out the flags that say where data is.
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

// exitStatus is the value of a panic that replaces the exit of the process by kong,
// for example after --help.
type exitStatus int

// usageError is an error in the command line. The exit status is 2.
type usageError struct{ error }

// Unwrap returns the error.
func (e usageError) Unwrap() error { return e.error }

// usagef returns an error in the command line, formatted as by fmt.Errorf. The exit status
// is 2.
func usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}
