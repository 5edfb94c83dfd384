// Package server owns the commands that run an instance and keep its data.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/kit/systemd"
	"kartei/kit/telemetry"
)

// Serve is the command that serves the API.
type Serve struct {
	config.Server `embed:""`
}

// Help returns the help text below the summary.
func (*Serve) Help() string {
	return `Runs until it is interrupted. It waits for a database that does not answer yet, and migrates it.
Until that is done, calls are answered 503 INSTANCE_PENDING. An interrupt lets calls in flight
finish. SIGHUP reads the certificate and its key again, and log_level of the configuration file. It
never ends the server. A socket that systemd has opened is used in place of --listen.`
}

// ReloadsOnHangup implements command.Reloader.
func (*Serve) ReloadsOnHangup() {}

// WritesDocuments implements command.DocumentWriter.
func (*Serve) WritesDocuments() {}

// Run serves until ctx ends.
func (c *Serve) Run(ctx context.Context, g *command.Globals) error {
	hangups := make(chan os.Signal, 1) // a signal before the server is ready waits
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if err := c.Server.Check(); err != nil {
		return command.Usagef("%w", g.Blame(err))
	}
	logger, level, err := newLogger(g, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	slog.SetDefault(logger)
	warnDevelopment(logger, &c.Server)
	traces, err := g.Traces()
	if err != nil {
		return err
	}
	inherited, err := systemd.Listener(g.Environ)
	if err != nil {
		return err
	}
	instance.TuneCollector()
	i, err := instance.Start(ctx, instance.Config{
		Store: g.Store, Server: c.Server, Version: release, Commit: commit(), Traces: traces, Logger: logger, Wait: true,
		Reserve: true, Inherited: inherited,
	})
	if errors.Is(err, context.Canceled) {
		logger.Info("stopped before it was ready")
		return nil
	}
	if err != nil {
		return err
	}
	logger.Info("ready", "version", release, "api", i.BaseURL+"/v1", "operator", i.OperatorURL)
	notify(g, logger, systemd.Ready)
	if err := c.welcome(ctx, g, i); err != nil {
		logger.Error("the organizations cannot be read", "error", err)
	}
	reload := func() { rereadLevel(g, logger, level); i.Reload() }
	if err = untilEnd(ctx, i, hangups, reload); err != nil {
		logger.Error("stopping, because a part of the server failed", "error", err)
	} else {
		logger.Info("stopping: calls in flight may finish", "within", c.ShutdownTimeout.String(), "after",
			c.DrainTime.String())
	}
	notify(g, logger, systemd.Stopping)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(c.DrainTime+c.ShutdownTimeout))
	defer cancel()
	if closed := i.Close(bounded); err == nil {
		err = closed
	}
	logger.Info("stopped")
	return err
}

// untilEnd waits until ctx ends, or a part of the instance fails, and returns that error. Meanwhile
// each signal in hangups calls reload.
func untilEnd(ctx context.Context, i *instance.Instance, hangups <-chan os.Signal, reload func()) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-i.Failed():
			return err
		case <-hangups:
			reload()
		}
	}
}

// rereadLevel reads the configuration file again and changes the level of the log, unless the command
// line or the environment has set it. A file that cannot be used changes nothing.
func rereadLevel(g *command.Globals, logger *slog.Logger, level *slog.LevelVar) {
	value, found, err := g.Reread("log-level")
	var name config.LogLevel
	var next slog.Level
	if found {
		err = errors.Join(name.UnmarshalText([]byte(value)), next.UnmarshalText([]byte(value)))
	}
	if err != nil {
		logger.Error("reload: the configuration file cannot be used, and the settings stay as they are", "error", err)
		return
	}
	if !found || next == level.Level() {
		return
	}
	level.Set(min(level.Level(), next)) // the next line is logged under both levels
	logger.Info("reload: the level of the log has changed", "logLevel", value)
	level.Set(next)
}

// notify reports a state to systemd if systemd started the server as a unit of the type notify.
func notify(g *command.Globals, logger *slog.Logger, state string) {
	address, _ := g.Environ(systemd.Variable)
	if err := systemd.Notify(address, state); err != nil {
		logger.Error("systemd is not notified", "state", state, "error", err)
	}
}

// warnDevelopment logs a warning if a setting for development is set.
func warnDevelopment(logger *slog.Logger, s *config.Server) {
	if name := s.Development(); name != "" {
		logger.Warn("a setting for development is in force: webhooks may reach addresses that are not public, or whose certificate is not trusted", "setting", name)
	}
}

// beginning are the commands that create an organization, its first admin and a key for a program.
// README.md, install.md and web.md show the same commands.
var beginning = []string{
	`org create "Kanzlei Beispiel" --country DE --module on --secrecy declared --level on`,
	`user invite --org ORG --email anna.berg@example.com --role admin`,
	`service-account create --org ORG --name "CRM"`,
	`key create --org ORG --principal SVC --env test --scopes contacts:read,contacts:write --ip 127.0.0.0/8,::1/128`,
}

// welcome prints the defaults that a first start has chosen, and the next commands.
func (c *Serve) welcome(ctx context.Context, g *command.Globals, i *instance.Instance) error {
	master := command.Absolute(c.Server.MasterKey(&g.Store))
	if i.MasterKeyCreated {
		fmt.Fprintf(g.Err, "\nA master key was made in %s.\nKeep a copy of it apart from the backups of the database.\n",
			master)
		if strings.HasPrefix(g.Store.Database(), "postgres") {
			fmt.Fprintf(g.Err, "Every replica on this database needs the same file: name it with --master-key-file.\n")
		}
	}
	list, err := i.Operator().ListOrganizations(ctx, op.Page{Limit: 1})
	if err != nil || len(list.Data) > 0 {
		return err
	}
	line := g.RunningCommandLine() + " "
	fmt.Fprintf(g.Err, `
There is no organization yet. The server chose:
  data folder     %s
  database        %s
  master key      %s
  API             %s/v1
  reference       %s/docs
  for operators   %s/healthz, /readyz, /metrics
Next, in another terminal on this machine:
  %s
ORG and SVC are the ids that the commands print. The second command prints a link for the
first admin: open it in a browser on this machine, and choose a name and a password.
The last two are for a program. A test key works on the organization's sandbox, a live key
on its own data. The API answers for an organization once
  --module on         the module publicApi is switched on for it,
  --secrecy declared  it has declared whether professional secrecy applies to it, and
  --level on          its own switch is on (read permits only reading).

`, command.Absolute(string(g.DataDir)), config.DatabaseURL(g.Database()).Redacted(), master,
		i.BaseURL, i.BaseURL, i.OperatorURL, line+strings.Join(beginning, "\n  "+line))
	return nil
}

// newLogger returns a logger and its level, which can be changed.
func newLogger(
	g *command.Globals, format config.LogFormat, name config.LogLevel,
) (*slog.Logger, *slog.LevelVar, error) {
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return nil, nil, err
	}
	logger, err := telemetry.NewLogger(g.Err, string(format), level)
	return logger, level, err
}
