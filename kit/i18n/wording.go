package i18n

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
)

// Wording is the translation of a text in each language. It is stored and sent in place of a Text,
// whose translation may differ in the release that reads it.
type Wording map[Language]string

// WordingOf returns a Wording with the result of say for each language.
func WordingOf(say func(Language) string) Wording {
	said := make(Wording, len(Languages))
	for _, l := range Languages {
		said[l] = say(l)
	}
	return said
}

// Wording returns the text in each language, or nil for an empty text.
func (t Text) Wording() Wording {
	if t == "" {
		return nil
	}
	return WordingOf(t.In)
}

// In returns the text in language l, or the English text if there is none. If l is empty, the
// language is German.
func (s Wording) In(l Language) string {
	if said, known := s[cmp.Or(l, German)]; known {
		return said
	}
	return s[English]
}

// Text returns a Text with this wording. For nil it is empty.
func (s Wording) Text() Text {
	if s == nil {
		return ""
	}
	return parts{Kind: told, Wording: s}.text()
}

// MarshalJSON returns an object whose names are the language tags in capitals: {"DE": …, "EN": …}.
func (s Wording) MarshalJSON() ([]byte, error) {
	members := make(map[string]string, len(s))
	for l, said := range s {
		members[strings.ToUpper(string(l))] = said
	}
	return json.Marshal(members, json.Deterministic(true))
}

// UnmarshalJSON reads the JSON of MarshalJSON.
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
