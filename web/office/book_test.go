package office_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/record"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestEntry looks at the page of a contact: how it calls, where it writes to, and
// what leads to it.
func TestEntry(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		firm := b.get("/companies/new").send("/companies/new", "name", "Haas AG").want(303).Location
		path := b.get("/contacts/new").send("/contacts/new", "salutation", "ms", "title", "Dr.", "firstName", "Brigitte", "lastName", "Müller", "mobile", "0176 04069063", "email", "a?bcc=b%40c.example&x@d.example",
			"companyId", firm[len("/companies/"):], "address.street", "Graben 3", "address.postalCode", "1010", "address.city", "Wien", "address.country", "AT", "tags", "Mandant").want(303).Location
		entry := b.get(path).want(200, `href="tel:+4317604069063"`, `href="mailto:a%3Fbcc%3Db%2540c.example%26x@d.example"`, "<bdi>1010 Wien</bdi>", "<bdi>ÖSTERREICH</bdi>",
			"Haas AG\nFrau Dr. Brigitte Müller\nGraben 3\n1010 Wien\nÖSTERREICH", "curl -H")
		if strings.Contains(entry.main(), "Rechtsform") {
			t.Error("a contact has members of a company")
		}
		b.get(path+"?edit=address").want(200, `<option value="AT" selected`, "Österreich").send(path, "address.country", "DE", "address.city", "Köln").want(303)
		b.get(path).want(200, "<bdi>1010 Köln</bdi>", "angelegt", "Ort und Land")
		b.get(path+"?edit=naming").want(200, `name="lastName"`).send(path, "lastName", "Meier").want(303)

		card := b.get(path+"/vcard").want(200, "FN:Dr. Brigitte Meier", "N:Meier;Brigitte;;Dr.;", "ORG:Haas AG", `TEL;TYPE=cell;VALUE=uri;X-KARTEI-TYPED="0176 04069063":tel:+4917604069063`, "CATEGORIES:Mandant", ";Germany")
		if !strings.HasPrefix(card.Body, "BEGIN:VCARD\r\nVERSION:4.0\r\n") {
			t.Errorf("%q", card.Body)
		}
		b.get(path+"/qr").want(200, `<svg class="qr" role="img"`, "<h1")
		if part := b.get(path+"/qr?part=dialog").want(200, "<dialog", "<svg"); strings.Contains(part.Body, "<main") {
			t.Error("a dialog is a whole page")
		}

		b.get("/tasks/new").send("/tasks/new", "title", "Rückruf", "contactId", path[len("/contacts/"):]).want(303)
		b.get(path+"/delete").want(200, "Dr. Brigitte Meier", "eine Aufgabe", "endgültig", "autofocus")
		b.get(firm+"/delete").want(200, "ein Kontakt")

		// A list that narrows stays beside its record.
		b.get(path+"?tag=mandant&edit=mobile").want(200).send(path+"?tag=mandant", "mobile", "2").want(303)
		viewer := &browser{t: t, handler: b.handler, cookie: o.Session(o.As(access.Viewer).Principal)}
		seen := viewer.get(path).want(200, "Brigitte Meier").main()
		for _, lacks := range []string{"/edit", "/delete", "?edit=", "Angabe ergänzen"} {
			if strings.Contains(seen, lacks) {
				t.Errorf("a viewer is offered %s", lacks)
			}
		}
		viewer.get(path + "/delete").want(403)
		viewer.get(path + "/vcard").want(200)
	})
}

// TestHistoryOfKartei reads who made a change that no person made on a page: a program,
// Kartei for an admin, and Kartei for the operator.
func TestHistoryOfKartei(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	c, successor := o.As(access.Admin), o.User(access.Member)
	b := &browser{t: t, handler: open(t, o, access.Admin).handler, cookie: o.Session(c.Principal)}
	id := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	handOver := func(from, to, requester string) {
		c.Inside(func(ctx context.Context, call *op.Call) error {
			caretaker, err := access.CaretakerOf(ctx, call.Tx, call.Actor.Org())
			if err != nil {
				return err
			}
			work := *call
			work.Actor, work.Requester, work.Door = caretaker, requester, "job"
			_, _, err = contact.Contacts.HandOver(ctx, &work, id, record.Handover{From: from, To: to})
			return err
		})
	}
	handOver(c.Principal, successor, c.Principal)
	handOver(successor, c.Principal, "")
	page := b.get("/sandbox/contacts/"+id).want(200, "über die API", "Eigentümer geändert", "· von Kartei, bei der Übergabe von Einträgen")
	if n := strings.Count(page.Body, "Übergabe von Einträgen"); n != 2 {
		t.Errorf("%d of 2 changes are said to be a handing over\n%s", n, page.main())
	}
	b.get("/settings/profile").send("/settings/profile", "language", "en").want(303)
	b.get("/sandbox/contacts/"+id).want(200, "· by Kartei, as entries were handed over")
}

// TestWebAddress types the web address of a company without its scheme, in the form and
// in place. One with a scheme stays as it is.
func TestWebAddress(t *testing.T) {
	b := open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	path := b.get("/companies/new").send("/companies/new", "name", "Huber", "website", "www.kanzlei-huber.de").want(303).Location
	b.get(path).want(200, `href="https://www.kanzlei-huber.de"`)
	for typed, stored := range map[string]string{"huber.de/team": "https://huber.de/team", "http://huber.de": "http://huber.de"} {
		b.get(path+"?edit=website").want(200).send(path, "website", typed).want(303)
		b.get(path).want(200, `href="`+stored+`"`)
	}
	b.get(path+"/edit").send(path, "website", "keine").want(422, `value="keine"`, `aria-invalid="true"`)
}

// TestImpossibleDay types days that no calendar has. The field keeps what was typed, which
// a field of a date could not show.
func TestImpossibleDay(t *testing.T) {
	b := open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	path := b.get("/contacts/new").want(200, `type="date" value="" id="f-birthday" name="birthday" autocomplete="off" max="9999-12-31"`).
		send("/contacts/new", "lastName", "Berg", "birthday", "1984-02-29").want(303).Location
	b.get(path+"/edit").want(200, `type="date" value="1984-02-29"`)
	for _, typed := range []string{"1985-02-29", "121984-01-01", "31.6.1984", "gestern"} {
		for _, edit := range []string{"/edit", "?edit=birthday"} {
			b.get(path+edit).want(200).send(path, "birthday", typed).want(422, `type="text" value="`+typed+`"`, `id="f-birthday-error"`, "Diesen Tag gibt es nicht.").
				send(path, "birthday", "29.2.1984").want(303)
			b.get(path).want(200, "29.02.1984")
		}
	}
}

// TestLanguageByName types the language of a contact by its name, and reads it so in the
// reader's language. One without a name keeps its code.
func TestLanguageByName(t *testing.T) {
	b := open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	path := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "language", "englisch").want(303).Location
	late := b.get(path+"/edit").want(200, `value="Englisch"`)
	b.get(path+"?edit=language").want(200, `value="Englisch"`).send(path, "language", "de-AT").want(303)
	b.get(path).want(200, "Deutsch (AT)")
	late.send(path, "language", "tlh").want(409, "<bdi>Englisch</bdi>", "<bdi>Deutsch (AT)</bdi>", "<bdi>tlh</bdi>")
	b.get(path+"/edit").send(path, "language", "tlh").want(303)
	b.get(path).want(200, "tlh")
	b.get(path+"/edit").send(path, "language", "Deutsch").want(303)
	b.get("/settings/profile").send("/settings/profile", "language", "en").want(303)
	b.get(path).want(200, "German")
	b.get(path+"/edit").send(path, "language", "Klingon!").want(422, `value="Klingon!"`, "name or its code")
}

// TestSimilar types a person who is there already. The form says so, and creates them
// all the same when asked again.
func TestSimilar(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "email", "berg@example.com", "phone", "0221 987654").want(303)
		o.Clock.Advance(2 * time.Minute)
		form := b.get("/contacts/new").want(200)
		fields := form.fields("/contacts/new")
		for _, typed := range [][2]string{{"lastName", "Berg"}, {"email", "Berg@example.com"}, {"phone", "+49 221 98 76 54"}} {
			fields.Set(typed[0], typed[1])
			if part := b.do("POST", "/contacts/similar", fields).want(200, "Schon vorhanden?", "Berg", `name="seen"`); strings.Contains(part.Body, "<main") {
				t.Error("a part of a page is a whole one")
			}
			fields.Set(typed[0], "")
		}
		if part := b.do("POST", "/contacts/similar", fields).want(200); strings.Contains(part.Body, "vorhanden") {
			t.Error("an empty form has similar records")
		}
		b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "firstName", "Ada").want(303)
		asked := b.get("/contacts/new").send("/contacts/new", "lastName", "Bergmann", "email", "berg@example.com").want(409, "gleiche E-Mail-Adresse", `value="Bergmann"`, "Noch nicht gespeichert", "data-started")
		next := asked.send("/contacts/new", "next", "1", "seen", cutOut(asked.Body, `name="seen" value="`, `"`)).want(303)
		b.get(next.Location).want(200, "Gespeichert: Bergmann")

		// A form that is sent twice is stored once, although the first one is there by then.
		twice := b.get("/contacts/new")
		first := twice.send("/contacts/new", "lastName", "Ast", "email", "ast@example.com").want(303)
		if second := twice.send("/contacts/new", "lastName", "Ast", "email", "ast@example.com").want(303); second.Location != first.Location {
			t.Error("a form that was sent twice made two contacts")
		}
	})
}

// TestSearchLiftsFilters searches in a list that was narrowed. The search covers all
// records, and the page says so and shows no filter.
func TestSearchLiftsFilters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "tags", "Erbe").want(303)
		b.get("/contacts/new").send("/contacts/new", "lastName", "Bergner").want(303)
		const lifted = "Filter gelten dabei nicht"
		if narrowed := b.get("/contacts?tag=Erbe").want(200, "Schlagwort: Erbe", ">Berg<"); strings.Contains(narrowed.Body, lifted) || strings.Contains(narrowed.main(), "Bergner") {
			t.Errorf("narrowed: %s", narrowed.main())
		}
		for _, filters := range []string{"&tag=Erbe", "&mine=1", "&tag=Erbe&sort=-updatedAt"} {
			found := b.get("/contacts?q=berg"+filters).want(200, ">Berg<", ">Bergner<", lifted, "beste Treffer zuerst")
			if strings.Contains(found.main(), "Schlagwort: Erbe") || strings.Contains(found.main(), `name="mine" value="1" checked`) {
				t.Errorf("%s shows a filter: %s", filters, found.main())
			}
		}
		if found := b.get("/contacts?q=berg").want(200, ">Bergner<"); strings.Contains(found.Body, lifted) {
			t.Error("a search without filters says that it lifted some")
		}
	})
}

// A value that is refused in its place stays there as it was typed, on the page of the
// record. What the person saw before is still what a change is compared with.
func TestRefusedInPlace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		path := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "email", "berg@example.com").want(303).Location
		edit := b.get(path + "?edit=email").want(200)
		b.get(path+"?edit=email").send(path, "email", "berg@example.net").want(303)
		refused := edit.send(path, "email", "berg").want(422, `value="berg"`, `aria-invalid="true"`, `id="pane"`)
		if strings.Contains(refused.Body, `id="entry-form"`) {
			t.Error("the page became the form of all members")
		}
		refused.send(path, "email", "berg@example.org").want(409, "berg@example.net", "berg@example.org")
		named := b.get("/contacts/new").send("/contacts/new", "lastName", "Ast").want(303).Location
		naming := b.get(named+"?edit=naming").want(200).send(named, "lastName", "", "title", "Dr.").want(422, `id="pane"`, `value="Dr."`, "Eines davon ist nötig.")
		naming.send(named, "lastName", "Astmann").want(303)
		b.get(named).want(200, "Dr. Astmann")
		task := b.get("/tasks/new").send("/tasks/new", "title", "Akte").want(303).Location
		b.get(task+"?edit=dueAt").want(200).send(task, "dueAt", "31.2.").want(422, "Kein Datum erkannt", `value="31.2."`, `id="pane"`)
	})
}

// A contact without a name is refused in the words of the form.
func TestNameNeeded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := open(t, apitest.New(t, d), access.Member)
		refused := b.get("/contacts/new").send("/contacts/new", "jobTitle", "Notarin").want(422, "Nachname, Vorname oder E-Mail: Eines davon ist nötig.", "data-started")
		if strings.Contains(refused.main(), "Mindestens eines von") {
			t.Errorf("the form names members: %s", refused.main())
		}
		made := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303)
		b.get(made.Location+"/edit").send(made.Location, "lastName", "").want(422, "Eines davon ist nötig.")
	})
}

// TestTagsInUse finds tags of records that everyone sees, as they are spelled.
func TestTagsInUse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		b.get("/contacts/new").send("/contacts/new", "lastName", "A", "tags", "Mandant\nErbrecht\nÄrger").want(303)
		b.get("/contacts/new").send("/contacts/new", "lastName", "B", "tags", "mandant\nMandat").want(303)
		b.get("/contacts/new").send("/contacts/new", "lastName", "C", "tags", "Mandel", "visibility", "private").want(303)
		got := b.get("/choices/tags?family=contacts&q=MAN&list=x").want(200, `data-value="Mandant"`, `data-value="Mandat"`, "„MAN“ verwenden").Body
		if strings.Contains(got, "Mandel") || strings.Count(got, `data-value="Mandant"`) != 1 || strings.Contains(got, "Erbrecht") {
			t.Errorf("tags: %s", got)
		}
		b.get("/choices/tags?family=contacts&q=ä").want(200, "Ärger")
		if got := b.get("/choices/tags?family=companies&q=m").want(200).Body; strings.Contains(got, "Mandant") {
			t.Errorf("tags of companies: %s", got)
		}
	})
}

// TestNumbers dials and exports numbers as they are typed: by the country of their entry,
// with their extensions, and never a number that is not sure.
func TestNumbers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := open(t, o, access.Member), o.As(access.Member)
		for _, n := range []struct {
			country, typed, link string
			card                 []string
		}{
			{"AT", "0664/1234567", "tel:+436641234567", []string{`TEL;TYPE=work;VALUE=uri;X-KARTEI-TYPED="0664/1234567":tel:+436641234567`}},
			{"", "0221 98765-12/13", "tel:+492219876512", []string{`X-KARTEI-TYPED="0221 98765-12/13":tel:+492219876512`}},
			{"", "+49 221 123456 ext. 5", "tel:+49221123456;ext=5", []string{`X-KARTEI-TYPED="+49 221 123456 ext. 5":tel:+49221123456;ext=5`}},
			{"", "0221 123456 oder 0171 9999999", "tel:+49221123456", []string{`X-KARTEI-TYPED="0221 123456 oder 0171 9999999":tel:+49221123456`, "TEL;TYPE=work;VALUE=uri:tel:+491719999999"}},
			{"", "+4922198765", "tel:+4922198765", []string{"TEL;TYPE=work;VALUE=uri:tel:+4922198765"}},
			{"", "778899", "tel:778899", []string{"TEL;TYPE=work:778899"}},
			{"AT", "778899", "", []string{"TEL;TYPE=work:778899"}},
			{"", "nur abends", "", []string{"TEL;TYPE=work:nur abends"}},
		} {
			members := map[string]any{"lastName": "Wien", "phone": n.typed}
			if n.country != "" {
				members["address"] = map[string]any{"country": n.country}
			}
			path := "/sandbox/contacts/" + c.Do("POST", "/contacts", members).Want(201).Text("id")
			entry := b.get(path).want(200, n.typed)
			if link := `href="` + n.link + `"`; n.link != "" && !strings.Contains(entry.Body, link) {
				t.Errorf("%s: %q has no link %s", n.country, n.typed, link)
			}
			if n.link == "" {
				entry.without(`href="tel:`)
			}
			card := strings.ReplaceAll(b.get(path+"/vcard").want(200).Body, "\r\n ", "")
			for _, line := range n.card {
				if !strings.Contains(card, line+"\r\n") {
					t.Errorf("%q: the card has no line %s:\n%s", n.typed, line, card)
				}
			}
		}
	})
}

// TestCompanyFromContact creates a company by its name in the form of a contact, with a
// script and without one. Nobody creates one without the right to.
func TestCompanyFromContact(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := open(t, o, access.Member)
		offer := "Firma „Rheinbau GmbH“ anlegen"
		query := url.QueryEscape("Rheinbau GmbH")
		b.get("/choices/companies?list=x&anew=companies&q="+query).want(200, "data-create", offer)
		b.get("/choices/companies?list=x&q=" + query).want(200).without("data-create")

		// Without a script the first try offers it.
		first := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg", "companyId-text", "Rheinbau GmbH").want(422, offer, `value="+"`)
		path := first.send("/contacts/new", "companyId-pick", "+").want(303).Location
		b.get(path).want(200, "Rheinbau GmbH", "Berg")
		// With one the field has the value at once.
		path = b.get("/contacts/new").send("/contacts/new", "lastName", "Thal", "companyId", "+", "companyId-text", "Brauhaus", "companyId-shown", "Brauhaus").want(303).Location
		b.get(path).want(200, "Brauhaus")
		b.get("/companies").want(200, "Brauhaus", "Rheinbau GmbH")
		b.get("/choices/companies?list=x&anew=companies&q="+query).want(200, "Rheinbau GmbH").without("data-create")
	})
}
