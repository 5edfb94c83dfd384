package shell

import (
	"testing"

	"kartei/api/op"
	"kartei/people/auditlog"
)

// TestSettingsMenu checks that the menu leaves out pages that the person may not open, and empty
// groups.
func TestSettingsMenu(t *testing.T) {
	site := &Site{application: Application{
		Pages: []Page{Private("GET", "/settings/own", nil, nil), Private("GET", "/settings/trial", op.List{auditlog.List}, nil)},
		Menu: []SettingsGroup{
			{"Own", []SettingsPage{{Path: "/settings/own"}}},
			{"Trial", []SettingsPage{{Path: "/settings/trial"}, {Path: "/settings/missing"}}},
		},
	}}
	clerk := (&Request{Site: site}).menu()
	if len(clerk) != 1 || clerk[0].Pages[0].Path != "/settings/own" {
		t.Errorf("a clerk sees %v", clerk)
	}
	admin := (&Request{Site: site, Session: Session{Administers: true}}).menu()
	if len(admin) != 2 || len(admin[1].Pages) != 1 || admin[1].Pages[0].Path != "/settings/trial" {
		t.Errorf("an admin sees %v", admin)
	}
}
