package office_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// whole sends all records of a list to an act, as the box of the bar does.
func (p *page) whole(act string, set ...string) *page {
	p.t.Helper()
	to := "/bulk/contacts/"
	query := ""
	if _, after, narrowed := strings.Cut(p.Path, "?"); narrowed {
		query = "?" + after
	}
	form := url.Values{"form-token": {p.fields(to + "tag" + query).Get("form-token")}, "whole": {"1"}}
	for i := 0; i < len(set); i += 2 {
		form.Set(set[i], set[i+1])
	}
	return p.do("POST", to+act+query, form)
}

// TestWholeLists changes more records than a page shows: a person follows the change,
// sees what was refused, and takes it back.
func TestWholeLists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := open(t, o, access.Member)
		for i := range 52 {
			ida.get("/contacts/new").send("/contacts/new", "lastName", fmt.Sprintf("Amsel%02d", i), "tags", "Vogel").want(303)
		}
		ida.get("/contacts/new").send("/contacts/new", "lastName", "Uhu").want(303)
		jan := &browser{t: t, handler: ida.handler, cookie: o.Session(o.As(access.Member).Principal)}
		jan.get("/contacts/new").send("/contacts/new", "lastName", "Zaunkönig", "tags", "Vogel").want(303)

		list := ida.get("/contacts?tag=Vogel").want(200, "Alle 53 Einträge dieser Liste auswählen")
		ida.get("/contacts?tag=niemand").want(200).without("Einträge dieser Liste auswählen")
		page := list.whole("private").want(303)
		o.Rest()
		shown := ida.get(page.Location).want(200, "fertig", "52 geändert", "1 abgelehnt", "Zaunkönig", "nur der Eigentümer", "Rückgängig machen geht bis")
		jan.get(page.Location).want(404)
		jan.get("/contacts").want(200, "Uhu").without("Amsel01")
		jan.get("/changes").want(200, "Noch keine Änderung")
		ida.get("/changes").want(200, "Sichtbar für", "52 geändert")

		shown.send(page.Location + "/undo").want(303)
		o.Rest()
		ida.get(page.Location).want(200, "rückgängig gemacht", "52 zurückgenommen")
		jan.get("/contacts?q=Amsel01").want(200, "Amsel01")

		if tagged := ida.get("/contacts?tag=Vogel").whole("tag", "tag-text", "Sänger").want(303); tagged.Location == page.Location {
			t.Error("a second change leads to the first one")
		}
		o.Rest()
		ida.get("/contacts?tag=Sänger").want(200, "Alle 53 Einträge")
		list.whole("erase").want(422, "einzeln ausgewählten")
		list.whole("tag").want(422, "geben Sie ein Schlagwort ein")
		list.whole("owner", "ownerId-text", "Niemand").want(422, "passt auf niemanden")
	})
}
