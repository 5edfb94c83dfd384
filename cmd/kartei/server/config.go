package server

import (
	"encoding"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"text/tabwriter"

	"kartei/cmd/kartei/command"
	"kartei/instance/config"
	"kartei/kit/trace"
)

// Config is the command that prints the settings of a server.
type Config struct {
	config.Server `embed:""`
	command.JSON
}

// setting is one row of the output: a setting, its value and its source.
type setting struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Source      string `json:"source"`
	Environment string `json:"environment"`
}

// Help returns the help text below the summary.
func (*Config) Help() string {
	return `Prints the settings of a server that is started with the same flags, environment and file. A running
server may have been started with others.`
}

// Run prints every setting with its value and the source of the value.
func (c *Config) Run(g *command.Globals) error {
	if err := c.Server.Check(); err != nil {
		return command.Usagef("%w", g.Blame(err))
	}
	var list []setting
	for _, group := range []any{&g.Store, &c.Server} {
		v := reflect.ValueOf(group).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("name")
			value := show(v.Field(i))
			if value == "" {
				value = c.derived(g, name)
			}
			list = append(list, setting{name, value, g.Source(name), config.Env(name)})
		}
	}
	traces, err := c.traces(g)
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(map[string]any{
			"settings": list, "traces": traces, "database": config.DatabaseURL(g.Store.Database()).Redacted(),
		})
	}
	w := tabwriter.NewWriter(g.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, s := range append(list, traces...) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Value, s.Source)
	}
	return w.Flush()
}

// traces returns the standard variables of OpenTelemetry that are set, and the settings derived
// from them. Kartei has no flags for these settings.
func (c *Config) traces(g *command.Globals) (list []setting, err error) {
	s, err := g.Traces()
	if err != nil {
		return nil, err
	}
	for _, name := range trace.Variables {
		value, set := g.Environ(name)
		if !set || value == "" {
			continue
		}
		if trace.Secret(name) {
			value = "[set]"
		} else if u, err := url.Parse(value); err == nil && u.User != nil {
			value = u.Redacted()
		}
		list = append(list, setting{name, value, "environment", name})
	}
	state := "off"
	if u, err := url.Parse(s.Endpoint); s.Endpoint != "" && err == nil {
		state = u.Redacted() + " (" + s.Sampling() + ")"
	}
	source := "default"
	if len(list) > 0 {
		source = "environment"
	}
	return append(list, setting{"traces", state, source, ""}), nil
}

// derived returns the value that an unset setting gets from other settings.
func (c *Config) derived(g *command.Globals, name string) string {
	switch name {
	case "database-url":
		return g.Store.Database()
	case "blob-url":
		return g.Store.Blobs()
	case "master-key-file":
		return c.Server.MasterKey(&g.Store)
	case "base-url":
		scheme := "http://"
		if c.TLSCert != "" {
			scheme = "https://"
		}
		return scheme + string(c.Listen)
	}
	return ""
}

// show formats a setting as on the command line, without passwords.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case config.DatabaseURL:
		return x.Redacted()
	case config.SMTPURL:
		return x.Redacted()
	case encoding.TextMarshaler:
		b, _ := x.MarshalText()
		return string(b)
	}
	if v.Kind() == reflect.Slice {
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = show(v.Index(i))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v.Interface())
}
