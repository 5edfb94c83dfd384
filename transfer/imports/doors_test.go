package imports_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/people/organization"
	"kartei/test/apitest"
	"kartei/test/operator"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// TestAPIOff checks that a person can import while the API of the organization is off. That switch
// affects only programs.
func TestAPIOff(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		off := access.Off
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.SandboxID, Level: &off}); err != nil {
			t.Fatal(err)
		}
		x := d.run(d.check(d.upload("a.csv", "Nachname\nBerg\n"), mapping.Skip))
		if x.State != imports.Finished || x.Counts[imports.Created] != 1 {
			t.Errorf("%+v", x)
		}
	})
}

// TestTwoDoors checks that each operation has the same effect in the web application and on the
// command line. The import has the same state afterwards, and the audit log has the same lines.
func TestTwoDoors(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		page := tell(t, o, func(row string, in map[string]any) *api.Response { return d.send(row, in) })
		command := tell(t, o, func(row string, in map[string]any) *api.Response {
			in["organizationId"] = o.SandboxID
			if row == "imports.create" {
				in["principalId"] = d.Principal
			}
			return operate(t, o, row, in)
		})
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

// operate calls an operation as the operator.
func operate(t *testing.T, o *apitest.Office, row string, in any) *api.Response {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return o.API.Do(t.Context(), &api.Request{
		Operation: api.ByID(row), Door: api.Admin, Credential: api.Local(), Address: netip.MustParseAddr("192.0.2.7"),
		HasBody: true, Body: func() ([]byte, error) { return body, nil },
	}, nil)
}

// story is an import on which one client calls all operations.
type story struct {
	*testing.T
	office *apitest.Office
	call   func(row string, in map[string]any) *api.Response
	id     string
	seen   map[string]trace // by operation
}

// trace is the effect of an operation: the state of the import, and the new lines of the audit log.
type trace struct{ state, lines string }

// tell calls all operations with an import of its own, and returns their traces.
func tell(t *testing.T, o *apitest.Office, call func(row string, in map[string]any) *api.Response) map[string]trace {
	t.Helper()
	s := &story{T: t, office: o, call: call, seen: map[string]trace{}}
	file := "Nachname;Mobil\nBerg;1\nHaas;2\n"
	for _, act := range []struct {
		row string
		in  map[string]any
	}{
		{"imports.create", map[string]any{"fileName": "a.csv", "size": len(file)}},
		{"imports.append", map[string]any{"number": 0, "content": []byte(file)}},
		{"imports.complete", map[string]any{"pieces": 1}},
		{
			"imports.map",
			map[string]any{"targets": []string{"lastName", "mobile"}, "duplicates": "skip", "tags": []string{"Umzug"}},
		},
		{"imports.run", map[string]any{}},
		{"imports.undo", map[string]any{}},
		{"imports.lines", map[string]any{}},
		{"imports.list", map[string]any{}},
		{"imports.discard", map[string]any{}},
	} {
		s.do(act.row, act.in)
	}
	return s.seen
}

// do calls an operation, and stores its trace.
func (s *story) do(row string, in map[string]any) {
	s.Helper()
	before := len(linesOf(s.T, s.office))
	if s.id != "" && row != "imports.list" {
		in["id"] = s.id
	}
	got := s.call(row, in)
	if got.Fault != nil {
		s.Fatalf("%s: %d %s", row, got.Status, got.Body)
	}
	if row == "imports.create" {
		s.id = s.decode(got).ID
	}
	s.office.Recover()
	after := s.call("imports.get", map[string]any{"id": s.id})
	if after.Fault != nil {
		return // discarded
	}
	now := s.decode(after)
	now.ID, now.CreatedAt, now.KeptUntil = "", 0, 0 // these values differ between two imports
	s.seen[row] = trace{fmt.Sprintf("%+v", now), s.linesSince(row, before)}
}

func (s *story) decode(a *api.Response) (x imports.Import) {
	s.Helper()
	if err := json.Unmarshal(a.Body, &x); err != nil {
		s.Fatal(err)
	}
	return x
}

// linesSince returns the new lines of the audit log. It fails the test if a line is about another
// import.
func (s *story) linesSince(row string, before int) (lines string) {
	s.Helper()
	all := linesOf(s.T, s.office)
	for _, l := range all[:len(all)-before] {
		if l.Target != s.id {
			s.Errorf("%s: a line about %s", row, l.Target)
		}
		lines += fmt.Sprintln(l.Operation, l.Word, l.OrganizationID, l.Changes)
	}
	return lines
}

// linesOf returns the lines of the audit log about imports, the newest first.
func linesOf(t *testing.T, o *apitest.Office) []audit.Line {
	t.Helper()
	page, err := operator.Run(t.Context(), o.Operator, auditlog.List, auditlog.Input{
		Organization: o.SandboxID, Word: "records", Limit: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return page.Data
}

// TestOperator checks that the operator can import for a person, with the rights of that person.
// The import must be in the organization of the input.
func TestOperator(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		viewer, member := o.User(access.Viewer), o.User(access.Member)
		foreign, _ := o.Organization("Andere")
		for in, want := range map[imports.CreateInput]int{
			{Organization: o.SandboxID, Principal: viewer}: 403, {Organization: o.SandboxID, Principal: "usr_x"}: 422,
			{Organization: o.SandboxID}: 422,
			{Principal: member}:         422, {Organization: foreign, Principal: member}: 422,
			{Organization: o.SandboxID, Principal: member}: 200,
		} {
			in.FileName, in.Size = "a.csv", 10
			got := operate(t, o, "imports.create", in)
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
			if got := operate(t, o, "imports.get", imports.Reference{Organization: foreign, ID: x.ID}); got.Status != 404 {
				t.Errorf("in another organization: %d", got.Status)
			}
		}
	})
}

// TestTakenUnseen checks an external id that belongs to a contact which the person cannot see. The
// id counts as taken. Neither the dry run nor the import names the contact.
func TestTakenUnseen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other := sit(o, access.Member), sit(o, access.Member)
		hidden := other.Do("POST", "/contacts",
			`{"lastName":"Geheim","externalId":"k1","visibility":"private"}`).Want(201).Text("id")
		x := d.check(d.upload("a.csv", "Nachname;Externe Kennung\nBerg;k1\nHaas;k2\n"), mapping.Skip)
		for _, step := range []string{"check", "run"} {
			if x.Counts[imports.Refused] != 1 || x.Counts[imports.Created] != 1 {
				t.Errorf("%s: %v", step, x.Counts)
			}
			l := d.lines(x)[0]
			if len(l.Problems) != 1 || l.Problems[0].Field != "externalId" || l.Problems[0].Code != "DUPLICATE" ||
				strings.Contains(fmt.Sprint(l), hidden) {
				t.Errorf("%s: %+v", step, l)
			}
			if step == "check" {
				x = d.run(x)
			}
		}
	})
}
