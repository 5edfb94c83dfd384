package shell

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

// listMembers are the members that hold a list of texts.
var listMembers = []string{"tags"}

// Flatten returns the values of a record in JSON.
func Flatten(body []byte) (Values, error) {
	d := NewRecordReader(body)
	v, err := d.Record()
	if err = d.Ended(err); err != nil {
		return nil, err
	}
	return v, nil
}

// recordReader reads the records of an answer. A page of a list has fifty with some thirty
// members each, so names and texts are parts of one copy of the answer.
type recordReader struct {
	*jsontext.Decoder
	text string
	// paths are the paths of members within members, by both names: each is made once.
	paths map[[2]string]string
}

func NewRecordReader(body []byte) *recordReader {
	return &recordReader{jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)), string(body), map[[2]string]string{}} // the API writes no name twice
}

// Ended returns the fault of an answer, which ends here.
func (d *recordReader) Ended(err error) error {
	if err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return nil
		}
	}
	return fmt.Errorf("shell: a record: %w", cmp.Or(err, errRest))
}

var errRest = errors.New("something follows it")

// defaultMembers is more than the members of a record, with the parts of its address.
const defaultMembers = 40

// Record reads a record. It returns nil with an error.
func (d *recordReader) Record() (Values, error) {
	v := make(Values, defaultMembers)
	if err := d.members(v, ""); err != nil {
		return nil, err
	}
	return v, nil
}

// members adds the members of an object to values. within is the name of the member that
// holds the object, if any.
func (d *recordReader) members(v Values, within string) error {
	return d.Object(func(name string) (err error) {
		if within != "" {
			name = d.path(within, name)
		}
		switch d.PeekKind() {
		case '{':
			return d.members(v, name)
		case '[':
			v[name], err = d.lines()
		default:
			v[name], err = d.Value()
		}
		return err
	})
}

// path returns the path to a member within another one, as address.city.
func (d *recordReader) path(outer, inner string) string {
	path, known := d.paths[[2]string{outer, inner}]
	if !known {
		path = outer + "." + inner
		d.paths[[2]string{outer, inner}] = path
	}
	return path
}

// Object reads an object. member reads the value of a member.
func (d *recordReader) Object(member func(name string) error) error {
	if err := d.open('{'); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.Value()
		if err == nil {
			err = member(name)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// List reads a list. entry reads an entry.
func (d *recordReader) List(entry func() error) error {
	if err := d.open('['); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := entry(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// open reads the beginning of an object or a list.
func (d *recordReader) open(kind jsontext.Kind) error {
	token, err := d.ReadToken()
	if err == nil && token.Kind() != kind {
		err = fmt.Errorf("%s does not begin with %s", d.StackPointer(), kind)
	}
	return err
}

// lines reads a list of texts: a line for each.
func (d *recordReader) lines() (lines string, err error) {
	first := true
	return lines, d.List(func() error {
		if d.PeekKind() != '"' {
			return cmp.Or(d.SkipValue(), fmt.Errorf("%s is no text", d.StackPointer()))
		}
		text, err := d.Value()
		if !first {
			text = lines + "\n" + text
		}
		lines, first = text, false
		return err
	})
}

// Value reads a text, a number or a truth value. Null is empty.
func (d *recordReader) Value() (string, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	end := int(d.InputOffset())
	text := d.text[end-len(raw) : end]
	switch {
	case text == "null":
		return "", nil
	case text[0] != '"':
		return text, nil
	case strings.IndexByte(text, '\\') < 0:
		return text[1 : len(text)-1], nil
	}
	plain, err := jsontext.AppendUnquote(nil, raw)
	return string(plain), err
}

// Changed returns the names whose values differ between before and after, sorted.
// Only names of after count: a form need not have every member.
func Changed(before, after Values) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	return names
}

// Patch returns the JSON merge patch (RFC 7396) that sets the named members to
// their values. An empty value becomes null, and an empty list [].
func (v Values) Patch(names []string) map[string]any {
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
			at[leaf] = Lines(text)
		case text == "":
			at[leaf] = nil
		default:
			at[leaf] = text
		}
	}
	return p
}

// Body returns the body that creates a record: the members that have a value.
func (v Values) Body() map[string]any {
	var names []string
	for name, text := range v {
		if text != "" {
			names = append(names, name)
		}
	}
	return v.Patch(names)
}

// Lines returns the lines of a text without empty ones, each once.
func Lines(text string) []string {
	list := []string{}
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}
