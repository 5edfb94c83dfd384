package book_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// filledRows sets the rows of a list in a form. A row has the parts in their order.
func filledRows(form url.Values, list string, parts []string, rows ...[]string) url.Values {
	for i, part := range parts {
		form.Del(list + "." + part)
		for _, row := range rows {
			form.Add(list+"."+part, row[i])
		}
	}
	return form
}

var (
	emailParts   = []string{"email", "label"}
	phoneParts   = []string{"phone", "label"}
	addressParts = []string{"street", "postalCode", "city", "region", "country", "label"}
)

// TestFurtherValues checks that a form has rows for further emails, numbers and addresses, and that the
// page shows each of them with its label and its buttons.
func TestFurtherValues(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		const add = "/sandbox/contacts/new"
		form := b.Get(add).Want(200, "Weitere E-Mail-Adresse</span>", "Weitere Nummer</span>", "Weitere Anschrift</span>",
			`<option value="geschäftlich">`).Fields(add)
		firm := c.Do("POST", "/companies", `{"name":"Haas AG"}`).Want(201).Text("id")
		form.Set("lastName", "Berg")
		form.Set("companyId", firm)
		form.Set("companyId-text", "Haas AG")
		form.Set("companyId-shown", "Haas AG")
		filledRows(form, "additionalEmails", emailParts, []string{"ada@zuhause.example", "Privat"}, []string{"", "Fax"},
			[]string{" fristen@haas.example ", "Sekretariat"}, []string{"x@haas.example", ""})
		filledRows(form, "additionalPhones", phoneParts, []string{"0221 98765-99", "Telefax"},
			[]string{"0221 98765-98", "fax"}, []string{"0176 04069063", "mobil"})
		filledRows(form, "additionalAddresses", addressParts, []string{"Am Deich 1", "26486", "Wangerooge", "", "", "privat"},
			[]string{"", "", "", "", "", "sonstige"}, []string{"Graben 3", "1010", "Wien", "", "AT", ""})
		path := b.Do("POST", add, form).Want(303).Location
		id := path[len("/sandbox/contacts/"):]
		stored := c.Do("GET", "/contacts/"+id, "").Want(200).Body
		for _, list := range []string{
			`"additionalEmails":[{"email":"ada@zuhause.example","label":"home"},` +
				`{"email":"fristen@haas.example","label":"Sekretariat"},{"email":"x@haas.example","label":null}]`,
			`"additionalPhones":[{"phone":"0221 98765-99","label":"fax"},` +
				`{"phone":"0221 98765-98","label":"fax"},{"phone":"0176 04069063","label":"mobile"}]`,
			`"label":"home"},` +
				`{"street":"Graben 3","postalCode":"1010","city":"Wien","region":null,"country":"AT","label":null}]`,
		} {
			if !strings.Contains(string(stored), list) {
				t.Errorf("the form stored\n%s\nwant %s", stored, list)
			}
		}

		page := b.Get(path).Want(200, "<dt>E-Mail (privat)</dt>", `href="mailto:ada@zuhause.example"`,
			"<dt>E-Mail (Sekretariat)</dt>", "<dt>E-Mail</dt>", `data-copy="x@haas.example"`,
			"<dt>Fax</dt>", `data-copy="0221 98765-98"`,
			"<dt>Telefon (mobil)</dt>", `href="tel:+4917604069063"`, `aria-label="Telefon (mobil) kopieren"`,
			"<dt>Anschrift (privat)</dt>", "<bdi>26486 Wangerooge</bdi>", "<bdi>ÖSTERREICH</bdi>",
			"data-copy=\"Berg\nAm Deich 1\n26486 Wangerooge\"",
			"data-copy=\"Haas AG\nBerg\nGraben 3\n1010 Wien\nÖSTERREICH\"",
			`?edit=additionalEmails`, `?edit=additionalPhones`, `?edit=additionalAddresses`)
		page.Without(`tel:+492219876598`)
		b.Get("/settings/profile").Send("/settings/profile", "language", "en").Want(303)
		b.Get(path).Want(200, "<dt>Email (home)</dt>", "<dt>Phone (mobile)</dt>", "<dt>Address (home)</dt>")
		b.Get(path+"/edit").Want(200, `value="home"`, `value="Sekretariat"`)
		b.Get("/settings/profile").Send("/settings/profile", "language", "de").Want(303)

		// A form without a change changes nothing.
		b.Get(path+"/edit").Want(200, `value="privat"`, `value="Fax"`).Send(path, "jobTitle", "").Want(303)
		if again := c.Do("GET", "/contacts/"+id, "").Want(200).Body; string(again) != string(stored) {
			t.Errorf("a form without a change made %s of %s", again, stored)
		}
		viewer := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Viewer).Principal)}
		viewer.Get(path).Want(200, "E-Mail (privat)").Without("?edit=")
	})
}

// TestFurtherValuesInPlace checks that a list is edited on the record's page, is named in the history,
// and comes back by an undo.
func TestFurtherValuesInPlace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		id := c.Do("POST", "/companies", `{"name":"Haas AG","phone":"0221 1"}`).Want(201).Text("id")
		path := "/sandbox/companies/" + id
		lists := func() string { return string(c.Do("GET", "/companies/"+id, "").Want(200).Body) }
		const numbers = `"additionalPhones":[{"phone":"0221 2","label":"work"},{"phone":"0221 3","label":"Empfang"}]`

		b.Get(path).Want(200, `?edit=additionalPhones`).Without("?edit=additionalEmails").Without("?edit=additionalAddresses")
		form := b.Get(path+"?edit=additionalPhones").Want(200, `id="f-additionalPhones-0-phone"`, "autofocus").
			Without("data-leaving").Fields(path)
		b.Do("POST", path, filledRows(form, "additionalPhones", phoneParts, []string{"0221 2", "geschäftlich"}, []string{"0221 3", "Empfang"})).Want(303)
		b.Get(path).Want(200, "Weitere Nummern geändert", "Telefon (Empfang)", `id="fact-additionalPhones"`)
		if got := lists(); !strings.Contains(got, numbers) {
			t.Errorf("stored %s, want %s", got, numbers)
		}
		form = b.Get(path + "?edit=additionalPhones").Fields(path)
		if rows := form["additionalPhones.phone"]; !slices.Equal(rows, []string{"0221 2", "0221 3", "", "", ""}) {
			t.Errorf("the form has the rows %q", rows)
		}
		form["additionalPhones.phone"][0] = "" // its label is left
		saved := b.Do("POST", path, form, pagetest.Script...).Want(200, "Weitere Nummern geändert")
		if got := lists(); !strings.Contains(got, `"additionalPhones":[{"phone":"0221 3","label":"Empfang"}]`) {
			t.Errorf("an emptied row is stored: %s", got)
		}
		saved.Undo().Want(200, "Weitere Nummern wie vorher")
		if got := lists(); !strings.Contains(got, numbers) {
			t.Errorf("after the undo: %s, want %s", got, numbers)
		}
		form = b.Get(path + "?edit=additionalPhones").Fields(path)
		b.Do("POST", path, filledRows(form, "additionalPhones", phoneParts, []string{"", ""})).Want(303)
		if got := lists(); !strings.Contains(got, `"additionalPhones":[]`) {
			t.Errorf("all rows are empty, and stored is %s", got)
		}

		// A label of the office's own stays, though it is one of the words that forms suggest.
		const own = `{"email":"a@haas.example","label":"privat"}`
		c.Do("PATCH", "/companies/"+id, `{"additionalEmails":[`+own+`]}`, "If-Match", "*").Want(200)
		form = b.Get(path + "?edit=additionalEmails").Fields(path)
		form["additionalEmails.email"][1], form["additionalEmails.label"][1] = "b@haas.example", "sonstige"
		b.Do("POST", path, form).Want(303)
		if got := lists(); !strings.Contains(got, `[`+own+`,{"email":"b@haas.example","label":"other"}]`) {
			t.Errorf("a label of one's own: %s", got)
		}
	})
}

// TestFurtherValuesRefused checks that an error is shown at its row, with all that was typed.
func TestFurtherValuesRefused(t *testing.T) {
	b := pagetest.Open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "email", "a@b.example").Want(303).Location
	for _, edit := range []string{"/edit", "?edit=additionalEmails"} {
		form := b.Get(path + edit).Fields(path)
		filledRows(form, "additionalEmails", emailParts,
			[]string{"", ""}, []string{"ada@b.example", ""}, []string{"keine", "privat"})
		refused := b.Do("POST", path, form).Want(422, `value="keine"`, `value="privat"`, `id="f-additionalEmails-1-email-error"`,
			`value="ada@b.example" id="f-additionalEmails-0-email" name="additionalEmails.email"`)
		if n := strings.Count(refused.Body, "aria-invalid"); n != 1 {
			t.Errorf("%s: %d fields are wrong, want 1\n%s", edit, n, refused.Main())
		}
		if edit == "/edit" {
			refused.Want(422, `<a href="#f-additionalEmails-1-email">E-Mail 3</a>`)
		}
	}
	form := b.Get(path + "/edit").Fields(path)
	filledRows(form, "additionalAddresses", addressParts, []string{"Weg 1", "", "", "", "", strings.Repeat("x", 51)})
	b.Do("POST", path, form).Want(422, `<a href="#f-additionalAddresses-0-label">Anschrift 2: Bezeichnung</a>`,
		`id="f-additionalAddresses-0-label-error"`)
	var many [][]string
	for range 21 {
		many = append(many, []string{"0221 1", ""})
	}
	form = b.Get(path + "/edit").Fields(path)
	b.Do("POST", path, filledRows(form, "additionalPhones", phoneParts, many...)).
		Want(422, `<a href="#f-additionalPhones">Weitere Nummern</a>`, `id="f-additionalPhones-error"`)
}

// TestFurtherValuesInConflict checks that a person sees both lists if two people changed one, and can
// take either or make another one.
func TestFurtherValuesInConflict(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		for pick, want := range map[string]string{"theirs": "0221 2", "mine": "0221 3", "other": "0221 4"} {
			id := c.Do("POST", "/contacts", `{"lastName":"Berg","additionalPhones":[{"phone":"0221 1","label":"home"}]}`).
				Want(201).Text("id")
			path := "/sandbox/contacts/" + id
			late := b.Get(path + "/edit").Fields(path)
			c.Do("PATCH", "/contacts/"+id, `{"additionalPhones":[{"phone":"0221 2","label":"fax"}]}`,
				"If-Match", "*").Want(200)
			asked := b.Do("POST", path, filledRows(late, "additionalPhones", phoneParts, []string{"0221 3", "privat"})).
				Want(409, "<bdi>0221 1 (privat)</bdi>", "<bdi>0221 2 (Fax)</bdi>", "<bdi>0221 3 (privat)</bdi>",
					`value="0221 3"`)
			decided := asked.Fields(path)
			decided.Set("pick.additionalPhones", pick)
			filledRows(decided, "additionalPhones", phoneParts, []string{"0221 4", ""})
			b.Do("POST", path, decided).Want(303)
			b.Get(path).Want(200, `<bdi class="number">`+want+`</bdi>`)
		}
	})
}

// TestFurtherNumberCalls checks that a call leads to the entry with this further number, that a caller's
// number becomes one, and that possible duplicates are found by further values.
func TestFurtherNumberCalls(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		path := "/sandbox/contacts/" + c.Do("POST", "/contacts", map[string]any{
			"lastName": "Berg", "phone": "0221 1111111",
			"additionalPhones": []any{map[string]any{"phone": "0176 04069063", "label": "mobile"}},
			"additionalEmails": []any{map[string]any{"email": "ada@zuhause.example"}},
		}).Want(201).Text("id")
		for _, number := range []string{"+4917604069063", "017604069063"} {
			b.Get("/sandbox/call?number="+url.QueryEscape(number)).Want(200, `data-address="`+path+`"`)
		}
		b.Get("/sandbox/search?q=ada%40zuhause.example").Want(200, "Berg", "<mark>ada@zuhause.example</mark>")
		b.Get(path+"/edit?caller=%2B49221555555").Want(200, `value="+49221555555" id="f-additionalPhones-1-phone"`,
			`value="0221 1111111" id="f-phone"`)
		const add = "/sandbox/contacts/new"
		form := b.Get(add).Fields(add)
		for list, value := range map[string]string{"additionalEmails": "ADA@zuhause.example", "additionalPhones": "+49 176 04069063"} {
			part := map[string]string{"additionalEmails": "email", "additionalPhones": "phone"}[list]
			b.Do("POST", "/sandbox/contacts/similar", filledRows(cloned(form), list, []string{part, "label"}, []string{value, ""})).
				Want(200, "Schon vorhanden?", "Berg")
		}
	})
}

// cloned returns a copy of a form.
func cloned(form url.Values) url.Values {
	out := url.Values{}
	for name, list := range form {
		out[name] = slices.Clone(list)
	}
	return out
}

// TestAttributes checks that pages show the attributes of a record, and do not let people edit them.
func TestAttributes(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
	for family, members := range map[string]map[string]any{
		"contacts": {"lastName": "Berg"}, "companies": {"name": "Haas"}, "tasks": {"title": "Klage"},
	} {
		path := "/sandbox/" + family + "/" + c.Do("POST", "/"+family, members).Want(201).Text("id")
		b.Get(path).Want(200).Without("Angaben anderer Programme")
		members["attributes"] = map[string]any{"crmStage": "<won>", "ledger": "4711"}
		path = "/sandbox/" + family + "/" + c.Do("POST", "/"+family, members).Want(201).Text("id")
		b.Get(path).Want(200, "Angaben anderer Programme", "<code>crmStage</code>", "&lt;won&gt;", "<code>ledger</code>", "4711").
			Without("?edit=attributes")
		b.Get(path+"?edit=attributes").Want(200, "<code>ledger</code>").Without(`name="attributes`)
		b.Get(path + "/edit").Want(200).Without("ledger")
	}
}
