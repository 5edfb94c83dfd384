package tasks

import (
	"strings"
	"testing"
	"time"

	"kartei/kit/i18n"
)

var someDay = i18n.Words{Language: i18n.German, Now: time.Date(2026, 11, 22, 11, 30, 0, 0, time.UTC)}

func TestReadLine(t *testing.T) {
	for line, want := range map[string]quickLine{
		"Klage prüfen morgen 10 !! @müller": {title: "Klage prüfen", due: someDay.Now.Add(22*time.Hour + 30*time.Minute), clock: true, hasDue: true, urgent: true, about: "müller"},
		"!! @rheinbau Klage prüfen":         {title: "Klage prüfen", urgent: true, about: "rheinbau"},
		`Termin @"Jan Müller" vorbereiten`:  {title: "Termin vorbereiten", about: "Jan Müller"},
		`Termin @"Jan Müller`:               {title: `Termin Müller`, about: "Jan"},
		"Mail an a@b.example":               {title: "Mail an a@b.example"},
		"Eilt! @ Bahnhof":                   {title: "Eilt! @ Bahnhof"},
		"zwei @eins @zwei":                  {title: "zwei @zwei", about: "eins"},
		"morgen":                            {title: "morgen"},
		"Frist 31.02. !":                    {title: "Frist 31.02.", urgent: true, misread: "31.02."},
		"":                                  {},
		"  \t ":                             {},
		`@""`:                               {title: `@""`},
		`@"  "`:                             {title: `@" "`},
		`@"eins zwei"drei`:                  {title: "drei", about: "eins zwei"},
	} {
		if got := readLine(someDay, line); got.title != want.title || got.misread != want.misread || got.about != want.about || got.urgent != want.urgent || got.hasDue != want.hasDue || got.clock != want.clock || !got.due.Equal(want.due) {
			t.Errorf("%q is %+v, want %+v", line, got, want)
		}
	}
}

// FuzzReadLine checks that readLine parses any line and loses no word. Each word is in the title,
// or is part of the date, the priority or the name.
func FuzzReadLine(f *testing.F) {
	for _, seed := range []string{"Klage prüfen morgen 10 !! @müller", `@"a b" c`, `@"`, "! !! !!!", "bis fr", "x\u00a0y @ü"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		q := readLine(someDay, line)
		if q.hasDue == q.due.IsZero() || q.clock && !q.hasDue {
			t.Errorf("%q: the date %v, %t, %t", line, q.due, q.hasDue, q.clock)
		}
		for _, word := range strings.Fields(q.title) {
			if !strings.Contains(line, word) {
				t.Errorf("%q has the title %q", line, q.title)
			}
		}
		if q.about != "" && !strings.Contains(line, "@") || q.urgent && !strings.Contains(line, "!") || !strings.Contains(line, q.about) {
			t.Errorf("%q is %+v", line, q)
		}
		if !q.hasDue && !q.urgent && q.about == "" && q.title != strings.Join(strings.Fields(line), " ") {
			t.Errorf("%q lost words: %q", line, q.title)
		}
	})
}
