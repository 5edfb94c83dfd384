package shell

import (
	"cmp"
	"slices"
	"time"

	"kartei/kit/i18n"
	"kartei/people/account"
	"kartei/web/ui"
)

// Session is the caller's session. It is empty on pages that need no session.
type Session account.Session

// SingleKeys reports whether the person has switched on keyboard shortcuts without modifier keys.
func (s *Session) SingleKeys() bool {
	return s.Preferences.SingleKeys != nil && *s.Preferences.SingleKeys
}

// Remembers reports whether the person has switched on the list of recently opened records.
func (s *Session) Remembers() bool { return s.Preferences.Recent != nil && *s.Preferences.Recent }

// manyOthers is the maximum number of other persons in the menu. More than this are on a page of
// their own.
const manyOthers = 5

// others returns the other persons of the account as options of the menu. It returns nil if there
// are more than manyOthers.
func (s *Session) others() (list []ui.Option) {
	for _, p := range s.Persons {
		if p.ID != s.Principal.ID {
			list = append(list, ui.Option{Value: p.ID, Text: p.OrganizationName})
		}
	}
	if len(list) > manyOthers {
		return nil
	}
	return list
}

// May reports whether the person has a scope.
func (s *Session) May(scope string) bool {
	_, found := slices.BinarySearch(s.Scopes, scope)
	return found
}

// mayOpen reports whether the person may open a page.
func (s *Session) mayOpen(p *Page) bool {
	switch scope := p.Scope(); {
	case p.reach == reachOpen:
		return true
	case scope != "":
		return s.May(scope)
	}
	return s.Administers || !p.AdminsOnly()
}

// words returns w with the language, the time zone and the country of the person.
func (s *Session) words(w i18n.Words) i18n.Words {
	w.Home = s.Organization.Country
	w.Language = cmp.Or(i18n.Language(s.Principal.Language), i18n.German)
	if zone, err := time.LoadLocation(cmp.Or(s.Preferences.Zone, "Europe/Berlin")); err == nil {
		w.Zone = zone
	}
	return w
}
