package book_test

import (
	"strconv"
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestAddressLabels checks the labels of a list and of selected records.
func TestAddressLabels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		firm := b.Get("/companies/new").Send("/companies/new", "name", "Haas & Söhne AG").Want(303).Location
		add := func(name string, more ...string) {
			t.Helper()
			b.Get("/contacts/new").Send("/contacts/new", append([]string{"lastName", name}, more...)...).Want(303)
		}
		for range 25 {
			add("Berg", "salutation", "mr", "title", "Dr.", "nameSuffix", "LL.M.", "department", "Einkauf", "companyId", firm[len("/companies/"):], "address.street", "Ring 1", "address.postalCode", "50667", "address.city", "Köln", "tags", "Brief")
		}
		add("Ohne", "tags", "Brief")
		add("Wien", "department", "ohne Firma", "address.street", "Graben 3", "address.postalCode", "1010", "address.city", "Wien", "address.country", "AT")

		labels := func(path string, choose ...string) *pagetest.Page {
			t.Helper()
			list := b.Get(path).Want(200, `formaction="/contacts/labels`)
			fields := list.Fields("/contacts/export" + path[len("/contacts"):])
			for _, name := range choose {
				before, _, _ := strings.Cut(list.Body, `" aria-label="Auswählen: `+name+`"`)
				fields.Add("pick", before[strings.LastIndex(before, `"`)+1:])
			}
			return b.Do("POST", "/contacts/labels"+path[len("/contacts"):], fields).Want(200)
		}
		letter := "<li><bdi>Haas &amp; Söhne AG</bdi><bdi>Einkauf</bdi><bdi>Herrn Dr. Berg LL.M.</bdi><bdi>Ring 1</bdi><bdi>50667 Köln</bdi></li>"
		all := labels("/contacts").Want(200, letter, "<bdi>ÖSTERREICH</bdi>", "Ein Eintrag hat keine Anschrift", "<bdi>Ohne</bdi>").Without("ohne Firma")
		if sheets, n := strings.Count(all.Main(), `class="label-sheet"`), strings.Count(all.Main(), letter); sheets != 2 || n != 25 {
			t.Errorf("%d labels on %d sheets", n, sheets)
		}
		if got := labels("/contacts?tag=brief").Main(); strings.Contains(got, "Wien") || !strings.Contains(got, letter) {
			t.Error("the labels of a list are not those of its filter")
		}
		if got := labels("/contacts", "Wien").Main(); strings.Contains(got, "Berg") || strings.Count(got, "label-sheet") != 1 {
			t.Error("the labels of a chosen record are not those of it alone")
		}
		for i := range 11 {
			add("Ohne "+strconv.Itoa(i), "tags", "Viele")
		}
		add("Graz", "address.city", "Graz", "tags", "Viele")
		if got := labels("/contacts?tag=viele").Want(200, "11 Einträge haben keine Anschrift", "<li>…</li>").Main(); strings.Count(got, "<bdi>Ohne ") != 10 {
			t.Error("not the first ten without an address are named")
		}
		labels("/contacts", "Ohne").Want(200, "Keine Anschrift")
		var lines int
		dbtest.Get(t, o.DB, []any{&lines}, `select count(*) from audit_lines where word = 'records.export'`)
		if lines != 5 {
			t.Errorf("%d lists of labels are in the audit log", lines)
		}
		// For an office in Austria, addresses and telephone numbers follow Austrian rules.
		country := "AT"
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, Country: &country}); err != nil {
			t.Fatal(err)
		}
		if got := labels("/contacts", "Wien").Want(200, "<bdi>1010 Wien</bdi></li>").Main(); strings.Contains(got, "ÖSTERREICH") {
			t.Error("a letter within the country names it")
		}
		path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Huber", "phone", "01 234 567").Want(303).Location
		b.Get(path).Want(200, `href="tel:+431234567"`, "BEGIN:VCARD\r\nVERSION:4.0\r\n", "vCard kopieren")
		wrong := "Österreich"
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, Country: &wrong}); err == nil {
			t.Error("an office is in a country that has no code")
		}
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.SandboxID, Country: &country}); err == nil {
			t.Error("a sandbox is in a country of its own")
		}
	})
}
