package office

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/web/i18n"
	"kartei/web/ui"
)

// session is the answer of session.get, as far as pages need it.
type session struct {
	ID        string `json:"id"`
	Email     string `json:"email"`
	Principal person `json:"principal"`
	// Organization is the one that the page shows.
	Organization struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		SandboxOf string `json:"sandboxOf"`
		// Country is where the office is.
		Country string `json:"country"`
		// Applications is off, known or all: which applications people may connect.
		Applications string `json:"applications"`
		// EraseAt is when the organization is erased, zero if it stays.
		EraseAt clock.Micros `json:"eraseAt"`
	} `json:"organization"`
	// Scopes are what the person may do at present, sorted.
	Scopes      []string `json:"scopes"`
	Administers bool     `json:"administers"`
	Persons     []person `json:"persons"`
	// SecondFactorFrom is when the organization begins to ask for a second factor that
	// the person lacks. SecondFactorDue says that it does.
	SecondFactorFrom clock.Micros `json:"secondFactorFrom"`
	SecondFactorDue  bool         `json:"secondFactorDue"`
	FreshUntil       clock.Micros `json:"freshUntil"`
	EndsAt           clock.Micros `json:"endsAt"`
	Preferences      preferences  `json:"preferences"`
	// Bell is the number of entries that were not read.
	Bell int `json:"bell"`
	// HasKey says that the person has a key of the API.
	HasKey bool `json:"hasKey"`
	// Mails says that a mail server sends emails.
	Mails bool `json:"mails"`
}

// preferences are the person's own settings for the pages.
type preferences struct {
	// Zone is a name of the IANA time zone database.
	Zone string `json:"zone"`
	// Theme is system, light or dark. Density is comfortable or compact.
	Theme   string `json:"theme"`
	Density string `json:"density"`
	// SingleKeys says whether keys without a modifier are shortcuts.
	SingleKeys bool `json:"singleKeys"`
	Recent     bool `json:"recent"`
	Reminders  bool `json:"reminders"`
}

// person is a person of the caller's account.
type person struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	Role             string `json:"role"`
	Language         string `json:"language"`
	OrganizationID   string `json:"organizationId"`
	OrganizationName string `json:"organizationName"`
}

// manyOthers are too many persons for the menu; they stand on a page.
const manyOthers = 5

// others are the other persons of the account, for the menu.
func (s *session) others() (list []ui.Option) {
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

// may reports whether the person has a scope.
func (s *session) may(scope string) bool {
	_, found := slices.BinarySearch(s.Scopes, scope)
	return found
}

// mayOpen reports whether the person may see a page.
func (s *session) mayOpen(p *Page) bool {
	switch scope := p.Scope(); {
	case p.For == open:
		return true
	case scope != "":
		return s.may(scope)
	}
	return s.Administers || !p.AdminsOnly()
}

// words returns how the pages speak to the person.
func (s *session) words(w i18n.Words) i18n.Words {
	w.Home = s.Organization.Country
	w.Language = fault.German
	if s.Principal.Language == string(fault.English) {
		w.Language = fault.English
	}
	if zone, err := time.LoadLocation(first(s.Preferences.Zone, "Europe/Berlin")); err == nil {
		w.Zone = zone
	}
	return w
}

// languageOf returns the language of a page for a caller who is not known yet.
func languageOf(r *http.Request) fault.Language {
	if r.URL.Query().Get("lang") == string(fault.English) {
		return fault.English
	}
	return fault.Preferred(r.Header["Accept-Language"])
}

// decode decodes the answer of a row. Members that a page does not need are
// ignored.
func decode(body []byte, into any) error { return json.Unmarshal(body, into) }
