package command

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"kartei/instance/config"

	"github.com/alecthomas/kong"
)

// configResolver gives kong the values of flags from the environment and the configuration file. It
// also stores the source of each value.
type configResolver struct {
	sources config.Sources
	names   []string
	from    map[string]string
	// flagged has the settings that were given on the command line.
	flagged map[string]bool
	opened  bool
	// file is the configuration file that was read, or an empty string.
	file string
	// defaultFile is the configuration file that is read if none is named.
	defaultFile string
}

func newResolver(environ func(string) (string, bool)) *configResolver {
	s := &configResolver{from: map[string]string{}, flagged: map[string]bool{}, defaultFile: config.DefaultFile}
	s.sources.Environ, s.names = environ, config.Names()
	return s
}

// Validate implements kong.Resolver.
func (s *configResolver) Validate(*kong.Application) error { return nil }

// Resolve returns the value of a flag that is not on the command line, or nil.
func (s *configResolver) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "config" {
		if path, ok := s.sources.Environ(config.Env("config")); ok && path != "" {
			return path, nil
		}
		return nil, nil
	}
	if !slices.Contains(s.names, flag.Name) {
		return nil, nil
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	value, source, found := s.sources.Look(flag.Name)
	if !found {
		return nil, nil
	}
	// Parsing the value here allows an error with its source.
	if err := config.Parse(value, reflect.New(flag.Target.Type()).Elem()); err != nil {
		return nil, fmt.Errorf("set by %s: %w", source, err)
	}
	s.from[flag.Name] = source
	if flag.Target.Kind() == reflect.Bool {
		return value == "true", nil
	}
	return value, nil
}

// open reads the configuration file, once. The path comes from the command line or the environment.
func (s *configResolver) open(ctx *kong.Context) error {
	if s.opened {
		return nil
	}
	s.opened = true
	path, _ := s.sources.Environ(config.Env("config"))
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			path = fmt.Sprint(ctx.FlagValue(p.Flag))
		}
	}
	if path == "" {
		path = s.packaged(ctx.Command())
	}
	if err := s.sources.Open(path, s.names); err != nil {
		return fileError{err}
	}
	s.file = path
	return nil
}

// packaged returns the path of the packages' configuration file. It returns an empty string if the
// file does not exist, or if this user may not read it. The demo has data of its own, so it does not
// take the settings of the machine's server.
func (s *configResolver) packaged(command string) string {
	if command == "demo" {
		return ""
	}
	file, err := os.Open(s.defaultFile)
	if err != nil {
		return ""
	}
	file.Close()
	return s.defaultFile
}

// fileError is an error in the configuration file. Without it, kong would blame the flag that was
// resolved first.
type fileError struct{ error }

// note stores which settings were given on the command line.
func (s *configResolver) note(ctx *kong.Context) {
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			s.flagged[p.Flag.Name] = true
		}
	}
}

// Reread reads the configuration file again and returns its value of a setting. found is false if the
// file does not have the setting, or if the command line or the environment has it.
func (g *Globals) Reread(name string) (value string, found bool, err error) {
	if g.settings.file == "" || g.settings.flagged[name] {
		return "", false, nil
	}
	again := config.Sources{Environ: g.settings.sources.Environ}
	if err := again.Open(g.settings.file, g.settings.names); err != nil {
		return "", false, err
	}
	value, source, found := again.Look(name)
	return value, found && source == g.settings.file, nil
}

// Source returns the source of a setting's value: "flag", the name of an environment variable, the
// path of the file, or "default".
func (g *Globals) Source(name string) string {
	s := g.settings
	if s.flagged[name] {
		return "flag"
	}
	if from, ok := s.from[name]; ok {
		return from
	}
	return "default"
}

// flagsIn matches the names of flags in a message.
var flagsIn = regexp.MustCompile(`--[a-z0-9-]+`)

// Blame adds the sources of the settings that an error mentions: environment variables or the file.
// Settings from the command line are omitted.
func (g *Globals) Blame(err error) error {
	s := g.settings
	var by []string
	for _, flag := range flagsIn.FindAllString(err.Error(), -1) {
		name := strings.TrimPrefix(flag, "--")
		if from, ok := s.from[name]; ok && !s.flagged[name] && !slices.Contains(by, from) {
			by = append(by, from)
		}
	}
	if by == nil {
		return err
	}
	return fmt.Errorf("%w (set by %s)", err, strings.Join(by, ", "))
}

// help returns the help text of a flag with its environment variable.
func (s *configResolver) help(v *kong.Value) string {
	if v.Flag != nil && (v.Name == "config" || slices.Contains(s.names, v.Name)) {
		return fmt.Sprintf("%s ($%s)", v.OrigHelp, config.Env(v.Name))
	}
	return kong.DefaultHelpValueFormatter(v)
}
