package book_test

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
	"kartei/test/pagetest"
)

// TestEntry checks the page of a contact: telephone and email links, the address, the history, and
// the records that refer to the contact.
func TestEntry(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		firm := b.Get("/companies/new").Send("/companies/new", "name", "Haas AG").Want(303).Location
		path := b.Get("/contacts/new").Send("/contacts/new", "salutation", "ms", "title", "Dr.", "firstName", "Brigitte", "lastName", "Müller", "mobile", "0176 04069063", "email", "a?bcc=b%40c.example&x@d.example",
			"companyId", firm[len("/companies/"):], "address.street", "Graben 3", "address.postalCode", "1010", "address.city", "Wien", "address.country", "AT", "tags", "Mandant").Want(303).Location
		entry := b.Get(path).Want(200, `href="tel:+4317604069063"`, `href="mailto:a%3Fbcc%3Db%2540c.example%26x@d.example"`, "<bdi>1010 Wien</bdi>", "<bdi>ÖSTERREICH</bdi>",
			"Haas AG\nFrau Dr. Brigitte Müller\nGraben 3\n1010 Wien\nÖSTERREICH", "curl -H")
		if strings.Contains(entry.Main(), "Rechtsform") {
			t.Error("a contact has members of a company")
		}
		b.Get(path+"?edit=address").Want(200, `<option value="AT" selected`, "Österreich").Send(path, "address.country", "DE", "address.city", "Köln").Want(303)
		b.Get(path).Want(200, "<bdi>1010 Köln</bdi>", "angelegt", "Ort und Land")
		b.Get(path+"?edit=naming").Want(200, `name="lastName"`).Send(path, "lastName", "Meier").Want(303)

		card := b.Get(path+"/vcard").Want(200, "FN:Dr. Brigitte Meier", "N:Meier;Brigitte;;Dr.;", "ORG:Haas AG", `TEL;TYPE=cell;VALUE=uri;X-KARTEI-TYPED="0176 04069063":tel:+4917604069063`, "CATEGORIES:Mandant", ";Germany")
		if !strings.HasPrefix(card.Body, "BEGIN:VCARD\r\nVERSION:4.0\r\n") {
			t.Errorf("%q", card.Body)
		}
		b.Get(path+"/qr").Want(200, `<svg class="qr" role="img"`, "<h1")
		if part := b.Get(path+"/qr?part=dialog").Want(200, "<dialog", "<svg"); strings.Contains(part.Body, "<main") {
			t.Error("a dialog is a whole page")
		}

		b.Get("/tasks/new").Send("/tasks/new", "title", "Rückruf", "contactId", path[len("/contacts/"):]).Want(303)
		b.Get(path+"/delete").Want(200, "Dr. Brigitte Meier", "eine Aufgabe", "endgültig", "autofocus")
		b.Get(firm+"/delete").Want(200, "ein Kontakt")

		// After an edit, the filtered list stays beside its record.
		b.Get(path+"?tag=mandant&edit=mobile").Want(200).Send(path+"?tag=mandant", "mobile", "2").Want(303)
		viewer := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Viewer).Principal)}
		seen := viewer.Get(path).Want(200, "Brigitte Meier").Main()
		for _, lacks := range []string{"/edit", "/delete", "?edit=", "Angabe ergänzen"} {
			if strings.Contains(seen, lacks) {
				t.Errorf("a viewer is offered %s", lacks)
			}
		}
		viewer.Get(path + "/delete").Want(403)
		viewer.Get(path + "/vcard").Want(200)
	})
}

// TestHistoryOfKartei checks the history for changes that no person made on a page. They come from
// a program, from Kartei for an admin, and from Kartei for the operator.
func TestHistoryOfKartei(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	c, successor := o.As(access.Admin), o.User(access.Member)
	b := &pagetest.Browser{T: t, Handler: pagetest.Open(t, o, access.Admin).Handler, Cookie: o.Session(c.Principal)}
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
	page := b.Get("/sandbox/contacts/"+id).Want(200, "über die API", "Eigentümer geändert", "· von Kartei, bei der Übergabe von Einträgen")
	if n := strings.Count(page.Body, "Übergabe von Einträgen"); n != 2 {
		t.Errorf("%d of 2 changes are said to be a handing over\n%s", n, page.Main())
	}
	b.Get("/settings/profile").Send("/settings/profile", "language", "en").Want(303)
	b.Get("/sandbox/contacts/"+id).Want(200, "· by Kartei, as entries were handed over")
}

// TestWebAddress checks that a web address without a scheme gets https://. An address with a scheme
// stays as it is.
func TestWebAddress(t *testing.T) {
	b := pagetest.Open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	path := b.Get("/companies/new").Send("/companies/new", "name", "Huber", "website", "www.kanzlei-huber.de").Want(303).Location
	b.Get(path).Want(200, `href="https://www.kanzlei-huber.de"`)
	for typed, stored := range map[string]string{"huber.de/team": "https://huber.de/team", "http://huber.de": "http://huber.de"} {
		b.Get(path+"?edit=website").Want(200).Send(path, "website", typed).Want(303)
		b.Get(path).Want(200, `href="`+stored+`"`)
	}
	b.Get(path+"/edit").Send(path, "website", "keine").Want(422, `value="keine"`, `aria-invalid="true"`)
}

// TestImpossibleDay checks that the form is refused for an impossible date. The field then keeps
// the typed text, as a text input, since a date input could not show it.
func TestImpossibleDay(t *testing.T) {
	b := pagetest.Open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	path := b.Get("/contacts/new").Want(200, `type="date" value="" id="f-birthday" name="birthday" autocomplete="off" max="9999-12-31"`).
		Send("/contacts/new", "lastName", "Berg", "birthday", "1984-02-29").Want(303).Location
	b.Get(path+"/edit").Want(200, `type="date" value="1984-02-29"`)
	for _, typed := range []string{"1985-02-29", "121984-01-01", "31.6.1984", "gestern"} {
		for _, edit := range []string{"/edit", "?edit=birthday"} {
			b.Get(path+edit).Want(200).Send(path, "birthday", typed).Want(422, `type="text" value="`+typed+`"`, `id="f-birthday-error"`, "Diesen Tag gibt es nicht.").
				Send(path, "birthday", "29.2.1984").Want(303)
			b.Get(path).Want(200, "29.02.1984")
		}
	}
}

// TestLanguageByName checks that a person can type the name of a language. Pages show the name in
// the reader's language. A language without a name is shown as its code.
func TestLanguageByName(t *testing.T) {
	b := pagetest.Open(t, apitest.New(t, dbtest.SQLite(t)), access.Member)
	path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "language", "englisch").Want(303).Location
	late := b.Get(path+"/edit").Want(200, `value="Englisch"`)
	b.Get(path+"?edit=language").Want(200, `value="Englisch"`).Send(path, "language", "de-AT").Want(303)
	b.Get(path).Want(200, "Deutsch (AT)")
	late.Send(path, "language", "tlh").Want(409, "<bdi>Englisch</bdi>", "<bdi>Deutsch (AT)</bdi>", "<bdi>tlh</bdi>")
	b.Get(path+"/edit").Send(path, "language", "tlh").Want(303)
	b.Get(path).Want(200, "tlh")
	b.Get(path+"/edit").Send(path, "language", "Deutsch").Want(303)
	b.Get("/settings/profile").Send("/settings/profile", "language", "en").Want(303)
	b.Get(path).Want(200, "German")
	b.Get(path+"/edit").Send(path, "language", "Klingon!").Want(422, `value="Klingon!"`, "name or its code")
}

// TestSimilar checks that the form of a new contact lists possible duplicates. If the person saves
// again, the contact is created.
func TestSimilar(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "email", "berg@example.com", "phone", "0221 987654").Want(303)
		o.Clock.Advance(2 * time.Minute)
		form := b.Get("/contacts/new").Want(200)
		fields := form.Fields("/contacts/new")
		for _, typed := range [][2]string{{"lastName", "Berg"}, {"email", "Berg@example.com"}, {"phone", "+49 221 98 76 54"}} {
			fields.Set(typed[0], typed[1])
			if part := b.Do("POST", "/contacts/similar", fields).Want(200, "Schon vorhanden?", "Berg", `name="seen"`); strings.Contains(part.Body, "<main") {
				t.Error("a part of a page is a whole one")
			}
			fields.Set(typed[0], "")
		}
		if part := b.Do("POST", "/contacts/similar", fields).Want(200); strings.Contains(part.Body, "vorhanden") {
			t.Error("an empty form has similar records")
		}
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "firstName", "Ada").Want(303)
		asked := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Bergmann", "email", "berg@example.com").Want(409, "gleiche E-Mail-Adresse", `value="Bergmann"`, "Noch nicht gespeichert", "data-started")
		next := asked.Send("/contacts/new", "next", "1", "seen", pagetest.CutOut(asked.Body, `name="seen" value="`, `"`)).Want(303)
		b.Get(next.Location).Want(200, "Gespeichert: Bergmann")

		// If a form is sent twice, the contact is created once, although it is its own duplicate by
		// then.
		twice := b.Get("/contacts/new")
		first := twice.Send("/contacts/new", "lastName", "Ast", "email", "ast@example.com").Want(303)
		if second := twice.Send("/contacts/new", "lastName", "Ast", "email", "ast@example.com").Want(303); second.Location != first.Location {
			t.Error("a form that was sent twice made two contacts")
		}
	})
}

// TestSearchLiftsFilters checks that a search in a filtered list covers all records. The page says
// this and shows no filter.
func TestSearchLiftsFilters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "tags", "Erbe").Want(303)
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "Bergner").Want(303)
		const lifted = "Filter gelten dabei nicht"
		if narrowed := b.Get("/contacts?tag=Erbe").Want(200, "Schlagwort: Erbe", ">Berg<"); strings.Contains(narrowed.Body, lifted) || strings.Contains(narrowed.Main(), "Bergner") {
			t.Errorf("narrowed: %s", narrowed.Main())
		}
		for _, filters := range []string{"&tag=Erbe", "&mine=1", "&tag=Erbe&sort=-updatedAt"} {
			found := b.Get("/contacts?q=berg"+filters).Want(200, ">Berg<", ">Bergner<", lifted, "beste Treffer zuerst")
			if strings.Contains(found.Main(), "Schlagwort: Erbe") || strings.Contains(found.Main(), `name="mine" value="1" checked`) {
				t.Errorf("%s shows a filter: %s", filters, found.Main())
			}
		}
		if found := b.Get("/contacts?q=berg").Want(200, ">Bergner<"); strings.Contains(found.Body, lifted) {
			t.Error("a search without filters says that it lifted some")
		}
	})
}

// TestRefusedInPlace checks that a refused value stays in its field on the record's page. The next
// attempt is still compared with the values that the person first saw.
func TestRefusedInPlace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "email", "berg@example.com").Want(303).Location
		edit := b.Get(path + "?edit=email").Want(200)
		b.Get(path+"?edit=email").Send(path, "email", "berg@example.net").Want(303)
		refused := edit.Send(path, "email", "berg").Want(422, `value="berg"`, `aria-invalid="true"`, `id="pane"`)
		if strings.Contains(refused.Body, `id="entry-form"`) {
			t.Error("the page became the form of all members")
		}
		refused.Send(path, "email", "berg@example.org").Want(409, "berg@example.net", "berg@example.org")
		named := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Ast").Want(303).Location
		naming := b.Get(named+"?edit=naming").Want(200).Send(named, "lastName", "", "title", "Dr.").Want(422, `id="pane"`, `value="Dr."`, "Eines davon ist nötig.")
		naming.Send(named, "lastName", "Astmann").Want(303)
		b.Get(named).Want(200, "Dr. Astmann")
		task := b.Get("/tasks/new").Send("/tasks/new", "title", "Akte").Want(303).Location
		b.Get(task+"?edit=dueAt").Want(200).Send(task, "dueAt", "31.2.").Want(422, "Kein Datum erkannt", `value="31.2."`, `id="pane"`)
	})
}

// TestNameNeeded checks the error message for a contact without a name.
func TestNameNeeded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		refused := b.Get("/contacts/new").Send("/contacts/new", "jobTitle", "Notarin").Want(422, "Nachname, Vorname oder E-Mail: Eines davon ist nötig.", "data-started")
		if strings.Contains(refused.Main(), "Mindestens eines von") {
			t.Errorf("the form names members: %s", refused.Main())
		}
		made := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303)
		b.Get(made.Location+"/edit").Send(made.Location, "lastName", "").Want(422, "Eines davon ist nötig.")
	})
}

// TestTagsInUse checks the suggested tags: they come from records that everyone may see, in their
// original spelling.
func TestTagsInUse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "A", "tags", "Mandant\nErbrecht\nÄrger").Want(303)
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "B", "tags", "mandant\nMandat").Want(303)
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "C", "tags", "Mandel", "visibility", "private").Want(303)
		got := b.Get("/choices/tags?family=contacts&q=MAN&list=x").Want(200, `data-value="Mandant"`, `data-value="Mandat"`, "„MAN“ verwenden").Body
		if strings.Contains(got, "Mandel") || strings.Count(got, `data-value="Mandant"`) != 1 || strings.Contains(got, "Erbrecht") {
			t.Errorf("tags: %s", got)
		}
		b.Get("/choices/tags?family=contacts&q=ä").Want(200, "Ärger")
		if got := b.Get("/choices/tags?family=companies&q=m").Want(200).Body; strings.Contains(got, "Mandant") {
			t.Errorf("tags of companies: %s", got)
		}
	})
}

// TestNumbers checks telephone links and vCards. A number is read with the country of its entry and
// its extension. Ambiguous numbers get no link.
func TestNumbers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		for _, n := range []struct {
			country, typed, link string
			card                 []string
		}{
			{"AT", "0664/1234567", "tel:+436641234567", []string{`TEL;TYPE=work;VALUE=uri;X-KARTEI-TYPED="0664/1234567":tel:+436641234567`}},
			{"", "0221 98765-12/13", "tel:+492219876512", []string{`X-KARTEI-TYPED="0221 98765-12/13":tel:+492219876512`}},
			{"", "+49 221 123456 ext. 5", "tel:+49221123456;ext=5", []string{`X-KARTEI-TYPED="+49 221 123456 ext. 5":tel:+49221123456;ext=5`}},
			{"", "0221 123456 oder 0171 9999999", "tel:+49221123456", []string{`X-KARTEI-TYPED="0221 123456 oder 0171 9999999":tel:+49221123456`, `TEL;TYPE=work;VALUE=uri;X-KARTEI-TYPED="":tel:+491719999999`}},
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
			entry := b.Get(path).Want(200, n.typed)
			if link := `href="` + n.link + `"`; n.link != "" && !strings.Contains(entry.Body, link) {
				t.Errorf("%s: %q has no link %s", n.country, n.typed, link)
			}
			if n.link == "" {
				entry.Without(`href="tel:`)
			}
			card := strings.ReplaceAll(b.Get(path+"/vcard").Want(200).Body, "\r\n ", "")
			for _, line := range n.card {
				if !strings.Contains(card, line+"\r\n") {
					t.Errorf("%q: the card has no line %s:\n%s", n.typed, line, card)
				}
			}
		}
	})
}

// TestCompanyFromContact checks that the form of a contact can create a company by name, with
// scripts and without.
func TestCompanyFromContact(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		offer := "Firma „Rheinbau GmbH“ anlegen"
		query := url.QueryEscape("Rheinbau GmbH")
		b.Get("/choices/companies?list=x&anew=companies&q="+query).Want(200, "data-create", offer)
		b.Get("/choices/companies?list=x&q=" + query).Want(200).Without("data-create")

		// Without scripts, the first attempt is refused and offers the new company.
		first := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg", "companyId-text", "Rheinbau GmbH").Want(422, offer, `value="+"`)
		path := first.Send("/contacts/new", "companyId-pick", "+").Want(303).Location
		b.Get(path).Want(200, "Rheinbau GmbH", "Berg")
		// With scripts, the field has the value at once.
		path = b.Get("/contacts/new").Send("/contacts/new", "lastName", "Thal", "companyId", "+", "companyId-text", "Brauhaus", "companyId-shown", "Brauhaus").Want(303).Location
		b.Get(path).Want(200, "Brauhaus")
		b.Get("/companies").Want(200, "Brauhaus", "Rheinbau GmbH")
		b.Get("/choices/companies?list=x&anew=companies&q="+query).Want(200, "Rheinbau GmbH").Without("data-create")
	})
}
