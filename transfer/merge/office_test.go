package merge_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/merge"
)

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		f(t, apitest.New(t, d, apitest.Replicas(1), apitest.Repeated(), apitest.Versions(release.Versions...)))
	})
}

// desk is a person with an API key and with a session of the web application.
type desk struct {
	*apitest.Client
	cookie string
}

func sit(o *apitest.Office, role access.Role) desk {
	c := o.As(role)
	return desk{c, o.Session(c.Principal)}
}

// order merges the record from into the record into, as a program does with version 2027-02-01.
func (d desk) order(into, from string, values ...string) *apitest.Answer {
	d.Helper()
	revision := d.record(from)["revision"]
	return d.merge(into, map[string]any{"from": from, "fromRevision": revision, "values": append([]string{}, values...)},
		"If-Match", d.Do("GET", path(into), nil).Want(200).Header.Get("ETag"))
}

func (d desk) merge(into string, order any, headers ...string) *apitest.Answer {
	d.Helper()
	return d.Do("POST", path(into)+"/merge", order, append([]string{"Svc-Version", "2027-02-01"}, headers...)...)
}

// merged merges two records, waits for the end of the operation, and returns the merge.
func (d desk) merged(into, from string, values ...string) merge.Merge {
	d.Helper()
	if got := d.Await(d.order(into, from, values...).Want(202)).Text("status"); got != "succeeded" {
		d.Fatalf("the operation %s", got)
	}
	d.Rest()
	return ask[op.Entries[merge.Merge]](d, "merges.list", merge.ListInput{}).Data[0]
}

func (d desk) undone(m merge.Merge) merge.Merge {
	d.Helper()
	ask[merge.Merge](d, "merges.undo", op.ByID{ID: m.ID})
	d.Rest()
	return ask[merge.Merge](d, "merges.get", op.ByID{ID: m.ID})
}

func (d desk) create(family, members string) string {
	d.Helper()
	return d.Do("POST", "/"+family, members).Want(201).Text("id")
}

func (d desk) record(id string) map[string]any {
	d.Helper()
	return d.Do("GET", path(id), nil).Want(200).JSON()
}

// path returns the path of a record.
func path(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	return map[string]string{"con": "/contacts/", "cmp": "/companies/", "tsk": "/tasks/", "doc": "/documents/"}[prefix] + id
}

// send calls an operation of the web application.
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

// ask calls an operation, which must succeed, and decodes its response.
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

func number(t *testing.T, o *apitest.Office, query string, args ...any) (n int64) {
	t.Helper()
	if err := o.DB.Read(t.Context(), func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), query, args...).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
