package journey

import (
	"flag"
	"os"
	"strings"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

var write = flag.Bool("write", false, "write the order of the tabulator into testdata/taborder.txt")

// TestTabOrder presses the tab key through the main pages, and compares the order of the focus with
// the recorded order. People who cannot see the page rely on this order.
func TestTabOrder(t *testing.T) {
	const file, limit = "testdata/taborder.txt", 150
	o := Open(t, dbtest.SQLiteURL(t), Contacts(5), Documents())
	view := webtest.View{Width: 1280, Language: "de"}
	jonas, helene := o.SignedIn(o.Jonas(), view), o.SignedIn(o.Helene(), view)
	contact := "/contacts/" + o.caller()
	o.Disabled()
	v := o.visitor(o.Helene())
	o.keyOf(v.principal, nil, "contacts:read")
	v.imported()
	call(t, o.BaseURL+"/v1/contacts", o.key())
	o.awaitCount(t, `select count(*) from request_log where operation = 'contacts.list'`)
	var got strings.Builder
	for _, page := range []struct {
		name, address string
		tab           *webtest.Tab
	}{
		{"home", "/", jonas}, {"list", "/contacts", jonas}, {"record", contact, jonas},
		{"form", contact + "/edit", jonas}, {"document", "/documents/" + o.First("documents"), jonas},
		{"keys", "/settings/interfaces/keys", helene}, {"key form", "/settings/interfaces/keys/new", helene},
		{"webhooks", "/settings/interfaces/webhooks", helene},
		{"endpoint form", "/settings/interfaces/webhooks/new", helene},
		{"request log", "/settings/interfaces/requests?status=200", helene}, {"people", "/settings/people", helene},
		{"audit log", "/settings/audit?target=" + o.Jonas(), helene}, {"imports", "/settings/data", helene},
	} {
		tab := page.tab
		tab.Open(o.BaseURL + page.address)
		order := tab.TabOrder(limit)
		if len(order) == 0 || len(order) == limit {
			t.Errorf("%s has %d steps", page.name, len(order))
		}
		got.WriteString(page.name + "\n\t" + strings.Join(order, "\n\t") + "\n")
	}
	if *write {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if was, is := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"); got.String() != string(want) {
		for i := range is {
			if i == len(was) || was[i] != is[i] {
				t.Fatalf("line %d of %s is not what the tabulator reaches: %q, and the order is now\n%s\nIf that is meant: go test ./test/journey -run TestTabOrder -write", i+1, file, is[i], got.String())
			}
		}
		t.Fatalf("%s has more steps than there are:\n%s", file, got.String())
	}
}
