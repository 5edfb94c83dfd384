package journey

import (
	"context"
	"testing"
	"time"

	"kartei/access"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// inSecond creates a second organization with a user who has the same account as the person. It
// returns the id of this user.
func (o *Office) inSecond(of string) string {
	o.Helper()
	ctx := context.Background()
	second, err := o.Operator().CreateOrganization(ctx, organization.New{Name: "Notariat Abendrot"})
	if err != nil {
		o.Fatal(err)
	}
	made, err := o.Operator().CreateUser(ctx, principal.New{
		Organization: second.ID, Name: "Helene Abend", Email: o.emailOf(of), Role: access.Admin,
	})
	if err != nil {
		o.Fatal(err)
	}
	dbtest.Run(o.TB, o.DB, `update principals set account_id = (select account_id from principals where id = $1) where id = $2`, of, made.ID)
	o.Directory.Forget()
	return made.ID
}

// TestSwitchedMeanwhile switches the organization in another tab while a form or the quick line is
// being filled in, and while a list is open. No data may go to the other organization. One click
// switches back, and then the same input is stored once.
func TestSwitchedMeanwhile(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	o.passwords()
	o.Speaks(o.Helene(), "de")
	o.inSecond(o.Helene())
	one := o.SignedIn(o.Helene(), webtest.View{Width: 320, Language: "de"})
	two := one.Beside(speaks)
	leave := func() {
		t.Helper()
		two.Open(o.BaseURL + "/signin/choose")
		two.Click(`main form[action="/switch"] button`)
		two.At("/")
		two.Until(`document.querySelector("#menu-person")?.textContent.includes("Notariat Abendrot")`)
	}
	back := func() {
		t.Helper()
		one.Says("Diese Seite gehört zu „" + o.name() + "“")
		one.Click(".faults [data-home] button")
	}

	one.Open(o.BaseURL + "/contacts/new")
	one.Fill(`[name="lastName"]`, "Zwischenzeit")
	// The form searches for similar contacts a moment after typing. After the switch, this search
	// would be refused and show the way back before the form is sent.
	one.Until(`performance.getEntriesByType("resource").some((e) => e.name.includes("/contacts/similar"))`)
	leave()
	submit(one)
	one.Says("In diesem Browser arbeiten Sie inzwischen in „Notariat Abendrot“.")
	for _, found := range one.Faults(axe) {
		if !loaded(found, 409) {
			t.Error(found)
		}
	}
	back()
	one.Until(`/^.contacts.con_/.test(location.pathname)`)
	if n := len(o.found("Zwischenzeit")); n != 1 {
		t.Errorf("stored %d times", n)
	}

	one.Open(o.BaseURL + "/tasks")
	one.Fill("#f-line", "Frist notieren")
	// After the switch, the preview would be refused and show the way back before the line is sent.
	one.Until(`document.getElementById("understood").innerText.includes("ohne Frist")`)
	leave()
	one.Press(webtest.Enter)
	one.Says("Diese Seite gehört zu")
	if kept := webtest.Eval[string](one, `document.getElementById("f-line").value`); kept != "Frist notieren" {
		t.Errorf("the quick line has %q", kept)
	}
	// The preview of the quick line is refused too. The way back still sends the line that was sent
	// before.
	one.Fill("#f-line", "Frist notieren morgen")
	one.Until(`performance.getEntriesByType("resource").some((e) => e.name.includes("/tasks/line?") && e.responseStatus === 409)`)
	one.Fill("#f-line", "Frist notieren")
	back()
	one.Until(`document.getElementById("f-line").value === "" && document.querySelector("main").innerText.includes("Frist notieren")`)

	// The list shows no data of the other organization. Its event stream checks the session every
	// 25 seconds. If the session has changed, the list says so by itself.
	one.Open(o.BaseURL + "/contacts")
	one.Until(`"leads" in document.documentElement.dataset`)
	leave()
	o.Clock.Advance(30 * time.Second)
	back()
	one.Until(`!document.querySelector(".faults [data-home]")`)
}

// name returns the name of the office's organization.
func (o *Office) name() (name string) {
	o.Helper()
	dbtest.Get(o.TB, o.DB, []any{&name}, `select name from organizations where id = $1`, o.OrganizationID)
	return name
}
