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

// TestTabOrder walks through the main pages with the tabulator, from their beginning to
// their end. The recorded order is what somebody who sees no page relies on: a change
// of it is meant, or a defect.
func TestTabOrder(t *testing.T) {
	const file, most = "testdata/taborder.txt", 150
	o := Open(t, dbtest.SQLiteURL(t), Contacts(5), Documents())
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	contact := "/contacts/" + o.caller()
	var got strings.Builder
	for _, page := range []struct{ name, address string }{
		{"home", "/"}, {"list", "/contacts"}, {"record", contact}, {"form", contact + "/edit"}, {"document", "/documents/" + o.First("documents")},
	} {
		tab.Open(o.BaseURL + page.address)
		order := tab.TabOrder(most)
		if len(order) == 0 || len(order) == most {
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
