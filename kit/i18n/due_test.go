package i18n_test

import (
	"testing"
	"time"

	"kartei/kit/i18n"
)

// TestReadDue checks due dates on Sunday, 22 November 2026, at 12:30 in Cologne.
func TestReadDue(t *testing.T) {
	de, _ := both(t)
	for text, want := range map[string]string{
		"heute": "2026-11-22 23:59", "Morgen": "2026-11-23 23:59", "morgen 10": "2026-11-23 10:00",
		"tomorrow 10 o'clock": "2026-11-23 10:00",
		"übermorgen 8.15":     "2026-11-24 08:15", "fr": "2026-11-27 23:59", "Fr. 16:30": "2026-11-27 16:30",
		"so": "2026-11-29 23:59", "Monday": "2026-11-23 23:59",
		"15.12.": "2026-12-15 23:59", "21.11.": "2027-11-21 23:59", "22.11.": "2026-11-22 23:59",
		"1.2.28 9 Uhr": "2028-02-01 09:00", "29.2.": "2028-02-29 23:59",
		"+3t": "2026-11-25 23:59", "+2w": "2026-12-06 23:59", "+1m 12:00": "2026-12-22 12:00",
		"2026-12-15":       "2026-12-15 23:59",
		"nächsten Freitag": "2026-11-27 23:59", "kommenden mo um 10 Uhr": "2026-11-23 10:00",
		"next Friday 16:30": "2026-11-27 16:30", "diesen Sonntag": "2026-11-29 23:59",
		"in 3 Tagen": "2026-11-25 23:59", "in einer Woche um 9": "2026-11-29 09:00",
		"in 2 weeks at 10": "2026-12-06 10:00", "in einem Monat 8 Uhr": "2026-12-22 08:00",
		"tomorrow 10am": "2026-11-23 10:00", "tomorrow at 4:30 pm": "2026-11-23 16:30", "Fri 12 a.m.": "2026-11-27 00:00",
		"fri 12pm": "2026-11-27 12:00", "fri 13pm": "", "fri 0am": "",
		"nächsten Morgen": "", "nächsten": "", "in": "", "in 3": "", "in drei Tagen": "", "morgen um": "",
		"fr um 10 um 11": "",
		// Summer time begins in this night, so 2:30 does not exist.
		"28.3.2027 3:00": "2027-03-28 03:00",
		"":               "", "bald": "", "31.2.": "", "31.4.2027": "", "morgen 25": "", "morgen 10:61": "", "10": "",
		"heute morgen": "", "fr 16 uhr abends": "", "0.0.": "", "99.99.": "",
	} {
		due, clock, ok := de.ReadDue(text)
		got := ""
		if ok {
			got = due.Format("2006-01-02 15:04")
		}
		if got != want || clock != (ok && due.Format("15:04") != "23:59") {
			t.Errorf("%q is %q with an hour: %t, want %q", text, got, clock, want)
		}
	}
}

func TestTakeDue(t *testing.T) {
	de, _ := both(t)
	for line, want := range map[string][2]string{
		"Klage prüfen morgen 10":  {"Klage prüfen", "2026-11-23 10:00"},
		"Klage  prüfen fr 16 Uhr": {"Klage prüfen", "2026-11-27 16:00"},
		"Akte 15.12. anlegen":     {"Akte 15.12. anlegen", ""}, "morgen": {"morgen", ""},
		"Frist bis 15.12.": {"Frist", "2026-12-15 23:59"}, "bis 15.12.": {"bis", "2026-12-15 23:59"}, "": {"", ""},
		"Raum 10": {"Raum 10", ""}, "Klage prüfen bis nächsten Freitag um 10 Uhr": {"Klage prüfen", "2026-11-27 10:00"},
		"Anruf in 2 Wochen": {"Anruf", "2026-12-06 23:59"},
		"Haus in 3 Räumen":  {"Haus in 3 Räumen", ""},
	} {
		rest, due, _, ok := de.TakeDue(line)
		got := ""
		if ok {
			got = due.Format("2006-01-02 15:04")
		}
		if rest != want[0] || got != want[1] {
			t.Errorf("%q is %q due %q, want %q", line, rest, got, want)
		}
	}
}

// TestMisread checks that Misread returns an invalid due date at the end of a line.
func TestMisread(t *testing.T) {
	de, _ := both(t)
	for line, want := range map[string]string{
		"Frist 31.02.": "31.02.", "Frist 31.02. um 10 Uhr": "31.02. um 10 Uhr", "Frist 2026-02-30": "2026-02-30",
		"Frist morgen 25": "morgen 25", "Klage fr 13pm": "fr 13pm", "Termin morgen 10:61": "morgen 10:61",
		"Klage prüfen morgen 10": "", "Frist 15.12.": "", "Kapitel 3.15. prüfen": "", "Raum 10": "", "31.02.": "",
		"Akte von heute 4711": "", "": "", "Haus in 3 Räumen": "",
	} {
		if got := de.Misread(line); got != want {
			t.Errorf("%q has %q, want %q", line, got, want)
		}
	}
}

// TestDueText checks that ReadDue parses the result of DueText as the same time.
func TestDueText(t *testing.T) {
	de, en := both(t)
	for _, w := range []i18n.Words{de, en} {
		for _, text := range []string{"morgen 10", "15.12.", "1.2.28 9:05"} {
			due, clock, _ := w.ReadDue(text)
			if again, same, ok := w.ReadDue(w.DueText(due)); !ok || !again.Equal(due) || same != clock {
				t.Errorf("%q is shown as %q, which is %s", text, w.DueText(due), again)
			}
		}
	}
}

// FuzzReadDue checks that ReadDue returns only years from 1900 to 9999 for any text. TakeDue must
// leave a title.
func FuzzReadDue(f *testing.F) {
	for _, seed := range []string{"morgen 10", "fr", "29.2.", "+999m", "2026-12-15", "31.12.99 24:00"} {
		f.Add(seed)
	}
	w := i18n.Words{Language: i18n.German, Now: noon}
	f.Fuzz(func(t *testing.T, text string) {
		due, _, ok := w.ReadDue(text)
		if ok && (due.Year() < 1900 || due.Year() > 9999) {
			t.Errorf("%q is %s", text, due.Format(time.RFC3339))
		}
		if rest, _, _, took := w.TakeDue("Aufgabe " + text); took && rest == "" {
			t.Errorf("%q leaves no title", text)
		}
	})
}
