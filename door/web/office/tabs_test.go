package office

import (
	"slices"
	"strings"
	"testing"

	"kartei/door/web/look"
	"kartei/door/web/say"
)

// Each page of the settings is a tab of them, or says here where it is linked.
func TestSettingsTabs(t *testing.T) {
	elsewhere := map[string]string{
		"/settings/security/password": "a link of the security page",
		"/settings/security/address":  "a link of the profile",

		"/settings/interfaces/keys/new":         "a link of the list of keys",
		"/settings/interfaces/keys/{id}":        "a link of the list of keys",
		"/settings/interfaces/keys/{id}/revoke": "a link of the page of a key",
		"/settings/interfaces/requests/{id}":    "a link of the list of calls",
		"/settings/interfaces/keys/{id}/first":  "a part of the page of a new key, for its script",
	}
	tabs := settingsTabs(&request{words: say.Words{Language: "de"}}, "/settings/profile")
	for _, p := range Pages {
		if p.Method != "GET" || !strings.HasPrefix(p.Path, "/settings/") {
			continue
		}
		tab := slices.ContainsFunc(tabs, func(tab look.Tab) bool { return tab.Href == look.Own(p.Path) })
		_, known := elsewhere[p.Path]
		delete(elsewhere, p.Path)
		switch {
		case tab && known:
			t.Errorf("%s is a tab, and is said to be none", p.Path)
		case !tab && !known:
			t.Errorf("%s is no tab: add it to settingsTabs, or say here where it is linked", p.Path)
		}
	}
	for path := range elsewhere {
		t.Errorf("%s is no page", path)
	}
	if here := slices.IndexFunc(tabs, func(tab look.Tab) bool { return tab.Here }); here < 0 || tabs[here].Href != look.Own("/settings/profile") {
		t.Error("the tab of the page is not marked")
	}
}
