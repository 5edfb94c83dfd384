package imports_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/audit"
	"kartei/imports"
	"kartei/settings"
	"kartei/test/apitest"
	"kartei/test/operator"
)

// The organization's switches are about programs: an import of a person works while
// its API is off.
func TestAPIOff(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		off := access.Off
		if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.SandboxID, Level: &off}); err != nil {
			t.Fatal(err)
		}
		x := d.run(d.check(d.upload("a.csv", "Nachname\nBerg\n"), imports.Skip))
		if x.State != imports.Finished || x.Counts[imports.Created] != 1 {
			t.Errorf("%+v", x)
		}
	})
}

// Each act is done at a page and by the command line: the same row has the same state
// then, and the same line of the audit log.
func TestTwoDoors(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		byPage := func(row string, in map[string]any) *api.Response { return d.send(row, in) }
		byCommand := func(row string, in map[string]any) *api.Response {
			in["organizationId"] = o.SandboxID
			if row == "imports.create" {
				in["principalId"] = d.Principal
			}
			body, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			return o.API.Do(t.Context(), &api.Request{
				Operation: row, Door: api.Admin, Credential: api.Local(), Address: netip.MustParseAddr("192.0.2.7"),
				HasBody: true, Body: func() ([]byte, error) { return body, nil },
			}, nil)
		}
		type seen struct{ row, line string }
		story := func(call func(string, map[string]any) *api.Response) (all map[string]seen) {
			all = map[string]seen{}
			var x imports.Import
			do := func(row string, in map[string]any) {
				t.Helper()
				before := linesOf(t, o)
				if x.ID != "" {
					in["id"] = x.ID
				}
				got := call(row, in)
				if got.Fault != nil {
					t.Fatalf("%s: %d %s", row, got.Status, got.Body)
				}
				if row == "imports.create" {
					if err := json.Unmarshal(got.Body, &x); err != nil {
						t.Fatal(err)
					}
				}
				o.Recover()
				if after := call("imports.get", map[string]any{"id": x.ID}); after.Fault == nil {
					var now imports.Import
					if err := json.Unmarshal(after.Body, &now); err != nil {
						t.Fatal(err)
					}
					now.ID = ""
					now.CreatedAt, now.KeptUntil = 0, 0
					s := seen{row: fmt.Sprintf("%+v", now)}
					after := linesOf(t, o)
					for _, l := range after[:len(after)-len(before)] {
						if l.Target != x.ID {
							t.Errorf("%s: a line about %s", row, l.Target)
						}
						s.line += fmt.Sprintln(l.Operation, l.Word, l.OrganizationID, l.Changes)
					}
					all[row] = s
				}
			}
			file := "Nachname;Mobil\nBerg;1\nHaas;2\n"
			do("imports.create", map[string]any{"fileName": "a.csv", "size": len(file)})
			do("imports.append", map[string]any{"number": 0, "content": []byte(file)})
			do("imports.complete", map[string]any{"pieces": 1})
			do("imports.map", map[string]any{"targets": []string{"lastName", "mobile"}, "duplicates": "skip", "tags": []string{"Umzug"}})
			do("imports.run", map[string]any{})
			do("imports.undo", map[string]any{})
			do("imports.lines", map[string]any{})
			do("imports.list", map[string]any{})
			do("imports.discard", map[string]any{})
			return all
		}
		// list and lines take no id of a wrong kind; each story names its own import.
		page, command := story(withoutID(byPage)), story(withoutID(byCommand))
		if len(page) < 8 {
			t.Errorf("only %d acts", len(page))
		}
		for row, want := range page {
			if got := command[row]; got != want {
				t.Errorf("%s by the command line:\n%+v\nand at a page:\n%+v", row, got, want)
			}
		}
	})
}

// withoutID leaves out the id of a row that takes none.
func withoutID(call func(string, map[string]any) *api.Response) func(string, map[string]any) *api.Response {
	return func(row string, in map[string]any) *api.Response {
		if row == "imports.list" || row == "imports.create" {
			delete(in, "id")
		}
		return call(row, in)
	}
}

// linesOf returns the lines of the audit log about imports, the newest first.
func linesOf(t *testing.T, o *apitest.Office) []audit.Line {
	t.Helper()
	page, err := operator.Do(t.Context(), o.Operator, settings.ListAudit, settings.AuditInput{Organization: o.SandboxID, Word: "records", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return page.Data
}

// The operator imports for a person, whose rights hold, and only in the organization
// that is named.
func TestOperator(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		viewer, member := o.User(access.Viewer), o.User(access.Member)
		foreign, _ := o.Organization("Andere")
		send := func(row string, in any) *api.Response {
			body, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			return o.API.Do(t.Context(), &api.Request{Operation: row, Door: api.Admin, Credential: api.Local(), HasBody: true, Body: func() ([]byte, error) { return body, nil }}, nil)
		}
		for in, want := range map[imports.CreateInput]int{
			{Organization: o.SandboxID, Principal: viewer}: 403, {Organization: o.SandboxID, Principal: "usr_x"}: 422, {Organization: o.SandboxID}: 422,
			{Principal: member}: 422, {Organization: foreign, Principal: member}: 422, {Organization: o.SandboxID, Principal: member}: 200,
		} {
			in.FileName, in.Size = "a.csv", 10
			got := send("imports.create", in)
			if got.Status != want {
				t.Errorf("%+v: %d %s", in, got.Status, got.Body)
			}
			if want != 200 {
				continue
			}
			var x imports.Import
			if err := json.Unmarshal(got.Body, &x); err != nil || x.PrincipalID != member {
				t.Errorf("%s", got.Body)
			}
			if got := send("imports.get", imports.Named{Organization: foreign, ID: x.ID}); got.Status != 404 {
				t.Errorf("in another organization: %d", got.Status)
			}
		}
	})
}

// An external id that a contact has which the person does not see is taken: the dry run
// and the import say so, and not by which contact.
func TestTakenUnseen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other := sit(o, access.Member), sit(o, access.Member)
		hidden := other.Do("POST", "/contacts", `{"lastName":"Geheim","externalId":"k1","visibility":"private"}`).Want(201).Text("id")
		x := d.check(d.upload("a.csv", "Nachname;Externe Kennung\nBerg;k1\nHaas;k2\n"), imports.Skip)
		for _, step := range []string{"check", "run"} {
			if x.Counts[imports.Refused] != 1 || x.Counts[imports.Created] != 1 {
				t.Errorf("%s: %v", step, x.Counts)
			}
			l := d.lines(x)[0]
			if len(l.Problems) != 1 || l.Problems[0].Field != "externalId" || l.Problems[0].Code != "DUPLICATE" || strings.Contains(fmt.Sprint(l), hidden) {
				t.Errorf("%s: %+v", step, l)
			}
			if step == "check" {
				x = d.run(x)
			}
		}
	})
}
