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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kartei/kit/i18n"
	"kartei/record"
)

// Flatten returns the values of one record, given as JSON. It fails if anything else follows the
// record.
func Flatten(body []byte) (Values, error) {
	d := NewRecordReader(body)
	v, err := d.Record()
	if err = d.Ended(err); err != nil {
		return nil, err
	}
	return v, nil
}

// recordReader decodes records from a JSON response. A page of a list has fifty records with some
// thirty members each. To avoid allocations, names and texts are substrings of one copy of the
// response.
type recordReader struct {
	*jsontext.Decoder
	text string
	// paths caches the paths of nested members, by the names of the outer and the inner member.
	paths map[[2]string]string
}

func NewRecordReader(body []byte) *recordReader {
	return &recordReader{jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)), string(body), map[[2]string]string{}} // the API writes no name twice
}

// Ended returns err. If err is nil, it returns an error unless the response ends here.
func (d *recordReader) Ended(err error) error {
	if err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return nil
		}
	}
	return fmt.Errorf("shell: a record: %w", cmp.Or(err, errRest))
}

var errRest = errors.New("something follows it")

// defaultMembers is the initial capacity for a record. It is larger than the number of members of most
// records, with the parts of an address.
const defaultMembers = 40

// Record decodes one record. With an error it returns nil.
func (d *recordReader) Record() (Values, error) {
	v := make(Values, defaultMembers)
	if err := d.members(v, ""); err != nil {
		return nil, err
	}
	return v, nil
}

// members adds the members of an object to v. within is the path of the object, or empty for the
// record itself.
func (d *recordReader) members(v Values, within string) error {
	return d.Object(func(name string) (err error) {
		if within != "" {
			name = d.path(within, name)
		}
		switch d.PeekKind() {
		case '{':
			return d.members(v, name)
		case '[':
			v[name], err = d.list()
		default:
			v[name], err = d.Value()
		}
		return err
	})
}

// path returns the path of a nested member, such as address.city.
func (d *recordReader) path(outer, inner string) string {
	path, known := d.paths[[2]string{outer, inner}]
	if !known {
		path = outer + "." + inner
		d.paths[[2]string{outer, inner}] = path
	}
	return path
}

// Object decodes an object. It calls member with each name, and member decodes the value.
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

// List decodes a list. It calls entry for each entry, and entry decodes it.
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

// open reads the opening bracket of an object or a list. It fails for any other token.
func (d *recordReader) open(kind jsontext.Kind) error {
	token, err := d.ReadToken()
	if err == nil && token.Kind() != kind {
		err = fmt.Errorf("%s does not begin with %s", d.StackPointer(), kind)
	}
	return err
}

// list decodes a list. It returns one line for each text of a list of texts, and the JSON of a list
// of objects. An empty list is an empty text.
func (d *recordReader) list() (list string, err error) {
	begin, first, objects := int(d.InputOffset()), true, false
	err = d.List(func() error {
		switch d.PeekKind() {
		case '"':
		case '{':
			objects = true
			return d.SkipValue()
		default:
			return cmp.Or(d.SkipValue(), fmt.Errorf("%s is no text", d.StackPointer()))
		}
		text, err := d.Value()
		if !first {
			text = list + "\n" + text
		}
		list, first = text, false
		return err
	})
	if objects {
		list = d.text[begin:d.InputOffset()]
		list = list[strings.IndexByte(list, '['):] // a colon comes before it
	}
	return list, err
}

// Value decodes a text, a number or a boolean. It returns an empty text for null.
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

// Changed returns the sorted names whose values differ between before and after. It ignores names
// that after does not have, as a form need not have every member.
func Changed(before, after Values) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	return names
}

// Patch returns the JSON merge patch (RFC 7396) that sets the named members to their values. An
// empty value becomes null, and an empty list becomes [].
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
		case name == "tags":
			at[leaf] = Lines(text)
		case entryParts[name] != nil:
			at[leaf] = jsontext.Value(cmp.Or(EntryList(name, Entries(text)), "[]"))
		case text == "":
			at[leaf] = nil
		default:
			at[leaf] = text
		}
	}
	return p
}

// Body returns the request body that creates a record. It has the members with a value.
func (v Values) Body() map[string]any {
	var names []string
	for name, text := range v {
		if text != "" {
			names = append(names, name)
		}
	}
	return v.Patch(names)
}

// Lines returns the distinct lines of a text. Empty lines are left out.
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

// entryParts has the names of the parts of an entry, in the order of the API, for each member whose value
// is a list of objects. Values has the JSON of such a list.
var entryParts = map[string][]string{
	"additionalEmails":    {"email", "label"},
	"additionalPhones":    {"phone", "label"},
	"additionalAddresses": {"street", "postalCode", "city", "region", "country", "label"},
}

// PartsOf returns the names of the parts of an entry of a list. It returns nil for any other member.
func PartsOf(member string) []string { return entryParts[member] }

// Entries returns the entries of a list in Values, each with its parts by their names. It returns
// nil for a text that is not such a list.
func Entries(list string) (entries []Values) {
	var all []map[string]*string
	if list == "" || json.Unmarshal([]byte(list), &all) != nil {
		return nil
	}
	for _, one := range all {
		entry := Values{}
		for part, text := range one {
			if text != nil {
				entry[part] = *text
			}
		}
		entries = append(entries, entry)
	}
	return entries
}

// EntryList returns the list with these entries as Values has it, with the JSON that the API writes.
// Entries that have no more than a label are left out.
func EntryList(member string, entries []Values) string {
	var b strings.Builder
	e := jsontext.NewEncoder(&b)
	_ = e.WriteToken(jsontext.BeginArray) // a builder does not fail, and all texts are UTF-8
	some := false
	for _, entry := range entries {
		if !meant(member, entry) {
			continue
		}
		some = true
		_ = e.WriteToken(jsontext.BeginObject)
		for _, part := range entryParts[member] {
			_ = e.WriteToken(jsontext.String(part))
			if text := entry[part]; text == "" {
				_ = e.WriteToken(jsontext.Null)
			} else {
				_ = e.WriteToken(jsontext.String(text))
			}
		}
		_ = e.WriteToken(jsontext.EndObject)
	}
	if !some {
		return ""
	}
	_ = e.WriteToken(jsontext.EndArray)
	return strings.TrimSuffix(b.String(), "\n")
}

// meant reports whether an entry has a part besides its label.
func meant(member string, entry Values) bool {
	for _, part := range entryParts[member] {
		if part != "label" && entry[part] != "" {
			return true
		}
	}
	return false
}

// labelWords are the words for record.Labels.
var labelWords = map[string]i18n.Text{
	"work": "work", "home": "home", "mobile": "mobile [of a number]", "fax": "fax", "other": "other [of a label]",
}

// LabelText returns the label of an entry as people read it.
func LabelText(w i18n.Words, label string) string {
	if word := labelWords[label]; word != "" {
		return w.Say(word)
	}
	return label
}

// furtherWords are other German words for record.Labels, in lower case. A number with the label fax is
// not offered to call.
var furtherWords = map[string]string{"telefax": "fax", "faxnummer": "fax", "handy": "mobile", "mobiltelefon": "mobile"}

// ReadLabel returns a typed label in the form of the API. A word for one of record.Labels may be in
// any language.
func ReadLabel(typed string) string {
	if label := furtherWords[strings.ToLower(typed)]; label != "" {
		return label
	}
	for _, label := range record.Labels {
		for _, l := range i18n.Languages {
			if strings.EqualFold(typed, label) || strings.EqualFold(typed, labelWords[label].In(l)) {
				return label
			}
		}
	}
	return typed
}

// Attribute is an attribute of a record for programs.
type Attribute struct{ Name, Value string }

// Attributes returns the attributes of a record, sorted by name.
func Attributes(record Values) (list []Attribute) {
	for _, path := range slices.Sorted(maps.Keys(record)) {
		if name, is := strings.CutPrefix(path, "attributes."); is {
			list = append(list, Attribute{name, record[path]})
		}
	}
	return list
}

// AddressOf returns the postal address of a record.
func AddressOf(r Values) i18n.Address {
	return i18n.Address{
		Street: r["address.street"], PostalCode: r["address.postalCode"], City: r["address.city"], Region: r["address.region"], Country: r["address.country"],
	}
}

// Conflict is a member that two people changed to different values.
type Conflict struct {
	Name string
	// Base is the value that both people saw. Theirs is the stored value. Mine is the typed value.
	Base, Theirs, Mine string
}

// MergeResult is the result of Merge.
type MergeResult struct {
	// Values are the merged values of the form's members. A member in conflict has the stored
	// value.
	Values Values
	// Mine and Theirs are the members that only one of the two people changed.
	Mine, Theirs []string
	// Conflicts are the members for which a person must choose a value.
	Conflicts []Conflict
}

// Merge combines the values that a person typed with the values that another person stored
// meanwhile. base has the values that the person saw, mine the values of the submitted form, and
// theirs the stored values.
//
// If only one of the two people changed a member, or if both typed the same value, Merge takes the
// changed value. All other differences are conflicts. No typed value is lost, and no stored value
// is overwritten unseen.
func Merge(base, mine, theirs Values) MergeResult {
	m := MergeResult{Values: Values{}}
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		b, i, t := base[name], mine[name], theirs[name]
		switch {
		case i == t:
			m.Values[name] = t
		case i == b:
			m.Values[name] = t
			m.Theirs = append(m.Theirs, name)
		case t == b:
			m.Values[name] = i
			m.Mine = append(m.Mine, name)
		default:
			m.Values[name] = t
			m.Conflicts = append(m.Conflicts, Conflict{name, b, t, i})
		}
	}
	return m
}
