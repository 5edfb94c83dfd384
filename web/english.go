package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"kartei/api/words"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// The OpenAPI documents are frozen, and German by contract. The English documents differ only in
// their texts.

// translation translates the texts of a document.
type translation struct {
	words   map[string]string
	missing []string // paragraphs without a translation
}

// english returns a document in English. Paragraphs without a translation stay German, and missing
// lists them.
func english(document []byte) (translated []byte, missing []string, err error) {
	t := translation{words: words.English()}
	t.words[thisInstance.In(i18n.German)] = thisInstance.In(i18n.English)
	for _, c := range fault.Codes() {
		e := c.Entry()
		for _, text := range []i18n.Text{e.Title, e.What} {
			t.words[text.In(i18n.German)] = text.In(i18n.English)
		}
	}
	var b bytes.Buffer
	d, e := jsontext.NewDecoder(bytes.NewReader(document)), jsontext.NewEncoder(&b, jsontext.WithIndent("  "))
	if err := t.copy(d, e); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("web: the document in English: %w", err)
	}
	return b.Bytes(), t.missing, nil
}

// copy copies one JSON value, and translates the texts in it.
func (t *translation) copy(d *jsontext.Decoder, e *jsontext.Encoder) error {
	kind := d.PeekKind()
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if err := e.WriteToken(token); err != nil || kind != '{' && kind != '[' {
		return err
	}
	for d.PeekKind() != kind+2 { // '}' and ']' are '{' + 2 and '[' + 2
		if kind == '{' {
			err = t.member(d, e)
		} else {
			err = t.copy(d, e)
		}
		if err != nil {
			return err
		}
	}
	if token, err = d.ReadToken(); err != nil {
		return err
	}
	return e.WriteToken(token)
}

// member copies the name and the value of a member. It translates the value, copies it unchanged,
// or searches it for texts.
func (t *translation) member(d *jsontext.Decoder, e *jsontext.Encoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	if err := e.WriteToken(token); err != nil {
		return err
	}
	next := d.PeekKind()
	switch {
	case next == '"' && (name == "description" || name == "summary" || name == "title"):
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		return e.WriteToken(jsontext.String(t.text(token.String())))
	case name == "value", name == "example", name == "examples" && next == '[':
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		return e.WriteValue(value)
	}
	return t.copy(d, e)
}

// text translates a text paragraph by paragraph.
func (t *translation) text(german string) string {
	paragraphs := strings.Split(german, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = t.paragraph(p)
	}
	return strings.Join(paragraphs, "\n\n")
}

var (
	problemLine = regexp.MustCompile("^`([A-Z_]+)`: ")
	cost        = regexp.MustCompile(`^Kosten: (\d+) Punkte?`)
	costOfBatch = "Kosten: die Summe seiner Teile"
	terms       = strings.NewReplacer(" · Recht: ", " · Scope: ", " · Vorschau: braucht ", " · Preview: needs ")
)

func (t *translation) paragraph(german string) string {
	if english, known := t.words[german]; known {
		return english
	}
	if found := problemLine.FindStringSubmatch(german); found != nil && fault.Code(found[1]).Known() {
		e := fault.Code(found[1]).Entry()
		words := found[0] + e.Title.In(i18n.English)
		if e.Detail != "" {
			words += ". " + e.Detail.In(i18n.English)
		}
		return words
	}
	if found := cost.FindStringSubmatch(german); found != nil {
		unit := "points"
		if found[1] == "1" {
			unit = "point"
		}
		return "Cost: " + found[1] + " " + unit + terms.Replace(german[len(found[0]):])
	}
	if rest, found := strings.CutPrefix(german, costOfBatch); found {
		return "Cost: the sum of its parts" + terms.Replace(rest)
	}
	t.missing = append(t.missing, german)
	return german
}
