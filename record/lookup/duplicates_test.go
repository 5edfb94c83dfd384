package lookup_test

import (
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/record/duplicate"
	"kartei/record/lookup"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// hasty is a clock whose waits end at once.
type hasty struct{ clock.Clock }

func (hasty) After(time.Duration) <-chan time.Time { return clock.System.After(0) }

// compareAll lets the finder of duplicates catch up.
func compareAll(o *apitest.Office) {
	o.Helper()
	if err := duplicate.NewFinder(o.DB, hasty{o.Clock}).Once(o.Context()); err != nil {
		o.Fatal(err)
	}
}

func (d desk) duplicates(in lookup.DuplicatesInput) (out lookup.DuplicateList) {
	d.o.Helper()
	if in.Family == "" {
		in.Family = "contacts"
	}
	d.ask("lookup.duplicates", in, &out)
	return out
}

// wantStatus checks that a call fails with a status.
func (d desk) wantStatus(status int, row string, in any) {
	d.o.Helper()
	if got := d.ask(row, in, nil); got.Status != status {
		d.o.Errorf("%s %+v: %d %s, want %d", row, in, got.Status, got.Body, status)
	}
}

func TestDuplicates(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		firm := me.make("companies", map[string]any{"name": "Rheinbau GmbH", "phone": "0221 987650"})
		old := me.make("contacts", map[string]any{"firstName": "Anna", "lastName": "Berg",
			"email": "anna@mail.example", "companyId": firm})
		o.Clock.Advance(time.Minute)
		young := me.make("contacts", map[string]any{"firstName": "Anna", "lastName": "Berg",
			"email": "anna@mail.example", "mobile": "0171 1234567"})
		third := me.make("contacts", map[string]any{"lastName": "Berg", "mobile": "0171 1234567"})
		me.make("companies", map[string]any{"name": "Rheinbau", "phone": "+49 221 987650"})
		if got := me.duplicates(lookup.DuplicatesInput{}); len(got.Data) != 0 || got.Waiting != 3 {
			t.Errorf("before the comparison: %+v", got)
		}
		compareAll(o)
		got := me.duplicates(lookup.DuplicatesInput{})
		if len(got.Data) != 2 || got.HasMore || got.After != "" || got.Waiting != 0 {
			t.Fatalf("%+v", got)
		}
		sure, likely := got.Data[0], got.Data[1]
		if sure.First.ID != old || sure.Second.ID != young || sure.Strength != duplicate.Sure ||
			!slices.Equal(sure.Reasons, []duplicate.Reason{duplicate.Email, duplicate.Name}) || sure.Group != old {
			t.Errorf("%+v", sure)
		}
		if show(sure.First) != "Anna Berg; companyId=Rheinbau GmbH; email=anna@mail.example" {
			t.Errorf("%s", show(sure.First))
		}
		if likely.First.ID != young || likely.Second.ID != third || likely.Strength != duplicate.Likely ||
			likely.Group != old {
			t.Errorf("%+v", likely)
		}
		if one := me.duplicates(lookup.DuplicatesInput{ID: third}); len(one.Data) != 1 || one.Data[0].Group != young {
			t.Errorf("of one record: %+v", one)
		}
		if firms := me.duplicates(lookup.DuplicatesInput{Family: "companies"}); len(firms.Data) != 1 ||
			firms.Data[0].First.ID != firm {
			t.Errorf("companies: %+v", firms)
		}
		me.wantStatus(422, "lookup.duplicates", lookup.DuplicatesInput{Family: "tasks"})
		me.wantStatus(422, "lookup.duplicates", lookup.DuplicatesInput{Family: "contacts", Limit: 101})
		me.wantStatus(404, "lookup.duplicates", lookup.DuplicatesInput{Family: "contacts", ID: firm})
	})
}

// TestDuplicatesByPages checks that pages together have each pair once, in the order of one page, and
// that a position is good for its own list only.
func TestDuplicatesByPages(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		var first string
		for range 5 {
			first = me.make("contacts", map[string]any{"firstName": "Anna", "lastName": "Berg",
				"email": "anna@mail.example"})
			me.make("contacts", map[string]any{"firstName": "Karl", "lastName": "Tal"})
		}
		compareAll(o)
		ids := func(list lookup.DuplicateList) (ids []string) {
			for _, p := range list.Data {
				ids = append(ids, p.First.ID+" "+p.Second.ID)
			}
			return ids
		}
		for _, id := range []string{"", first} {
			whole := me.duplicates(lookup.DuplicatesInput{Limit: 100, ID: id})
			var paged []string
			page := me.duplicates(lookup.DuplicatesInput{Limit: 3, ID: id})
			for paged = ids(page); page.HasMore; paged = append(paged, ids(page)...) {
				if len(page.Data) != 3 {
					t.Errorf("a page of %d", len(page.Data))
				}
				me.wantStatus(400, "lookup.duplicates", lookup.DuplicatesInput{Family: "companies", After: page.After})
				page = me.duplicates(lookup.DuplicatesInput{Limit: 3, ID: id, After: page.After})
			}
			want := 20
			if id != "" {
				want = 4
			}
			if len(paged) != want || !slices.Equal(paged, ids(whole)) {
				t.Errorf("%d pairs by pages, and %d on one page, want %d", len(paged), len(whole.Data), want)
			}
		}
		me.wantStatus(400, "lookup.duplicates", lookup.DuplicatesInput{Family: "contacts", After: "abc"})
	})
}

// TestDismiss checks that a dismissed pair leaves the list for good, and returns with Undo.
func TestDismiss(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		anna := map[string]any{"firstName": "Anna", "lastName": "Berg", "email": "anna@mail.example"}
		a, b := me.make("contacts", anna), me.make("contacts", anna)
		compareAll(o)
		me.wantStatus(204, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: b, Second: a})
		check := func(when string, open, dismissed int) {
			t.Helper()
			if n := len(me.duplicates(lookup.DuplicatesInput{}).Data); n != open {
				t.Errorf("%s: %d pairs, want %d", when, n, open)
			}
			if n := len(me.duplicates(lookup.DuplicatesInput{Dismissed: true, ID: a}).Data); n != dismissed {
				t.Errorf("%s: %d dismissed pairs, want %d", when, n, dismissed)
			}
		}
		check("dismissed", 0, 1)
		me.Do("PATCH", "/contacts/"+a, map[string]any{"email": nil}, "If-Match", "*").Want(200)
		compareAll(o)
		check("with another email", 0, 1)
		me.Do("PATCH", "/contacts/"+a, map[string]any{"firstName": "Karl"}, "If-Match", "*").Want(200)
		compareAll(o)
		check("with another name", 0, 0)
		me.Do("PATCH", "/contacts/"+a, map[string]any{"firstName": "Anna", "email": "anna@mail.example"}, "If-Match",
			"*").Want(200)
		compareAll(o)
		check("as before", 0, 1)
		me.wantStatus(204, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: a, Second: b, Undo: true})
		check("undone", 1, 0)
		me.wantStatus(204, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: a, Second: b})
		me.Do("DELETE", "/contacts/"+b, nil, "If-Match", "*").Want(204)
		check("deleted", 0, 0)
		for _, table := range []string{"duplicate_pairs", "duplicate_dismissals"} {
			if n := dbtest.Count(t, o.DB, table); n != 0 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
		me.wantStatus(422, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: a, Second: a})
		me.wantStatus(404, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: a, Second: b})
		me.wantStatus(404, "lookup.dismiss", lookup.DismissInput{Family: "companies", First: a, Second: b})
	})
}

// TestDuplicatesAreSeen checks that private records of others are in no list and no number. Admins see
// them.
func TestDuplicatesAreSeen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me, other, admin := sit(o, access.Member), sit(o, access.Member), sit(o, access.Admin)
		anna := func(visibility string) map[string]any {
			return map[string]any{"firstName": "Anna", "lastName": "Berg", "email": "anna@mail.example",
				"visibility": visibility}
		}
		shared := me.make("contacts", anna("organization"))
		private := other.make("contacts", anna("private"))
		other.make("contacts", anna("private"))
		counts := func(when string, mine, others, admins int, waiting int64) {
			t.Helper()
			for _, c := range []struct {
				d    desk
				want int
			}{{me, mine}, {other, others}, {admin, admins}} {
				if got := c.d.duplicates(lookup.DuplicatesInput{}); len(got.Data) != c.want || got.HasMore {
					t.Errorf("%s: %d pairs, want %d", when, len(got.Data), c.want)
				}
			}
			if got := me.duplicates(lookup.DuplicatesInput{}); got.Waiting != waiting {
				t.Errorf("%s: %d wait, want %d", when, got.Waiting, waiting)
			}
		}
		counts("before", 0, 0, 0, 1)
		compareAll(o)
		counts("after", 0, 3, 3, 0)
		other.Do("PATCH", "/contacts/"+private, map[string]any{"note": "neu"}, "If-Match", "*").Want(200)
		counts("after a change of a private record", 0, 3, 3, 0)
		if got := me.duplicates(lookup.DuplicatesInput{ID: shared}); len(got.Data) != 0 || got.HasMore {
			t.Errorf("of the shared record: %+v", got)
		}
		me.wantStatus(404, "lookup.duplicates", lookup.DuplicatesInput{Family: "contacts", ID: private})
		me.wantStatus(404, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: shared, Second: private})
		if n := dbtest.Count(t, o.DB, "duplicate_dismissals"); n != 0 {
			t.Errorf("%d dismissals", n)
		}
		var like lookup.Similar
		me.ask("lookup.similar", lookup.SimilarInput{Family: "contacts", FirstName: "Anna", LastName: "Bergg"}, &like)
		if len(like.Data) != 1 || like.Data[0].ID != shared {
			t.Errorf("while typing: %+v", like.Data)
		}
	})
}

// TestDuplicatesOfManyPrivateRecords checks that a page ends after a bounded walk past pairs that the
// caller does not see, and that the next pages lead to those that the caller sees.
func TestDuplicatesOfManyPrivateRecords(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me, other := sit(o, access.Member), sit(o, access.Member)
		weak := map[string]any{"firstName": "Karl", "lastName": "Tal"}
		me.make("contacts", weak)
		me.make("contacts", weak)
		for range 48 { // these make 1,128 pairs
			other.make("contacts", map[string]any{
				"firstName": "Anna", "lastName": "Berg", "email": "anna@mail.example", "visibility": "private"})
		}
		compareAll(o)
		page, pages := me.duplicates(lookup.DuplicatesInput{}), 1
		for page.HasMore && len(page.Data) == 0 && pages < 5 {
			page, pages = me.duplicates(lookup.DuplicatesInput{After: page.After}), pages+1
		}
		if len(page.Data) != 1 || page.HasMore || pages != 2 {
			t.Errorf("%d pairs on page %d", len(page.Data), pages)
		}
	})
}

// TestDuplicatesNeedRights checks the scopes, and that another organization neither sees nor dismisses
// pairs.
func TestDuplicatesNeedRights(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me, viewer := sit(o, access.Member), sit(o, access.Viewer)
		anna := map[string]any{"firstName": "Anna", "lastName": "Berg", "email": "anna@mail.example"}
		a, b := me.make("contacts", anna), me.make("contacts", anna)
		compareAll(o)
		if got := viewer.duplicates(lookup.DuplicatesInput{}); len(got.Data) != 1 {
			t.Errorf("a viewer: %+v", got)
		}
		viewer.wantStatus(403, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: a, Second: b})

		live, _ := o.Organization("Kanzlei Tal")
		id := o.User(access.Admin, live)
		stranger := desk{&apitest.Client{Office: o, Principal: id}, o, o.Session(id), false}
		if got := stranger.duplicates(lookup.DuplicatesInput{}); len(got.Data) != 0 || got.Waiting != 0 || got.HasMore {
			t.Errorf("another organization: %+v", got)
		}
		page := me.duplicates(lookup.DuplicatesInput{Limit: 1})
		if page.HasMore {
			t.Errorf("%+v", page)
		}
		stranger.wantStatus(404, "lookup.duplicates", lookup.DuplicatesInput{Family: "contacts", ID: a})
		stranger.wantStatus(404, "lookup.dismiss", lookup.DismissInput{Family: "contacts", First: a, Second: b})
		me.make("contacts", anna)
		compareAll(o)
		if page = me.duplicates(lookup.DuplicatesInput{Limit: 1}); !page.HasMore {
			t.Fatalf("%+v", page)
		}
		stranger.wantStatus(400, "lookup.duplicates", lookup.DuplicatesInput{Family: "contacts", After: page.After})
		var like lookup.Similar
		stranger.ask("lookup.similar", lookup.SimilarInput{Family: "contacts", FirstName: "Anna", LastName: "Berg",
			Emails: []string{"anna@mail.example"}}, &like)
		if len(like.Data) != 0 {
			t.Errorf("while typing in another organization: %+v", like.Data)
		}
	})
}

// TestSimilarNearNames checks that spellings of a name are found while typing, after names that are
// more probably the same.
func TestSimilarNearNames(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		mayr := me.make("contacts", map[string]any{"firstName": "Anna", "lastName": "Mayr"})
		meier := me.make("contacts", map[string]any{"firstName": "Anna", "lastName": "Meier", "mobile": "0171 1234567"})
		me.make("contacts", map[string]any{"firstName": "Karl", "lastName": "Meier"})
		firm := me.make("companies", map[string]any{"name": "Brauhaus Morgenstern GmbH"})
		compareAll(o)
		var got lookup.Similar
		me.ask("lookup.similar", lookup.SimilarInput{Family: "contacts", FirstName: "Anna", LastName: "Maier",
			Numbers: []string{"+49 171 1234567"}}, &got)
		if len(got.Data) != 2 || got.Data[0].ID != meier || got.Data[1].ID != mayr ||
			!slices.Equal(got.Data[0].By, []lookup.Likeness{lookup.ByNumber, lookup.ByNearName}) ||
			!slices.Equal(got.Data[1].By, []lookup.Likeness{lookup.ByNearName}) {
			t.Errorf("%+v", got.Data)
		}
		me.ask("lookup.similar", lookup.SimilarInput{Family: "companies", Name: "Brauhaus Morgenstren"}, &got)
		if len(got.Data) != 1 || got.Data[0].ID != firm || !slices.Equal(got.Data[0].By,
			[]lookup.Likeness{lookup.ByNearName}) {
			t.Errorf("%+v", got.Data)
		}
	})
}
