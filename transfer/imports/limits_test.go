package imports_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/integration/limit"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// clicks are what counts of a person with a file: mapping its columns, importing it, and
// taking it back. Sending it is free.
const clicks = 3

// tight makes one record of a file pass each limit. Only the clicks of a person fit.
func tight() apitest.Option {
	all := []limit.Override{{Name: "session-writes", Quota: clicks, Capacity: clicks}}
	for _, p := range limit.Policies() {
		if p.Unit != limit.Calls && p.Name != all[0].Name {
			all = append(all, limit.Override{Name: p.Name, Quota: 1, Capacity: 1})
		}
	}
	return apitest.Metered(all...)
}

// policies are the limits as rateLimit.get answers.
type policies struct {
	Policies []struct {
		Name             string
		Quota, Remaining float64
	}
}

// used returns the limits of which something is used.
func (p policies) used() (list []string) {
	for _, one := range p.Policies {
		if one.Remaining != one.Quota {
			list = append(list, fmt.Sprintf("%s %v of %v", one.Name, one.Quota-one.Remaining, one.Quota))
		}
	}
	return list
}

// used asks what of the limits is used, by the person and by a key of theirs.
func (d desk) used(o *apitest.Office) string {
	d.Helper()
	got := o.API.Do(d.Context(), &api.Request{
		Method: "GET", Path: "/rate_limit", Door: api.Web, Credential: api.Cookie(d.cookie, true),
		Address: netip.MustParseAddr("192.0.2.7"),
	}, nil)
	var person, key policies
	if err := json.Unmarshal(got.Body, &person); err != nil || len(person.Policies) == 0 {
		d.Fatalf("%d %v %s", got.Status, err, got.Body)
	}
	if err := json.Unmarshal(d.Do("GET", "/rate_limit", nil).Want(200).Body, &key); err != nil {
		d.Fatal(err)
	}
	return strings.Join(append(person.used(), key.used()...), ", ")
}

// An import and its undoing are free of all limits except the limit of clicks. No record
// counts, neither for a key and the organization nor for what a person may delete and read.
func TestFreeOfLimits(t *testing.T) {
	const contacts = 60
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, tight())
		desk := sit(o, access.Member)
		file := "Nachname,E-Mail,Firma,Bemerkung\n"
		for i := range contacts {
			file += fmt.Sprintf("Berg %d,berg%d@example.com,Haas,%s\n", i, i, strings.Repeat("x", 9000))
		}
		x := desk.run(desk.check(desk.upload("a.csv", file), mapping.Skip))
		if wantState(t, x, imports.Finished); len(file) <= imports.MaxPiece || x.Counts[imports.Created] != contacts {
			t.Fatalf("%d bytes: %+v", len(file), x)
		}
		x = desk.undo(x)
		if wantState(t, x, imports.Undone); number(t, o, "select count(*) from contacts where deleted = false") != 0 {
			t.Fatalf("%+v", x)
		}
		if used := desk.used(o); used != "session-writes 3 of 3, key 1 of 1, principal 1 of 1, organization 1 of 1" {
			// the question itself
			t.Errorf("of the limits is used: %s", used)
		}
	})
}
