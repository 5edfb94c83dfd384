package tasks_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestTaskOnPages checks that a person can create a task with a due date, complete the task, and
// undo the completion.
func TestTaskOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		path := b.Get("/tasks/new").Want(200).Send("/tasks/new", "title", "Klage prüfen", "dueAt", "2026-11-03T10:00").Want(303).Location
		b.Get("/tasks").Want(200, "Klage prüfen", "morgen")
		// The time zone of the office is Berlin, so ten o'clock is nine in UTC.
		b.Get(path).Want(200, "morgen 10:00", `datetime="2026-11-03T09:00:00Z"`)
		b.Get(path+"/edit").Want(200, `value="03.11.2026 10:00"`).Send(path, "title", "Klage lesen").Want(303)

		done := b.Do("POST", path+"/complete", b.Get(path).Fields(path+"/complete"), "HX-Request", "true").Want(200, "„Klage lesen“ erledigt.", "Rückgängig")
		if got := b.Get("/tasks").Want(200).Main(); strings.Contains(got, "Klage lesen") {
			t.Error("a task that is done is still in the list")
		}
		done.Body = done.Body[strings.LastIndex(done.Body, `class="toast `):]
		done.Send(path).Want(303)
		b.Get("/tasks").Want(200, "Klage lesen", "morgen")
	})
}

// round presses the round button of a task in a list, as a browser without scripts does. It returns
// the page after the redirect.
func round(p *pagetest.Page, path, act string) *pagetest.Page {
	p.T.Helper()
	if !strings.Contains(p.Body, `formaction="`+path+"/"+act+`"`) {
		p.T.Fatalf("%s has no button to %s %s\n%s", p.Path, act, path, p.Main())
	}
	_, rows, _ := strings.Cut(p.Body, `class="tasks">`)
	list := &pagetest.Page{Browser: p.Browser, Path: p.Path, Body: `action="rows"` + rows}
	return p.Get(p.Do("POST", path+"/"+act, list.Fields("rows")).Want(303).Location)
}

// TestTaskTabs checks that tasks can be completed in a list without scripts. The note can undo
// this, and so can the tab with the completed tasks.
func TestTaskTabs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		b.Get("/tasks").Want(200, "Nichts ist fällig", "Es gibt keine offene Aufgabe.")
		other := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		theirs := other.Get("/tasks/new").Send("/tasks/new", "title", "Sache von anderen").Want(303).Location
		b.Get("/tasks").Want(200, "Nichts ist fällig", "Im Büro ist eine Aufgabe offen.")
		mine := b.Get("/tasks/new").Send("/tasks/new", "title", "Klage prüfen", "dueAt", "2026-11-01T10:00", "priority", "high").Want(303).Location
		b.Get("/tasks/new").Send("/tasks/new", "title", "Vollmacht", "dueAt", "2026-11-02T23:59").Want(303)

		list := b.Get("/tasks").Want(200, "Überfällig", "Heute", "dringend: ")
		if strings.Contains(list.Main(), "Sache von anderen") {
			t.Error("the tasks of a person have those of others")
		}
		counts := func(p *pagetest.Page) string {
			return strings.Join(regexp.MustCompile(`(?s)<a href="/tasks[^"]*"[^>]*>\S+ <span class="note">(\d+)</span>`).FindAllString(p.Body, -1), "")
		}
		if got := pagetest.Between(counts(list), `"note">`, "<"); strings.Join(got, " ") != "2 3 0" {
			t.Errorf("the tabs say %s", got)
		}
		b.Get("/tasks?tab=all").Want(200, "Sache von anderen", "Klage prüfen", "Ohne Frist")
		if got := b.Get("/tasks?tab=all&assigneeId-text=ich"); got.Status != 303 || !strings.Contains(got.Location, "assigneeId=usr_") || strings.Contains(b.Get(got.Location).Main(), "Sache von anderen") {
			t.Errorf("the tasks of one person: %d %s", got.Status, got.Location)
		}
		b.Get("/tasks?tab=all&assigneeId-text=Niemand").Want(200, "wurde nicht gefunden", `value="Niemand"`)

		// The note after the change offers to undo it.
		said := round(list, mine, "complete").Want(200, "„Klage prüfen“ erledigt.", "Rückgängig")
		if strings.Contains(said.Main()[:strings.Index(said.Main(), "data-said")], "<bdi>Klage prüfen") {
			t.Errorf("a task that is done is still in the list: %s", said.Main())
		}
		said.Body = said.Body[strings.LastIndex(said.Body, `class="toast `):]
		said.Send(mine).Want(303)
		b.Get("/tasks").Want(200, "Klage prüfen")

		// Two forms of the same page both take effect, although their tokens are equal.
		list = b.Get("/tasks?tab=all")
		round(list, mine, "complete")
		round(list, theirs, "complete")
		done := b.Get("/tasks?tab=done").Want(200, "<s><bdi>Klage prüfen", "Sache von anderen")
		b.Get(theirs).Want(200, "Wieder öffnen", "<dt>Stand</dt>").Send(theirs + "/reopen").Want(303)
		b.Get(theirs).Want(200, "Erledigt</span>")
		round(done, mine, "reopen").Want(200, "„Klage prüfen“ ist wieder offen.")
		b.Get("/tasks").Want(200, "Klage prüfen")
		b.Cookie = o.Session(o.As(access.Viewer).Principal)
		if got := b.Get("/tasks?tab=all").Want(200, "Sache von anderen").Main(); strings.Contains(got, "formaction") || strings.Contains(got, "/tasks/line") {
			t.Error("a viewer is offered to change tasks")
		}
	})
}

// TestQuickLine checks that tasks can be created from lines without scripts.
func TestQuickLine(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		company := b.Get("/companies/new").Send("/companies/new", "name", "Rheinbau GmbH").Want(303).Location
		for _, first := range []string{"Ida", "Jan"} {
			b.Get("/contacts/new").Send("/contacts/new", "firstName", first, "lastName", "Müller").Want(303)
		}
		said := func(line string, set ...string) *pagetest.Page {
			t.Helper()
			made := b.Get("/tasks").Send("/tasks/line", append([]string{"line", line}, set...)...)
			if made.Status != 303 {
				return made
			}
			return b.Get(made.Location).Want(200)
		}
		said("Klage prüfen morgen 10 !! @rheinbau").Want(200, "Angelegt: Klage prüfen · morgen 10:00 · dringend · Rheinbau GmbH", "Ansehen")
		list := b.Get("/tasks").Want(200, "Klage prüfen", "Diese Woche", "morgen 10:00", "dringend: ", "Rheinbau GmbH")
		path := regexp.MustCompile(`/tasks/tsk_[a-z0-9]+`).FindString(list.Main())
		b.Get(path).Want(200, company, "Petra Morgenstern")

		// If a name is ambiguous, the page asks who is meant, and the line stays.
		asked := said("Rückruf @müller fr").Want(422, `value="Rückruf @müller fr"`, "passt auf mehrere", "Ida Müller", "Jan Müller")
		asked.Send("/tasks/line").Want(422, "passt auf mehrere")
		who := pagetest.Between(asked.Body, `name="about-pick" value="`, `"`)
		made := asked.Send("/tasks/line", "about-pick", who[0]).Want(303)
		b.Get(made.Location).Want(200, "Rückruf", "Fr")
		asked.Send("/tasks/line", "line", "Rückruf @niemand", "about-pick", who[0]).Want(422, "nennt keinen Kontakt und keine Firma", "Rückruf @niemand")
		asked.Send("/tasks/line", "line", "Frist 31.02.").Want(422, "gibt es nicht als Frist", "Frist 31.02.")
		said("!! @rheinbau").Want(422, "Was ist zu tun?")
		said(strings.Repeat("x", 201)).Want(422, "200 Zeichen")
		said(`Termin @"Jan Müller"`).Want(200, "Angelegt: Termin · Jan Müller")

		// A request while the person types explains the line.
		explain := func(line string) *pagetest.Page { return b.Get("/tasks/line?line=" + url.QueryEscape(line)) }
		explain("Klage prüfen morgen 10 !! @rheinb").Want(200, "Klage prüfen", "morgen 10:00 (Di 03.11.)", "dringend", "Rheinbau GmbH")
		explain("Klage @müller").Want(200, "passt auf mehrere", "ohne Frist")
		explain("").Want(200, "Kontakt oder Firma")
	})
}

// TestDueInWords checks that a due date can be typed in words, in the form and on the record's
// page. A text that is not a date stays in the field with an example.
func TestDueInWords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		// The clock of the test is on Monday, 2 November 2026.
		form := b.Get("/tasks/new").Want(200, "nächsten Freitag")
		refused := form.Send("/tasks/new", "title", "Klage prüfen", "dueAt", "irgendwann").Want(422, "Kein Datum erkannt", `value="irgendwann"`, `value="Klage prüfen"`)
		path := refused.Send("/tasks/new", "dueAt", "nächsten Freitag um 16 Uhr").Want(303).Location
		b.Get(path).Want(200, "Fr 16:00", `datetime="2026-11-06T15:00:00Z"`)
		edit := b.Get(path+"?edit=dueAt").Want(200, `value="06.11.2026 16:00"`, "Fr, 06.11.2026, 16:00", "/tasks/due")
		edit.Send(path, "dueAt", "in 2 Wochen").Want(303)
		if got := b.Get(path).Want(200, `datetime="2026-11-16T22:59:00Z"`, ">16.11.<").Main(); strings.Contains(got, "16.11. 23:59") {
			t.Errorf("a whole day has an hour: %s", got)
		}
		b.Get(path+"/edit").Want(200, `value="16.11.2026"`).Send(path, "title", "Klage lesen").Want(303)
		b.Get(path).Want(200, "Klage lesen", `datetime="2026-11-16T22:59:00Z"`)

		explain := func(text string) *pagetest.Page { return b.Get("/tasks/due?dueAt=" + url.QueryEscape(text)) }
		explain("morgen 10").Want(200, "Di, 03.11.2026, 10:00")
		explain("15.12.").Want(200, "Di, 15.12.2026")
		explain("<b>").Want(200, "Kein Datum erkannt")
		explain("").Want(200, "Zum Beispiel")
	})
}

// TestDueDecided checks conflicting changes of a due date by two people. The page shows both as
// dates, and accepts a date in words.
func TestDueDecided(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		path := b.Get("/tasks/new").Send("/tasks/new", "title", "Klage prüfen", "dueAt", "morgen 10").Want(303).Location
		mine, theirs := b.Get(path+"?edit=dueAt"), b.Get(path+"?edit=dueAt")
		theirs.Send(path, "dueAt", "morgen 11").Want(303)
		asked := mine.Send(path, "dueAt", "morgen 12").Want(409, "Sie selbst haben", "03.11.2026 10:00", "03.11.2026 11:00", `value="03.11.2026 12:00"`)
		if strings.Contains(asked.Main(), "<bdi>2026-11") {
			t.Errorf("a date is shown as a machine writes it: %s", asked.Main())
		}
		asked.Send(path, "pick.dueAt", "other", "dueAt", "übermorgen 9").Want(303)
		b.Get(path).Want(200, "Mi 09:00")
	})
}

// TestSavedMark checks that a value that was edited on the record's page is marked as saved, once.
func TestSavedMark(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		path := b.Get("/tasks/new").Send("/tasks/new", "title", "Klage prüfen", "dueAt", "morgen").Want(303).Location
		fields := b.Get(path + "?edit=dueAt").Fields(path)
		fields.Set("dueAt", "übermorgen")
		after := b.Do("POST", path, fields, pagetest.Script...).Want(200)
		if got := strings.Count(after.Body, `class="saved"`); got != 1 || !strings.Contains(strings.Join(pagetest.Between(after.Body, `id="fact-dueAt"`, "</dd>"), ""), "gespeichert") {
			t.Errorf("%d marks: %s", got, after.Main())
		}
		if strings.Contains(b.Get(path).Body, `class="saved"`) {
			t.Error("the mark stays")
		}
		contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		fields = b.Get(contact + "?edit=address").Fields(contact)
		fields.Set("address.city", "Köln")
		after = b.Do("POST", contact, fields, pagetest.Script...).Want(200)
		if got := strings.Count(after.Body, `class="saved"`); got != 1 || !strings.Contains(strings.Join(pagetest.Between(after.Body, `id="fact-address"`, "</dd>"), ""), "gespeichert") {
			t.Errorf("%d marks of an address: %s", got, after.Main())
		}
	})
}

// TestTasksByFileNumber checks that tasks in the order of file numbers are grouped by them, and that the page says
// that others are missing.
func TestTasksByFileNumber(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Open(t, apitest.New(t, d), access.Member)
		for _, task := range [][2]string{{"Replik", "12 O 3/26"}, {"Klage", "7 C 1/26"}, {"Frist", "12 O 3/26"}, {"Anruf", ""}} {
			b.Get("/tasks/new").Send("/tasks/new", "title", task[0], "reference", task[1]).Want(303)
		}
		page := b.Get("/tasks?tab=all&sort=reference").Want(200, "nach Aktenzeichen", "Einträge ohne Aktenzeichen fehlen")
		got := page.Main()
		for i, text := range []string{"7 C 1/26", "Klage", "12 O 3/26", "Replik", "Frist"} {
			at := strings.Index(got, text)
			if at < 0 {
				t.Fatalf("text %d, %s, is missing or too early", i, text)
			}
			got = got[at:]
		}
		if strings.Contains(page.Main(), "Anruf") {
			t.Error("a task without a file number is in the list")
		}
	})
}
