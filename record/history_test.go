package record_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/optest"
	"kartei/integration/grant"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/organization"
	records "kartei/record"
	contacts "kartei/record/contact"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// historyOf returns a page of the history as c sees it.
func historyOf(t *testing.T, c *apitest.Client, in lookup.HistoryInput) (page op.Entries[records.Change], err error) {
	t.Helper()
	err = c.Try(func(ctx context.Context, call *op.Call) (err error) {
		page, err = optest.Run(ctx, call, lookup.History, in)
		return err
	})
	return page, err
}

// lines returns the history of a record in short form: the revision, the act and the members of
// each line.
func lines(t *testing.T, c *apitest.Client, name string) (short []string) {
	t.Helper()
	page, err := historyOf(t, c, lookup.HistoryInput{ID: name})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range page.Data {
		short = append(short, strings.TrimSpace(fmt.Sprintln(l.Revision, l.Act, strings.Join(l.Members, " "))))
	}
	return short
}

// TestHistory checks that a history has the members, the author, the time, the door and the
// request of each change. It also checks that a history has no content.
func TestHistory(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		anna, ben := o.As(access.Member), o.As(access.Member)
		made := anna.Do("POST", "/contacts", `{"lastName":"Geheim","tags":["Geheim"],"address":{"city":"Geheim","street":"Weg 1"}}`).Want(201)
		name := made.Text("id")
		patch := func(c *apitest.Client, body string) *apitest.Answer {
			return c.Do("PATCH", "/contacts/"+name, body, "If-Match", "*").Want(200)
		}
		second := patch(ben, `{"lastName":"Berg","firstName":"Anna","address":{"city":"Köln"},"tags":["Neu"]}`)
		patch(ben, `{"lastName":"Berg","tags":["Neu"]}`) // changes nothing
		third := patch(anna, `{"address":null}`)
		page, err := historyOf(t, ben, lookup.HistoryInput{ID: name})
		if err != nil || page.HasMore || len(page.Data) != 3 {
			t.Fatalf("%+v, %v", page, err)
		}
		for i, want := range []struct {
			answer    *apitest.Answer
			principal string
			act       string
			members   []string
		}{
			{third, anna.Principal, "updated", []string{"address.street", "address.city"}},
			{second, ben.Principal, "updated", []string{"firstName", "lastName", "address.city", "tags"}},
			{made, anna.Principal, "created", []string{}},
		} {
			got := page.Data[i]
			at := strings.Trim(string(got.ChangedAt.AppendJSON(nil)), `"`)
			if got.Revision != int64(3-i) || got.Act != want.act || got.Principal != want.principal ||
				got.Door != apitest.Door() ||
				at != want.answer.Text("updatedAt") || got.RequestID != want.answer.Header.Get("Request-Id") ||
				!slices.Equal(got.Members, want.members) {
				t.Errorf("%+v, want %+v %s", got, want, want.answer.Body)
			}
		}
		if text, _ := json.Marshal(page); strings.Contains(string(text), "Geheim") {
			t.Errorf("a history holds content: %s", text)
		}
		first, err := historyOf(t, ben, lookup.HistoryInput{ID: name, Limit: 2})
		if err != nil || !first.HasMore || !reflect.DeepEqual(first.Data, page.Data[:2]) {
			t.Errorf("the first page: %+v, %v", first, err)
		}
		if rest, err := historyOf(t, ben, lookup.HistoryInput{ID: name, Limit: 2, Before: 2}); err != nil ||
			rest.HasMore || !reflect.DeepEqual(rest.Data, page.Data[2:]) {
			t.Errorf("the second page: %+v, %v", rest, err)
		}
		if rest, err := historyOf(t, ben, lookup.HistoryInput{ID: name, Before: 1}); err != nil || rest.HasMore ||
			len(rest.Data) != 0 {
			t.Errorf("behind the last page: %+v, %v", rest, err)
		}
	})
}

// TestHistoryOfActs checks that an act has its own verb in the history. Members that are computed
// from another changed member are not listed.
func TestHistoryOfActs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := apitest.New(t, d).As(access.Member)
		name := c.Do("POST", "/tasks", `{"title":"Akte"}`).Want(201).Text("id")
		for range 2 { // the second time changes nothing
			c.Do("POST", "/tasks/"+name+"/complete", nil).Want(200)
		}
		c.Do("PATCH", "/tasks/"+name, `{"priority":"high","dueAt":"2026-11-30T17:00:00Z"}`, "If-Match", "*").Want(200)
		if got, want := lines(t, c, name), []string{
			"3 updated priority dueAt", "2 completed status", "1 created",
		}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestHistoryIsSeenWithTheRecord checks that only callers who may read a record see its history.
// The history of a hidden record or of another organization's record is NOT_FOUND, as for an
// unknown id.
func TestHistoryIsSeenWithTheRecord(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		owner, other, admin := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		_, foreign := o.Organization("Andere")
		stranger := &apitest.Client{Office: o, Key: o.Key(o.User(access.Admin, foreign))}
		private := owner.Do("POST", "/contacts", `{"lastName":"Berg","visibility":"private"}`).Want(201).Text("id")
		for who, sees := range map[*apitest.Client]bool{owner: true, admin: true, other: false, stranger: false} {
			if _, err := historyOf(t, who, lookup.HistoryInput{ID: private}); fault.Is(err, fault.NotFound) == sees ||
				sees && err != nil {
				t.Errorf("%s: %v", who.Principal, err)
			}
		}
		for _, name := range []string{
			"", "con_", "con_01jb2z5k3xf0q8r9s7t6v5w4y3", "usr_01jb2z5k3xf0q8r9s7t6v5w4y3",
			"tsk" + strings.TrimPrefix(private, "con"),
		} {
			if _, err := historyOf(t, admin, lookup.HistoryInput{ID: name}); !fault.Is(err, fault.NotFound) {
				t.Errorf("%q: %v", name, err)
			}
		}
		tasks := &apitest.Client{Office: o, Key: o.Key(owner.Principal, "tasks:read")}
		if _, err := historyOf(t, tasks, lookup.HistoryInput{ID: private}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("without the right to read contacts: %v", err)
		}
		for _, limit := range []int{-1, 1001} {
			if _, err := historyOf(t, owner, lookup.HistoryInput{ID: private, Limit: limit}); !fault.Is(err,
				fault.ValidationFailed) {
				t.Errorf("a page of %d: %v", limit, err)
			}
		}
	})
}

// TestHistoryIsErasedWithTheRecord checks that the deletion of a record erases its history. The
// line of the deletion stays for callers who saw the record.
func TestHistoryIsErasedWithTheRecord(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		owner, other := o.As(access.Member), o.As(access.Member)
		for visibility, seen := range map[string]bool{"organization": true, "private": false} {
			name := owner.Do("POST", "/contacts", `{"lastName":"Berg","visibility":"`+visibility+`"}`).Want(201).Text("id")
			owner.Do("PATCH", "/contacts/"+name, `{"lastName":"Tal"}`, "If-Match", "*").Want(200)
			deletion := owner.Do("DELETE", "/contacts/"+name, nil, "If-Match", "*").Want(204).Header.Get("Request-Id")
			page, err := historyOf(t, owner, lookup.HistoryInput{ID: name})
			if err != nil || len(page.Data) != 1 || page.Data[0].Act != "deleted" || page.Data[0].Revision != 3 ||
				page.Data[0].RequestID != deletion || page.Data[0].Principal != owner.Principal {
				t.Errorf("%+v, %v", page, err)
			}
			if page, err := historyOf(t, other, lookup.HistoryInput{ID: name}); (err == nil &&
				len(page.Data) == 1) != seen || !seen && !fault.Is(err, fault.NotFound) {
				t.Errorf("%s, another member: %+v, %v", visibility, page, err)
			}
			var left, named int64
			if err := d.Read(t.Context(), func(tx db.Tx) error {
				if err := tx.QueryRow(t.Context(), `select count(*) from record_changes where record_id = $1`,
					name).Scan(&left); err != nil {
					return err
				}
				return tx.QueryRow(t.Context(), `select count(*) from contacts where id = $1 and created_by || created_door || created_request || created_credential <> ''`, name).Scan(&named)
			}); err != nil || left != 1 || named != 0 {
				t.Errorf("%d lines, and the creation in %d rows: %v", left, named, err)
			}
		}
	})
}

// TestHistoryWhileTheModuleIsOff checks that changes reach the history and the subscribers while
// the organization's module is off. Such changes have no events.
func TestHistoryWhileTheModuleIsOff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		c := o.As(access.Member)
		off := "off"
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.SandboxID, Module: &off}); err != nil {
			t.Fatal(err)
		}
		var told []string
		var mu sync.Mutex
		defer d.SubscribeLocal(records.Topic, func(word string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, word)
		})()
		var name string
		changes := []func(context.Context, *op.Call) error{
			func(ctx context.Context, call *op.Call) error {
				made, err := task.Tasks.Create(ctx, call, &task.Fields{Title: "Akte"})
				name = strings.TrimPrefix(made.Location(), "/tasks/")
				return err
			},
			func(ctx context.Context, call *op.Call) error {
				_, err := task.Finish(ctx, call, op.ByID{ID: name})
				return err
			},
			func(ctx context.Context, call *op.Call) error {
				_, err := task.Tasks.Delete(ctx, call, op.ByID{ID: name})
				return err
			},
		}
		for i, want := range [][]string{{"1 created"}, {"2 completed status", "1 created"}, {"3 deleted"}} {
			c.Inside(changes[i])
			if got := lines(t, c, name); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			mu.Lock()
			if len(told) != i+1 {
				t.Errorf("after %d changes subscribers were told %q", i+1, told)
			} else if organization, family, tick := records.Told(told[i]); organization == 0 || family != "tasks" || tick == 0 {
				t.Errorf("subscribers were told %q", told[i])
			}
			mu.Unlock()
		}
		var events int64
		if err := d.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select count(*) from events`).Scan(&events)
		}); err != nil || events != 0 {
			t.Errorf("%d events, %v", events, err)
		}
	})
}

// TestHistoryIsBounded checks that a history keeps the last 200 changes and the creation.
func TestHistoryIsBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := apitest.New(t, d).As(access.Member)
		name := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		const changes = 205
		c.Inside(func(ctx context.Context, call *op.Call) error {
			for i := range changes {
				patch := records.UpdateInput[contacts.Fields]{ID: name}
				patch.Patch.SetRaw(fmt.Appendf(nil, `{"lastName":"Berg %d"}`, i))
				if _, err := contacts.Contacts.Update(ctx, call, patch); err != nil {
					return err
				}
			}
			return nil
		})
		page, err := historyOf(t, c, lookup.HistoryInput{ID: name, Limit: 1000})
		if err != nil || len(page.Data) != 201 {
			t.Fatalf("%d lines, %v", len(page.Data), err)
		}
		if newest, oldest, first := page.Data[0].Revision, page.Data[199].Revision, page.Data[200]; newest != changes+1 ||
			oldest != newest-199 || first.Revision != 1 || first.Act != "created" {
			t.Errorf("from %d to %d, and %+v", newest, oldest, first)
		}
	})
}

// TestHistoryOfCaretakers checks that a change by a caretaker has the requester as its principal.
func TestHistoryOfCaretakers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c, successor := o.As(access.Admin), o.User(access.Member)
		name := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		c.Inside(func(ctx context.Context, call *op.Call) error {
			caretaker, err := access.CaretakerOf(ctx, call.Tx, call.Actor.Org())
			if err != nil {
				return err
			}
			work := *call
			work.Actor, work.Requester, work.Door = caretaker, "usr_1", "job"
			_, _, err = contacts.Contacts.HandOver(ctx, &work, name, records.Handover{From: c.Principal, To: successor})
			return err
		})
		page, err := historyOf(t, c, lookup.HistoryInput{ID: name})
		if err != nil || page.Data[0].Principal != "usr_1" || page.Data[0].Door != "job" {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

// TestHistoryNamesCredentials checks that a line has the API key of its change and the creator of
// the key, or the grant. A change by a person in the web application has neither.
func TestHistoryNamesCredentials(t *testing.T) {
	apitest.Through(t, "")
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c, other := o.As(access.Member), o.Key(o.User(access.Member))
		name := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		key := &apitest.Client{Office: o, Principal: c.Principal, Key: o.Key(c.Principal)}
		admin := o.User(access.Admin)
		dbtest.Run(t, d, `update api_keys set made_by = $1, name = 'CRM' where principal_id = $2 and kid like $3`, admin,
			c.Principal, strings.Split(key.Key, "_")[2]+"%")
		key.Do("PATCH", "/contacts/"+name, `{"lastName":"Tal"}`, "If-Match", "*").Want(200)
		client := grant.Client{
			Kind:         grant.Registered,
			Name:         "Kalender",
			RedirectURIs: []string{"https://crm.example/cb"},
			Method:       grant.NoSecret,
		}
		token := &apitest.Client{
			Office: o, Key: o.Connect(&client, c.Principal, access.V1, "contacts:read", "contacts:write").Access,
		}
		token.Do("PATCH", "/contacts/"+name, `{"lastName":"See"}`, "If-Match", "*").Want(200)
		c.BySession(c.Request("PATCH", "/contacts/"+name, `{"lastName":"Bach"}`, "If-Match", "*")).Want(200)
		page, err := historyOf(t, &apitest.Client{Office: o, Key: other}, lookup.HistoryInput{ID: name})
		if err != nil || len(page.Data) != 4 {
			t.Fatalf("%+v, %v", page, err)
		}
		if line := page.Data[0]; line.Credential != "" || line.Key != nil || line.Principal != c.Principal {
			t.Errorf("in the web application: %+v", line)
		}
		if line := page.Data[1]; !id.Valid(id.Grant, line.Credential) || line.Key != nil {
			t.Errorf("by an application: %+v", line)
		}
		if line := page.Data[2]; line.Key == nil || line.Key.Name != "CRM" || line.Key.MadeBy != admin ||
			line.Key.Environment != "test" || len(line.Key.KidShort) != 8 || !strings.Contains(key.Key, line.Key.KidShort) {
			t.Errorf("by a key: %+v, %+v", line, line.Key)
		}
		if line := page.Data[3]; line.Act != "created" || !id.Valid(id.Key, line.Credential) || line.Key == nil ||
			!strings.Contains(c.Key, line.Key.KidShort) {
			t.Errorf("the creation: %+v, %+v", line, line.Key)
		}
	})
}

// TestHistoryOfConcurrentChanges checks that the history has a line for each revision after
// concurrent changes.
func TestHistoryOfConcurrentChanges(t *testing.T) {
	eachAndReplicas(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		name := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		var working sync.WaitGroup
		var mu sync.Mutex
		requests := map[string]bool{}
		for i := range 8 {
			working.Go(func() {
				for n := range 5 {
					a := c.Do("PATCH", "/contacts/"+name, fmt.Sprintf(`{"lastName":"Berg %d %d"}`, i, n), "If-Match", "*")
					if a.Status == http.StatusOK {
						mu.Lock()
						requests[a.Header.Get("Request-Id")] = true
						mu.Unlock()
					}
				}
			})
		}
		working.Wait()
		page, err := historyOf(t, c, lookup.HistoryInput{ID: name})
		if err != nil || len(page.Data) != len(requests)+1 {
			t.Fatalf("%d lines for %d changes and a creation: %v", len(page.Data), len(requests), err)
		}
		for i, l := range page.Data {
			if l.Revision != int64(len(page.Data)-i) || l.Revision > 1 && !requests[l.RequestID] {
				t.Errorf("line %d is %+v", i, l)
			}
		}
	})
}
