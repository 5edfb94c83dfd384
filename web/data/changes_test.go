package data_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// whole sends an act for all records of the list p, as the checkbox “all entries of this list”
// does.
func whole(p *pagetest.Page, act string, set ...string) *pagetest.Page {
	p.T.Helper()
	to := "/bulk/contacts/"
	query := ""
	if _, after, narrowed := strings.Cut(p.Path, "?"); narrowed {
		query = "?" + after
	}
	form := url.Values{"form-token": {p.Fields(to + "tag" + query).Get("form-token")}, "whole": {"1"}}
	for i := 0; i < len(set); i += 2 {
		form.Set(set[i], set[i+1])
	}
	return p.Do("POST", to+act+query, form)
}

// TestWholeLists changes all records of a list that has several pages. It checks that the person
// sees the progress and the refused records, and can undo the change.
func TestWholeLists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := pagetest.Open(t, o, access.Member)
		for i := range 52 {
			ida.Get("/contacts/new").Send("/contacts/new", "lastName", fmt.Sprintf("Amsel%02d", i), "tags", "Vogel").Want(303)
		}
		ida.Get("/contacts/new").Send("/contacts/new", "lastName", "Uhu").Want(303)
		jan := &pagetest.Browser{T: t, Handler: ida.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		jan.Get("/contacts/new").Send("/contacts/new", "lastName", "Zaunkönig", "tags", "Vogel").Want(303)

		list := ida.Get("/contacts?tag=Vogel").Want(200, "Alle 53 Einträge dieser Liste auswählen")
		ida.Get("/contacts?tag=niemand").Want(200).Without("Einträge dieser Liste auswählen")
		page := whole(list, "private").Want(303)
		o.Rest()
		shown := ida.Get(page.Location).Want(200, "fertig", "52 geändert", "1 abgelehnt", "Zaunkönig", "nur der Eigentümer", "Rückgängig machen geht bis")
		jan.Get(page.Location).Want(404)
		jan.Get("/contacts").Want(200, "Uhu").Without("Amsel01")
		jan.Get("/changes").Want(200, "Noch keine Änderung")
		ida.Get("/changes").Want(200, "Sichtbar für", "52 geändert")

		shown.Send(page.Location + "/undo").Want(303)
		o.Rest()
		ida.Get(page.Location).Want(200, "rückgängig gemacht", "52 zurückgenommen")
		jan.Get("/contacts?q=Amsel01").Want(200, "Amsel01")

		if tagged := whole(ida.Get("/contacts?tag=Vogel"), "tag", "tag-text", "Sänger").Want(303); tagged.Location == page.Location {
			t.Error("a second change leads to the first one")
		}
		o.Rest()
		ida.Get("/contacts?tag=Sänger").Want(200, "Alle 53 Einträge")
		whole(list, "erase").Want(422, "einzeln ausgewählten")
		whole(list, "tag").Want(422, "geben Sie ein Schlagwort ein")
		whole(list, "owner", "ownerId-text", "Niemand").Want(422, "passt auf niemanden")
	})
}
