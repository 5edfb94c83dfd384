package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kartei/kit/i18n"
)

// rename writes a text anew in the code and the catalogs of the module in dir. The
// translations stay. Generated files are left to their generator: templ generate.
func rename(dir string, from, to i18n.Text) error {
	s, err := scanModule(dir)
	if err != nil {
		return err
	}
	places := map[string][]use{}
	for _, u := range s.uses {
		switch {
		case u.text == to:
			return fmt.Errorf("%s:%d says %q already: give one of them a remark in square brackets", u.file, u.line, to)
		case u.text == from:
			places[u.file] = append(places[u.file], u)
		}
	}
	if len(places) == 0 {
		return fmt.Errorf("nothing says %q", from)
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if template, is := strings.CutSuffix(name, "_templ.go"); is {
			err = replaceLiteral(template+".templ", from, to)
		} else {
			err = replaceUses(name, places[name], to)
		}
		if err != nil {
			return err
		}
	}
	catalogs, err := filepath.Glob(filepath.Join(dir, "kit/i18n/*.json"))
	if err != nil {
		return err
	}
	for _, name := range catalogs {
		if err := renameKey(name, from, to); err != nil {
			return err
		}
	}
	return nil
}

// replaceUses replaces the expressions of a Go file or a script.
func replaceUses(name string, uses []use, to i18n.Text) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	slices.SortFunc(uses, func(a, b use) int { return b.from - a.from })
	for _, u := range uses {
		b = slices.Replace(b, u.from, u.to, []byte(strconv.Quote(string(to)))...)
	}
	return os.WriteFile(name, b, 0o644)
}

// replaceLiteral replaces a string literal in a template.
func replaceLiteral(name string, from, to i18n.Text) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	old := []byte(strconv.Quote(string(from)))
	if !bytes.Contains(b, old) {
		return fmt.Errorf("%s: no literal %s: rename it by hand", name, old)
	}
	return os.WriteFile(name, bytes.ReplaceAll(b, old, []byte(strconv.Quote(string(to)))), 0o644)
}

// renameKey renames a text in a catalog.
func renameKey(name string, from, to i18n.Text) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var catalog map[string]jsontext.Value
	if err := json.Unmarshal(b, &catalog); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	said, known := catalog[string(from)]
	if !known {
		return nil // the text of one thing, whose translation stands at the text of many
	}
	delete(catalog, string(from))
	catalog[string(to)] = said
	b, err = format(catalog)
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

// format returns a catalog with a line for each text, in their order.
func format(catalog map[string]jsontext.Value) ([]byte, error) {
	if len(catalog) == 0 {
		return nil, errors.New("an empty catalog")
	}
	var b bytes.Buffer
	for i, text := range slices.Sorted(maps.Keys(catalog)) {
		key, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			return nil, err
		}
		said := catalog[text]
		if err := said.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s\t%s: %s", map[bool]string{true: "{\n", false: ",\n"}[i == 0], key, said)
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}
