package office_test

import (
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestNoText sends bytes that are no text: each page refuses them.
func TestNoText(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := open(t, o, access.Member)
	form := b.get("/contacts/new").want(200)
	for name, text := range map[string]string{"lastName": "\xff", "note": "a\x00b", "tags": "\xff", "companyId": "\xff", "x\xff": "y"} {
		form.send("/contacts/new", name, text).want(400)
	}
	path := form.send("/contacts/new", "lastName", "Berg").want(303).Location
	for _, address := range []string{path + "?q=%ff", "/choices/tags?family=contacts&q=%00", "/bell?after=%00", "/search?q=%ff", "/contacts/%ff"} {
		b.get(address).want(400)
	}
	b.do("POST", "/opened", url.Values{"form-token": {form.fields("/contacts/new").Get("form-token")}, "id": {"\xff"}}).want(400)
}

// TestMadeNote says that an entry was stored only if the person sees that entry.
func TestMadeNote(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := open(t, o, access.Member)
	path := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303).Location
	b.get("/contacts/new?made="+path[len("/contacts/"):]).want(200, "Gespeichert: ", "Berg")
	for _, made := range []string{"con_00000000000000000000000000", "../../signout?x"} {
		if page := b.get("/contacts/new?made=" + url.QueryEscape(made)).want(200); strings.Contains(page.main(), "/go/") {
			t.Errorf("%s leads somewhere", made)
		}
	}
	b.get(path + "/delete").send(path + "/delete").want(303)
}
