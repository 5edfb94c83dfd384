// Package words owns what the OpenAPI documents say in words, in German and in English.
//
// Each text has a key. A key begins with the id of an operation
// (contacts.create.summary), with a Go type and a member
// (contact.Fields.firstName), or with a type of events
// (contact.created.summary). parts.go has the texts that belong to none of
// these. A text is in the file of the first word of its key.
package words

import (
	"maps"
	"slices"
	"strings"
)

// text is the text of one key in each language.
type text struct{ german, english string }

// files are the files of this package, with the texts of each.
var files = []struct {
	name  string
	words map[string]text
}{
	{"batch.go", batchWords},
	{"company.go", companyWords},
	{"contact.go", contactWords},
	{"document.go", documentWords},
	{"event.go", eventWords},
	{"meta.go", metaWords},
	{"operation.go", operationWords},
	{"parts.go", partsWords},
	{"record.go", recordWords},
	{"task.go", taskWords},
	{"webhook.go", webhookWords},
}

// German returns the German words with a key, and whether there are any.
func German(key string) (words string, found bool) {
	for _, f := range files {
		if t, found := f.words[key]; found {
			return t.german, true
		}
	}
	return "", false
}

// English returns the English words of each German text.
func English() map[string]string {
	english := map[string]string{}
	for _, f := range files {
		for _, t := range f.words {
			english[t.german] = t.english
		}
	}
	return english
}

// Keys returns all keys in order.
func Keys() []string {
	var keys []string
	for _, f := range files {
		keys = slices.AppendSeq(keys, maps.Keys(f.words))
	}
	slices.Sort(keys)
	return keys
}

// File returns the path of the file that has a key, or should have it. That is
// the file with the other keys of its first word, else parts.go.
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
