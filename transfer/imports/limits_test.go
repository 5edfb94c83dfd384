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

// clicks is the number of calls of a person that count for an import: to map its columns, to run it
// and to undo it. Sending the file does not count.
const clicks = 3

// tight sets all limits so low that they allow one record and the clicks of a person.
func tight() apitest.Option {
	all := []limit.Override{{Name: "session-writes", Quota: clicks, Capacity: clicks}}
	for _, p := range limit.Policies() {
		if p.Unit != limit.Calls && p.Name != all[0].Name {
			all = append(all, limit.Override{Name: p.Name, Quota: 1, Capacity: 1})
		}
	}
	return apitest.Metered(all...)
}

// policies is the response of rateLimit.get.
type policies struct {
	Policies []struct {
		Name             string
		Quota, Remaining float64
	}
}

// used returns the limits that are partly used up.
func (p policies) used() (list []string) {
	for _, one := range p.Policies {
		if one.Remaining != one.Quota {
			list = append(list, fmt.Sprintf("%s %v of %v", one.Name, one.Quota-one.Remaining, one.Quota))
		}
	}
	return list
}

// used returns the used limits of the person and of a key of theirs.
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

// TestFreeOfLimits checks that an import and its undo use only the limit of clicks. Its records do
// not count for a key, for the organization, or for the deletes and reads of a person.
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
			// the call of rateLimit.get itself
			t.Errorf("of the limits is used: %s", used)
		}
	})
}
