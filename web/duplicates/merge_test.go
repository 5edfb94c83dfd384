package duplicates_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// desk is a person with a browser in an office.
type desk struct {
	*pagetest.Browser
	o *apitest.Office
}

func sit(t *testing.T, o *apitest.Office, role access.Role) desk {
	t.Helper()
	return desk{pagetest.Open(t, o, role), o}
}

// beside returns a second person in the same office.
func (d desk) beside(role access.Role) desk {
	d.T.Helper()
	return desk{&pagetest.Browser{T: d.T, Handler: d.Handler, Cookie: d.o.Session(d.o.As(role).Principal)}, d.o}
}

// make creates a record a minute later than the previous one, and returns its path. set has names and
// values of fields in turn.
func (d desk) make(family string, set ...string) string {
	d.T.Helper()
	d.o.Clock.Advance(time.Minute)
	path := d.Get("/"+family+"/new").Send("/"+family+"/new", set...)
	if path.Status == 409 { // there are similar ones, which the person sees now
		seen := pagetest.CutOut(path.Body, `name="seen" value="`, `"`)
		path = path.Send("/"+family+"/new", append(set, "seen", seen)...)
	}
	return path.Want(303).Location
}

// idOf returns the id at the end of a path.
func idOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// compare opens the page that shows two records side by side.
func (d desk) compare(path, with string) *pagetest.Page {
	d.T.Helper()
	return d.Get(path + "/merge?with=" + idOf(with))
}

func TestMergeContacts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		d := sit(t, apitest.New(t, db), access.Member)
		old := d.make("contacts", "firstName", "Anna", "lastName", "Berg", "email", "anna@alt.example", "phone", "0221 1", "tags", "Mandant", "note", "Alt.", "address.city", "Köln")
		young := d.make("contacts", "firstName", "Anna", "lastName", "Berg-Tal", "email", "anna@neu.example", "mobile", "0171 1234567", "tags", "Presse", "note", "Neu.", "address.city", "Köln", "address.country", "DE")
		d.make("tasks", "title", "Rückruf", "contactId", idOf(young))

		page := d.compare(young, old).Want(200, "Zwei Kontakte zusammenführen", "Mit Eintrag 1 verknüpft: eine Aufgabe.",
			"Mandant, Presse", "aus beiden Einträgen", "aus Eintrag 1", "aus Eintrag 2", "Die andere bleibt als weitere E-Mail-Adresse erhalten.")
		page.Without(`name="pick.firstName"`).Without(`name="pick.address"`).Without("privat")
		form := page.Fields(young + "/merge")
		for name, want := range map[string]string{"stays": idOf(old), "pick.lastName": idOf(young), "pick.email": idOf(young)} {
			if got := form.Get(name); got != want {
				t.Errorf("%s is %s at first, want %s", name, got, want)
			}
		}
		late := d.compare(young, old)
		done := page.Send(young+"/merge", "pick.email", idOf(old)).Want(303)
		if !strings.HasPrefix(done.Location, old+"?merged=mrg_") {
			t.Fatalf("the merge leads to %s", done.Location)
		}
		d.Get(done.Location).Want(200, "Zusammengeführt.", "Rückgängig", "Berg-Tal", "anna@alt.example", "anna@neu.example", "0171 1234567",
			"mit einem anderen Eintrag zusammengeführt")
		d.o.Rest()
		d.Get(old).Want(200, "Rückruf").Without("Zusammengeführt.")

		for _, below := range []string{"", "/edit", "/vcard", "/vcard?version=3", "/qr", "/delete", "/access", "/merge"} {
			if got := d.Get(young + below).Want(303); got.Location != old+below {
				t.Errorf("%s%s leads to %s", young, below, got.Location)
			}
		}
		if got := d.compare(old, young).Want(303); got.Location != old {
			t.Errorf("a merge of the merged record leads to %s", got.Location)
		}
		if got := d.compare(young, old).Want(303); !strings.HasPrefix(d.Get(got.Location).Want(303).Location, old) {
			t.Errorf("a merge of the merged record leads to %s", got.Location)
		}
		d.Do("GET", young, nil, pagetest.Script...).Want(200, "Berg-Tal")
		late.Send(young+"/merge").Want(409, "bereits zusammengeführt")
	})
}

func TestMergeCompanies(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		d := sit(t, apitest.New(t, db), access.Member)
		d.Get("/settings/profile").Send("/settings/profile", "language", "en").Want(303)
		old := d.make("companies", "name", "Rheinbau", "vatId", "DE136695976", "address.city", "Köln")
		young := d.make("companies", "name", "Rheinbau GmbH", "address.city", "Bonn", "address.postalCode", "53111")
		d.make("contacts", "lastName", "Berg", "companyId", idOf(young), "companyId-text", "Rheinbau GmbH", "companyId-shown", "Rheinbau GmbH")

		page := d.compare(old, young).Want(200, "Merge two companies", "Entry 2 has one contact.", "from entry 1", "53111 Bonn", "Which entry stays?")
		form := page.Fields(old + "/merge")
		form.Set("stays", idOf(young))
		form.Set("pick.name", idOf(old))
		shown := d.Do("POST", old+"/merge", form, pagetest.Script...).Want(200, "Merged.", "Undo", "DE136695976", "merged with another entry")
		if got := shown.Header.Get("HX-Push-Url"); got != young {
			t.Errorf("the merge leads to %s", got)
		}
		d.o.Rest()
		d.Get(young).Want(200, "Rheinbau", "Bonn", "Köln", "Berg")
		restored := shown.Undo().Want(200, "Undone.", "Köln").Without("Bonn").Header.Get("HX-Push-Url")
		d.o.Rest()
		d.Get(restored).Want(200, "Rheinbau", "DE136695976")
		d.Get(young).Want(200, "Rheinbau GmbH", "Berg").Without("DE136695976")
		d.Get("/duplicates/merged").Want(200, "Merged lately", "undone", "Restored:").Without("/undo")
		again := url.Values{"form-token": d.Get("/duplicates/merged").Fields("/signout")["form-token"]}
		id := pagetest.CutOut(shown.Body, `action="/duplicates/merged/`, `/`)
		d.Do("POST", "/duplicates/merged/"+id+"/undo", again).Want(422, "undone already")
		d.Do("POST", "/duplicates/merged/"+id+"/undo", again, pagetest.Script...).Want(200, "undone already")
		d.Do("POST", "/duplicates/merged/mrg_01m7xt6sane2a9hpasvbmaayqz/undo", again).Want(404, "There is no merge")
	})
}

// TestMergeOfChangedRecords checks that a form whose records were changed meanwhile comes again, with the
// new values and with the choices about values that nobody changed.
func TestMergeOfChangedRecords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		ida := sit(t, apitest.New(t, db), access.Member)
		jan := ida.beside(access.Member)
		old := ida.make("contacts", "lastName", "Berg", "email", "a@alt.example", "jobTitle", "Richterin")
		young := ida.make("contacts", "lastName", "Tal", "email", "a@neu.example", "jobTitle", "Notarin")
		page := ida.compare(old, young).Want(200)
		jan.Get(old+"/edit").Send(old, "email", "b@alt.example").Want(303)

		again := page.Send(old+"/merge", "stays", idOf(young), "pick.lastName", idOf(old), "pick.email", idOf(young)).
			Want(409, "Inzwischen geändert", "E-Mail", "b@alt.example", "noch nichts zusammengeführt", ">geändert")
		form := again.Fields(old + "/merge")
		for name, want := range map[string]string{
			"stays": idOf(young), "pick.lastName": idOf(old), "pick.jobTitle": idOf(young), "pick.email": idOf(old), "revision": "2",
		} {
			if got := form.Get(name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if n := dbtest.Count(t, db, "merges"); n != 0 {
			t.Fatalf("%d merges", n)
		}
		again.Send(old + "/merge").Want(303)
		ida.Get(young).Want(200, "Berg", "Notarin", "b@alt.example", "a@neu.example")

		third := ida.make("contacts", "lastName", "Tal")
		page = ida.compare(young, third).Want(200)
		jan.Get(third + "/delete").Send(third + "/delete").Want(303)
		page.Send(young+"/merge").Want(409, "gibt es nicht mehr")
		ida.Do("POST", young+"/merge", page.Fields(young+"/merge"), pagetest.Script...).Want(200, "gibt es nicht mehr", "Berg")
		ida.compare(young, third).Want(404)
	})
}

// TestMergeIsRefused checks that a merge shows at which member it is refused.
func TestMergeIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		d := sit(t, apitest.New(t, db), access.Member)
		var paths []string
		for i := range 2 {
			form := d.Get("/contacts/new").Fields("/contacts/new")
			form.Set("lastName", "Berg")
			for n := range 12 {
				form.Add("additionalEmails.email", fmt.Sprintf("a%d@%d.example", n, i))
				form.Add("additionalEmails.label", "")
			}
			paths = append(paths, d.Do("POST", "/contacts/new", form).Want(303).Location)
		}
		page := d.compare(paths[0], paths[1]).Want(200).Send(paths[0]+"/merge").Want(422, `href="#m-additionalEmails"`, `id="m-additionalEmails"`, "20")
		page.Without("Inzwischen geändert")

		viewer := d.beside(access.Viewer)
		viewer.compare(paths[0], paths[1]).Want(403)
		viewer.Get(paths[0]).Want(200).Without("/merge")
		for with, status := range map[string]int{
			"x": 404, "": 404, "tsk_01m7xt6sane2a9hpasvbmaayqz": 404, "con_01m7xt6sane2a9hpasvbmaayqz": 409, idOf(paths[0]): 404,
		} {
			d.Do("POST", paths[0]+"/merge", url.Values{"form-token": page.Fields(paths[0] + "/merge")["form-token"], "with": {with}}).Want(status)
		}
		for _, with := range []string{"x", "tsk_01m7xt6sane2a9hpasvbmaayqz", "con_01m7xt6sane2a9hpasvbmaayqz"} {
			d.compare(paths[0], with).Want(404)
		}
	})
}

// TestMergeOfPrivateRecords checks what a person sees and may choose if one of two records is private.
func TestMergeOfPrivateRecords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		ida := sit(t, apitest.New(t, db), access.Member)
		jan := ida.beside(access.Member)
		jans := jan.make("contacts", "lastName", "Berg")
		idas := ida.make("contacts", "lastName", "Berg", "visibility", "private")
		jan.compare(jans, idas).Want(404)
		page := ida.compare(jans, idas).Want(200, "Einer der beiden Einträge ist privat", `name="pick.visibility"`)
		form := page.Fields(jans + "/merge")
		if form.Get("pick.visibility") != idOf(jans) || form.Get("stays") != idOf(jans) {
			t.Errorf("at first: %v", form)
		}
		// Ida does not own the record that stays.
		page.Send(jans+"/merge", "pick.visibility", idOf(idas)).Want(403, "Sichtbar für", "nur Eigentümer")
		page.Send(jans+"/merge", "stays", idOf(idas), "pick.visibility", idOf(idas), "pick.ownerId", idOf(idas)).Want(303)
		for _, below := range []string{"", "/edit"} {
			hidden, unknown := jan.Get(jans+below).Want(404), jan.Get("/contacts/con_01m7xt6sane2a9hpasvbmaayqz"+below).Want(404)
			if hidden.Text() != unknown.Text() {
				t.Errorf("a record that was merged into a private one is answered as\n%s\nwant\n%s", hidden.Text(), unknown.Text())
			}
		}
		jan.Get("/duplicates/merged").Want(200, "Zuletzt wurde nichts")

		neither := jan.beside(access.Member)
		first, second := jan.make("contacts", "lastName", "Tal"), ida.make("contacts", "lastName", "Tal")
		neither.compare(first, second).Want(200, "wie im verbleibenden Eintrag").Without("pick.ownerId")
	})
}

// TestChooseTheOther checks the page on which a person chooses the other record.
func TestChooseTheOther(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		d := sit(t, apitest.New(t, db), access.Member)
		a, b := d.make("contacts", "lastName", "Berg"), d.make("contacts", "lastName", "Berg")
		c := d.make("contacts", "lastName", "Tal")
		d.Get(a + "/merge?with-text=Berg").Want(303) // only one of the two is another one
		d.make("contacts", "lastName", "Berg", "firstName", "Carl")
		at := a + "/merge"
		d.Get(a).Want(200, `href="`+at+`"`)
		d.Get(at).Want(200, `role="combobox"`, "Mit welchem Eintrag")
		for query, says := range map[string]string{
			"with=&with-text=": "wählen Sie einen Eintrag", "with-text=Berg": "nicht eindeutig", "with-text=Zwirner": "nicht gefunden",
			"with=" + idOf(a) + "&with-text=Berg&with-shown=Berg": "derselbe Eintrag",
		} {
			d.Get(at+"?"+query).Want(422, says, `aria-invalid="true"`)
		}
		for query, want := range map[string]string{
			"with-text=Tal": c, "with=" + idOf(b) + "&with-text=Berg&with-shown=Berg": b,
			"with-text=Berg&with-shown=Berg&with-pick=" + idOf(b): b,
		} {
			if got := d.Get(at + "?" + query).Want(303).Location; got != at+"?with="+idOf(want) {
				t.Errorf("%s leads to %s", query, got)
			}
		}
	})
}

// TestMergedLately checks the list of merges, and the undo in it.
func TestMergedLately(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		d := sit(t, apitest.New(t, db), access.Member)
		d.Get("/duplicates/merged").Want(200, "Zuletzt wurde nichts zusammengeführt")
		old := d.make("contacts", "lastName", "Berg", "phone", "1")
		for i := range 21 {
			next := d.make("contacts", "lastName", fmt.Sprint("Tal ", i), "phone", "1")
			d.compare(old, next).Send(old+"/merge", "stays", idOf(old), "pick.lastName", idOf(old)).Want(303)
			d.o.Rest()
		}
		page := d.Get("/duplicates/merged").Want(200, "Berg", "zusammengeführt", "Kontakt")
		d.Get(page.Link("next")).Want(200, "Berg").Without(`rel="next"`)
		d.Get("/changes").Want(200, `href="/duplicates/merged"`)
		undo := pagetest.Between(page.Body, `action="/duplicates/merged/`, `"`)
		restored := page.Send("/duplicates/merged/" + undo[0]).Want(303).Location
		d.Get(restored).Want(200, "Tal 20")
		page.Send("/duplicates/merged/" + undo[0]).Want(303) // the same form makes one undo
		d.Get("/duplicates/merged").Send("/duplicates/merged/" + undo[1]).Want(303)
		d.o.Rest()
		d.beside(access.Member).Get("/duplicates/merged").Want(200, "Zuletzt wurde nichts")
		d.beside(access.Admin).Get("/duplicates/merged").Want(200, "Berg", "rückgängig gemacht")
		d.o.Clock.Advance(8 * 24 * time.Hour)
		d.beside(access.Admin).Get("/duplicates/merged").Want(200).Without("/undo")
	})
}
