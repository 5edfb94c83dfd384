package bulk_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/bulk"
)

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d, apitest.Replicas(1), apitest.Repeated())) })
}

// faultyEach runs a test with an office whose jobs meet faults.
func faultyEach(t *testing.T, test func(t *testing.T, o *apitest.Office, f *apitest.Faults)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		f := new(apitest.Faults)
		test(t, apitest.New(t, d, apitest.Replicas(1), apitest.Faulty(f)), f)
	})
}

// desk is a person with a session of the web application, in the sandbox like test keys.
type desk struct {
	*apitest.Client
	cookie string
}

func sit(o *apitest.Office, role access.Role) desk {
	c := o.As(role)
	return desk{c, o.Session(c.Principal)}
}

// send calls the operation row.
func (d desk) send(row string, in any) *api.Response {
	d.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		d.Fatal(err)
	}
	return d.API.Do(d.Context(), &api.Request{
		Operation: api.ByID(row), Door: api.Web, Credential: api.Cookie(d.cookie, true),
		Address: netip.MustParseAddr("192.0.2.7"),
		Header:  map[string][]string{"Accept-Language": {"de"}}, HasBody: true,
		Body: func() ([]byte, error) { return body, nil },
	}, nil)
}

// ask calls the operation row, which must succeed, and decodes its response.
func ask[T any](d desk, row string, in any) (out T) {
	d.Helper()
	got := d.send(row, in)
	if got.Fault != nil {
		d.Fatalf("%s: %d %s", row, got.Status, got.Body)
	}
	if err := json.Unmarshal(got.Body, &out); err != nil {
		d.Fatal(err)
	}
	return out
}

// start begins an act on the contacts of a list. It does not wait for the job.
func (d desk) start(kind bulk.Kind, value string, filters ...string) bulk.Act {
	d.Helper()
	in := bulk.StartInput{Family: "contacts", Kind: kind, Value: value, Filters: map[string]string{}}
	for _, f := range filters {
		if name, value, _ := strings.Cut(f, "="); name == "q" {
			in.Q = value
		} else {
			in.Filters[name] = value
		}
	}
	return ask[bulk.Act](d, "bulk.start", in)
}

// all begins an act on all contacts of a list and waits for its job.
func (d desk) all(kind bulk.Kind, value string, filters ...string) bulk.Act {
	d.Helper()
	made := d.start(kind, value, filters...)
	d.Recover()
	return d.act("bulk.get", made)
}

// act calls the operation row on an act, and waits for its job.
func (d desk) act(row string, a bulk.Act) bulk.Act {
	d.Helper()
	ask[bulk.Act](d, row, op.ByID{ID: a.ID})
	d.Recover()
	return ask[bulk.Act](d, "bulk.get", op.ByID{ID: a.ID})
}

// report returns the report about an act.
func (d desk) report(a bulk.Act) bulk.Report {
	d.Helper()
	return ask[bulk.Report](d, "bulk.report", op.ByID{ID: a.ID})
}

// contact creates a contact and returns its id.
func (d desk) contact(members string) string {
	d.Helper()
	return d.Do("POST", "/contacts", members).Want(201).Text("id")
}

// contacts creates n contacts, twenty in each call.
func (d desk) contacts(n int, members string) {
	d.Helper()
	for n > 0 {
		var calls []string
		for range min(n, 20) {
			calls = append(calls, fmt.Sprintf(`{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"%s"},"body":%s}`, id.New(id.Request), members))
			n--
		}
		d.Do("POST", "/batch", `{"calls":[`+strings.Join(calls, ",")+`]}`).Want(200)
	}
}

// member returns a member of a contact as text.
func (d desk) member(id, name string) string {
	d.Helper()
	return fmt.Sprint(d.Do("GET", "/contacts/"+id, nil).Want(200).JSON()[name])
}

// change changes a contact with a single call.
func (d desk) change(id, members string) {
	d.Helper()
	d.Do("PATCH", "/contacts/"+id, members, "If-Match", "*").Want(200)
}

// want fails the test unless an act has a state and these counts, for example "changed 3 refused
// 1".
func want(t *testing.T, a bulk.Act, state bulk.State, counts string) {
	t.Helper()
	var got []string
	for _, o := range []bulk.Outcome{bulk.Changed, bulk.Unchanged, bulk.Refused, bulk.Gone, bulk.Restored, bulk.Kept} {
		if n := a.Counts[o]; n > 0 {
			got = append(got, fmt.Sprintf("%s %d", o, n))
		}
	}
	if said := strings.Join(got, " "); a.State != state || said != counts {
		t.Fatalf("the act is %s (%s) with %q, want %s with %q", a.State, a.Reason, said, state, counts)
	}
}

// number returns the number that a query selects.
func number(t *testing.T, o *apitest.Office, query string, args ...any) (n int64) {
	t.Helper()
	if err := o.DB.Read(t.Context(), func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), query, args...).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// set executes a statement.
func set(t *testing.T, o *apitest.Office, statement string) {
	t.Helper()
	err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
