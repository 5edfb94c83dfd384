package office_test

import (
	"strconv"
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestAddressLabels prints the addresses of a list, and of chosen records, as letters
// have them.
func TestAddressLabels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		firm := b.get("/companies/new").send("/companies/new", "name", "Haas & Söhne AG").want(303).Location
		add := func(name string, more ...string) {
			t.Helper()
			b.get("/contacts/new").send("/contacts/new", append([]string{"lastName", name}, more...)...).want(303)
		}
		for range 25 {
			add("Berg", "salutation", "mr", "title", "Dr.", "companyId", firm[len("/companies/"):], "address.street", "Ring 1", "address.postalCode", "50667", "address.city", "Köln", "tags", "Brief")
		}
		add("Ohne", "tags", "Brief")
		add("Wien", "address.street", "Graben 3", "address.postalCode", "1010", "address.city", "Wien", "address.country", "AT")

		labels := func(path string, choose ...string) *page {
			t.Helper()
			list := b.get(path).want(200, `formaction="/contacts/labels`)
			fields := list.fields("/contacts/export" + path[len("/contacts"):])
			for _, name := range choose {
				before, _, _ := strings.Cut(list.Body, `" aria-label="Auswählen: `+name+`"`)
				fields.Add("pick", before[strings.LastIndex(before, `"`)+1:])
			}
			return b.do("POST", "/contacts/labels"+path[len("/contacts"):], fields).want(200)
		}
		letter := "<li><bdi>Haas &amp; Söhne AG</bdi><bdi>Herrn Dr. Berg</bdi><bdi>Ring 1</bdi><bdi>50667 Köln</bdi></li>"
		all := labels("/contacts").want(200, letter, "<bdi>ÖSTERREICH</bdi>", "Ein Eintrag hat keine Anschrift", "<bdi>Ohne</bdi>")
		if sheets, n := strings.Count(all.main(), `class="label-sheet"`), strings.Count(all.main(), letter); sheets != 2 || n != 25 {
			t.Errorf("%d labels on %d sheets", n, sheets)
		}
		if got := labels("/contacts?tag=brief").main(); strings.Contains(got, "Wien") || !strings.Contains(got, letter) {
			t.Error("the labels of a list are not those of its filter")
		}
		if got := labels("/contacts", "Wien").main(); strings.Contains(got, "Berg") || strings.Count(got, "label-sheet") != 1 {
			t.Error("the labels of a chosen record are not those of it alone")
		}
		for i := range 11 {
			add("Ohne "+strconv.Itoa(i), "tags", "Viele")
		}
		add("Graz", "address.city", "Graz", "tags", "Viele")
		if got := labels("/contacts?tag=viele").want(200, "11 Einträge haben keine Anschrift", "<li>…</li>").main(); strings.Count(got, "<bdi>Ohne ") != 10 {
			t.Error("not the first ten without an address are named")
		}
		labels("/contacts", "Ohne").want(200, "Keine Anschrift")
		var lines int
		dbtest.Get(t, o.DB, []any{&lines}, `select count(*) from audit_lines where word = 'records.export'`)
		if lines != 5 {
			t.Errorf("%d lists of labels are in the audit log", lines)
		}
		// An office in Austria writes letters and dials as Austria does.
		country := "AT"
		if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.ID, Country: &country}); err != nil {
			t.Fatal(err)
		}
		if got := labels("/contacts", "Wien").want(200, "<bdi>1010 Wien</bdi></li>").main(); strings.Contains(got, "ÖSTERREICH") {
			t.Error("a letter within the country names it")
		}
		path := b.get("/contacts/new").send("/contacts/new", "lastName", "Huber", "phone", "01 234 567").want(303).Location
		b.get(path).want(200, `href="tel:+431234567"`, "BEGIN:VCARD\r\nVERSION:4.0\r\n", "vCard kopieren")
		wrong := "Österreich"
		if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.ID, Country: &wrong}); err == nil {
			t.Error("an office is in a country that has no code")
		}
		if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.SandboxID, Country: &country}); err == nil {
			t.Error("a sandbox is in a country of its own")
		}
	})
}
