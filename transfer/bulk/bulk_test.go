package bulk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/bulk"
)

// TestAllOfAList checks that an act changes each record of a list that its person sees. It needs
// several transactions, and its changes are like other changes.
func TestAllOfAList(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other := sit(o, access.Member), sit(o, access.Member)
		d.contacts(120, `{"lastName":"Berg","tags":["Messe"]}`)
		d.contacts(3, `{"lastName":"Tal"}`)
		has := d.contact(`{"lastName":"Hat","tags":["messe","GRUSS"]}`)
		full := d.contact(`{"lastName":"Voll","tags":["Messe"` + strings.Repeat(`,"x`, 1) + `0"` + moreTags(18) + `]}`)
		other.contact(`{"lastName":"Geheim","tags":["Messe"],"visibility":"private"}`)
		since := number(t, o, `select count(*) from events`)
		a := d.all(bulk.Tag, "  Gruß ", "tag=MESSE")
		want(t, a, bulk.Finished, "changed 121 refused 1")
		if a.Records != 122 || a.Done != 122 || a.Value != "Gruß" || a.Family != "contacts" || a.PrincipalID != d.Principal {
			t.Errorf("%+v", a)
		}
		if n := number(t, o, `select count(*) from contacts where revision = 2`); n != 121 {
			t.Errorf("%d contacts have another revision", n)
		}
		if n := number(t, o, `select count(*) from events`) - since; n != 121 {
			t.Errorf("%d events", n)
		}
		if n := number(t, o, `select count(*) from record_changes where principal = $1 and door = 'web' and members = 'tags' and revision = 2`, d.Principal); n != 121 {
			t.Errorf("%d lines of histories", n)
		}
		if got := d.Do("GET", "/contacts/count?q=gruss", nil).Want(200).JSON()["count"]; fmt.Sprint(got) != "121" {
			t.Errorf("%v are found by the tag", got)
		}
		if got := d.member(has, "tags"); got != "[messe GRUSS Gruß]" {
			t.Errorf("tags %s", got)
		}
		r := d.report(a)
		if len(r.Reasons) != 1 || r.Reasons[0].Count != 1 || len(r.Records) != 1 || r.Records[0].RecordID != full ||
			!strings.Contains(r.Records[0].Message, "20") {
			t.Errorf("%+v", r)
		}
		if again := d.all(bulk.Tag, "gruß", "tag=Messe"); again.Counts[bulk.Unchanged] != 121 ||
			again.Counts[bulk.Refused] != 1 {
			t.Errorf("%+v", again)
		}
		lines := number(t, o, `select count(*) from audit_lines where word in ('records.bulkStart', 'records.bulkDone') and target = $1`, a.ID)
		if named := number(t, o, `select count(*) from audit_lines where changes like '%Gru%' or changes like '%MESSE%'`); lines != 2 || named != 0 {
			t.Errorf("%d lines of the audit log, %d with words of the list", lines, named)
		}
		if n := number(t, o, `select count(*) from bulk_acts where content like '%MESSE%'`) +
			number(t, o, `select count(*) from jobs where payload like '%Gru%' or payload like '%MESSE%'`); n != 0 {
			t.Errorf("%d rows still name the list", n)
		}
	})
}

func moreTags(n int) (list string) {
	for i := range n {
		list += fmt.Sprintf(`,"y%d"`, i)
	}
	return list
}

// TestListsOfAllKinds checks acts on the results of a search, on filtered lists and on all
// records.
func TestListsOfAllKinds(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		company := d.Do("POST", "/companies", `{"name":"Haas"}`).Want(201).Text("id")
		secret := sit(o, access.Member)
		hidden := secret.Do("POST", "/companies", `{"name":"Still","visibility":"private"}`).Want(201).Text("id")
		d.contacts(12, `{"lastName":"Müller","companyId":"`+company+`"}`)
		d.contacts(5, `{"lastName":"Schulz"}`)
		secret.contacts(2, `{"lastName":"Mueller","companyId":"`+hidden+`"}`)
		for filter, n := range map[string]int{
			"q=mueller": 14, "q=niemand": 0, "companyId=" + company: 12, "companyId=" + hidden: 0,
			"ownerId=" + secret.Principal: 2, "": 19,
		} {
			list := []string{filter}
			if filter == "" {
				list = nil
			}
			counts := ""
			if n > 0 {
				counts = fmt.Sprintf("changed %d", n)
			}
			want(t, d.all(bulk.Tag, "t "+filter[:min(9, len(filter))], list...), bulk.Finished, counts)
		}
		in := bulk.StartInput{Family: "companies", Kind: bulk.Tag, Value: "Kunde"}
		a := ask[bulk.Act](d, "bulk.start", in)
		o.Recover()
		want(t, d.act("bulk.get", a), bulk.Finished, "changed 1")
	})
}

func TestWhatIsRefused(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, viewer := sit(o, access.Member), sit(o, access.Viewer)
		long := strings.Repeat("x", 51)
		for in, want := range map[*bulk.StartInput]string{
			{
				Family: "letters", Kind: bulk.Tag, Value: "a",
			}: "family NOT_IN_ENUM",
			{
				Family: "contacts", Kind: "erase", Value: "a",
			}: "kind NOT_IN_ENUM",
			{
				Family: "contacts", Kind: bulk.Tag, Value: " ",
			}: "value REQUIRED",
			{
				Family: "contacts", Kind: bulk.Untag, Value: long,
			}: "value TOO_LONG",
			{
				Family: "contacts", Kind: bulk.Owner, Value: "usr_nobody",
			}: "value NOT_FOUND",
			{
				Family: "contacts", Kind: bulk.Visibility, Value: "all",
			}: "value NOT_IN_ENUM",
			{
				Family:  "contacts",
				Kind:    bulk.Tag,
				Value:   "a",
				Filters: map[string]string{"status": "open"},
			}: "status UNKNOWN_FIELD",
			{
				Family:  "contacts",
				Kind:    bulk.Tag,
				Value:   "a",
				Q:       "b",
				Filters: map[string]string{"tag": "c"},
			}: "filters FORBIDDEN_COMBINATION",
			{
				Family:  "contacts",
				Kind:    bulk.Tag,
				Value:   "a",
				Q:       strings.Repeat("x", 201),
				Filters: map[string]string{},
			}: "q TOO_LONG",
		} {
			got := d.send("bulk.start", in)
			f := got.Fault
			if f == nil || len(f.Fields) != 1 || f.Fields[0].Name+" "+string(f.Fields[0].Code) != want {
				t.Errorf("%+v: %s", in, got.Body)
			}
		}
		if got := viewer.send("bulk.start", bulk.StartInput{
			Family: "contacts", Kind: bulk.Tag, Value: "a",
		}); got.Status != 403 {
			t.Errorf("a viewer: %d %s", got.Status, got.Body)
		}
		a := d.all(bulk.Tag, "a")
		stranger, admin := sit(o, access.Member), sit(o, access.Admin)
		for _, row := range []string{"bulk.get", "bulk.report", "bulk.stop", "bulk.resume", "bulk.undo"} {
			if got := stranger.send(row, op.ByID{ID: a.ID}); got.Status != 404 {
				t.Errorf("%s by another member: %d", row, got.Status)
			}
			if got := d.send(row, op.ByID{ID: "blk_x"}); got.Status != 404 {
				t.Errorf("%s of nothing: %d", row, got.Status)
			}
		}
		if list := ask[op.Entries[bulk.Act]](stranger, "bulk.list", bulk.ListInput{}); len(list.Data) != 0 {
			t.Errorf("another member sees %+v", list)
		}
		if list := ask[op.Entries[bulk.Act]](admin, "bulk.list", bulk.ListInput{}); len(list.Data) != 1 {
			t.Errorf("an admin sees %+v", list)
		}
		for _, row := range []string{"bulk.stop", "bulk.resume"} {
			if got := d.send(row, op.ByID{ID: a.ID}); got.Status != 422 {
				t.Errorf("%s of a finished act: %d", row, got.Status)
			}
		}
	})
}

// TestOwnersAndVisibilities checks that only owners and admins can change the owner and the
// visibility, as in single calls. A change by another person after the beginning of the act
// stays.
func TestOwnersAndVisibilities(t *testing.T) {
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d, other := sit(o, access.Member), sit(o, access.Member)
		mine, theirs, moved := d.contact(`{"lastName":"A"}`), other.contact(`{"lastName":"B"}`), d.contact(`{"lastName":"C"}`)
		third := sit(o, access.Member)
		// The first transaction stores the ids, and the second begins the changes.
		f.Before(3, func() { d.change(moved, `{"ownerId":"`+third.Principal+`"}`) })
		a := d.all(bulk.Owner, other.Principal)
		want(t, a, bulk.Finished, "changed 1 unchanged 1 refused 1")
		if d.member(mine, "ownerId") != other.Principal || d.member(moved, "ownerId") != third.Principal {
			t.Error("another owner was replaced")
		}
		if r := d.report(a); len(r.Records) != 1 || r.Records[0].RecordID != moved {
			t.Errorf("%+v", r)
		}
		p := other.all(bulk.Visibility, "private")
		want(t, p, bulk.Finished, "changed 2 refused 1")
		if r := other.report(p); len(r.Records) != 1 || !strings.Contains(r.Records[0].Message, "Eigentümer") {
			t.Errorf("%+v", r)
		}
		if other.member(theirs, "visibility") != "private" {
			t.Error("a record is still shared")
		}
		if n := number(t, o, `select count(*) from visibility_losses where principal = $1`, d.Principal); n != 2 {
			t.Errorf("%d losses of sight", n)
		}
		want(t, d.all(bulk.Tag, "x"), bulk.Finished, "changed 1") // the act does not even count the other records
		admin := sit(o, access.Admin)
		want(t, admin.act("bulk.undo", p), bulk.Undone, "changed 2 refused 1 restored 2")
		want(t, admin.act("bulk.undo", a), bulk.Undone, "changed 1 unchanged 1 refused 1 restored 1")
		if d.member(mine, "ownerId") != d.Principal || other.member(theirs, "visibility") != "organization" {
			t.Error("the undoing gave nothing back")
		}
	})
}

// TestOnePersonLeavesRoom checks that a colleague can begin an act after one person has reached
// their limit.
func TestOnePersonLeavesRoom(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, colleague := sit(o, access.Member), sit(o, access.Member)
		first := d.start(bulk.Tag, "a")
		for n := range 99 {
			dbtest.Run(t, o.DB, `insert into bulk_acts (organization, id, principal, state, reason, content, progress, requested_by, kind, door, request_id, created_at, began_at, expires_at)
				select organization, id || cast($2 as text), principal, state, reason, content, progress, requested_by, kind, door, request_id, created_at, began_at, expires_at
				from bulk_acts where id = $1`, first.ID, fmt.Sprint(n))
		}
		if got := d.send("bulk.start", bulk.StartInput{
			Family:  "contacts",
			Kind:    bulk.Tag,
			Value:   "a",
			Filters: map[string]string{},
		}); !fault.Is(got.Fault, fault.QuotaExhausted) {
			t.Errorf("the 101st of one person: %d %s", got.Status, got.Body)
		}
		colleague.start(bulk.Tag, "a")
	})
}

// TestUndo checks that an undo restores records that nobody has changed since. It does not change
// other members of a record.
func TestUndo(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Admin)
		plain, edited, retagged, back, erased := d.contact(`{"lastName":"A","tags":["1","Alt","2"]}`), d.contact(`{"lastName":"B","tags":["ALT"]}`),
			d.contact(`{"lastName":"C","tags":["Alt"]}`), d.contact(`{"lastName":"D","tags":["Alt","3"]}`), d.contact(`{"lastName":"E","tags":["Alt"]}`)
		a := d.all(bulk.Untag, "alt", "tag=Alt")
		want(t, a, bulk.Finished, "changed 5")
		if d.member(plain, "tags") != "[1 2]" {
			t.Errorf("tags %s", d.member(plain, "tags"))
		}
		d.change(edited, `{"lastName":"Neu"}`)
		d.change(retagged, `{"tags":["alt"]}`)
		d.change(back, `{"tags":["Alt","3"]}`) // the tag was added and removed again, so a person has decided about it
		d.change(back, `{"tags":["3"]}`)
		d.Do("DELETE", "/contacts/"+erased, nil, "If-Match", "*").Want(204)
		if n := number(t, o, `select count(*) from bulk_lines where record_id = $1 and before <> ''`, erased); n != 0 {
			t.Error("an act keeps the tag of an erased contact")
		}
		a = d.act("bulk.undo", a)
		want(t, a, bulk.Undone, "changed 5 gone 1 restored 2 kept 2")
		for id, tags := range map[string]string{plain: "[1 Alt 2]", edited: "[ALT]", retagged: "[alt]", back: "[3]"} {
			if got := d.member(id, "tags"); got != tags {
				t.Errorf("tags %s, want %s", got, tags)
			}
		}
		if d.member(edited, "lastName") != "Neu" {
			t.Error("the undoing took a later change back")
		}
		if got := d.send("bulk.undo", op.ByID{ID: a.ID}); got.Status != 422 {
			t.Errorf("undone twice: %d", got.Status)
		}
		r := d.report(a)
		if len(r.Records) != 2 || r.Records[0].Outcome != bulk.Kept {
			t.Errorf("%+v", r)
		}
	})
}

// TestUndoOneAfterTheOther checks that several acts on the same records can be undone one after
// the other, the last one first. The undo of one act does not count as a change by others for the
// previous act.
func TestUndoOneAfterTheOther(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, x, y := sit(o, access.Admin), sit(o, access.Member), sit(o, access.Member)
		id := d.contact(`{"lastName":"A"}`)
		first := d.all(bulk.Owner, x.Principal)
		second := d.all(bulk.Owner, y.Principal)
		want(t, d.act("bulk.undo", second), bulk.Undone, "changed 1 restored 1")
		want(t, d.act("bulk.undo", first), bulk.Undone, "changed 1 restored 1")
		if d.member(id, "ownerId") != d.Principal {
			t.Error("the owner is not the first one")
		}
		first, second = d.all(bulk.Tag, "x"), d.all(bulk.Untag, "x")
		third := d.all(bulk.Tag, "x")
		want(t, d.act("bulk.undo", first), bulk.Undone, "changed 1 kept 1") // the tag belongs to the third act
		want(t, d.act("bulk.undo", third), bulk.Undone, "changed 1 restored 1")
		want(t, d.act("bulk.undo", second), bulk.Undone, "changed 1 restored 1")
	})
}

// TestStopAndResume checks that a person can stop an act between any two transactions and resume
// it.
func TestStopAndResume(t *testing.T) {
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d := sit(o, access.Member)
		d.contacts(120, `{"lastName":"Berg"}`)
		for step := 1; ; step++ {
			tag := fmt.Sprintf("t%d", step)
			f.Before(step, func() {
				list := ask[op.Entries[bulk.Act]](d, "bulk.list", bulk.ListInput{Limit: 1}).Data
				if got := d.send("bulk.stop", op.ByID{ID: list[0].ID}); got.Status != 200 && got.Status != 422 {
					t.Errorf("step %d: %d %s", step, got.Status, got.Body)
				}
			})
			a := d.all(bulk.Tag, tag)
			resumed := func() {
				if a.State == bulk.Stopped {
					if a.Reason != bulk.ByPerson {
						t.Errorf("step %d: %+v", step, a)
					}
					a = d.act("bulk.resume", a)
				}
			}
			resumed()
			want(t, a, bulk.Finished, "changed 120")
			if n := number(t, o, `select count(*) from tags where tag = $1`, tag); n != 120 {
				t.Errorf("step %d: %d have the tag", step, n)
			}
			a = d.act("bulk.undo", a)
			resumed()
			want(t, a, bulk.Undone, "changed 120 restored 120")
			if !f.Reached() {
				if step < 10 {
					t.Errorf("only %d steps", step)
				}
				break
			}
		}
		if n := number(t, o, `select count(*) from jobs where kind = 'bulk.work'`); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// TestResumedAtOnce checks that an act continues if it is stopped and resumed before its job
// notices.
func TestResumedAtOnce(t *testing.T) {
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d := sit(o, access.Member)
		d.contacts(60, `{"lastName":"Berg"}`)
		for step := 1; step <= 3; step++ { // two pieces, and the end
			a := d.start(bulk.Tag, fmt.Sprintf("t%d", step))
			o.Recover()
			f.Before(step, func() {
				ask[bulk.Act](d, "bulk.stop", op.ByID{ID: a.ID})
				// The next transaction would end the job.
				f.Before(1, func() { ask[bulk.Act](d, "bulk.resume", op.ByID{ID: a.ID}) })
			})
			a = d.act("bulk.undo", a)
			want(t, a, bulk.Undone, "changed 60 restored 60")
		}
	})
}

// TestRightsOfTheMoment checks that each transaction uses the current rights of the person.
func TestRightsOfTheMoment(t *testing.T) {
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d := sit(o, access.Member)
		d.contacts(120, `{"lastName":"Berg"}`)
		admin := sit(o, access.Admin)
		f.Before(4, func() { set(t, o, `update principals set disabled = true where id = '`+d.Principal+`'`) })
		a := d.start(bulk.Tag, "x")
		o.Recover()
		a = ask[bulk.Act](admin, "bulk.get", op.ByID{ID: a.ID})
		if a.State != bulk.Stopped || a.Reason != bulk.NoRight || a.Counts[bulk.Changed] == 0 ||
			a.Counts[bulk.Changed] == 120 {
			t.Fatalf("%+v", a)
		}
		want(t, admin.act("bulk.resume", a), bulk.Finished, "changed 120") // an admin continues the act with their own rights
		f.Before(3, func() {
			set(t, o, `update organizations set state = 'closed' where id = '`+o.SandboxID+`'`)
		})
		b := admin.start(bulk.Untag, "x")
		o.Recover()
		if n := number(t, o, `select count(*) from bulk_acts where id = $1 and state = 'stopped' and reason = 'notOpen'`,
			b.ID); n != 1 {
			t.Error("the act did not stop in a closed organization")
		}
	})
}

// TestEveryStep ends a process at each transaction of an act and of its undo. It does so before
// the commit, or after the commit without a response. It checks that the next attempt repeats no
// change and leaves out none.
func TestEveryStep(t *testing.T) {
	ways := map[string]func(commit func() error) error{
		"before": func(func() error) error { return apitest.ErrStep },
		"after":  func(commit func() error) error { return errors.Join(commit(), apitest.ErrStep) },
	}
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d := sit(o, access.Member)
		d.contacts(120, `{"lastName":"Berg"}`)
		revision := int64(1)
		for how, way := range ways {
			for step := 1; ; step++ {
				filter := []string{"q=berg"}
				if step%2 == 0 {
					filter = nil
				}
				f.Arm(step, way)
				a := d.all(bulk.Tag, "x", filter...)
				want(t, a, bulk.Finished, "changed 120")
				if a.Records != 120 || a.Done != 120 {
					t.Fatalf("%s %d: %+v", how, step, a)
				}
				if revision++; number(t, o, `select count(*) from contacts where revision = $1`, revision) != 120 {
					t.Fatalf("%s %d: something was changed twice or not at all", how, step)
				}
				want(t, d.act("bulk.undo", a), bulk.Undone, "changed 120 restored 120")
				if revision++; number(t, o, `select count(*) from contacts where revision = $1`, revision) != 120 {
					t.Fatalf("%s %d: something was taken back twice or not at all", how, step)
				}
				if !f.Reached() {
					if step < 8 {
						t.Errorf("%s: only %d steps", how, step)
					}
					break
				}
			}
		}
		if n := number(t, o, `select count(*) from audit_lines where word in ('records.bulkDone', 'records.bulkUndone')`); n%2 != 0 || n == 0 {
			t.Errorf("%d lines of the audit log", n)
		}
	})
}

// TestTurns checks that two acts do not work at the same time.
func TestTurns(t *testing.T) {
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d := sit(o, access.Member)
		d.contacts(400, `{"lastName":"Berg"}`)
		a := d.start(bulk.Tag, "x")
		var second bulk.Act
		// The act needs many transactions. With 120 contacts, a fast machine needed only three.
		f.Before(4, func() { second = d.start(bulk.Untag, "x") })
		o.Recover()
		want(t, d.act("bulk.get", a), bulk.Finished, "changed 400")
		for watch := 0; second.State != bulk.Finished; watch++ {
			if watch > 5 {
				t.Fatalf("%+v", second)
			}
			o.Clock.Advance(3 * time.Second)
			second = d.act("bulk.get", second)
		}
		want(t, second, bulk.Finished, "changed 400")
	})
}

// TestForget checks that an act and its lines are deleted after seven days, but not while a job
// works on the act.
func TestForget(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		d.contacts(600, `{"lastName":"Berg"}`)
		a := d.all(bulk.Tag, "x")
		o.Clock.Advance(bulk.Age - time.Hour)
		d.cookie = o.Session(d.Principal)
		o.Recover()
		want(t, d.act("bulk.get", a), bulk.Finished, "changed 600")
		o.Clock.Advance(2 * time.Hour)
		d.cookie = o.Session(d.Principal)
		o.Recover()
		if n := number(t, o, `select count(*) from bulk_acts`) + number(t, o, `select count(*) from bulk_lines`); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if got := d.send("bulk.get", op.ByID{ID: a.ID}); got.Status != 404 {
			t.Errorf("%d", got.Status)
		}
	})
}
