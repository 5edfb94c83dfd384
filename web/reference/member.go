package reference

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Object is the schema of an object with its members.
type Object struct {
	Name, Text string
	Members    []Member
}

// Member is a member of an object, or a parameter. It has no pattern, because the description
// explains the pattern.
type Member struct {
	Name, Text string
	// Types are JSON types or names of objects. They do not contain null: Nullable says that null
	// is allowed.
	Types              []string
	Format             string
	List               bool
	Required, Nullable bool
	// Values are the known values. Open says that later versions of the API may add values.
	Values  []string
	Open    bool
	Default string
	Example string
	// Length is the allowed length of a string in characters. Range is the range of a number. Count
	// is the allowed length of a list.
	Length, Range, Count Bounds
	Objects              []Object
}

// Bounds are a minimum and a maximum, both inclusive. A bound is nil if there is no limit.
type Bounds struct{ Least, Most *int64 }

// Any reports whether there is a bound.
func (b Bounds) Any() bool { return b.Least != nil || b.Most != nil }

// Type returns the types as one string, separated by bars.
func (m Member) Type() string { return strings.Join(m.Types, " | ") }

func (r *reader) parameter(p parameter) Member {
	p = follow(p.Ref, r.Components.Parameters, p)
	m := r.member(p.Name, p.Schema, nil)
	m.Required = p.Required
	if p.Description != "" {
		m.Text = p.Description
	}
	if p.Example != nil {
		m.Example = plain(p.Example)
	}
	return m
}

// member converts a schema for display. within has the names of the enclosing schemas. A schema
// that contains itself is shown only once, and then by its name.
func (r *reader) member(name string, s *schema, within []string) Member {
	m := Member{Name: name}
	if s == nil {
		return m
	}
	m.Text = s.Description
	r.merge(&m, s, within)
	if m.Example == "" && len(s.Examples) > 0 && len(m.Objects) == 0 {
		m.Example = plain(s.Examples[0])
	}
	return m
}

// merge adds the types, members and limits of a schema to m.
func (r *reader) merge(m *Member, s *schema, within []string) {
	if s.Ref != "" {
		name := refName(s.Ref)
		target := r.Components.Schemas[name]
		if target == nil || slices.Contains(within, name) {
			m.Types = append(m.Types, name)
			return
		}
		before := len(m.Objects)
		r.merge(m, target, append(slices.Clone(within), name))
		if len(m.Objects) == before+1 {
			m.Objects[before].Name = name
		}
		if m.Text == "" {
			m.Text = target.Description
		}
		return
	}
	for _, kind := range s.Type {
		switch kind {
		case "null":
			m.Nullable = true
		case "array":
			m.List = true
			m.Count = Bounds{s.MinItems, s.MaxItems}
			if s.Items != nil {
				nullable, text := m.Nullable, m.Text
				r.merge(m, s.Items, within)
				m.Nullable, m.Text = nullable, text
			}
		default:
			m.Types = append(m.Types, kind)
		}
	}
	r.bounds(m, s)
	if len(s.Properties) > 0 || s.Additional.Kind() == '{' {
		m.Objects = append(m.Objects, Object{Text: s.Description, Members: r.members(s, within)})
	}
	for _, one := range slices.Concat(s.AnyOf, s.OneOf) {
		// A branch that only requires members is a condition and not an alternative type, so it is
		// left out.
		if one.Ref != "" || len(s.Properties) == 0 && (len(one.Type) > 0 || len(one.Properties) > 0) {
			text := m.Text
			r.merge(m, one, within)
			m.Text = text
		}
	}
	m.Types = unique(m.Types)
}

// bounds adds the format, the values and the limits of a schema to m.
func (r *reader) bounds(m *Member, s *schema) {
	if s.Format != "" {
		m.Format = s.Format
	}
	values := s.Enum
	if len(s.Const) > 0 {
		values = append(slices.Clone(values), s.Const)
	}
	for _, v := range slices.Concat(values, s.Extensible) {
		if v.Kind() != 'n' {
			m.Values = append(m.Values, plain(v))
		}
	}
	m.Open = m.Open || len(s.Extensible) > 0
	if len(s.Default) > 0 {
		m.Default = plain(s.Default)
	}
	if s.MinLength != nil || s.MaxLength != nil {
		m.Length = Bounds{s.MinLength, s.MaxLength}
	}
	if s.Minimum != nil || s.Maximum != nil {
		m.Range = Bounds{s.Minimum, s.Maximum}
	}
}

// members converts the members of an object. The name * stands for members with any other name.
func (r *reader) members(s *schema, within []string) []Member {
	var members []Member
	for _, p := range s.Properties {
		m := r.member(p.name, p.value, within)
		m.Required = slices.Contains(s.Required, p.name)
		members = append(members, m)
	}
	if s.Additional.Kind() == '{' {
		var other schema
		if json.Unmarshal(s.Additional, &other) == nil {
			members = append(members, r.member("*", &other, within))
		}
	}
	return members
}

func unique(names []string) []string {
	var kept []string
	for _, name := range names {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}
