// Package words owns what the OpenAPI documents say in words, in German and in English.
//
// Each text has a key. A key begins with one of these:
//
//   - the id of an operation: contacts.create.summary
//   - a Go type and a member: contact.Fields.firstName
//   - an event type: contact.created.summary
//
// Other keys are in parts.go. Keys with the same first word, up to the first dot, are in the same
// file.
package words

import (
	"maps"
	"slices"
	"strings"
)

// text is the text of a key in each language.
type text struct{ german, english string }

// files are the files of this package, with the texts that each file has.
var files = []struct {
	name  string
	words map[string]text
}{
	{"batch.go", batchWords},
	{"company.go", companyWords},
	{"contact.go", contactWords},
	{"document.go", documentWords},
	{"event.go", eventWords},
	{"merge.go", mergeWords},
	{"meta.go", metaWords},
	{"operation.go", operationWords},
	{"parts.go", partsWords},
	{"record.go", recordWords},
	{"task.go", taskWords},
	{"webhook.go", webhookWords},
}

// German returns the German text of a key, and whether the key has one.
func German(key string) (words string, found bool) {
	for _, f := range files {
		if t, found := f.words[key]; found {
			return t.german, true
		}
	}
	return "", false
}

// English maps each German text to its English text.
func English() map[string]string {
	english := map[string]string{}
	for _, f := range files {
		for _, t := range f.words {
			english[t.german] = t.english
		}
	}
	return english
}

// Keys returns all keys in alphabetical order.
func Keys() []string {
	var keys []string
	for _, f := range files {
		keys = slices.AppendSeq(keys, maps.Keys(f.words))
	}
	slices.Sort(keys)
	return keys
}

// File returns the path of the file in which a key is, or to which a new key belongs. This is the
// file with other keys of the same first word, or else parts.go.
func File(key string) string {
	first, _, _ := strings.Cut(key, ".")
	for _, f := range files {
		for other := range f.words {
			if strings.HasPrefix(other, first+".") {
				return "api/words/" + f.name
			}
		}
	}
	return "api/words/parts.go"
}
