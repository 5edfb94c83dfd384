package office_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestTaskOnPages makes a task with a due date, completes it, and takes that back.
func TestTaskOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		path := b.get("/tasks/new").want(200).send("/tasks/new", "title", "Klage prüfen", "dueAt", "2026-11-03T10:00").want(303).Location
		b.get("/tasks").want(200, "Klage prüfen", "morgen")
		// The clock of the office is in Berlin, so ten o'clock is nine in UTC.
		b.get(path).want(200, "morgen 10:00", `datetime="2026-11-03T09:00:00Z"`)
		b.get(path+"/edit").want(200, `value="03.11.2026 10:00"`).send(path, "title", "Klage lesen").want(303)

		done := b.do("POST", path+"/complete", b.get(path).fields(path+"/complete"), "HX-Request", "true").want(200, "„Klage lesen“ erledigt.", "Rückgängig")
		if got := b.get("/tasks").want(200).main(); strings.Contains(got, "Klage lesen") {
			t.Error("a task that is done is still in the list")
		}
		done.Body = done.Body[strings.LastIndex(done.Body, `class="toast `):]
		done.send(path).want(303)
		b.get("/tasks").want(200, "Klage lesen", "morgen")
	})
}

// round presses the round button of a task in a list, as a browser without script
// does, and returns the page that follows.
func (p *page) round(path, act string) *page {
	p.t.Helper()
	if !strings.Contains(p.Body, `formaction="`+path+"/"+act+`"`) {
		p.t.Fatalf("%s has no button to %s %s\n%s", p.Path, act, path, p.main())
	}
	_, rows, _ := strings.Cut(p.Body, `class="tasks">`)
	list := &page{browser: p.browser, Path: p.Path, Body: `action="rows"` + rows}
	return p.get(p.do("POST", path+"/"+act, list.fields("rows")).want(303).Location)
}

// TestTaskTabs completes a task in the list and takes that back, twice: from the note,
// and from the tab of tasks that are done. It does so without a script.
func TestTaskTabs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		b.get("/tasks").want(200, "Nichts ist fällig", "Es gibt keine offene Aufgabe.")
		other := &browser{t: t, handler: b.handler, cookie: o.Session(o.As(access.Member).Principal)}
		theirs := other.get("/tasks/new").send("/tasks/new", "title", "Sache von anderen").want(303).Location
		b.get("/tasks").want(200, "Nichts ist fällig", "Im Büro ist eine Aufgabe offen.")
		mine := b.get("/tasks/new").send("/tasks/new", "title", "Klage prüfen", "dueAt", "2026-11-01T10:00", "priority", "high").want(303).Location
		b.get("/tasks/new").send("/tasks/new", "title", "Vollmacht", "dueAt", "2026-11-02T23:59").want(303)

		list := b.get("/tasks").want(200, "Überfällig", "Heute", "dringend: ")
		if strings.Contains(list.main(), "Sache von anderen") {
			t.Error("the tasks of a person have those of others")
		}
		counts := func(p *page) string {
			return strings.Join(regexp.MustCompile(`(?s)<a href="/tasks[^"]*"[^>]*>\S+ <span class="note">(\d+)</span>`).FindAllString(p.Body, -1), "")
		}
		if got := between(counts(list), `"note">`, "<"); strings.Join(got, " ") != "2 3 0" {
			t.Errorf("the tabs say %s", got)
		}
		b.get("/tasks?tab=all").want(200, "Sache von anderen", "Klage prüfen", "Ohne Frist")
		if got := b.get("/tasks?tab=all&assigneeId-text=ich"); got.Status != 303 || !strings.Contains(got.Location, "assigneeId=usr_") || strings.Contains(b.get(got.Location).main(), "Sache von anderen") {
			t.Errorf("the tasks of one person: %d %s", got.Status, got.Location)
		}
		b.get("/tasks?tab=all&assigneeId-text=Niemand").want(200, "wurde nicht gefunden", `value="Niemand"`)

		// The list says what was done, and offers to undo it.
		said := list.round(mine, "complete").want(200, "„Klage prüfen“ erledigt.", "Rückgängig")
		if strings.Contains(said.main()[:strings.Index(said.main(), "data-said")], "<bdi>Klage prüfen") {
			t.Errorf("a task that is done is still in the list: %s", said.main())
		}
		said.Body = said.Body[strings.LastIndex(said.Body, `class="toast `):]
		said.send(mine).want(303)
		b.get("/tasks").want(200, "Klage prüfen")

		// Of two forms of the same page each has its effect: the token alone is no key.
		list = b.get("/tasks?tab=all")
		list.round(mine, "complete")
		list.round(theirs, "complete")
		done := b.get("/tasks?tab=done").want(200, "<s><bdi>Klage prüfen", "Sache von anderen")
		b.get(theirs).want(200, "Wieder öffnen", "<dt>Stand</dt>").send(theirs + "/reopen").want(303)
		b.get(theirs).want(200, "Erledigt</span>")
		done.round(mine, "reopen").want(200, "„Klage prüfen“ ist wieder offen.")
		b.get("/tasks").want(200, "Klage prüfen")
		b.cookie = o.Session(o.As(access.Viewer).Principal)
		if got := b.get("/tasks?tab=all").want(200, "Sache von anderen").main(); strings.Contains(got, "formaction") || strings.Contains(got, "/tasks/line") {
			t.Error("a viewer is offered to change tasks")
		}
	})
}

// TestQuickLine makes tasks of lines, without a script.
func TestQuickLine(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := open(t, o, access.Member)
		company := b.get("/companies/new").send("/companies/new", "name", "Rheinbau GmbH").want(303).Location
		for _, first := range []string{"Ida", "Jan"} {
			b.get("/contacts/new").send("/contacts/new", "firstName", first, "lastName", "Müller").want(303)
		}
		said := func(line string, set ...string) *page {
			t.Helper()
			made := b.get("/tasks").send("/tasks/line", append([]string{"line", line}, set...)...)
			if made.Status != 303 {
				return made
			}
			return b.get(made.Location).want(200)
		}
		said("Klage prüfen morgen 10 !! @rheinbau").want(200, "Angelegt: Klage prüfen · morgen 10:00 · dringend · Rheinbau GmbH", "Ansehen")
		list := b.get("/tasks").want(200, "Klage prüfen", "Diese Woche", "morgen 10:00", "dringend: ", "Rheinbau GmbH")
		path := regexp.MustCompile(`/tasks/tsk_[a-z0-9]+`).FindString(list.main())
		b.get(path).want(200, company, "Petra Morgenstern")

		// If a name is ambiguous the page asks who is meant, and the line stays.
		asked := said("Rückruf @müller fr").want(422, `value="Rückruf @müller fr"`, "passt auf mehrere", "Ida Müller", "Jan Müller")
		asked.send("/tasks/line").want(422, "passt auf mehrere")
		who := between(asked.Body, `name="about-pick" value="`, `"`)
		made := asked.send("/tasks/line", "about-pick", who[0]).want(303)
		b.get(made.Location).want(200, "Rückruf", "Fr")
		asked.send("/tasks/line", "line", "Rückruf @niemand", "about-pick", who[0]).want(422, "nennt keinen Kontakt und keine Firma", "Rückruf @niemand")
		asked.send("/tasks/line", "line", "Frist 31.02.").want(422, "gibt es nicht als Frist", "Frist 31.02.")
		said("!! @rheinbau").want(422, "Was ist zu tun?")
		said(strings.Repeat("x", 201)).want(422, "200 Zeichen")
		said(`Termin @"Jan Müller"`).want(200, "Angelegt: Termin · Jan Müller")

		// While it is typed, the line is explained.
		explain := func(line string) *page { return b.get("/tasks/line?line=" + url.QueryEscape(line)) }
		explain("Klage prüfen morgen 10 !! @rheinb").want(200, "Klage prüfen", "morgen 10:00 (Di 03.11.)", "dringend", "Rheinbau GmbH")
		explain("Klage @müller").want(200, "passt auf mehrere", "ohne Frist")
		explain("").want(200, "Kontakt oder Firma")
	})
}

// A due date is typed in words, on the form and in place, in both languages. A text
// that is no date stays in the field, which shows an example.
func TestDueInWords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := open(t, o, access.Member)
		// It is Monday, 2 November 2026.
		form := b.get("/tasks/new").want(200, "nächsten Freitag")
		refused := form.send("/tasks/new", "title", "Klage prüfen", "dueAt", "irgendwann").want(422, "Kein Datum erkannt", `value="irgendwann"`, `value="Klage prüfen"`)
		path := refused.send("/tasks/new", "dueAt", "nächsten Freitag um 16 Uhr").want(303).Location
		b.get(path).want(200, "Fr 16:00", `datetime="2026-11-06T15:00:00Z"`)
		edit := b.get(path+"?edit=dueAt").want(200, `value="06.11.2026 16:00"`, "Fr, 06.11.2026, 16:00", "/tasks/due")
		edit.send(path, "dueAt", "in 2 Wochen").want(303)
		if got := b.get(path).want(200, `datetime="2026-11-16T22:59:00Z"`, ">16.11.<").main(); strings.Contains(got, "16.11. 23:59") {
			t.Errorf("a whole day has an hour: %s", got)
		}
		b.get(path+"/edit").want(200, `value="16.11.2026"`).send(path, "title", "Klage lesen").want(303)
		b.get(path).want(200, "Klage lesen", `datetime="2026-11-16T22:59:00Z"`)

		explain := func(text string) *page { return b.get("/tasks/due?dueAt=" + url.QueryEscape(text)) }
		explain("morgen 10").want(200, "Di, 03.11.2026, 10:00")
		explain("15.12.").want(200, "Di, 15.12.2026")
		explain("<b>").want(200, "Kein Datum erkannt")
		explain("").want(200, "Zum Beispiel")
	})
}

// Two people change the due date of a task: the page shows both as dates, and takes
// what is typed in words.
func TestDueDecided(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := open(t, o, access.Member)
		path := b.get("/tasks/new").send("/tasks/new", "title", "Klage prüfen", "dueAt", "morgen 10").want(303).Location
		mine, theirs := b.get(path+"?edit=dueAt"), b.get(path+"?edit=dueAt")
		theirs.send(path, "dueAt", "morgen 11").want(303)
		asked := mine.send(path, "dueAt", "morgen 12").want(409, "Sie selbst haben", "03.11.2026 10:00", "03.11.2026 11:00", `value="03.11.2026 12:00"`)
		if strings.Contains(asked.main(), "<bdi>2026-11") {
			t.Errorf("a date is shown as a machine writes it: %s", asked.main())
		}
		asked.send(path, "pick.dueAt", "other", "dueAt", "übermorgen 9").want(303)
		b.get(path).want(200, "Mi 09:00")
	})
}

// A value that was edited in place says so beside it, once.
func TestSavedMark(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := open(t, o, access.Member)
		path := b.get("/tasks/new").send("/tasks/new", "title", "Klage prüfen", "dueAt", "morgen").want(303).Location
		fields := b.get(path + "?edit=dueAt").fields(path)
		fields.Set("dueAt", "übermorgen")
		after := b.do("POST", path, fields, script...).want(200)
		if got := strings.Count(after.Body, `class="saved"`); got != 1 || !strings.Contains(strings.Join(between(after.Body, `id="fact-dueAt"`, "</dd>"), ""), "gespeichert") {
			t.Errorf("%d marks: %s", got, after.main())
		}
		if strings.Contains(b.get(path).Body, `class="saved"`) {
			t.Error("the mark stays")
		}
		contact := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303).Location
		fields = b.get(contact + "?edit=address").fields(contact)
		fields.Set("address.city", "Köln")
		after = b.do("POST", contact, fields, script...).want(200)
		if got := strings.Count(after.Body, `class="saved"`); got != 1 || !strings.Contains(strings.Join(between(after.Body, `id="fact-address"`, "</dd>"), ""), "gespeichert") {
			t.Errorf("%d marks of an address: %s", got, after.main())
		}
	})
}
