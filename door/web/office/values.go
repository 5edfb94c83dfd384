package office

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// values are the members of a record as a form shows them: a path such as
// address.city, and its text. A member that is null or not set is empty. Lists
// have a line for each entry.
type values map[string]string

// listMembers are the members that hold a list of texts.
var listMembers = []string{"tags"}

// flatten returns the values of a record in JSON.
func flatten(record []byte) (values, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil {
		return nil, fmt.Errorf("office: a record: %w", err)
	}
	v := values{}
	return v, v.add("", members)
}

func (v values) add(before string, members map[string]json.RawMessage) error {
	for name, raw := range members {
		var err error
		switch raw[0] {
		case '"':
			var text string
			err = json.Unmarshal(raw, &text)
			v[before+name] = text
		case '{':
			var inner map[string]json.RawMessage
			if err = json.Unmarshal(raw, &inner); err == nil {
				err = v.add(before+name+".", inner)
			}
		case '[':
			var list []string
			err = json.Unmarshal(raw, &list)
			v[before+name] = strings.Join(list, "\n")
		case 'n':
			v[before+name] = ""
		default:
			v[before+name] = string(raw)
		}
		if err != nil {
			return fmt.Errorf("office: member %s: %w", before+name, err)
		}
	}
	return nil
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
