package i18n

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
)

// Wording is what was said in each language. It is stored and sent in the place of a Text, whose
// wording may be another one in the release that reads it.
type Wording map[Language]string

// WordingOf returns what say says in each language.
func WordingOf(say func(Language) string) Wording {
	said := make(Wording, len(Languages))
	for _, l := range Languages {
		said[l] = say(l)
	}
	return said
}

// Wording returns what the text says in each language, or nil for an empty text.
func (t Text) Wording() Wording {
	if t == "" {
		return nil
	}
	return WordingOf(t.In)
}

// In returns what was said in language l. If nothing was, it returns what was said in English.
func (s Wording) In(l Language) string {
	if said, known := s[cmp.Or(l, German)]; known {
		return said
	}
	return s[English]
}

// Text returns what was said as a text, which is empty for nil.
func (s Wording) Text() Text {
	if s == nil {
		return ""
	}
	return parts{Kind: told, Wording: s}.text()
}

// MarshalJSON writes the tags of the languages as capitals: {"DE": …, "EN": …}.
func (s Wording) MarshalJSON() ([]byte, error) {
	members := make(map[string]string, len(s))
	for l, said := range s {
		members[strings.ToUpper(string(l))] = said
	}
	return json.Marshal(members, json.Deterministic(true))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Wording) UnmarshalJSON(b []byte) error {
	var members map[string]string
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	*s = make(Wording, len(members))
	for tag, said := range members {
		(*s)[Language(strings.ToLower(tag))] = said
	}
	return nil
}
