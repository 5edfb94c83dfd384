package app_test

import (
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestNoText checks that invalid UTF-8 and NUL bytes in forms and queries get status 400.
func TestNoText(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := pagetest.Open(t, o, access.Member)
	form := b.Get("/contacts/new").Want(200)
	for name, text := range map[string]string{"lastName": "\xff", "note": "a\x00b", "tags": "\xff", "companyId": "\xff", "x\xff": "y"} {
		form.Send("/contacts/new", name, text).Want(400)
	}
	path := form.Send("/contacts/new", "lastName", "Berg").Want(303).Location
	for _, address := range []string{path + "?q=%ff", "/choices/tags?family=contacts&q=%00", "/bell?after=%00", "/search?q=%ff", "/contacts/%ff"} {
		b.Get(address).Want(400)
	}
	b.Do("POST", "/opened", url.Values{"form-token": {form.Fields("/contacts/new").Get("form-token")}, "id": {"\xff"}}).Want(400)
}

// TestMadeNote checks that a page names a new record only if the person can see the record.
func TestMadeNote(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := pagetest.Open(t, o, access.Member)
	path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
	b.Get("/contacts/new?made="+path[len("/contacts/"):]).Want(200, "Gespeichert: ", "Berg")
	for _, made := range []string{"con_00000000000000000000000000", "../../signout?x"} {
		if page := b.Get("/contacts/new?made=" + url.QueryEscape(made)).Want(200); strings.Contains(page.Main(), "/go/") {
			t.Errorf("%s leads somewhere", made)
		}
	}
	b.Get(path + "/delete").Send(path + "/delete").Want(303)
}
