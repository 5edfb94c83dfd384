package office_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

func TestContactOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		created := b.get("/contacts/new").want(200).send("/contacts/new", "lastName", "Müller", "firstName", "Brigitte", "mobile", "0176 04069063", "tags", "Mandant\r\nErb, recht").want(303)
		detail := b.get(created.Location).want(200, "Brigitte Müller", `href="tel:+4917604069063"`, "Erb, recht")
		b.get("/contacts").want(200, "Müller, Brigitte")

		edited := b.get(created.Location+"/edit").want(200).send(created.Location, "mobile", "", "address.city", "Köln")
		edited.want(303)
		if got := b.get(created.Location).want(200, "Köln").Body; strings.Contains(got, "04069063") {
			t.Error("a number that was removed is still there")
		}
		b.get(created.Location+"/edit").send(created.Location, "email", "nobody").want(422, `aria-invalid="true"`, `value="nobody"`)
		b.get(created.Location+"/delete").want(200, "endgültig").send(created.Location + "/delete").want(303)
		b.get(created.Location).want(404)
		_ = detail
	})
}

// TestTwoPeopleEditAContact sends two forms that were drawn at the same time (J8).
func TestTwoPeopleEditAContact(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := open(t, o, access.Member)
		jan := &browser{t: t, handler: ida.handler, cookie: o.Session(o.As(access.Member).Principal)}
		path := ida.get("/contacts/new").send("/contacts/new", "lastName", "Müller", "mobile", "0176 04069063", "phone", "0221 1").want(303).Location
		idas, jans := ida.get(path+"/edit"), jan.get(path+"/edit")
		idas.send(path, "mobile", "0176 04069064", "jobTitle", "Richterin").want(303)

		// Jan changed another member, and the same one to another value.
		merge := jans.send(path, "mobile", "0151 2233445", "phone", "0221 2").want(409, "gespeichert (Stand r", "0176 04069063", "0176 04069064", "0151 2233445", "Richterin", "Funktion")
		ida.get(path).want(200, "0176 04069064", "0221 1")
		merge.send(path).want(303)
		ida.get(path).want(200, "0151 2233445", "0221 2", "Richterin")

		// Members that only one of them changed are merged without a question.
		idas, jans = ida.get(path+"/edit"), jan.get(path+"/edit")
		idas.send(path, "mobile", "1").want(303)
		jans.send(path, "phone", "2", "lastName", "Meier").want(303)
		ida.get(path).want(200, "Meier", `tel:1"`, `tel:2"`)

		// The stored value and a third value can both be chosen.
		idas, jans = ida.get(path+"/edit"), jan.get(path+"/edit")
		idas.send(path, "mobile", "11", "phone", "22").want(303)
		jans.send(path, "mobile", "111", "phone", "222").want(409).
			send(path, "pick.mobile", "theirs", "pick.phone", "other", "phone", "2222").want(303)
		ida.get(path).want(200, `tel:11"`, `tel:2222"`)

		// A form of a record that is deleted meanwhile creates it anew.
		jans = jan.get(path + "/edit")
		ida.get(path + "/delete").send(path + "/delete").want(303)
		again := jans.send(path, "mobile", "333").want(409, "gelöscht").send("/contacts/new").want(303)
		if again.Location == path {
			t.Error("a deleted contact came back under its old address")
		}
		ida.get(again.Location).want(200, "Meier", `tel:333"`)
	})
}

// TestFormIsSentTwice repeats a form, as a browser does after a line that died.
func TestFormIsSentTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		form := b.get("/contacts/new")
		first := form.send("/contacts/new", "lastName", "Berg").want(303)
		if second := form.send("/contacts/new", "lastName", "Berg").want(303); second.Location != first.Location {
			t.Errorf("a form that was sent twice made two contacts: %s and %s", first.Location, second.Location)
		}
		edit := b.get(first.Location + "/edit")
		edit.send(first.Location, "mobile", "1").want(303)
		edit.send(first.Location, "mobile", "1").want(303)
		b.get(first.Location).want(200, `tel:1"`)
	})
}

func TestPagesAskToSignIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		path := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303).Location
		form := b.get(path + "/edit")
		cookie := b.cookie
		b.cookie = ""
		if got := b.get("/contacts?q=a").want(303).Location; got != "/signin?next=%2Fcontacts%3Fq%3Da" {
			t.Errorf("a caller without a session is led to %s", got)
		}
		// The typed values wait for the sign-in.
		form.send(path, "mobile", "0176 1").want(401, "0176 1", "abgelaufen")
		b.cookie = cookie
		b.get(path).want(200)

		// A token of nobody, of somebody else or of another form's person is refused.
		for _, token := range []string{"", "x", o.Session(o.As(access.Member).Principal)} {
			form.send(path, "form-token", token, "mobile", "0176 2").want(422, "noch nichts", "0176 2")
		}
		if got := b.do("POST", path, form.fields(path), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); got.Status != 403 {
			t.Errorf("a form of another site: %d", got.Status)
		}
	})
}

// TestForeignRecordsAreNotFound compares an unknown id with one of another person.
func TestForeignRecordsAreNotFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := open(t, o, access.Member)
		jan := &browser{t: t, handler: ida.handler, cookie: o.Session(o.As(access.Member).Principal)}
		path := ida.get("/contacts/new").send("/contacts/new", "lastName", "Geheim", "visibility", "private").want(303).Location
		hidden, unknown := jan.get(path).want(404), jan.get(path[:len(path)-1]+"0").want(404)
		if strings.Contains(hidden.main(), "Geheim") || hidden.main() != unknown.main() {
			t.Errorf("a hidden record differs from an unknown one:\n%s\n%s", hidden.main(), unknown.main())
		}
		jan.get("/contacts").want(200)
		ida.get("/contacts").want(200, "Geheim")
	})
}

// TestListBothWays leafs through a list by name, to its end and back.
func TestListBothWays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		for i := range 120 {
			b.get("/companies/new").send("/companies/new", "name", fmt.Sprintf("Firma %03d", (i*37)%120)).want(303)
		}
		var pages []string
		next := "/companies"
		for next != "" {
			p := b.get(next).want(200)
			names := regexp.MustCompile(`<bdi>Firma \d{3}`).FindAllString(p.main(), -1)
			pages = append(pages, strings.Join(names, " "))
			next = p.link("next")
			if next == "" {
				for back := len(pages) - 2; back >= 0; back-- {
					p = b.get(p.link("prev")).want(200)
					if got := strings.Join(regexp.MustCompile(`<bdi>Firma \d{3}`).FindAllString(p.main(), -1), " "); got != pages[back] {
						t.Errorf("page %d, on the way back: %s, want %s", back, got, pages[back])
					}
				}
				if p.link("prev") != "" {
					t.Error("the first page leads further back")
				}
			}
		}
		all := strings.Fields(strings.ReplaceAll(strings.Join(pages, " "), "<bdi>Firma ", ""))
		if len(pages) != 3 || len(all) != 120 || !slices.IsSorted(all) {
			t.Errorf("%d pages with %d rows: %s", len(pages), len(all), all)
		}
	})
}

// TestViewersSeeNoForms opens the pages of changes as a viewer.
func TestViewersSeeNoForms(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		path := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303).Location
		b.cookie = o.Session(o.As(access.Viewer).Principal)
		record := b.get(path).want(200, "Berg")
		for _, refused := range []string{"/contacts/new", path + "/edit", "/companies/new", "/tasks/new"} {
			b.get(refused).want(403, "Recht")
		}
		if strings.Contains(record.main(), path+"/edit") || strings.Contains(b.get("/contacts").main(), "/contacts/new") {
			t.Error("a viewer is offered a form")
		}
	})
}

// TestLinksLead follows every link from the start page. Each leads to a page.
func TestLinksLead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Admin)
		contact := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "tags", "Mandant").want(303).Location
		b.get("/tasks/new").send("/tasks/new", "title", "Rückruf", "contactId", strings.TrimPrefix(contact, "/contacts/")).want(303)
		seen := map[string]bool{"/": true}
		for open := []string{"/", "/sandbox/", "/signin"}; len(open) > 0; open = open[1:] {
			p := b.get(open[0])
			if p.Status == 404 {
				t.Errorf("a link leads to %s, where no page is", open[0])
			}
			for _, m := range regexp.MustCompile(`(?:href|action)="(/[^"#]*)`).FindAllStringSubmatch(p.Body, -1) {
				path := html.UnescapeString(m[1])
				public := slices.ContainsFunc([]string{"/static/", "/guide", "/docs"}, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
				if !seen[path] && !public && !strings.Contains(m[0], "action=") {
					seen[path] = true
					open = append(open, path)
				}
			}
		}
		if len(seen) < 15 {
			t.Errorf("only %d addresses were found", len(seen))
		}
	})
}

// TestEditInPlace changes one member in its place. A refusal and a conflict become
// forms of all members, which keep the others.
func TestEditInPlace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		path := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "mobile", "1", "email", "a@example.com", "jobTitle", "Richterin").want(303).Location
		b.get(path+"?edit=mobile").want(200).send(path, "mobile", "2").want(303)
		b.get(path).want(200, `tel:2"`, "a@example.com", "Richterin")

		b.get(path+"?edit=email").send(path, "email", "nobody").want(422, `value="nobody"`, "Richterin").send(path, "email", "b@example.com").want(303)
		b.get(path).want(200, `tel:2"`, "b@example.com", "Richterin")

		// A form without a revision overwrites nothing unseen.
		blind := b.get(path + "?edit=mobile")
		blind.send(path, "revision", "", "was.mobile", "0", "mobile", "9").want(409)
		blind.send(path, "revision", "", "mobile", "2").want(303)
		b.get(path).want(200, `tel:2"`)

		late := b.get(path + "?edit=mobile")
		b.get(path+"?edit=mobile").send(path, "mobile", "3").want(303)
		b.get(path+"?edit=jobTitle").send(path, "jobTitle", "Notarin").want(303)
		late.send(path, "mobile", "4").want(409, "Notarin").send(path).want(303)
		b.get(path).want(200, `tel:4"`, "b@example.com", "Notarin", "Berg")

		// With a script the answer is the page, with a note that takes the change back.
		form := b.get(path + "?edit=mobile").fields(path)
		form.Set("mobile", "5")
		page := b.do("POST", path, form, "HX-Request", "true").want(200, `tel:5"`, "Mobil geändert.", "Rückgängig")
		page.Body = page.Body[strings.LastIndex(page.Body, `class="toast `):]
		page.send(path).want(303)
		b.get(path).want(200, `tel:4"`)
	})
}

// An address that is no page is one of the application for somebody who is signed
// in, and a public one for everybody else. Public pages stay what they are.
func TestUnknownAddress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		b.get("/kontakte").want(http.StatusNotFound, "Nicht gefunden", `href="/contacts"`)
		b.get("/sandbox/kontakte").want(http.StatusNotFound, "Nicht gefunden", `href="/sandbox/contacts"`)
		if p := b.get("/about").want(http.StatusOK, "Über Kartei"); p.Header.Get("ETag") != `"about"` || p.Header.Get("Content-Security-Policy") != "" {
			t.Errorf("a public page has the headers %v", p.Header)
		}
		// What is sent to no page, or to one that is only read, is answered within the
		// application too.
		contact := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303).Location
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			b.do(method, "/sandbox/kontakte", url.Values{}).want(http.StatusNotFound, "Nicht gefunden", `href="/sandbox/contacts"`)
			for _, path := range []string{contact + "/vcard", "/search", "/about"} {
				if p := b.do(method, path, url.Values{}).want(http.StatusMethodNotAllowed, "Diese Seite lässt sich nur lesen.", `href="/contacts"`); p.Header.Get("Allow") != "GET, HEAD" {
					t.Errorf("%s %s is answered with %v", method, path, p.Header)
				}
			}
		}
		b.do("POST", "/kontakte", url.Values{}, script...).want(http.StatusNotFound, `class="banner`)
		for _, cookie := range []string{"", "kss_" + strings.Repeat("a", 43)} {
			b.cookie = cookie
			if p := b.get("/kontakte"); p.Status != http.StatusNotFound || p.Body != "404 page not found\n" {
				t.Errorf("without a session: %d %s", p.Status, p.Body)
			}
		}
	})
}
