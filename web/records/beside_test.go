package records_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// listedRow finds the addresses of the rows of a list. selectedRow finds the address of the
// selected row.
var (
	listedRow   = regexp.MustCompile(`href="([^"]*)"[^>]*data-row`)
	selectedRow = regexp.MustCompile(`(?s)aria-current="true".*?href="([^"?]*)`)
)

// listRows returns the ids of the records in the list on a page, the id of the selected row, and
// the addresses of all rows.
func listRows(p *pagetest.Page) (ids []string, selected string, to []string) {
	p.T.Helper()
	for _, m := range listedRow.FindAllStringSubmatch(p.Main(), -1) {
		path, _, _ := strings.Cut(m[1], "?")
		ids, to = append(ids, path[strings.LastIndexByte(path, '/')+1:]), append(to, strings.ReplaceAll(m[1], "&amp;", "&"))
	}
	if m := selectedRow.FindStringSubmatch(p.Main()); m != nil {
		selected = m[1][strings.LastIndexByte(m[1], '/')+1:]
	}
	return ids, selected, to
}

// filled returns a sandbox with three families of 58 records each, more than a page of a list has,
// and with eight documents. all has the ids of each family in the order of names or dates.
func filled(t *testing.T, d db.DB) (o *apitest.Office, c *apitest.Client, b *pagetest.Browser, all map[string][]string) {
	o = apitest.New(t, d)
	c = o.As(access.Admin)
	b = &pagetest.Browser{T: t, Handler: pagetest.Open(t, o, access.Admin).Handler, Cookie: o.Session(c.Principal)}
	all = map[string][]string{}
	bodies := map[string]func(i int) map[string]any{
		"contacts":  func(i int) map[string]any { return map[string]any{"lastName": fmt.Sprint("Berg ", i)} },
		"companies": func(i int) map[string]any { return map[string]any{"name": fmt.Sprint("Hof ", i)} },
		"tasks": func(i int) map[string]any {
			return map[string]any{"title": fmt.Sprint("Akte ", i), "dueAt": fmt.Sprintf("2027-01-01T00:%02d:00Z", i%60), "assigneeId": c.Principal}
		},
	}
	for family, body := range bodies {
		for i := range 58 {
			all[family] = append(all[family], c.Do("POST", "/"+family, body(i)).Want(201).Text("id"))
		}
	}
	for i := range 8 { // few, as documents take a while to create; their positions are found as for companies
		all["documents"] = append(all["documents"], c.Document(fmt.Sprintf("brief %d.txt", i), "text/plain", []byte("Text")))
	}
	return o, c, b, all
}

// TestListBesideARecord checks that the list beside a record contains and selects the record. At
// most five rows come before the record. The other rows before it are on the previous page.
func TestListBesideARecord(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		_, _, b, all := filled(t, d)
		for family, ids := range all {
			for _, at := range []int{0, 2, len(ids) - 1} {
				path := "/sandbox/" + family + "/" + ids[at]
				shown := b.Get(path).Want(200)
				rows, selected, to := listRows(shown)
				if from := max(0, at-5); selected != ids[at] || !slices.Equal(rows, ids[from:min(at+50, len(ids))]) {
					t.Errorf("%s: row %q of\n%v\nis selected, want record %d of\n%v", path, selected, rows, at, ids)
				}
				if to[0] != "/sandbox/"+family+"/"+rows[0] {
					t.Errorf("%s: the first row leads to %s", path, to[0])
				}
			}
			if len(ids) <= 50 {
				continue
			}
			last := b.Get("/sandbox/" + family + "/" + ids[len(ids)-1])
			before, selected, _ := listRows(b.Get(last.Link("prev")).Want(200))
			if want := ids[len(ids)-56 : len(ids)-6]; !slices.Equal(before, want) || selected != "" {
				t.Errorf("%s: the page before has\n%v\nwant\n%v", family, before, want)
			}
			if first := b.Get("/sandbox/" + family + "/" + ids[2]); first.Link("prev") != "" || first.Link("next") == "" {
				t.Errorf("%s: the third record has the pages %q and %q", family, first.Link("prev"), first.Link("next"))
			}
		}
	})
}

// TestListStaysBesideItsRecords checks that a script opens a record beside the same page of the
// list. The page is also the same after a reload, and an expired cursor is no error.
func TestListStaysBesideItsRecords(t *testing.T) {
	o, _, b, all := filled(t, dbtest.SQLite(t))
	ids := all["contacts"]
	swapped := regexp.MustCompile(`hx-get="([^"]*)"[^>]*data-row`)
	for _, path := range []string{"/sandbox/contacts", b.Get("/sandbox/contacts").Link("next"), "/sandbox/contacts/" + ids[40], "/sandbox/contacts?q=berg"} {
		list := b.Get(path).Want(200)
		rows, _, _ := listRows(list)
		addresses := swapped.FindAllStringSubmatch(list.Main(), -1)
		if len(addresses) != len(rows) || len(rows) < 8 {
			t.Fatalf("%s has %d rows and %d addresses for scripts", path, len(rows), len(addresses))
		}
		for _, i := range []int{0, 7, len(rows) - 1} {
			at := strings.ReplaceAll(addresses[i][1], "&amp;", "&")
			if kept, selected, _ := listRows(b.Get(at).Want(200)); !slices.Equal(kept, rows) || selected != rows[i] {
				t.Errorf("%s: at %s the list is\n%v\nwith %q, want\n%v\nwith %q", path, at, kept, selected, rows, rows[i])
			}
		}
	}

	// An expired cursor, and an id of a deleted record.
	at := b.Get("/sandbox/contacts").Link("next")
	o.Clock.Advance(25 * time.Hour)
	b.Cookie = o.Session(o.As(access.Admin).Principal)
	for _, query := range []string{at[strings.IndexByte(at, '?'):], "?near=con_gone", "?near=con_gone&sort=-updatedAt"} {
		if _, selected, _ := listRows(b.Get("/sandbox/contacts/" + ids[30] + query).Want(200)); selected != ids[30] {
			t.Errorf("%s: %q is selected", query, selected)
		}
	}
	if to := b.Get("/sandbox/contacts?near=con_gone").Want(http.StatusSeeOther).Location; to != "/sandbox/contacts" {
		t.Errorf("a list near a record that is gone leads to %s", to)
	}
}

// TestRecordOutsideTheList checks that a page says if the list beside a record does not contain the
// record, and has a link to the whole list. A task is shown in the tab that contains it.
func TestRecordOutsideTheList(t *testing.T) {
	o, c, b, all := filled(t, dbtest.SQLite(t))
	id := all["contacts"][50]
	c.Do("PATCH", "/contacts/"+all["contacts"][3], `{"tags":["Mandant"]}`, "If-Match", "*").Want(200)
	const outside = "gehört nicht zu dieser Auswahl"
	out := b.Get("/sandbox/contacts/"+id+"?tag=mandant").Want(200, outside, `href="/sandbox/contacts/`+id+`">In der ganzen Liste`)
	if _, selected, _ := listRows(out); selected != "" {
		t.Errorf("%s is selected", selected)
	}
	b.Get("/sandbox/contacts/"+id+"?q=nobody").Want(200, "nicht auf dieser Seite der Treffer")
	b.Get("/sandbox/contacts/" + id).Want(200).Without(outside)
	b.Get("/sandbox/documents/"+all["documents"][0]+"?q=nobody&view=text").Want(200, "?find=nobody&amp;view=text")

	// A task of a colleague, and a completed task.
	colleague := o.As(access.Member)
	theirs := c.Do("POST", "/tasks", map[string]any{"title": "Vertrag", "assigneeId": colleague.Principal}).Want(201).Text("id")
	mine := all["tasks"][30]
	for path, note := range map[string]bool{"/sandbox/tasks/" + theirs: false, "/sandbox/tasks/" + theirs + "?tab=done": true, "/sandbox/tasks/" + mine: false} {
		shown := b.Get(path).Want(200)
		if _, selected, _ := listRows(shown); (selected == "") != note || strings.Contains(shown.Main(), outside) != note {
			t.Errorf("%s: %q is selected", path, selected)
		}
	}
	task := b.Get("/sandbox/tasks/" + mine)
	to := task.Send("/sandbox/tasks/" + mine + "/complete").Want(303).Location
	u, err := url.Parse(to)
	if err != nil || u.Query().Get("tab") != "mine" {
		t.Errorf("a task that is done leads to %s (%v), away from the open ones", to, err)
	}
	if rows, selected, _ := listRows(b.Get(to).Want(200, outside)); selected != "" || rows[0] != all["tasks"][0] {
		t.Errorf("beside a task that is done: %v, %q", rows[:3], selected)
	}
	if _, selected, _ := listRows(b.Get("/sandbox/tasks/" + mine).Want(200)); selected != mine {
		t.Errorf("%q is selected, want the task among those that are done", selected)
	}
}
