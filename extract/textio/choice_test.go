package textio_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"kartei/extract/textio"
)

// TestChoice checks that each form with words of its own is written.
func TestChoice(t *testing.T) {
	for name, c := range map[string]struct {
		forms []string
		want  []string
	}{
		"no form":             {nil, nil},
		"one form":            {[]string{"Klage"}, []string{"Klage"}},
		"the same form twice": {[]string{"Klage, bitte", "klage bitte!"}, []string{"Klage, bitte"}},
		"a stub and the page": {
			[]string{"Ihr Programm zeigt kein HTML", "Klageerwiderung"},
			[]string{"Ihr Programm zeigt kein HTML", "Klageerwiderung"},
		},
		"a part of the other": {[]string{"Klage", "Klage und Anlagen"}, []string{"Klage und Anlagen"}},
		"a part of the one":   {[]string{"Klage und Anlagen", "Anlagen"}, []string{"Klage und Anlagen"}},
		"only marks":          {[]string{" … ", "Klage"}, []string{"Klage"}},
		"the middle one has more": {
			[]string{"Klage", "Klage und Anlagen", "Anlagen und Klage"},
			[]string{"Klage und Anlagen"},
		},
	} {
		b := new(bytes.Buffer)
		s := textio.NewSink(b, 1<<20)
		choice := textio.Choice{Out: s}
		for _, form := range c.forms {
			choice.Add(func(s *textio.Sink) error {
				s.Text(form)
				return nil
			})
		}
		if err := choice.Write(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = s.Close()
		if got := strings.Join(strings.Fields(b.String()), " "); got != strings.Join(c.want, " ") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestChoiceOfABrokenForm checks that the text of a broken form up to its error is written, and
// that Write returns the first error.
func TestChoiceOfABrokenForm(t *testing.T) {
	b := new(bytes.Buffer)
	s := textio.NewSink(b, 1<<20)
	first := errors.New("the first")
	choice := textio.Choice{Out: s}
	for _, err := range []error{nil, first, errors.New("the second")} {
		choice.Add(func(s *textio.Sink) error {
			s.Text("Wort" + map[bool]string{true: "eins", false: "zwei"}[err == nil])
			return err
		})
	}
	if err := choice.Write(); !errors.Is(err, first) {
		t.Errorf("%v", err)
	}
	_ = s.Close()
	if got := strings.Fields(b.String()); len(got) != 2 || got[0] != "Worteins" || got[1] != "Wortzwei" {
		t.Errorf("%q", got)
	}
}
