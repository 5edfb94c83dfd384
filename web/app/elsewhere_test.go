package app_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/invitation"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/pagetest"
	"kartei/test/webtest"
	"kartei/web/app"
)

// inTwo returns the browser of an admin who belongs to two organizations, and the admin's user ids
// in both.
func inTwo(t *testing.T, o *apitest.Office) (b *pagetest.Browser, first, second string) {
	t.Helper()
	b = pagetest.Open(t, o, access.Admin)
	b.Cookie = ""
	other, _ := o.Organization("Notariat Abendrot")
	var who []string
	for _, organization := range []string{o.ID, other} {
		made, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{Organization: organization, Email: "ida@kanzlei.example", Role: access.Admin})
		if err != nil {
			t.Fatal(err)
		}
		b.Get("/invitation").Send("/invitation", "token", made.Token, "name", "Ida Abend", "password", pagetest.Password).Want(303)
		var id string
		dbtest.Get(t, o.DB, []any{&id}, `select p.id from principals p join organizations o on o.number = p.organization where o.id = $1 and p.email = 'ida@kanzlei.example'`, organization)
		who = append(who, id)
	}
	b.Cookie = o.Session(who[0])
	return b, who[0], who[1]
}

// marker is the text that tests enter into every field.
const marker = "Vertraulich aus der Kanzlei"

// stale returns all forms of the pages of an organization, filled in. Tests then switch the session
// to another organization.
func stale(t *testing.T, b *pagetest.Browser) (forms []webtest.Form) {
	t.Helper()
	contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
	company := b.Get("/companies/new").Send("/companies/new", "name", "Berg GmbH").Want(303).Location
	task := b.Get("/tasks/new").Send("/tasks/new", "title", "Rückruf").Want(303).Location
	paths := []string{
		contact, contact + "?edit=jobTitle", contact + "/edit", contact + "/delete", company + "/delete", company + "/edit", task, task + "?edit=title", task + "/edit",
		"/contacts?open=" + strings.TrimPrefix(contact, "/contacts/"),
	}
	for _, p := range app.Pages {
		if p.Method == "GET" && !p.Open() && !strings.Contains(p.Path, "{") && !slices.Contains([]string{"/live", "/signin/choose", "/confirm"}, p.Path) {
			paths = append(paths, p.Path)
		}
	}
	seen := map[string]bool{}
	for _, path := range paths {
		list := webtest.Forms(b.Get(path).Body)
		for _, form := range list { // a button can have its own formaction
			for _, button := range buttons.FindAllStringSubmatch(b.Get(path).Main(), -1) {
				list = append(list, webtest.Form{Action: html.UnescapeString(button[1]), Fields: url.Values{"form-token": form.Fields["form-token"], "note": {marker}}})
			}
			break
		}
		for _, form := range list {
			if seen[path+form.Action] || form.Action == "/switch" || form.Action == "/signout" || form.Action == "" {
				continue
			}
			seen[path+form.Action] = true
			for name := range form.Fields {
				if name != "form-token" && form.Fields.Get(name) == "" && name != "passkey-ticket" && name != "passkey-response" {
					form.Fields.Set(name, marker)
				}
			}
			forms = append(forms, form)
		}
	}
	return forms
}

// ofFrame are the actions of the forms on every page. These forms belong to the signed-in person
// and to no organization.
var ofFrame = []string{"/switch", "/signout", "/theme"}

// buttons matches the formaction of buttons.
var buttons = regexp.MustCompile(`formaction="([^"]+)"`)

// TestFormsBelongToAnOrganization loads every form, switches the session to another organization,
// and sends the forms. It checks that each is refused and nothing is stored. The response has the
// entered values, but no form token for the other organization.
func TestFormsBelongToAnOrganization(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b, _, second := inTwo(t, o)
	forms := stale(t, b)
	if len(forms) < 30 {
		t.Errorf("only %d forms were found", len(forms))
	}
	changes := func() (n int64) {
		var events, audited int64
		dbtest.Get(t, o.DB, []any{&events}, `select count(*) from events`)
		dbtest.Get(t, o.DB, []any{&audited}, `select count(*) from audit_lines`)
		return events + audited
	}
	b.Cookie = o.Session(second)
	before := changes()
	for _, form := range forms {
		got := b.Do("POST", form.Action, form.Fields)
		if got.Status == 405 { // the action itself has no handler, only the formaction of its buttons has
			continue
		}
		if got.Status != 409 {
			t.Errorf("%s is answered %d", form.Action, got.Status)
			continue
		}
		got.Want(409, "Diese Seite gehört zu „Kanzlei Morgenstern“", "arbeiten Sie inzwischen in „Notariat Abendrot“", `action="/switch"`)
		secret := strings.HasSuffix(form.Action, "/password") // passwords are not sent back
		if typed := slices.Contains(values(form.Fields), marker); typed && !secret && !strings.Contains(got.Body, marker) {
			t.Errorf("%s: what was typed is gone", form.Action)
		}
		for _, offered := range webtest.Forms(got.Body) {
			if !slices.Contains(ofFrame, offered.Action) || offered.Action != "/switch" && slices.Contains(values(offered.Fields), marker) {
				t.Errorf("%s: the answer offers to send %s", form.Action, offered.Action)
			}
		}
		message := b.Do("POST", form.Action, form.Fields, "HX-Request", "true", "Kartei-Person", "usr_01m7xt6sane2a9hpasvbmaayqz")
		if message.Status < 400 || message.Header.Get("Kartei-Token") != "" || message.Header.Get("HX-Retarget") != "#faults" {
			t.Errorf("%s: a script is answered with %d %v", form.Action, message.Status, message.Header)
		}
	}
	if after := changes(); after != before {
		t.Errorf("the forms made %d changes", after-before)
	}
}

func values(fields url.Values) (all []string) {
	for _, list := range fields {
		all = append(all, list...)
	}
	return all
}

// content reduces the page to its main element, because the menu has a switch form too.
func content(p *pagetest.Page) *pagetest.Page {
	p.Body = p.Main()
	return p
}

// TestWayBackToAnOrganization sends a form after a switch to another organization. It checks that
// the person can switch back and store the record once, in the first organization.
func TestWayBackToAnOrganization(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, _, second := inTwo(t, o)
		form, line := b.Get("/contacts/new"), b.Get("/tasks")
		b.Cookie = o.Session(second)
		back := content(form.Send("/contacts/new", "lastName", "Zurück").Want(409, "Zurück zu „Kanzlei Morgenstern“")).Send("/switch").Want(200, "Sie arbeiten wieder in „Kanzlei Morgenstern“")
		back.Send("/contacts/new").Want(303)
		b.Get("/contacts").Want(200, "Zurück", "Kanzlei Morgenstern")
		back.Send("/contacts/new").Want(303) // a second press of the button
		if n := len(regexp.MustCompile(`<bdi>Zurück`).FindAllString(b.Get("/contacts").Body, -1)); n != 1 {
			t.Errorf("stored %d times", n)
		}
		b.Cookie = o.Session(second)
		b.Get("/contacts").Want(200).Without("Zurück")
		content(line.Send("/tasks/line", "line", "Frist notieren morgen").Want(409, "Frist notieren morgen")).Send("/switch").Want(200).Send("/tasks/line").Want(303)
		b.Get("/tasks").Want(200, "Frist notieren")
	})
}

// TestStaleScripts sends the requests that a script on a page of one organization would send, while
// the session belongs to another organization.
func TestStaleScripts(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b, me, second := inTwo(t, o)
	form := b.Get("/contacts/new").Fields("/contacts/new")
	drop := regexp.MustCompile(`data-drop="([^"]+)"`).FindStringSubmatch(b.Get("/documents/new").Body)[1]
	b.Cookie = o.Session(second)
	b.Get("/contacts/new").Send("/contacts/new", "lastName", "Abendrotes").Want(303)
	scripted := []string{"HX-Request", "true", "Kartei-Person", me}
	for _, headers := range [][]string{scripted, append([]string{"Kartei-Live", "1"}, scripted...)} {
		got := b.Do("GET", "/contacts", nil, headers...).Want(409, "Diese Seite gehört zu „Kanzlei Morgenstern“", "data-home").Without("Abendrotes")
		if got.Header.Get("HX-Retarget") != "#faults" || got.Header.Get("Kartei-Elsewhere") == "" {
			t.Errorf("a part is answered with %v", got.Header)
		}
	}
	form.Set("lastName", "Nirgends")
	message := b.Do("POST", "/contacts/new", form, scripted...).Want(409, "Gespeichert wurde noch nichts")
	fields := message.Fields("/switch")
	answer := b.Do("POST", "/switch", fields, "HX-Request", "true", "Kartei-Over", "1", "Kartei-Person", me).Want(204)
	if answer.Header.Get("Kartei-Signed-In") != me {
		t.Errorf("the way back ends with %v", answer.Header)
	}
	b.Do("POST", "/contacts/new", form, scripted...).Want(200, "Nirgends", "Kanzlei Morgenstern")

	b.Cookie = o.Session(second)
	for _, path := range []string{"/documents/upload", "/documents/new"} {
		got := b.Do("POST", path, url.Values{"form-token": {drop}, "n": {"1"}, "name": {"a.txt"}, "size": {"1"}}, "Kartei-Person", me)
		if got.Status != http.StatusUnprocessableEntity || !strings.HasPrefix(got.Body, "Diese Seite gehört zu „Kanzlei Morgenstern“. ") {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	if got := b.Do("PUT", "/documents/upload/upl_01m7xt6sane2a9hpasvbmaayqz", url.Values{}, "Kartei-Person", me); got.Status != http.StatusUnprocessableEntity || !strings.HasPrefix(got.Body, "Diese Seite gehört") {
		t.Errorf("a file: %d %s", got.Status, got.Body)
	}
}
