package i18n_test

import (
	"testing"
	"time"

	"kartei/kit/i18n"
)

// noon is 12:30 on a Sunday in Cologne.
var noon = time.Date(2026, 11, 22, 11, 30, 0, 0, time.UTC)

// both returns the Words of a German and of an English reader in Cologne.
func both(t *testing.T) (de, en i18n.Words) {
	t.Helper()
	cologne, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return i18n.Words{Language: i18n.German, Zone: cologne, Now: noon},
		i18n.Words{Language: i18n.English, Zone: cologne, Now: noon}
}

func TestNumbers(t *testing.T) {
	de, en := both(t)
	for _, c := range []struct{ got, want string }{
		{de.Number(0), "0"}, {de.Number(999), "999"}, {de.Number(1284), "1.284"}, {en.Number(-1234567), "-1,234,567"},
		{de.Number(-12), "-12"},
		{de.Bytes(0), "0\u00a0Byte"}, {en.Bytes(1), "1\u00a0byte"}, {de.Bytes(999), "999\u00a0Byte"},
		{de.Bytes(1000), "1\u00a0KB"}, {de.Bytes(210_400), "210\u00a0KB"},
		{de.Bytes(999_499), "999\u00a0KB"}, {de.Bytes(999_500), "1,0\u00a0MB"}, {de.Bytes(3_140_000), "3,1\u00a0MB"},
		{en.Bytes(3_140_000), "3.1\u00a0MB"}, {de.Bytes(9_949_999), "9,9\u00a0MB"},
		{de.Bytes(9_950_000), "10\u00a0MB"}, {de.Bytes(2_000_000_000_000_000), "2.000\u00a0TB"},
		{de.Plural(1, "%d second", "%d seconds"), "1 Sekunde"},
		{de.Plural(1284, "%d second", "%d seconds"), "1.284 Sekunden"},
		{en.Plural(0, "%d second", "%d seconds"), "0 seconds"},
		{de.List(nil), ""}, {de.List([]string{"A"}), "A"}, {de.List([]string{"A", "B"}), "A und B"},
		{en.List([]string{"A", "B", "C"}), "A, B and C"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	de, en := both(t)
	before := func(d time.Duration) time.Time { return noon.Add(-d) }
	for _, c := range []struct{ got, want string }{
		{de.Time(noon), "22.11.2026, 12:30"}, {en.Time(noon), "22 Nov 2026, 12:30"},
		{i18n.Machine(noon), "2026-11-22T11:30:00Z"},
		{i18n.Words{Language: i18n.German}.Time(noon), "22.11.2026, 11:30"},
		{de.Day(noon.Add(11*time.Hour + 45*time.Minute)), "23.11.2026"}, // after midnight in Cologne, before midnight in UTC
		{de.Ago(noon), "gerade eben"}, {en.Ago(before(59 * time.Second)), "just now"},
		{de.Ago(before(time.Minute)), "vor 1\u00a0Min."},
		{de.Ago(before(2 * time.Hour)), "vor 2\u00a0Std."}, {en.Ago(before(23*time.Hour + 59*time.Minute)), "23\u00a0h ago"},
		{de.Ago(before(24 * time.Hour)), "gestern"}, {de.Ago(before(37 * time.Hour)), "20.11."},
		{en.Ago(before(240 * time.Hour)), "12 Nov"},
		{de.Ago(before(400 * 24 * time.Hour)), "18.10.2025"}, {de.Ago(before(-time.Hour)), "22.11.2026, 13:30"},
		{de.Due(noon, true), "heute 12:30"}, {en.Due(noon.Add(24*time.Hour), false), "tomorrow"},
		{de.Due(noon.Add(4*24*time.Hour), false), "Do"},
		{de.Due(before(24*time.Hour), false), "gestern"}, {de.Due(before(48*time.Hour), false), "20.11."},
		{de.Due(noon.Add(7*24*time.Hour), true), "29.11. 12:30"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestDaysAcrossSummerTime checks that days of 23 and of 25 hours count as one day.
func TestDaysAcrossSummerTime(t *testing.T) {
	de, _ := both(t)
	for _, now := range []time.Time{
		time.Date(2027, 3, 27, 22, 30, 0, 0, time.UTC), time.Date(2026, 10, 24, 21, 30, 0, 0, time.UTC),
	} {
		de.Now = now
		if got := de.Days(now.Add(24 * time.Hour)); got != 1 && got != 2 {
			t.Errorf("a day after %s is in %d days", now, got)
		}
		if got := de.Due(now.Add(2*time.Hour), false); got != "morgen" {
			t.Errorf("two hours after %s is %q", now, got)
		}
	}
}

// TestTongue checks the names of languages. A language without a known name is shown by its tag.
func TestTongue(t *testing.T) {
	de, en := both(t)
	for tag, want := range map[string][2]string{
		"de":    {"Deutsch", "German"},
		"en-GB": {"Englisch (GB)", "English (GB)"},
		"DE":    {"Deutsch", "German"},
		"tlh":   {"tlh", "tlh"},
		"":      {"", ""},
	} {
		if got := [2]string{de.Tongue(tag), en.Tongue(tag)}; got != want {
			t.Errorf("%q is %v, want %v", tag, got, want)
		}
	}
	for text, want := range map[string]string{
		"Deutsch": "de", "german": "de", "Englisch (GB)": "en-GB", "de-AT": "de-AT", "tlh": "tlh",
		"Klingonisch": "Klingonisch", "": "",
	} {
		if got := i18n.ReadTongue(text); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// TestDocs checks that the parameter lang of a link is in its query, before the fragment.
func TestDocs(t *testing.T) {
	for path, want := range map[string]string{
		"/guide":                "/guide?lang=de",
		"/guide#webhooks":       "/guide?lang=de#webhooks",
		"/docs?version=1#types": "/docs?version=1&lang=de#types",
	} {
		if got := (i18n.Words{Language: i18n.German}).Docs(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
