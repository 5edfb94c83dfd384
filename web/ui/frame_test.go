package ui

import "testing"

func TestInitials(t *testing.T) {
	for name, want := range map[string]string{
		"Ida Morgen": "IM", "Dr. Helene Morgenstern": "HM", "Prof. Dr. Ayşe di Marco": "AM", "J. R. Berg": "JB",
		"Łukasz": "Ł", "Dr.": "D", "": "?", "…": "?",
	} {
		if got := initials(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
