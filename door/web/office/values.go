package office

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// values are the members of a record as a form shows them: a path such as
// address.city, and its text. A member that is null or not set is empty. Lists
// have a line for each entry.
type values map[string]string

// listMembers are the members that hold a list of texts.
var listMembers = []string{"tags"}

// flatten returns the values of a record in JSON. A page of a list flattens fifty, so it
// reads each once.
func flatten(record []byte) (values, error) {
	d := jsontext.NewDecoder(bytes.NewReader(record), jsontext.AllowDuplicateNames(true)) // the API writes none
	v := values{}
	err := v.members("", d)
	if err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return v, nil
		}
	}
	return nil, fmt.Errorf("office: a record: %w", cmp.Or(err, errRest))
}

var errRest = errors.New("something follows it")

// members reads an object. before is the path to it, with a dot at its end.
func (v values) members(before string, d *jsontext.Decoder) error {
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return cmp.Or(err, fmt.Errorf("%s is no object", d.StackPointer()))
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := before + token.String()
		switch d.PeekKind() {
		case '{':
			if err := v.members(name+".", d); err != nil {
				return err
			}
			continue
		case '[':
			list, err := texts(d)
			if err != nil {
				return err
			}
			v[name] = strings.Join(list, "\n")
			continue
		}
		token, err = d.ReadToken()
		switch {
		case err != nil:
			return err
		case token.Kind() == 'n':
			v[name] = ""
		default:
			v[name] = token.String()
		}
	}
	_, err := d.ReadToken()
	return err
}

// texts reads a list of texts.
func texts(d *jsontext.Decoder) (list []string, err error) {
	if _, err = d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != ']' {
		token, err := d.ReadToken()
		if err != nil || token.Kind() != '"' {
			return nil, cmp.Or(err, fmt.Errorf("%s is no text", d.StackPointer()))
		}
		list = append(list, token.String())
	}
	_, err = d.ReadToken()
	return list, err
}

// changed returns the names whose values differ between before and after, sorted.
// Only names of after count: a form need not have every member.
func changed(before, after values) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	return names
}

// patch returns the JSON merge patch (RFC 7396) that sets the named members to
// their values. An empty value becomes null, and an empty list [].
func (v values) patch(names []string) map[string]any {
	p := map[string]any{}
	for _, name := range names {
		at, leaf := p, name
		if outer, inner, nested := strings.Cut(name, "."); nested {
			if p[outer] == nil {
				p[outer] = map[string]any{}
			}
			at, leaf = p[outer].(map[string]any), inner
		}
		switch text := v[name]; {
		case slices.Contains(listMembers, name):
			at[leaf] = lines(text)
		case text == "":
			at[leaf] = nil
		default:
			at[leaf] = text
		}
	}
	return p
}

// body returns the body that creates a record: the members that have a value.
func (v values) body() map[string]any {
	var names []string
	for name, text := range v {
		if text != "" {
			names = append(names, name)
		}
	}
	return v.patch(names)
}

// lines returns the lines of a text without empty ones, each once.
func lines(text string) []string {
	list := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}
