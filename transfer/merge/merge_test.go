package merge_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/masterkey"
	"kartei/test/apitest"
	"kartei/transfer/merge"
)

const (
	anna = `{"firstName":"Anna","lastName":"Berg","email":"anna@berg.example","phone":"+49 221 111",
		"mobile":"0171 1111111","address":{"street":"Weg 1","city":"Köln","country":"DE"},"note":"Erste.",
		"tags":["Mandant"],"externalId":"crm-1","attributes":{"stage":"won","color":"red"},
		"additionalEmails":[{"email":"a@berg.example","label":"home"}]}`
	berg = `{"firstName":"A.","lastName":"Berg","email":"berg@kanzlei.example","phone":"+49 221 222",
		"mobile":"+49 171 1111111","address":{"street":"Gasse 2","city":"Bonn"},"note":"Zweite.",
		"tags":["mandant","Notar"],"externalId":"crm-2","birthday":"1984-05-17","jobTitle":"Notarin",
		"attributes":{"stage":"lost","size":"L"},"additionalEmails":[{"email":"ANNA@berg.example"}],
		"additionalPhones":[{"phone":"+49 221 333","label":"fax"}]}`
)

// TestMembers checks each member of two contacts that become one.
func TestMembers(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		into, from := d.create("contacts", anna), d.create("contacts", berg)
		d.merged(into, from, "email", "jobTitle", "firstName")
		want := `{"firstName":"A.","lastName":"Berg","email":"berg@kanzlei.example","phone":"+49 221 111",
			"mobile":"0171 1111111","note":"Erste.\n\nZweite.","tags":["Mandant","Notar"],
			"address":{"street":"Weg 1","postalCode":null,"city":"Köln","region":null,"country":"DE"},
			"externalId":"crm-1","birthday":"1984-05-17","jobTitle":"Notarin",
			"attributes":{"stage":"won","color":"red","size":"L","stage2":"lost","mergedExternalId":"crm-2"},
			"additionalEmails":[{"email":"anna@berg.example","label":null},{"email":"a@berg.example","label":"home"}],
			"additionalPhones":[{"phone":"+49 221 222","label":null},{"phone":"+49 221 333","label":"fax"}],
			"additionalAddresses":[{"street":"Gasse 2","postalCode":null,"city":"Bonn","region":null,"country":null,
				"label":null}]}`
		compare(t, d.record(into), want)
		d.Do("GET", path(from), nil).Want(404)
	})
}

// compare checks members of a record.
func compare(t *testing.T, record map[string]any, want string) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(want), &members); err != nil {
		t.Fatal(err)
	}
	for name, value := range members {
		if !reflect.DeepEqual(record[name], value) {
			t.Errorf("%s is\n%v, want\n%v", name, record[name], value)
		}
	}
}

// TestReferences checks that all references follow, also in private records of others, and that
// the undo leads them back.
func TestReferences(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other := sit(o, access.Member), sit(o, access.Member)
		into, from := d.create("companies", `{"name":"Haas GmbH"}`), d.create("companies", `{"name":"Haas"}`)
		var moved []string
		for i := range 70 { // more than one transaction moves
			moved = append(moved, d.create("tasks", fmt.Sprintf(`{"title":"%d","companyId":%q}`, i, from)))
		}
		moved = append(moved, d.create("contacts", `{"lastName":"Tal","companyId":"`+from+`"}`),
			other.create("contacts", `{"lastName":"Geheim","companyId":"`+from+`","visibility":"private"}`))
		stays := d.create("tasks", `{"title":"bleibt","companyId":"`+into+`"}`)
		m := d.merged(into, from)
		admin := sit(o, access.Admin)
		if all := ask[merge.Merge](admin, "merges.get", op.ByID{ID: m.ID}); all.Moved != 72 {
			t.Errorf("%d references were moved", all.Moved)
		}
		if m.Moved != 0 || m.State != merge.Merged || m.RecordID != into || m.MergedID != from || m.KeptUntil == 0 {
			t.Errorf("%+v", m)
		}
		refer := func(want string) {
			t.Helper()
			for _, name := range moved {
				if got := other.record2(d, name)["companyId"]; got != want {
					t.Errorf("%s refers to %v, want %s", name, got, want)
				}
			}
			if got := d.record(stays)["companyId"]; got != into {
				t.Errorf("the task of the other one refers to %v", got)
			}
		}
		refer(into)
		m = d.undone(m)
		if m.State != merge.Undone || m.RestoredID == "" || m.RestoredID == from || m.KeptUntil != 0 {
			t.Errorf("%+v", m)
		}
		refer(m.RestoredID)
		compare(t, d.record(m.RestoredID), `{"name":"Haas"}`)
		compare(t, d.record(into), `{"name":"Haas GmbH"}`)
	})
}

// record2 returns a record that one of two people sees.
func (d desk) record2(other desk, id string) map[string]any {
	d.Helper()
	if a := d.Do("GET", path(id), nil); a.Status == 200 {
		return a.JSON()
	}
	return other.record(id)
}

// envelope are the members that no undo restores.
var envelope = []string{"id", "revision", "createdAt", "updatedAt"}

// TestUndo checks that an undo restores both records, and keeps what others changed since.
func TestUndo(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		into, from := d.create("contacts", anna), d.create("contacts", berg)
		before, gone := d.record(into), d.record(from)
		m := d.undone(d.merged(into, from, "email", "externalId"))
		for _, x := range []struct {
			id  string
			was map[string]any
		}{{into, before}, {m.RestoredID, gone}} {
			is := d.record(x.id)
			for name, value := range x.was {
				if !slices.Contains(envelope, name) && !reflect.DeepEqual(is[name], value) {
					t.Errorf("%s of %s is %v, was %v", name, x.id, is[name], value)
				}
			}
		}
		if d.send("merges.undo", op.ByID{ID: m.ID}).Status != 422 {
			t.Error("a merge is undone twice")
		}

		m = d.merged(into, m.RestoredID, "email")
		tag := d.Do("GET", path(into), nil).Header.Get("ETag")
		d.Do("PATCH", path(into), `{"email":"neu@berg.example","note":"Neu.","tags":["Mandant","Notar","Neu"],
			"attributes":{"size":"XL"}}`, "If-Match", tag).Want(200)
		m = d.undone(m)
		compare(t, d.record(into), `{"email":"neu@berg.example","note":"Neu.","tags":["Mandant","Neu"],
			"attributes":{"stage":"won","color":"red","size":"XL"},"additionalPhones":[],"birthday":null,
			"additionalEmails":[{"email":"a@berg.example","label":"home"},{"email":"anna@berg.example","label":null}]}`)
		compare(t, d.record(m.RestoredID), `{"email":"berg@kanzlei.example","note":"Zweite.","externalId":"crm-2"}`)
	})
}

// TestRefusedMerges checks that a merge that is refused changes nothing.
func TestRefusedMerges(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other, viewer := sit(o, access.Member), sit(o, access.Member), sit(o, access.Viewer)
		into, from := d.create("contacts", anna), d.create("contacts", berg)
		secret := other.create("contacts", `{"lastName":"Geheim","visibility":"private"}`)
		company := d.create("companies", `{"name":"Haas"}`)
		full := d.create("contacts", `{"lastName":"Voll","additionalEmails":[{"email":"x@berg.example"}`+many(19)+`]}`)
		tag := d.Do("GET", path(into), nil).Header.Get("ETag")
		was := d.Do("GET", "/contacts", nil).Want(200).Data()
		order := func(from string, revision int) map[string]any {
			return map[string]any{"from": from, "fromRevision": revision}
		}
		d.merge(into, order(from, 1)).Want(428, "PRECONDITION_REQUIRED")
		d.merge(into, order(from, 1), "If-Match", `"r9"`).Want(412, "PRECONDITION_FAILED")
		d.merge(into, order(from, 2), "If-Match", tag).Want(412, "PRECONDITION_FAILED")
		d.merge(secret, order(from, 1), "If-Match", tag).Want(404, "NOT_FOUND")
		for _, id := range []string{secret, company, into, "con_01jb2z5k3xf0q8r9s7t6v5w4y3"} {
			f := d.merge(into, order(id, 1), "If-Match", tag).Want(422, "VALIDATION_FAILED").Fields()
			if len(f) != 1 || !strings.HasPrefix(f[0], "from ") {
				t.Errorf("from %s: %v", id, f)
			}
		}
		f := d.merge(into, order(full, 1), "If-Match", tag).Want(422).Fields()
		if len(f) != 1 || !strings.HasPrefix(f[0], "additionalEmails TOO_LONG") {
			t.Errorf("too many: %v", f)
		}
		note := map[string]any{"from": from, "fromRevision": 1, "values": []string{"note"}}
		if f = d.merge(into, note, "If-Match", tag).Want(422).Fields(); len(f) != 1 || f[0] != "values[0] NOT_IN_ENUM" {
			t.Errorf("values: %v", f)
		}
		viewer.merge(into, order(from, 1), "If-Match", tag).Want(403)
		d.Do("POST", path(into)+"/merge", order(from, 1), "If-Match", tag).Want(404, "OPERATION_NOT_IN_VERSION")
		d.merge(into, order(from, 1), "If-Match", tag, "Svc-Preview", "").Want(404, "OPERATION_NOT_IN_VERSION")
		if is := d.Do("GET", "/contacts", nil).Want(200).Data(); !reflect.DeepEqual(is, was) {
			t.Errorf("a refused merge changed\n%v to\n%v", was, is)
		}
	})
}

func many(n int) (list string) {
	for i := range n {
		list += fmt.Sprintf(`,{"email":"y%d@berg.example"}`, i)
	}
	return list
}

// TestRepeatedMerge checks that a program may repeat a merge whose response it did not get.
func TestRepeatedMerge(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		into, from := d.create("contacts", anna), d.create("contacts", berg)
		order := map[string]any{"from": from, "fromRevision": 1}
		send := func() *apitest.Answer {
			return d.merge(into, order, "If-Match", `"r1"`, "Idempotency-Key", "einmal").Want(202)
		}
		first := send()
		d.Await(first)
		again := send()
		if again.Text("id") != first.Text("id") || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s, then %s", first.Body, again.Body)
		}
		types := map[any]int{}
		for _, e := range d.Do("GET", "/events?limit=100", nil).Want(200).Data() {
			types[e["type"]]++
		}
		want := map[any]int{"contact.created": 2, "contact.updated": 1, "contact.deleted": 1, "operation.completed": 1}
		if !reflect.DeepEqual(types, want) {
			t.Errorf("events %v, want %v", types, want)
		}
	})
}

// TestSight checks that nobody learns of a merge whose record they do not see, and that the copies go
// with the record.
func TestSight(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other, admin := sit(o, access.Member), sit(o, access.Member), sit(o, access.Admin)
		into, from := d.create("contacts", `{"lastName":"Berg","visibility":"private"}`), d.create("contacts", berg)
		third := d.create("contacts", `{"lastName":"Tal"}`)
		m := d.merged(into, from)
		for row, id := range map[string]string{"merges.get": m.ID, "merges.undo": m.ID, "merges.find": from} {
			if got := other.send(row, op.ByID{ID: id}).Status; got != 404 {
				t.Errorf("%s of another person: %d", row, got)
			}
		}
		if list := ask[op.Entries[merge.Merge]](other, "merges.list", merge.ListInput{}).Data; len(list) != 0 {
			t.Errorf("another person sees %v", list)
		}
		if list := ask[op.Entries[merge.Merge]](admin, "merges.list", merge.ListInput{}).Data; len(list) != 1 {
			t.Errorf("an admin sees %v", list)
		}
		if s := ask[merge.Successor](d, "merges.find", op.ByID{ID: from}); s != (merge.Successor{Family: "contacts", ID: into}) {
			t.Errorf("%+v", s)
		}
		d.merged(third, into)
		if s := ask[merge.Successor](other, "merges.find", op.ByID{ID: from}); s.ID != third {
			t.Errorf("after a second merge: %+v", s)
		}
		if got := d.send("merges.undo", op.ByID{ID: m.ID}).Status; got != 422 {
			t.Errorf("the undo of a merge whose record was merged: %d", got)
		}
		d.Do("DELETE", path(third), nil, "If-Match", d.Do("GET", path(third), nil).Header.Get("ETag")).Want(204)
		if got := d.send("merges.find", op.ByID{ID: from}).Status; got != 404 {
			t.Errorf("after the deletion: %d", got)
		}
		if n := number(t, o, `select count(*) from merges`) + number(t, o, `select count(*) from merge_moves`); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestForget checks that after seven days only the way to the record that stayed is left.
func TestForget(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		into, from := d.create("contacts", anna), d.create("contacts", berg)
		d.create("tasks", `{"title":"Akte","contactId":"`+from+`"}`)
		m := d.merged(into, from)
		if n := number(t, o, `select count(*) from merges where copies like '%Berg%'`); n != 0 {
			t.Error("the copies are readable in the database")
		}
		o.Clock.Advance(merge.Age + time.Second)
		d.Rest()
		d.cookie = o.Session(d.Principal)
		if got := d.send("merges.undo", op.ByID{ID: m.ID}).Status; got != 404 {
			t.Errorf("undo after seven days: %d", got)
		}
		kept := number(t, o, `select count(*) from merges where copies <> '' or principal <> ''`)
		if n := kept + number(t, o, `select count(*) from merge_moves`); n != 0 {
			t.Errorf("%d rows still have something", n)
		}
		if s := ask[merge.Successor](d, "merges.find", op.ByID{ID: from}); s.ID != into {
			t.Errorf("%+v", s)
		}
	})
}

// TestReseal checks that the undo needs only the new master key after the old one was replaced.
func TestReseal(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		m := d.merged(d.create("contacts", anna), d.create("contacts", berg))
		both := masterkey.Ring{Current: masterkey.New(), Previous: apitest.Keys.All()}.Vault(merge.SecretsPurpose)
		for i, want := range []int{1, 0} {
			n, unreadable, err := merge.Reseal(t.Context(), o.DB, both)
			if n != want || len(unreadable) > 0 || err != nil {
				t.Errorf("time %d: %d, %v, %v", i, n, unreadable, err)
			}
		}
		if d.send("merges.undo", op.ByID{ID: m.ID}).Status != 500 {
			t.Error("the copies open with the old key alone")
		}
		_, unreadable, _ := merge.Reseal(t.Context(), o.DB, apitest.Keys.Vault(merge.SecretsPurpose))
		if len(unreadable) != 1 {
			t.Errorf("unreadable: %v", unreadable)
		}
	})
}

// TestUndoWithoutWhatIsGone checks that an undo succeeds although the former company was merged, another
// record has the former external id, and the owner cannot be restored.
func TestUndoWithoutWhatIsGone(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other := sit(o, access.Member), sit(o, access.Member)
		old, next := d.create("companies", `{"name":"Haas"}`), d.create("companies", `{"name":"Haas GmbH"}`)
		into := d.create("contacts", `{"lastName":"Berg","externalId":"a","companyId":"`+old+`"}`)
		from := d.create("contacts", `{"lastName":"Tal","externalId":"b","companyId":"`+old+`","ownerId":"`+other.Principal+`"}`)
		m := d.merged(into, from, "ownerId", "externalId")
		d.merged(next, old)
		d.create("contacts", `{"lastName":"Neu","externalId":"a"}`)
		m = d.undone(m)
		compare(t, d.record(into), `{"lastName":"Berg","externalId":"b","companyId":"`+next+`","ownerId":"`+other.Principal+`"}`)
		compare(t, d.record(m.RestoredID), `{"lastName":"Tal","externalId":null,"attributes":{"mergedExternalId":"b"},
			"companyId":"`+next+`","ownerId":"`+other.Principal+`"}`)
		if s := ask[merge.Successor](d, "merges.find", op.ByID{ID: from}); s.ID != m.RestoredID {
			t.Errorf("after the undo the old id leads to %+v", s)
		}
	})
}

// TestMergeThatChangesNothing checks that a merge makes a revision even if both records are equal. A
// second merge with the old revision, in the other direction too, is then refused.
func TestMergeThatChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		into, from := d.create("contacts", `{"lastName":"Berg"}`), d.create("contacts", `{"lastName":"Berg"}`)
		third := d.create("contacts", `{"lastName":"Berg"}`)
		d.merged(into, from)
		if got := d.record(into)["revision"]; got != float64(2) {
			t.Errorf("revision %v", got)
		}
		for _, order := range [][2]string{{into, third}, {third, into}} {
			in := map[string]any{"from": order[1], "fromRevision": 1}
			d.merge(order[0], in, "If-Match", `"r1"`).Want(412, "PRECONDITION_FAILED")
		}
	})
}

// TestHiddenReferences checks that a merge neither shows nor loses a company that the person does not
// see, and that it keeps one of both if the other one is hidden.
func TestHiddenReferences(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other := sit(o, access.Member), sit(o, access.Member)
		secret := other.create("companies", `{"name":"Geheim","visibility":"private"}`)
		open := d.create("companies", `{"name":"Haas"}`)
		create := func(company string) string {
			return other.create("contacts", `{"lastName":"Berg","companyId":"`+company+`"}`)
		}
		empty := d.create("contacts", `{"lastName":"Berg"}`)
		for _, x := range []struct {
			into, from, want string
			values           []string
		}{
			{into: empty, from: create(secret), want: secret},
			{into: create(secret), from: create(open), want: secret},
			{into: create(secret), from: create(open), values: []string{"companyId"}, want: open},
			{into: create(open), from: create(secret), want: open},
		} {
			d.merged(x.into, x.from, x.values...)
			if got := other.record(x.into)["companyId"]; got != x.want {
				t.Errorf("%v: %v, want %s", x, got, x.want)
			}
			if got := d.record(x.into)["companyId"]; got == secret {
				t.Errorf("%v shows the company", x)
			}
		}
	})
}
