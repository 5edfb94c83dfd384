package duplicates_test

import (
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/record/duplicate"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// hasty is a clock whose waits end at once.
type hasty struct{ clock.Clock }

func (hasty) After(time.Duration) <-chan time.Time { return clock.System.After(0) }

// compareAll lets the finder of duplicates catch up.
func (d desk) compareAll() {
	d.T.Helper()
	if err := duplicate.NewFinder(d.o.DB, hasty{d.o.Clock}).Once(d.o.Context()); err != nil {
		d.T.Fatal(err)
	}
}

func TestDuplicates(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		d := sit(t, apitest.New(t, db), access.Member)
		d.Get("/duplicates").Want(200, "Keine Dubletten gefunden")
		a := d.make("contacts", "firstName", "Anna", "lastName", "Berg", "email", "anna@mail.example")
		d.Get("/contacts").Want(200).Without("/duplicates?of=contacts")
		b := d.make("contacts", "firstName", "Anna", "lastName", "Berg", "email", "anna@mail.example", "mobile", "0171 1234567")
		d.Get("/contacts").Want(200, `href="/duplicates?of=contacts"`)
		d.Get("/duplicates").Want(200, "2 geänderte Einträge sind noch nicht verglichen.", "data-underway")
		d.Get(a).Want(200).Without("Dublette:")
		d.compareAll()
		page := d.Get("/duplicates").Want(200, "sicher", "gleiche E-Mail-Adresse und gleicher Name", "0171 1234567", "Zwei Personen",
			a+"/merge?with="+idOf(b)).Without("data-underway").Without("Einträge, die")
		d.Get(a).Want(200, "Mögliche Dublette:", `href="`+a+"/merge?with="+idOf(b)+`"`)
		d.Get(a+"/merge").Want(200, "Mögliche Dubletten", a+"/merge?with="+idOf(b))
		d.Get("/duplicates?of=companies").Want(200, "Keine Dubletten gefunden")

		form := page.Fields("/duplicates/dismiss")
		gone := d.Do("POST", "/duplicates/dismiss", form, pagetest.Script...).Want(200, "Verworfen.", "Keine Dubletten gefunden")
		d.Get(a).Want(200).Without("Dublette:")
		gone.Undo().Want(200, "steht wieder in der Liste", "Zwei Personen")
		if got := page.Send("/duplicates/dismiss").Want(303).Location; got != "/duplicates?of=contacts" {
			t.Errorf("a dismissal leads to %s", got)
		}
		dismissed := d.Get("/duplicates?of=contacts&dismissed=1").Want(200, "Wieder anzeigen", "Verworfene Dubletten").Without("Zwei Personen")
		dismissed.Send("/duplicates/dismiss").Want(303)
		d.Get("/duplicates?of=contacts&dismissed=1").Want(200, "Nichts ist verworfen")

		c := d.make("contacts", "firstName", "Anna", "lastName", "Berg", "email", "anna@mail.example")
		d.compareAll()
		d.Get("/duplicates").Want(200, "3 Einträge, die möglicherweise zusammengehören")
		d.Get(c).Want(200, "Mehrere mögliche Dubletten", "/duplicates?of=contacts&amp;id="+idOf(c))
		d.Get("/duplicates?of=contacts&id="+idOf(c)).Want(200, "Mögliche Dubletten von „Anna Berg“", "Alle zeigen")

		viewer := d.beside(access.Viewer)
		viewer.Get("/duplicates").Want(200, "Berg").Without("/merge?with").Without("Zwei Personen")
		viewer.Get(a).Want(200).Without("Dublette")
		viewer.Get("/contacts").Want(200).Without("/duplicates")
		jan := d.beside(access.Member)
		jan.Get("/settings/profile").Send("/settings/profile", "language", "en").Want(303)
		page = jan.Get("/duplicates").Want(200, "Possible duplicates", "same email address and same name", "Two people", "sure")
		d.Get(b + "/delete").Send(b + "/delete").Want(303)
		d.Get(c + "/delete").Send(c + "/delete").Want(303)
		page.Send("/duplicates/dismiss").Want(404)
		jan.Do("POST", "/duplicates/dismiss", page.Fields("/duplicates/dismiss"), pagetest.Script...).Want(200, "does not exist any more")
	})
}

// TestDuplicatesByPages checks the pages of the list, and that a person sees no private records of others.
func TestDuplicatesByPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db db.DB) {
		o := apitest.New(t, db)
		d := sit(t, o, access.Member)
		c := o.As(access.Member)
		for range 7 {
			c.Do("POST", "/companies", map[string]any{"name": "Rheinbau GmbH", "phone": "0221 987650"}).Want(201)
		}
		c.Do("POST", "/companies", map[string]any{"name": "Rheinbau GmbH", "phone": "0221 987650", "visibility": "private"}).Want(201)
		d.compareAll()
		page := d.Get("/sandbox/duplicates?of=companies").Want(200, "Zwei Firmen", "7 Einträge, die möglicherweise")
		next := page.Link("next")
		d.Get(next).Want(200, "/merge?with=").Without(`rel="next"`)
		d.Get(next + "x").Want(303)
		d.Get("/sandbox/duplicates?of=companies&id=cmp_01m7xt6sane2a9hpasvbmaayqz").Want(404)
	})
}
