package office

import (
	"testing"

	"kartei/api/op"
	"kartei/people/auditlog"
)

// The menu leaves out what the person may not open, and groups without a page.
func TestSettingsMenu(t *testing.T) {
	site := &handler{rooms: Rooms{
		Pages: []Page{private("GET", "/settings/own", nil, nil), private("GET", "/settings/trial", op.List{auditlog.List}, nil)},
		Menu: []settingsGroup{
			{text("Eigenes", "Own"), []settingsPage{{path: "/settings/own"}}},
			{text("Probe", "Trial"), []settingsPage{{path: "/settings/trial"}, {path: "/settings/missing"}}},
		},
	}}
	clerk := (&request{office: site}).menu()
	if len(clerk) != 1 || clerk[0].pages[0].path != "/settings/own" {
		t.Errorf("a clerk sees %v", clerk)
	}
	admin := (&request{office: site, session: session{Administers: true}}).menu()
	if len(admin) != 2 || len(admin[1].pages) != 1 || admin[1].pages[0].path != "/settings/trial" {
		t.Errorf("an admin sees %v", admin)
	}
}
