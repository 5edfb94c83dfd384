package today_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/people/notify"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestTodayBegins checks that the start page of an empty office says what to do first.
func TestTodayBegins(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		pagetest.Open(t, o, access.Member).Get("/sandbox/").Want(200, "Willkommen", `href="/sandbox/contacts/new"`, `href="/sandbox/companies/new"`, `href="/sandbox/documents"`)
		if got := pagetest.Open(t, o, access.Viewer).Get("/sandbox/").Want(200, "Willkommen").Main(); strings.Contains(got, "/new") {
			t.Error("somebody who only reads is asked to create")
		}
	})
}

// TestToday checks the start page. It has due tasks, which can be completed there, and today's
// changes by other people. It has no private records and no contents of records.
func TestToday(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c, other := pagetest.Open(t, o, access.Member), o.As(access.Member), o.As(access.Admin)
		b.Cookie = o.Session(c.Principal)
		day := func(n int) string { return o.Clock.Now().AddDate(0, 0, n).UTC().Format(time.RFC3339) }
		task := func(title string, due string) string {
			body := map[string]any{"title": title, "assigneeId": c.Principal}
			if due != "" {
				body["dueAt"] = due
			}
			return c.Do("POST", "/tasks", body).Want(201).Text("id")
		}
		late := task("Frist wahren", day(-2))
		task("Später", day(9))
		task("Ohne Datum", "")
		for _, name := range []string{"Alt", "Neu"} {
			other.Do("POST", "/contacts", map[string]any{"lastName": name}).Want(201)
		}
		other.Do("POST", "/contacts", map[string]any{"lastName": "Vertraulich", "visibility": "private"}).Want(201)
		page := b.Get("/sandbox/").Want(200, "Frist wahren", "überfällig", "hat 2 Kontakte angelegt")
		for _, no := range []string{"Später", "Ohne Datum", "Vertraulich"} {
			if strings.Contains(strings.Split(page.Main(), "Heute geändert")[0], no) || no == "Vertraulich" && strings.Contains(page.Main(), no) {
				t.Errorf("the start page has %q", no)
			}
		}
		done := page.Send("/sandbox/tasks/" + late + "/complete").Want(303)
		if path, _, _ := strings.Cut(done.Location, "?"); path != "/sandbox/" {
			t.Errorf("a completed task leads to %s", done.Location)
		}
		b.Get("/sandbox/").Want(200, "Nichts ist fällig", "Später", "eine Aufgabe erledigt")
		for range 70 {
			other.Do("POST", "/contacts", map[string]any{"lastName": "Viele"}).Want(201)
		}
		b.Get("/sandbox/").Want(200, "hat 72 Kontakte angelegt", "und 69 weitere")
		o.Clock.Advance(48 * time.Hour)
		b.Cookie = o.Session(c.Principal)
		b.Get("/sandbox/").Want(200, "Heute hat noch niemand etwas geändert")
	})
}

// TestUndoOnPages checks that an edit can be undone unless another person has changed the same
// member since. In that case, a note says so and has a link to the history.
func TestUndoOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		id := c.Do("POST", "/contacts", `{"lastName":"Berg","mobile":"1"}`).Want(201).Text("id")
		path := "/sandbox/contacts/" + id
		edit := func(mobile string) *pagetest.Page {
			t.Helper()
			f := b.Get(path + "/edit").Fields(path)
			f.Set("mobile", mobile)
			return b.Do("POST", path, f, pagetest.Script...).Want(200, "data-undo", `data-log="Kontakt: Mobil`)
		}
		undo := func(p *pagetest.Page) url.Values {
			_, toast, _ := strings.Cut(p.Body, `data-said`)
			return (&pagetest.Page{Browser: b, Body: toast, Path: p.Path}).Fields(path)
		}
		mobile := func() string { return c.Do("GET", "/contacts/"+id, nil).Want(200).Text("mobile") }

		first := undo(edit("2"))
		b.Do("POST", path, first, pagetest.Script...).Want(200, "Mobil wie vorher")
		if mobile() != "1" {
			t.Errorf("taken back, the number is %q", mobile())
		}
		again := undo(edit("3"))
		c.Do("PATCH", "/contacts/"+id, `{"jobTitle":"Richterin"}`, "If-Match", "*").Want(200)
		b.Do("POST", path, again, pagetest.Script...).Want(200, "Mobil wie vorher")
		if mobile() != "1" {
			t.Errorf("taken back beside another change, the number is %q", mobile())
		}
		third := undo(edit("4"))
		c.Do("PATCH", "/contacts/"+id, `{"mobile":"5"}`, "If-Match", "*").Want(200)
		b.Do("POST", path, third, pagetest.Script...).Want(200, "Nicht zurückgenommen", path+"#history")
		if mobile() != "5" {
			t.Errorf("the number of somebody else is %q", mobile())
		}
	})
}

// TestBellNamesTheTask checks that a notification about a due task has the title of the task, if
// the person may see it. The number of unread notifications is shown until they are read.
func TestBellNamesTheTask(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		path := b.Get("/tasks/new").Send("/tasks/new", "title", "Berufung <einlegen>", "dueAt", "heute 15").Want(303).Location
		ring := func() {
			t.Helper()
			r := &task.Reminder{DB: d, Clock: o.Clock, Notices: notify.New(notify.Options{DB: d, Clock: o.Clock, Forms: api.NoticeForms()})}
			if err := r.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		o.Clock.Advance(6 * time.Hour)
		ring()
		const title = "Fällig: Berufung &lt;einlegen&gt;"
		b.Get("/").Want(200, title, `href="`+path+`"`, "überfällig", `class="due late"`)
		bell := b.Get("/bell").Want(200, title, `href="`+path+`"`, "1 ungelesen", `class="count"`)
		bell.Send("/bell").Want(303)
		if got := b.Get("/").Want(200); strings.Contains(got.Body, `class="count"`) {
			t.Error("a bell that was read has a number")
		}
		b.Get(path).Send(path + "/delete").Want(303)
		if got := b.Get("/bell").Want(200, "Eine Aufgabe ist fällig").Main(); strings.Contains(got, "Berufung") {
			t.Errorf("the bell has the title of a task that is gone: %s", got)
		}
	})
}
