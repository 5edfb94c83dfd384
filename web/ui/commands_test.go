package ui

import (
	"slices"
	"testing"

	"kartei/kit/i18n"
)

// TestCommandsByOtherWords checks that commands are found by other words in both languages.
func TestCommandsByOtherWords(t *testing.T) {
	for _, language := range []i18n.Language{i18n.German, i18n.English} {
		f := Frame{}
		f.Language = language
		for _, typed := range []string{
			"import", "einladen", "invite", "protokoll", "audit log", "sandbox", "export", "drucken", "print", "abmelden",
			"sign out", "logout", "dunkel", "dark", "hell", "light",
			"profil", "profile", "personen", "people", "dienstkonten", "organisation", "hilfe", "help", "tastatur",
			"keyboard", "passwort", "csv", "menü", "MENU",
		} {
			if !f.Knows(typed) {
				t.Errorf("%s: no command for %q", language, typed)
			}
		}
		for _, typed := range []string{"", " ", "zwirner", "0221 98765"} {
			if f.Knows(typed) {
				t.Errorf("%s: a command for %q", language, typed)
			}
		}
	}
}

// TestCommandsByRight checks that the palette has no command for a page that the reader may not
// open.
func TestCommandsByRight(t *testing.T) {
	f := Frame{
		Opens: func(path string) bool { return path != "/settings/people/invite" },
		May:   func(family, verb string) bool { return verb == "read" },
	}
	ids := func(f Frame) (list []string) {
		for _, c := range f.Commands() {
			list = append(list, c.ID)
		}
		return list
	}
	for _, id := range []string{"invite", "import", "live"} {
		if slices.Contains(ids(f), id) {
			t.Errorf("the palette has %s", id)
		}
	}
	if !slices.Contains(ids(f), "sandbox") || !slices.Contains(ids(f), "signOut") {
		t.Errorf("the palette has only %v", ids(f))
	}
}
