package api

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/release"
)

// contractRows are the operations in the contract's table: method, path, channel, scope and cost.
// If the channel is a version, the operation is stable from this version on.
const contractRows = `
GET /me stable none 1
GET /rate_limit stable none 1
GET /openapi.json stable none 1
GET /contacts stable contacts:read 2
POST /contacts 2027-02-01 contacts:write 5
GET /contacts/count stable contacts:read 2
GET /contacts/{id} stable contacts:read 1
PATCH /contacts/{id} 2027-02-01 contacts:write 5
DELETE /contacts/{id} 2027-02-01 contacts:write 10
GET /companies stable companies:read 2
POST /companies 2027-02-01 companies:write 5
GET /companies/count stable companies:read 2
GET /companies/{id} stable companies:read 1
PATCH /companies/{id} 2027-02-01 companies:write 5
DELETE /companies/{id} 2027-02-01 companies:write 10
GET /tasks stable tasks:read 2
POST /tasks 2027-02-01 tasks:write 5
GET /tasks/count stable tasks:read 2
GET /tasks/{id} stable tasks:read 1
PATCH /tasks/{id} 2027-02-01 tasks:write 5
DELETE /tasks/{id} 2027-02-01 tasks:write 10
POST /tasks/{id}/complete 2027-02-01 tasks:write 5
GET /documents stable documents:read 2
POST /documents preview documents:write 10
GET /documents/count stable documents:read 2
GET /documents/{id} stable documents:read 1
PATCH /documents/{id} preview documents:write 5
DELETE /documents/{id} preview documents:write 10
GET /documents/{id}/content stable documents:read 1
POST /uploads preview documents:write 5
POST /batch preview none 0
GET /operations/{id} stable none 1
GET /webhook_endpoints stable webhook_endpoints:read 2
POST /webhook_endpoints preview webhook_endpoints:write 5
GET /webhook_endpoints/{id} stable webhook_endpoints:read 1
PATCH /webhook_endpoints/{id} preview webhook_endpoints:write 5
DELETE /webhook_endpoints/{id} preview webhook_endpoints:write 10
POST /webhook_endpoints/{id}/test preview webhook_endpoints:write 5
POST /webhook_endpoints/{id}/rotate_secret preview webhook_endpoints:write 5
GET /webhook_endpoints/{id}/deliveries stable webhook_endpoints:read 2
GET /events stable none 1
GET /events/{id} stable none 1
`

func TestTableMatchesContract(t *testing.T) {
	want := strings.Split(strings.TrimSpace(contractRows), "\n")
	rows := slices.Clone(Operations)
	rows = slices.DeleteFunc(rows, func(o Operation) bool { return !o.In(release.Versions[0].Name) })
	if len(want) != len(rows) {
		t.Fatalf("%d rows, the contract has %d", len(rows), len(want))
	}
	for i := range rows {
		op := &rows[i]
		channel, scope := "preview", "none"
		for _, v := range slices.Backward(release.Versions) {
			if !op.Channel.Preview(v.Name) {
				channel = v.Name
			}
		}
		if channel == release.Versions[0].Name {
			channel = "stable"
		}
		if op.Scope != "" {
			scope = op.Scope
		}
		if row := fmt.Sprintf("%s %s %s %s %d", op.Method, op.Path, channel, scope, op.Cost); row != want[i] {
			t.Errorf("row %d is %s, the contract says %s", i, row, want[i])
		}
	}
}

// methods maps each act, the kind of an operation, to its HTTP method.
var methods = map[op.Act]string{
	op.Read: "GET", op.Get: "GET", op.Create: "POST", op.Update: "PATCH", op.Delete: "DELETE",
	op.Merge: "POST", op.Change: "POST", op.Bundle: "POST",
}

// TestColumnsAgree checks that the properties of each operation agree with its path.
func TestColumnsAgree(t *testing.T) {
	families := map[string]string{
		"me": "meta", "rateLimit": "meta", "openapi": "meta", "webhookEndpoints": "webhook_endpoints",
	}
	for i := range Operations {
		op := &Operations[i]
		if want := methods[op.Act]; op.Method != want {
			t.Errorf("%s: the act %q has the method %q, the row says %s", op.ID, op.Act, want, op.Method)
		}
		if in := strings.Contains(op.Path, "{id}"); in != op.Named() {
			t.Errorf("%s: the act %q names a record: %t, the path %s does: %t", op.ID, op.Act, op.Named(), op.Path, in)
		}
		if in := op.Run.bind.path >= 0; in != op.Named() {
			t.Errorf("%s: the act %q names a record: %t, the input %s takes one: %t", op.ID, op.Act, op.Named(), op.Input, in)
		}
		family, _, _ := strings.Cut(op.ID, ".")
		if want := cmp.Or(families[family], family); op.Family != want {
			t.Errorf("%s is of the family %s, the row says %s", op.ID, want, op.Family)
		}
	}
}

func TestRows(t *testing.T) {
	ids := regexp.MustCompile(`^[a-z][A-Za-z]+\.[a-z][A-Za-z]+$`)
	events := regexp.MustCompile(`^[a-z]+\.[a-z]+$`)
	for i := range Operations {
		op := &Operations[i]
		if !ids.MatchString(op.ID) {
			t.Errorf("%s: the id is not family.verb", op.ID)
		}
		if op.Cost < 1 && op.ID != "batch.run" {
			t.Errorf("%s costs nothing", op.ID)
		}
		if op.Scope != "" && !slices.Contains(access.AllScopes(), op.Scope) {
			t.Errorf("%s: there is no scope %s", op.ID, op.Scope)
		}
		if writes := strings.HasSuffix(op.Scope, ":write"); op.Scope != "" && writes != op.Writes() {
			t.Errorf("%s: method %s and scope %s", op.ID, op.Method, op.Scope)
		}
		for _, e := range op.Events {
			if !events.MatchString(e) || op.Method == http.MethodGet {
				t.Errorf("%s emits %q", op.ID, e)
			}
		}
		outside := []string{"openapi.get", "documents.content", "uploads.create", "batch.run"} // open points, 'Batch'
		if in := op.Family != "webhook_endpoints" && !slices.Contains(outside, op.ID); in != op.Batch {
			t.Errorf("%s: may be a part of a batch is %v", op.ID, op.Batch)
		}
	}
}

// TestTableIsShown compares the table of operations with testdata/operations.txt. With
// KARTEI_TEST_UPDATE=1 it writes the file.
func TestTableIsShown(t *testing.T) {
	const name = "testdata/operations.txt"
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "id\tact\troute\tfrom\twho\tscope\tpoints\tbatch\tevents\taudit\tcolumns")
	for i := range Table {
		o := &Table[i]
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\t%s\t%s\t%d\t%t\t%s\t%s\t%s\n", o.ID, o.Act, o.Method, o.Path, o.Channel, o.Who,
			o.Scope, o.Cost, o.Batch, strings.Join(o.Events, ","), o.Audit, columns(o))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(` +\n`).ReplaceAllString(b.String(), "\n")
	if os.Getenv("KARTEI_TEST_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != got {
		t.Errorf("%s is not the table (%v): write it with KARTEI_TEST_UPDATE=1 go test ./api -run TestTableIsShown", name,
			err)
	}
}

// columns returns the names of the properties that an operation has, for testdata/operations.txt.
func columns(o *Operation) string {
	var set []string
	for _, c := range []struct {
		name string
		is   bool
	}{
		{"fresh", o.Fresh}, {"always", o.Always}, {"setup", o.Setup}, {"unstored", o.Unstored}, {"reads", o.Reads},
		{"gives", o.Gives},
		{"prefetch", o.Run.Prefetch != nil}, {"body", o.HasBody()}, {"secret", o.Secret()}, {"records", o.Counted()},
		{"status " + strconv.Itoa(o.Status()), o.Status() != 200},
	} {
		if c.is {
			set = append(set, c.name)
		}
	}
	for _, code := range o.Faults {
		set = append(set, string(code))
	}
	return strings.Join(set, ", ")
}
