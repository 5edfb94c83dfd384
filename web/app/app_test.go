package app_test

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
	"kartei/test/pagetest"
)

func TestContactOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		created := b.Get("/contacts/new").Want(200).Send("/contacts/new", "lastName", "Müller", "firstName", "Brigitte", "mobile", "0176 04069063", "tags", "Mandant\r\nErb, recht").Want(303)
		detail := b.Get(created.Location).Want(200, "Brigitte Müller", `href="tel:+4917604069063"`, "Erb, recht")
		b.Get("/contacts").Want(200, "Müller, Brigitte")

		edited := b.Get(created.Location+"/edit").Want(200).Send(created.Location, "mobile", "", "address.city", "Köln")
		edited.Want(303)
		if got := b.Get(created.Location).Want(200, "Köln").Body; strings.Contains(got, "04069063") {
			t.Error("a number that was removed is still there")
		}
		b.Get(created.Location+"/edit").Send(created.Location, "email", "nobody").Want(422, `aria-invalid="true"`, `value="nobody"`)
		b.Get(created.Location+"/delete").Want(200, "endgültig").Send(created.Location + "/delete").Want(303)
		b.Get(created.Location).Want(404)
		_ = detail
	})
}

// TestTwoPeopleEditAContact checks that the forms of two people, loaded at the same time, do not
// overwrite each other (story J8).
func TestTwoPeopleEditAContact(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := pagetest.Open(t, o, access.Member)
		jan := &pagetest.Browser{T: t, Handler: ida.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		path := ida.Get("/contacts/new").Send("/contacts/new", "lastName", "Müller", "mobile", "0176 04069063", "phone", "0221 1").Want(303).Location
		idas, jans := ida.Get(path+"/edit"), jan.Get(path+"/edit")
		idas.Send(path, "mobile", "0176 04069064", "jobTitle", "Richterin").Want(303)

		// Jan changed phone, which Ida did not change, and gave mobile another value than Ida.
		merge := jans.Send(path, "mobile", "0151 2233445", "phone", "0221 2").Want(409, "gespeichert (Stand r", "0176 04069063", "0176 04069064", "0151 2233445", "Richterin", "Funktion")
		ida.Get(path).Want(200, "0176 04069064", "0221 1")
		merge.Send(path).Want(303)
		ida.Get(path).Want(200, "0151 2233445", "0221 2", "Richterin")

		// Members that only one person changed are merged without a question.
		idas, jans = ida.Get(path+"/edit"), jan.Get(path+"/edit")
		idas.Send(path, "mobile", "1").Want(303)
		jans.Send(path, "phone", "2", "lastName", "Meier").Want(303)
		ida.Get(path).Want(200, "Meier", `tel:1"`, `tel:2"`)

		// For each conflict, a person can choose the stored value or a third value.
		idas, jans = ida.Get(path+"/edit"), jan.Get(path+"/edit")
		idas.Send(path, "mobile", "11", "phone", "22").Want(303)
		jans.Send(path, "mobile", "111", "phone", "222").Want(409).
			Send(path, "pick.mobile", "theirs", "pick.phone", "other", "phone", "2222").Want(303)
		ida.Get(path).Want(200, `tel:11"`, `tel:2222"`)

		// If the record was deleted meanwhile, the form creates a new record.
		jans = jan.Get(path + "/edit")
		ida.Get(path + "/delete").Send(path + "/delete").Want(303)
		again := jans.Send(path, "mobile", "333").Want(409, "gelöscht").Send("/contacts/new").Want(303)
		if again.Location == path {
			t.Error("a deleted contact came back under its old address")
		}
		ida.Get(again.Location).Want(200, "Meier", `tel:333"`)
	})
}

// TestFormIsSentTwice checks that a form has one effect if a browser sends it twice, for example
// after a broken connection.
func TestFormIsSentTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		form := b.Get("/contacts/new")
		first := form.Send("/contacts/new", "lastName", "Berg").Want(303)
		if second := form.Send("/contacts/new", "lastName", "Berg").Want(303); second.Location != first.Location {
			t.Errorf("a form that was sent twice made two contacts: %s and %s", first.Location, second.Location)
		}
		edit := b.Get(first.Location + "/edit")
		edit.Send(first.Location, "mobile", "1").Want(303)
		edit.Send(first.Location, "mobile", "1").Want(303)
		b.Get(first.Location).Want(200, `tel:1"`)
	})
}

func TestPagesAskToSignIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		form := b.Get(path + "/edit")
		cookie := b.Cookie
		b.Cookie = ""
		if got := b.Get("/contacts?q=a").Want(303).Location; got != "/signin?next=%2Fcontacts%3Fq%3Da" {
			t.Errorf("a caller without a session is led to %s", got)
		}
		// The response without a session keeps the entered values, and the form can be sent after
		// the sign-in.
		form.Send(path, "mobile", "0176 1").Want(401, "0176 1", "abgelaufen")
		b.Cookie = cookie
		b.Get(path).Want(200)

		// An empty token, an invalid token and another person's session token are refused.
		for _, token := range []string{"", "x", o.Session(o.As(access.Member).Principal)} {
			form.Send(path, "form-token", token, "mobile", "0176 2").Want(422, "noch nichts", "0176 2")
		}
		if got := b.Do("POST", path, form.Fields(path), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); got.Status != 403 {
			t.Errorf("a form of another site: %d", got.Status)
		}
	})
}

// TestForeignRecordsAreNotFound checks that the private record of another person gets the same
// response as an unknown id.
func TestForeignRecordsAreNotFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := pagetest.Open(t, o, access.Member)
		jan := &pagetest.Browser{T: t, Handler: ida.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		path := ida.Get("/contacts/new").Send("/contacts/new", "lastName", "Geheim", "visibility", "private").Want(303).Location
		hidden, unknown := jan.Get(path).Want(404), jan.Get(path[:len(path)-1]+"0").Want(404)
		if strings.Contains(hidden.Main(), "Geheim") || hidden.Main() != unknown.Main() {
			t.Errorf("a hidden record differs from an unknown one:\n%s\n%s", hidden.Main(), unknown.Main())
		}
		jan.Get("/contacts").Want(200)
		ida.Get("/contacts").Want(200, "Geheim")
	})
}

// TestListBothWays follows the links of a list to its last page and back to its first page.
func TestListBothWays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		for i := range 120 {
			b.Get("/companies/new").Send("/companies/new", "name", fmt.Sprintf("Firma %03d", (i*37)%120)).Want(303)
		}
		var pages []string
		next := "/companies"
		for next != "" {
			p := b.Get(next).Want(200)
			names := regexp.MustCompile(`<bdi>Firma \d{3}`).FindAllString(p.Main(), -1)
			pages = append(pages, strings.Join(names, " "))
			next = p.Link("next")
			if next == "" {
				for back := len(pages) - 2; back >= 0; back-- {
					p = b.Get(p.Link("prev")).Want(200)
					if got := strings.Join(regexp.MustCompile(`<bdi>Firma \d{3}`).FindAllString(p.Main(), -1), " "); got != pages[back] {
						t.Errorf("page %d, on the way back: %s, want %s", back, got, pages[back])
					}
				}
				if p.Link("prev") != "" {
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

// TestViewersSeeNoForms checks that a viewer gets no link to a form, and that the forms themselves
// are refused.
func TestViewersSeeNoForms(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		b.Cookie = o.Session(o.As(access.Viewer).Principal)
		record := b.Get(path).Want(200, "Berg")
		for _, refused := range []string{"/contacts/new", path + "/edit", "/companies/new", "/tasks/new"} {
			b.Get(refused).Want(403, "Recht")
		}
		if strings.Contains(record.Main(), path+"/edit") || strings.Contains(b.Get("/contacts").Main(), "/contacts/new") {
			t.Error("a viewer is offered a form")
		}
	})
}

// TestLinksLead follows every link from the start page and checks that each leads to a page.
func TestLinksLead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Admin)
		contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "tags", "Mandant").Want(303).Location
		b.Get("/tasks/new").Send("/tasks/new", "title", "Rückruf", "contactId", strings.TrimPrefix(contact, "/contacts/")).Want(303)
		seen := map[string]bool{"/": true}
		for open := []string{"/", "/sandbox/", "/signin"}; len(open) > 0; open = open[1:] {
			p := b.Get(open[0])
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

// TestEditInPlace checks the form for one member of a record. After an error or a conflict, the
// page has a form for all members, which keeps the other values.
func TestEditInPlace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "mobile", "1", "email", "a@example.com", "jobTitle", "Richterin").Want(303).Location
		b.Get(path+"?edit=mobile").Want(200).Send(path, "mobile", "2").Want(303)
		b.Get(path).Want(200, `tel:2"`, "a@example.com", "Richterin")

		b.Get(path+"?edit=email").Send(path, "email", "nobody").Want(422, `value="nobody"`, "Richterin").Send(path, "email", "b@example.com").Want(303)
		b.Get(path).Want(200, `tel:2"`, "b@example.com", "Richterin")

		// A form without a revision does not overwrite a value that it did not show.
		blind := b.Get(path + "?edit=mobile")
		blind.Send(path, "revision", "", "was.mobile", "0", "mobile", "9").Want(409)
		blind.Send(path, "revision", "", "mobile", "2").Want(303)
		b.Get(path).Want(200, `tel:2"`)

		late := b.Get(path + "?edit=mobile")
		b.Get(path+"?edit=mobile").Send(path, "mobile", "3").Want(303)
		b.Get(path+"?edit=jobTitle").Send(path, "jobTitle", "Notarin").Want(303)
		late.Send(path, "mobile", "4").Want(409, "Notarin").Send(path).Want(303)
		b.Get(path).Want(200, `tel:4"`, "b@example.com", "Notarin", "Berg")

		// For a script, the response is the page with a button that undoes the change.
		form := b.Get(path + "?edit=mobile").Fields(path)
		form.Set("mobile", "5")
		page := b.Do("POST", path, form, "HX-Request", "true").Want(200, `tel:5"`, "Mobil geändert.", "Rückgängig")
		page.Body = page.Body[strings.LastIndex(page.Body, `class="toast `):]
		page.Send(path).Want(303)
		b.Get(path).Want(200, `tel:4"`)
	})
}

// TestUnknownAddress checks the response for an unknown address: a page of the application with a
// session, and plain text without one. Public pages do not change with a session.
func TestUnknownAddress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		b.Get("/kontakte").Want(http.StatusNotFound, "Nicht gefunden", `href="/contacts"`)
		b.Get("/sandbox/kontakte").Want(http.StatusNotFound, "Nicht gefunden", `href="/sandbox/contacts"`)
		if p := b.Get("/about").Want(http.StatusOK, "Über Kartei"); p.Header.Get("ETag") != `"about"` || p.Header.Get("Content-Security-Policy") != "" {
			t.Errorf("a public page has the headers %v", p.Header)
		}
		// Other methods at an unknown address, or at a page that only reads, get a page of the
		// application too.
		contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			b.Do(method, "/sandbox/kontakte", url.Values{}).Want(http.StatusNotFound, "Nicht gefunden", `href="/sandbox/contacts"`)
			for _, path := range []string{contact + "/vcard", "/search", "/about"} {
				if p := b.Do(method, path, url.Values{}).Want(http.StatusMethodNotAllowed, "Diese Seite lässt sich nur lesen.", `href="/contacts"`); p.Header.Get("Allow") != "GET, HEAD" {
					t.Errorf("%s %s is answered with %v", method, path, p.Header)
				}
			}
		}
		b.Do("POST", "/kontakte", url.Values{}, pagetest.Script...).Want(http.StatusNotFound, `class="banner`)
		for _, cookie := range []string{"", "kss_" + strings.Repeat("a", 43)} {
			b.Cookie = cookie
			if p := b.Get("/kontakte"); p.Status != http.StatusNotFound || p.Body != "404 page not found\n" {
				t.Errorf("without a session: %d %s", p.Status, p.Body)
			}
		}
	})
}
