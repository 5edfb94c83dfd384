package shell

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
	_ = e.WriteToken(jsontext.BeginArray) // a builder does not fail
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

// entries returns the list that the fields MEMBER.PART of a form have. A form has one field of each
// part for each entry. sent is false if the form has no such fields.
func (f *Form) entries(member string) (list string, sent bool) {
	var all []Values
	for _, part := range entryParts[member] {
		texts := f.Values[member+"."+part]
		sent = sent || len(texts) > 0
		for i, text := range texts {
			if len(all) == i {
				all = append(all, Values{})
			}
			all[i][part] = Normal(text)
		}
	}
	return EntryList(member, all), sent
}
