package book_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-vcard"

	"kartei/access"
	"kartei/kit/sheet"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// choose selects the rows with the given names on a page, and submits them to an action. set has
// further fields and their values.
func choose(p *pagetest.Page, act string, names []string, set ...string) *pagetest.Page {
	p.T.Helper()
	path, query, _ := strings.Cut(p.Path, "?")
	if query != "" {
		query = "?" + query
	}
	form := url.Values{"form-token": {regexp.MustCompile(`name="form-token" value="([^"]+)"`).FindStringSubmatch(p.Main())[1]}}
	for _, m := range regexp.MustCompile(`name="pick" value="([^"]+)" aria-label="(?:Auswählen|Choose): ([^"]+)"`).FindAllStringSubmatch(p.Body, -1) {
		if slices.Contains(names, m[2]) {
			form.Add("pick", m[1])
		}
	}
	if len(form["pick"]) != len(names) {
		p.T.Fatalf("%v of %v are in the list", form["pick"], names)
	}
	for i := 0; i < len(set); i += 2 {
		form.Set(set[i], set[i+1])
	}
	to := path + "/" + act
	if bulk, found := strings.CutPrefix(act, "bulk/"); found {
		to = "/bulk" + path + "/" + bulk
	}
	return p.Do("POST", to+query, form, "HX-Request", "true")
}

// TestBulk checks tagging, handing over, hiding and erasing several contacts at once. If another
// person has changed a record meanwhile, the record is reported and not overwritten.
func TestBulk(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := pagetest.Open(t, o, access.Member)
		jan := &pagetest.Browser{T: t, Handler: ida.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		paths := map[string]string{}
		for _, name := range []string{"Amsel", "Drossel", "Fink", "Meise", "Specht", "Star"} {
			paths[name] = ida.Get("/contacts/new").Send("/contacts/new", "lastName", name, "tags", "Vogel").Want(303).Location
		}
		list := ida.Get("/contacts").Want(200)
		done := choose(list, "bulk/tag", []string{"Amsel", "Fink"}, "tag-text", "Sänger").Want(200, "2 Einträge: Schlagwort „Sänger“ ergänzt.", "Rückgängig")
		ida.Get("/contacts?tag=saenger").Want(200, "Amsel", "Fink", "Schlagwort: saenger")
		done.Undo().Want(200, "zurückgenommen")
		ida.Get("/contacts?tag=Sänger").Want(200, "Nichts gefunden")
		ida.Get("/contacts?tag=Vogel").Want(200, "Amsel", "Fink")
		choose(ida.Get("/contacts"), "bulk/untag", []string{"Star"}, "tag", "vogel").Want(200, "entfernt")

		// Jan changes one of the two contacts, and owns neither.
		list = ida.Get("/contacts").Want(200)
		jan.Get(paths["Fink"]+"/edit").Send(paths["Fink"], "mobile", "1").Want(303)
		choose(list, "bulk/private", []string{"Amsel", "Fink"}).Want(200, "1 von 2", "Fink", "inzwischen geändert", "Rückgängig")
		choose(jan.Get("/contacts"), "bulk/owner", []string{"Meise"}, "ownerId-text", "ich").Want(200, "0 von 1", "nur der Eigentümer")
		choose(ida.Get("/contacts"), "bulk/organization", []string{"Amsel", "Drossel"}).Want(200, "Ein Eintrag: sichtbar für alle")
		choose(ida.Get("/contacts"), "bulk/owner", []string{"Meise"}, "ownerId-text", "Niemand").Want(200, "passt auf niemanden oder auf mehrere")

		ask := choose(ida.Get("/contacts"), "bulk/delete", []string{"Amsel", "Drossel", "Fink", "Meise", "Specht", "Star"}).Want(200, "6 Einträge löschen?", "Specht", "Wie viele")
		ask.Send("/bulk/contacts/erase", "count", "5").Want(422, "Bitte geben Sie die Zahl ein: 6").Send("/bulk/contacts/erase", "count", "6").Want(303)
		ida.Get("/contacts").Want(200, "Hier steht noch nichts")
		choose(list, "bulk/delete", []string{"Drossel"}).Want(200, "gibt es nicht mehr")
		ida.Do("POST", "/bulk/contacts/erase", url.Values{"form-token": {ask.Fields("/bulk/contacts/erase").Get("form-token")}}).Want(422, "kein Eintrag ausgewählt")
	})
}

// TestForgedPicks checks that selections which no list offers are refused with a reason, with
// scripts and without. Nothing changes.
func TestForgedPicks(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := pagetest.Open(t, o, access.Member)
	good := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Amsel").Want(303).Location[len("/contacts/"):] + "|1"
	task := b.Get("/tasks/new").Send("/tasks/new", "title", "Akte").Want(303).Location[len("/tasks/"):]
	unknown := "con_01m8af8d2xescbczze7fsaxm4j"
	token := b.Get("/contacts").Want(200).Fields("/bulk/contacts/tag").Get("form-token")
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("con_%026d|1", i))
		}
		return list
	}
	const foreign, tooMany = "kein Eintrag dieser Liste", "höchstens 50 Einträge"
	for _, c := range []struct {
		picks  []string
		status int
		says   string
	}{
		{nil, 422, "kein Eintrag ausgewählt"},
		{[]string{"x"}, 422, foreign}, {[]string{good, "x|1"}, 422, foreign}, {[]string{good, task + "|1"}, 422, foreign}, {[]string{"../tasks/" + task + "|1"}, 422, foreign},
		{[]string{good + "|", strings.TrimSuffix(good, "1") + "x"}, 422, foreign}, {[]string{good[:len(good)-2] + "|0"}, 422, foreign}, {[]string{"ä\n" + strings.Repeat("ö", 9999)}, 422, foreign},
		{many(51), 422, tooMany}, {many(9000), 422, tooMany}, {many(10001), 400, "ließ sich nicht lesen"}, {many(40000), 413, "mehr, als sich auf einmal senden lässt"},
		{[]string{unknown + "|1"}, 200, "Unbekannter Eintrag"}, {[]string{unknown + "|1|<b>Star</b>"}, 200, "<bdi>&lt;b&gt;Star&lt;/b&gt;</bdi>"},
	} {
		for _, headers := range [][]string{nil, pagetest.Script} {
			for _, path := range []string{"/bulk/contacts/tag", "/bulk/contacts/private", "/bulk/contacts/delete", "/bulk/contacts/erase", "/contacts/export"} {
				if c.status == 200 && path != "/bulk/contacts/tag" || len(c.picks) == 0 && (headers != nil || path == "/contacts/export") {
					continue
				}
				got := b.Do("POST", path, url.Values{"form-token": {token}, "tag-text": {"Vogel"}, "pick": c.picks}, headers...)
				if got.Status != c.status || !strings.Contains(got.Body, c.says) {
					t.Errorf("%s, %d picks, the first %.40q: %d, want %d\n%s", path, len(c.picks), c.picks, got.Status, c.status, got.Main())
				}
			}
		}
	}
	b.Do("POST", "/bulk/contacts/tag", url.Values{"form-token": {token}}, pagetest.Script...).Want(200, "kein Eintrag ausgewählt")
	b.Get("/contacts/"+good[:len(good)-2]+"/edit").Want(200, `name="revision" value="1"`)
}

// TestExport checks that independent parsers of CSV and vCard read an export correctly.
func TestExport(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		firm := b.Get("/companies/new").Send("/companies/new", "name", "=HYPERLINK(1)").Want(303).Location
		for i := range 110 {
			b.Get("/contacts/new").Send("/contacts/new", "lastName", "Zeile "+strconv.Itoa(i), "phone", "+49 221 1", "note", "a;\"b\"\r\nc", "companyId", firm[len("/companies/"):], "tags", "Erb, recht").Want(303)
		}
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "@Formel", "tags", "Anders").Want(303)
		read := func(p *pagetest.Page) [][]string {
			t.Helper()
			text, marked := strings.CutPrefix(p.Want(200).Body, "\ufeff")
			r := csv.NewReader(strings.NewReader(text))
			r.Comma = ';'
			rows, err := r.ReadAll()
			if err != nil || !marked {
				t.Fatalf("%v %t\n%.500s", err, marked, text)
			}
			return rows
		}
		rows := read(b.Get("/contacts").Send("/contacts/export", "format", "csv"))
		column := func(name string) int { return slices.Index(rows[0], name) }
		if len(rows) != 112 || rows[1][column("Nachname")] != "'@Formel" {
			t.Fatalf("%d rows, the first %q", len(rows), rows[1])
		}
		last := rows[111]
		for name, want := range map[string]string{"Nachname": "Zeile 109", "Telefon": "+49 221 1", "Notiz": "a;\"b\"\nc", "Firma": "=HYPERLINK(1)", "Schlagworte": `"Erb, recht"`, "Sichtbar für": "alle im Büro"} {
			if got := sheet.Unguard(last[column(name)]); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		list := b.Get("/contacts?tag=anders")
		for range 2 { // each submission writes a line of the audit log
			if n := len(read(list.Send("/contacts/export?tag=anders", "format", "csv"))); n != 2 {
				t.Errorf("a list with one record has %d rows", n)
			}
		}
		if n := len(read(b.Get("/contacts?q=zeile+10").Send("/contacts/export?q=zeile+10", "format", "csv"))); n < 11 {
			t.Errorf("a search has %d rows", n)
		}
		for _, file := range []*pagetest.Page{list.Send("/contacts/export?tag=anders", "format", "csv"), list.Send("/contacts/export?tag=anders", "format", "vcard"), b.Get(firm + "/vcard")} {
			if h := file.Header; !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") || h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s is sent as %v", file.Path, h)
			}
		}
		cards := vcard.NewDecoder(strings.NewReader(choose(b.Get("/contacts"), "export", []string{"Zeile 1", "Zeile 2"}, "format", "vcard").Want(200).Body))
		for _, want := range []string{"Zeile 1", "Zeile 2"} {
			card, err := cards.Decode()
			if err != nil || card.Value("FN") != want || card.Value("NOTE") != "a;\"b\"\nc" || card.Value("ORG") != "=HYPERLINK(1)" {
				t.Errorf("%s: %v %v", want, card, err)
			}
		}
		var lines int
		dbtest.Get(t, o.DB, []any{&lines}, `select count(*) from audit_lines where word = 'records.export'`)
		if lines != 7 {
			t.Errorf("%d exports are in the audit log", lines)
		}
		dbtest.Get(t, o.DB, []any{&lines}, `select count(*) from audit_lines where word = 'records.export' and changes like '%"records","from":null,"to":1}%'`)
		if lines != 4 {
			t.Errorf("%d exports are in the audit log with the one record that a filter leaves", lines)
		}
		viewer := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Viewer).Principal)}
		if n := len(read(viewer.Get("/contacts?tag=anders").Send("/contacts/export?tag=anders", "format", "csv"))); n != 2 {
			t.Errorf("a viewer reads %d rows", n)
		}
	})
}

// TestPicksOfOthersAskFirst checks that an admin must confirm an old sign-in before handing over
// private contacts of a colleague. Nothing changes before the confirmation.
func TestPicksOfOthersAskFirst(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		boss := pagetest.Open(t, o, access.Admin)
		ida := &pagetest.Browser{T: t, Handler: boss.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		for _, name := range []string{"Amsel", "Drossel"} {
			ida.Get("/contacts/new").Send("/contacts/new", "lastName", name, "visibility", "private").Want(303)
		}
		ida.Get("/contacts/new").Send("/contacts/new", "lastName", "Fink").Want(303)
		fresh := func(until int64) {
			dbtest.Run(t, d, `update sessions set fresh_until = $1`, until)
			o.Directory.Forget()
		}
		changed := func() int { return len(dbtest.Texts(t, d, `select id from contacts where revision > 1`)) }
		fresh(1)
		for _, act := range []string{"bulk/owner", "bulk/organization"} {
			choose(boss.Get("/contacts").Want(200), act, []string{"Amsel", "Drossel", "Fink"}, "ownerId-text", "ich").Want(403, "Anmeldung bestätigen")
			if n := changed(); n != 0 {
				t.Errorf("%s changes %d contacts before the confirmation", act, n)
			}
		}
		choose(boss.Get("/contacts"), "bulk/private", []string{"Fink"}).Want(200, "Ein Eintrag")
		fresh(o.Clock.Now().Add(time.Hour).UnixMicro())
		choose(boss.Get("/contacts"), "bulk/owner", []string{"Amsel", "Drossel"}, "ownerId-text", "ich").Want(200, "2 Einträge")
		if n := len(dbtest.Texts(t, d, `select id from audit_lines where word = 'records.give'`)); n != 2 {
			t.Errorf("%d lines of the audit log", n)
		}
	})
}
