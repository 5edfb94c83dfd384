package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/kit/id"
	"kartei/test/apitest"
)

// brokenBody is a body that the schema accepts and that breaks all rules that need no database.
// brokenBodies has all of these rules.
type brokenBody struct {
	body map[string]any
	// rules are the expected errors, in the order of the sorted members of the body.
	rules []brokenRule
}

type brokenRule struct {
	field, code string
	reads       []string // the members that the rule reads; nil means only the field of the error
}

var brokenBodies = map[string]brokenBody{
	"contacts.create": {
		body: map[string]any{"firstName": nil, "lastName": nil, "email": nil},
		rules: []brokenRule{
			{"firstName", "REQUIRED", []string{"firstName", "lastName", "email"}},
			{"lastName", "REQUIRED", []string{"firstName", "lastName", "email"}},
			{"email", "REQUIRED", []string{"firstName", "lastName", "email"}},
		},
	},
	"contacts.update": {
		body:  map[string]any{"firstName": nil, "lastName": nil, "email": nil},
		rules: []brokenRule{{"lastName", "REQUIRED", []string{"firstName", "lastName", "email"}}},
	},
	"companies.create": {body: map[string]any{"name": "Brauhaus"}},
	"companies.update": {body: map[string]any{"name": "Brauhaus"}},
	"tasks.create": {
		body:  map[string]any{"title": "Klage", "status": "completed"},
		rules: []brokenRule{{"status", "READ_ONLY", nil}},
	},
	"tasks.update": {body: map[string]any{"status": "completed"}}, // the task may have this status already
	"documents.create": {
		body:  map[string]any{"uploadId": id.New(id.Upload), "name": " .. "},
		rules: []brokenRule{{"name", "INVALID_FORMAT", nil}},
	},
	"documents.update": {
		body:  map[string]any{"name": "a/b"},
		rules: []brokenRule{{"name", "INVALID_FORMAT", nil}},
	},
	"uploads.create": {
		body: map[string]any{"fileName": "a/b", "contentType": "application/x-nonsense", "size": 1 << 50},
		rules: []brokenRule{
			{"contentType", "NOT_IN_ENUM", nil},
			{"fileName", "INVALID_FORMAT", nil},
			{"size", "OUT_OF_RANGE", nil},
		},
	},
	"webhookEndpoints.create": {
		body:  map[string]any{"name": "CRM", "url": "http://crm.example.com/", "eventTypes": []any{"contact.created"}},
		rules: []brokenRule{{"url", "INVALID_FORMAT", nil}},
	},
	"webhookEndpoints.update": {
		body:  map[string]any{"url": "https://127.0.0.1/"},
		rules: []brokenRule{{"url", "INVALID_FORMAT", nil}},
	},
	"batch.run": {
		body: map[string]any{"calls": []any{
			map[string]any{"id": "a", "method": "GET", "path": "/me"},
			map[string]any{"id": "a", "method": "GET", "path": "/%zz"},
			map[string]any{"id": "b", "method": "POST", "path": "/batch"},
			map[string]any{"id": "5", "method": "GET", "path": "/invoices"},
			map[string]any{"method": "GET", "path": "/me"},
			map[string]any{"method": "GET", "path": "/me"},
		}},
		rules: []brokenRule{
			{"calls[1].id", "DUPLICATE", []string{"calls[0].id", "calls[1].id"}},
			{"calls[1].path", "INVALID_FORMAT", nil},
			{"calls[2].path", "NOT_IN_ENUM", []string{"calls[2].method", "calls[2].path"}},
			{"calls[3].id", "DUPLICATE", []string{"calls[3].id", "calls[5].id"}},
			{"calls[3].path", "NOT_IN_ENUM", []string{"calls[3].method", "calls[3].path"}},
		},
	},
}

// TestWalkAllErrorsAtOnce checks that the errors of the schema and the errors of the rules come in
// one response, for every operation with a body. Each member has at most one error, and the errors
// are in the order of the body. No rule applies to a member that the schema refuses.
func TestWalkAllErrorsAtOnce(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	left := maps.Clone(brokenBodies)
	for op := range rows() {
		if !op.HasBody() {
			continue
		}
		b, known := brokenBodies[op.ID]
		if !known {
			t.Errorf("%s takes a body: which rules it has belongs into brokenBodies", op.ID)
			continue
		}
		delete(left, op.ID)
		t.Run(op.ID, func(t *testing.T) {
			refused := func(name, code string, body any) {
				t.Helper()
				want := []string{name + " " + code}
				for _, rule := range b.rules {
					reads := append(slices.Clone(rule.reads), rule.field)
					if !slices.ContainsFunc(reads, func(read string) bool {
						return read == name || strings.HasPrefix(read, name+"[") || strings.HasPrefix(read, name+".")
					}) {
						want = append(want, rule.field+" "+rule.code)
					}
				}
				slices.Sort(want)
				sorted, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				a := c.Do(op.Method, somePath(op), string(sorted), "If-Match", "*").Want(422, "VALIDATION_FAILED")
				a.TB = t
				wantFields(t, a, want...)
			}
			refused("zzz", "UNKNOWN_FIELD", with(b.body, "zzz", 1))
			for _, name := range bodyMembers(op) {
				refused(name, "INVALID_TYPE", with(b.body, name, true))
			}
			if op.ID == "batch.run" {
				for i, call := range b.body["calls"].([]any) {
					spoilt := func(value any) any {
						calls := slices.Clone(b.body["calls"].([]any))
						calls[i] = value
						return with(b.body, "calls", calls)
					}
					refused(fmt.Sprintf("calls[%d]", i), "INVALID_TYPE", spoilt(true))
					for _, name := range []string{"id", "method", "path", "headers"} {
						refused(fmt.Sprintf("calls[%d].%s", i, name), "INVALID_TYPE", spoilt(with(call.(map[string]any), name, true)))
					}
				}
			}
		})
	}
	for name := range left {
		t.Errorf("%s takes no body", name)
	}
}

// with returns a copy of members with one more member.
func with(members map[string]any, name string, value any) map[string]any {
	members = maps.Clone(members)
	members[name] = value
	return members
}

// bodyMembers returns the members that the OpenAPI document allows in an operation's body.
func bodyMembers(op *api.Operation) []string {
	media := document().Paths[op.Path][strings.ToLower(op.Method)].RequestBody.Content["application/json"]
	return slices.Sorted(maps.Keys(resolve(media.Schema).Properties))
}

// TestAllErrorsInOneAnswer checks that one response has the errors of missing members, of numbers
// that Go cannot decode, and of broken rules. The errors from the operation itself are added only
// if every value has a valid form.
func TestAllErrorsInOneAnswer(t *testing.T) { each(t, allErrorsInOneAnswer) }

func allErrorsInOneAnswer(t *testing.T, o *apitest.Office) {
	c := o.As(access.Member)
	task := c.Do("POST", "/tasks", `{"title":"Klage"}`).Want(201).Text("id")
	nobody, nothing, none := id.New(id.User), id.New(id.Contact), id.New(id.Upload)
	for _, s := range []struct {
		name, method, path, body string
		want                     []string
	}{
		{"a missing member", "POST", "/uploads", `{"size":9999999999999,"contentType":"text/plain"}`,
			[]string{"size OUT_OF_RANGE", "fileName REQUIRED"}},
		{"no integer", "POST", "/uploads", `{"size":1.0,"fileName":"a/b","contentType":"nonsense"}`,
			[]string{"size INVALID_TYPE", "fileName INVALID_FORMAT", "contentType INVALID_FORMAT"}},
		{"no integer, no member", "POST", "/uploads", `{"x":1,"size":1e2,"fileName":"a/b","contentType":"text/plain"}`,
			[]string{"x UNKNOWN_FIELD", "size INVALID_TYPE", "fileName INVALID_FORMAT"}},
		{"rules alone", "POST", "/uploads", `{"size":9999999999999,"fileName":"a/b","contentType":"text/plain"}`,
			[]string{"size OUT_OF_RANGE", "fileName INVALID_FORMAT"}},
		{"one of the names is of the wrong form", "POST", "/contacts", `{"note":5,"firstName":""}`,
			[]string{"note INVALID_TYPE", "firstName TOO_SHORT"}},
		{"rule and references", "POST", "/tasks",
			`{"ownerId":"` + nobody + `","title":"A","status":"completed","contactId":"` + nothing + `"}`,
			[]string{"ownerId NOT_FOUND", "status READ_ONLY", "contactId NOT_FOUND"}},
		{"rule and references of a patch", "PATCH", "/tasks/" + task,
			`{"status":"completed","assigneeId":"` + nobody + `","contactId":"` + nothing + `"}`,
			[]string{"status READ_ONLY", "assigneeId NOT_FOUND", "contactId NOT_FOUND"}},
		{"upload, name and reference", "POST", "/documents",
			`{"name":"a/b","contactId":"` + nothing + `","uploadId":"` + none + `"}`,
			[]string{"name INVALID_FORMAT", "contactId NOT_FOUND", "uploadId NOT_FOUND"}},
		{"parts", "POST", "/batch", `{"calls":[{"id":"x","method":"POST","path":"/uploads"},{"id":"x","method":"GET","path":"/me"}]}`,
			[]string{"calls[0].path NOT_IN_ENUM", "calls[1].id DUPLICATE"}},
	} {
		a := c.Do(s.method, s.path, s.body, "If-Match", "*").Want(422, "VALIDATION_FAILED")
		if got := a.Fields(); !slices.Equal(got, s.want) {
			t.Errorf("%s: %q, want %q", s.name, got, s.want)
		}
	}
}
