package app

import (
	"slices"
	"strings"
	"testing"

	"kartei/web/shell"
)

// TestSettingsPages checks that each page of the settings is in the menu, or that the test lists
// where it is linked.
func TestSettingsPages(t *testing.T) {
	elsewhere := map[string]string{
		"/settings/security/password": "a link of the security page",
		"/settings/security/address":  "a link of the profile",

		"/settings/interfaces/keys/new":                    "a link of the list of keys",
		"/settings/interfaces/keys/{id}":                   "a link of the list of keys",
		"/settings/interfaces/keys/{id}/revoke":            "a link of the page of a key",
		"/settings/data/new":                               "a link of the list of imports",
		"/settings/data/{id}":                              "a link of the list of imports",
		"/settings/data/{id}/undo":                         "a link of the page of an import",
		"/settings/data/{id}/report":                       "a link of the page of an import",
		"/settings/data/{id}/refused":                      "a link of the page of an import",
		"/settings/security/access":                        "a link of the security page",
		"/settings/interfaces/requests/{id}":               "a link of the list of calls",
		"/settings/interfaces/keys/{id}/first":             "a part of the page of a new key, for its script",
		"/settings/interfaces/events/{id}":                 "a link of the feed",
		"/settings/interfaces/webhooks/new":                "a link of the list of endpoints",
		"/settings/interfaces/webhooks/{id}":               "a link of the list of endpoints",
		"/settings/interfaces/webhooks/{id}/delete":        "a link of the page of an endpoint",
		"/settings/interfaces/webhooks/{id}/tests/{event}": "the result of a test, to which its button leads",
		"/settings/people/invite":                          "a link of the list of people",
		"/settings/people/{id}":                            "a link of the list of people",
		"/settings/people/{id}/leave":                      "a link of the page of a person",
		"/settings/people/{id}/erase":                      "a link of the page of a person",
		"/settings/service-accounts/new":                   "a link of the list of service accounts",
		"/settings/interfaces/applications/new":            "a link of the list of applications",
		"/settings/interfaces/applications/approvals/{id}": "a link of the list of applications, and of the bell",
		"/settings/service-accounts/{id}":                  "a link of the list of service accounts",
		"/settings/service-accounts/{id}/leave":            "a link of the page of a service account",
	}
	menu := map[string]bool{shell.SettingsPath: true}
	for _, g := range settingsMenu {
		for _, p := range g.Pages {
			menu[p.Path] = true
			if !slices.ContainsFunc(Pages, func(q shell.Page) bool { return q.Method == "GET" && q.Path == p.Path }) {
				t.Errorf("the menu leads to %s, which is no page", p.Path)
			}
		}
	}
	for _, p := range Pages {
		if p.Method != "GET" || !strings.HasPrefix(p.Path, "/settings/") {
			continue
		}
		_, known := elsewhere[p.Path]
		delete(elsewhere, p.Path)
		switch {
		case menu[p.Path] && known:
			t.Errorf("%s is in the menu, and is said not to be", p.Path)
		case !menu[p.Path] && !known:
			t.Errorf("%s is not in the menu: add it to settingsMenu, or say here where it is linked", p.Path)
		}
	}
	for path := range elsewhere {
		t.Errorf("%s is no page", path)
	}
}
