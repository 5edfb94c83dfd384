package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"text/tabwriter"

	"kartei/config"
)

type configCmd struct {
	config.Server `embed:""`
	JSON
}

// setting is one line of the answer.
type setting struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Source      string `json:"source"`
	Environment string `json:"environment"`
}

// Run prints every setting with its value and where that came from.
func (c *configCmd) Run(g *Globals) error {
	if err := c.Server.Check(); err != nil {
		return usageError{err}
	}
	var list []setting
	for _, group := range []any{&g.Store, &c.Server} {
		v := reflect.ValueOf(group).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("name")
			list = append(list, setting{name, show(v.Field(i)), g.settings.source(name), config.Env(name)})
		}
	}
	if c.JSON.JSON {
		return g.print(map[string]any{"settings": list, "database": config.DatabaseURL(g.Store.Database()).Redacted()})
	}
	w := tabwriter.NewWriter(g.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Value, s.Source)
	}
	return w.Flush()
}

// show writes a value as it would be written on the command line, without
// secrets.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case config.DatabaseURL:
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
