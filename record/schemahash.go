package record

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The schema hash of a row (column schema_hash) says whether this release would write the same
// content and the same search entry. The upper half is a hash of the names and the order of the
// members. Each read decodes a content whose members differ. The lower half is a hash of the
// search words of the family. Only a change compares it. So a new member needs no migration, and
// a new searchable member does not slow down reads.
const (
	wordsBits = 32
	// mixedSchema marks a content with members of this release and members that it does not know.
	// It is not the hash of any release.
	mixedSchema int64 = -1
)

// schemaHash returns the schema hash of this release.
func (k *Collection[T, F, P]) schemaHash() int64 { return k.members<<wordsBits | k.words() }

// membersOf returns a hash of 31 bits for the names and the order of the members of t.
func membersOf(t reflect.Type) int64 {
	h := fnv.New64a()
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		for _, f := range reflect.VisibleFields(t) {
			if f.Anonymous {
				continue
			}
			fmt.Fprintf(h, "%s;", f.Tag.Get("json"))
			switch f.Type.Kind() {
			case reflect.Pointer, reflect.Slice:
				if f.Type.Elem().Kind() == reflect.Struct {
					walk(f.Type.Elem())
				}
			}
		}
	}
	walk(t)
	return int64(h.Sum64() >> (wordsBits + 1))
}

// probes has a text for each kind of text that package search splits into words.
var probes = []string{
	"Grüße", "+49 221 4710815", "0221.4710815/probe@firma.example", "https://probe.example/pfad",
	"probe@firma.example",
}

// wordsOf returns a hash of 32 bits for the search words of a family. It hashes the words of test
// records. One record has all members set. The others have one member set, for each member and
// each probe.
func wordsOf[F any, P fields[F]]() int64 {
	h := fnv.New32a()
	found := func(text func(member int) string) (members int) {
		f := P(new(F))
		fill(reflect.ValueOf(f).Elem(), &members, text)
		fmt.Fprintln(h, f.Words())
		return members
	}
	members := found(func(n int) string { return fmt.Sprint("wort", n) })
	for i := range members {
		for _, probe := range probes {
			found(func(n int) string {
				if n == i {
					return probe
				}
				return ""
			})
		}
	}
	return int64(h.Sum32())
}

// fill sets the members of v and of its nested structs to text(n), where n is the number of the
// member. An empty text leaves a member unset. fill adds the number of members to n.
func fill(v reflect.Value, n *int, text func(member int) string) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		m := v.FieldByIndex(f.Index)
		switch {
		case f.Anonymous:
		case m.Kind() == reflect.Pointer && m.Type().Elem().Kind() == reflect.Struct:
			m.Set(reflect.New(m.Type().Elem()))
			fill(m.Elem(), n, text)
		case m.Kind() == reflect.Slice && m.Type().Elem().Kind() == reflect.Struct:
			m.Set(reflect.MakeSlice(m.Type(), 1, 1))
			fill(m.Index(0), n, text)
		default:
			if s := text(*n); s != "" {
				set(m, s)
			}
			*n++
		}
	}
}

// set sets a member to s. It supports all types that textsIn supports. A time gets a fixed value.
func set(m reflect.Value, s string) {
	switch m.Kind() {
	case reflect.Pointer:
		m.Set(reflect.New(m.Type().Elem()))
		set(m.Elem(), s)
	case reflect.Slice:
		m.Set(reflect.MakeSlice(m.Type(), 1, 1))
		set(m.Index(0), s)
	case reflect.Map:
		m.Set(reflect.ValueOf(Attributes{s: s}))
	case reflect.String:
		m.SetString(s)
	default:
		m.SetInt(1_793_523_600_000_000) // a time in microseconds
	}
}

// mergeUnknown returns content with the members that only newer has. more reports whether there
// are any. newer is the stored content of another release, and shown is its conversion to this
// release. A list that did not change stays as newer has it. If the change cleared a struct, all
// members of the struct are dropped. A struct stays if shown has null for it, because this release
// knows none of its members.
func mergeUnknown(newer, shown, content []byte) (merged []byte, more bool, err error) {
	var had, saw, has map[string]jsontext.Value
	if err := errors.Join(json.Unmarshal(newer, &had), json.Unmarshal(shown, &saw),
		json.Unmarshal(content, &has)); err != nil {
		return nil, false, err
	}
	for name, old := range had {
		now, known := has[name]
		switch {
		case !known:
			if _, shown := saw[name]; !shown { // otherwise the change removed an attribute
				has[name], more = old, true
			}
		case old.Kind() == '[' && bytes.Equal(saw[name], now): // a list that did not change
			has[name], more = old, more || !bytes.Equal(old, now)
		case old.Kind() != '{':
		case now.Kind() == '{':
			inner := saw[name]
			if inner.Kind() != '{' {
				inner = jsontext.Value(`{}`)
			}
			value, within, err := mergeUnknown(old, inner, now)
			if err != nil {
				return nil, false, err
			}
			has[name], more = value, more || within
		case saw[name].Kind() != '{':
			has[name], more = old, true
		}
	}
	merged, err = json.Marshal(has, json.Deterministic(true))
	return merged, more, err
}
