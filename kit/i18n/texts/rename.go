package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kartei/kit/i18n"
)

// rename replaces an English text in the code and in the catalogs of the module in dir. The
// translations do not change. Generated Go files are not changed: templ generate does this. rename
// returns an error if from is not used or to is used already.
func rename(dir string, from, to i18n.Text) error {
	s, err := scanModule(dir)
	if err != nil {
		return err
	}
	places := map[string][]use{}
	for _, u := range s.uses {
		switch {
		case u.text == to:
			return fmt.Errorf("%s:%d says %q already: if both mean the same, replace the old text by hand; otherwise give one of them a remark in square brackets", u.file, u.line, to)
		case u.text == from:
			places[u.file] = append(places[u.file], u)
		}
	}
	if len(places) == 0 {
		return fmt.Errorf("nothing says %q", from)
	}
	anew := map[string][]byte{} // written only after all replacements have succeeded
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if template, is := strings.CutSuffix(name, "_templ.go"); is {
			name = template + ".templ"
			anew[name], err = replaceLiteral(name, from, to)
		} else {
			anew[name], err = replaceUses(name, places[name], to)
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
		if anew[name], err = renameKey(name, from, to); err != nil {
			return err
		}
	}
	for name, content := range anew {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replaceUses returns the content of a Go file or script, with the new text at all uses.
func replaceUses(name string, uses []use, to i18n.Text) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(uses, func(a, b use) int { return b.from - a.from })
	for _, u := range uses {
		b = slices.Replace(b, u.from, u.to, []byte(strconv.Quote(string(to)))...)
	}
	return b, nil
}

// replaceLiteral returns the content of a template, with the new text in place of the string
// literal. It replaces only arguments of calls, because attributes of HTML and compared values may
// have the same literal.
func replaceLiteral(name string, from, to i18n.Text) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	argument := regexp.MustCompile(`([\w.]+\(|, )` + regexp.QuoteMeta(strconv.Quote(string(from))))
	if !argument.Match(b) {
		return nil, fmt.Errorf("%s: no call with %q: rename it by hand", name, from)
	}
	return argument.ReplaceAllFunc(b, func(found []byte) []byte {
		before, _, _ := bytes.Cut(found, []byte(`"`))
		return append(slices.Clone(before), strconv.Quote(string(to))...)
	}), nil
}

// renameKey returns the content of a catalog in which the key from is replaced by to.
func renameKey(name string, from, to i18n.Text) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var catalog map[string]jsontext.Value
	if err := json.Unmarshal(b, &catalog); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if said, known := catalog[string(from)]; known { // the singular of a text with a number is no key
		delete(catalog, string(from))
		catalog[string(to)] = said
	}
	return format(catalog)
}

// format returns the content of a catalog with one line for each text, sorted by text.
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
