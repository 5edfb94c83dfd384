package api_test

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/integration/limit"
	"kartei/integration/requestlog"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/record"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/test/apitest"
)

// badges is a credential scheme for these tests. The text of a badge is the id of a principal. Each
// test defines the duties of the scheme.
const badges access.Scheme = "badge"

// issueBadges makes an office accept badges of an organization, with every scope.
func issueBadges(t *testing.T, o *apitest.Office, organization int64, duties *access.Duties) {
	t.Helper()
	o.Directory.Accept(badges, access.Finder{
		Kind: "badge", Prefix: "bdg_", Duties: duties,
		ByText: func(_ context.Context, _ db.Tx, name string) (access.Proof, error) {
			return access.Proof{
				Credential:   access.Credential{ID: "bdg_" + name},
				Organization: organization,
				Principal:    name,
				Scopes:       access.AllScopes(),
			}, nil
		},
		ByID: func(context.Context, db.Tx, int64, string) (access.Proof, error) { return access.Proof{}, db.ErrNoRows },
	})
}

// withBadge calls an operation with a badge and without optional headers.
func withBadge(t *testing.T, c *apitest.Client, op *api.Operation, path string, body any) *api.Response {
	t.Helper()
	r := c.Request(op.Method, path, body, "Svc-Preview", "", "Idempotency-Key", "", "Authorization", "")
	sent := []byte(nil)
	if r.Body != nil && r.Body != http.NoBody {
		sent, _ = io.ReadAll(r.Body)
	}
	answer := c.API.Do(t.Context(), &api.Request{
		Method: op.Method, Path: strings.TrimPrefix(r.URL.Path, "/v1"), Header: r.Header, Door: "test",
		Credential: api.Credential{Scheme: badges, Text: c.Principal}, Address: netip.MustParseAddr("192.0.2.1"),
		HasBody: sent != nil, Body: func() ([]byte, error) { return sent, nil },
	}, nil)
	if answer.File != nil {
		answer.File.Sent(answer.Status, true)
	}
	return answer
}

// kindTest is a test of a kind of credential with one duty.
type kindTest struct {
	name   string
	duties access.Duties
	// refused reports whether a call of the operation must be refused with status and code. nil
	// means that no call is refused.
	refused func(*api.Operation) bool
	status  int
	code    fault.Code
}

var kindTests = []kindTest{
	{name: "no duty"},
	{"gate", access.Duties{Gate: true}, func(*api.Operation) bool { return true }, 401, fault.Unauthenticated},
	{name: "version", duties: access.Duties{Version: true}},
	{
		"preview",
		access.Duties{Version: true, Preview: true},
		func(op *api.Operation) bool { return op.Channel.Preview(apitest.Current()) },
		404,
		fault.OperationNotInVersion,
	},
	{"idempotency key", access.Duties{IdempotencyKey: true}, (*api.Operation).Creates, 400, fault.InvalidRequest},
	{"precondition", access.Duties{Precondition: true}, (*api.Operation).Conditional, 428, fault.PreconditionRequired},
	{"limits", access.Duties{Limits: true}, func(op *api.Operation) bool { return op.Cost > 0 }, 429, fault.RateLimited},
	{name: "request log", duties: access.Duties{RequestLog: true}},
	{name: "person", duties: access.Duties{Person: true, RequestLog: true}},
}

// TestNewCredentialKind checks that the path of a call needs no change for a new kind of
// credential. It calls every operation of the contract with this kind, once for each possible duty,
// and checks that only the rule of that duty applies. TestConsoleCallers covers the other
// operations.
func TestNewCredentialKind(t *testing.T) {
	for _, test := range kindTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, c, paths := test.office(t)
			before := loggedCalls(t, o, "")
			withBadge(t, c, &api.Operations[0], "/me", nil) // uses the only point, if points are charged
			want := 0
			if test.logs(&api.Operations[0], 200) {
				want++
			}
			for op := range rows() {
				answer := withBadge(t, c, op, paths[op.ID], example(t, op))
				test.judge(t, op, answer)
				if test.logs(op, answer.Status) {
					want++
				}
			}
			if mine := loggedCalls(t, o, "bdg_"+c.Principal); mine != want {
				t.Errorf("%d calls of the badge are in the request log, want %d", mine, want)
			}
			if all := loggedCalls(t, o, ""); all != before+want {
				t.Errorf("%d calls are in the request log, want %d", all, before+want)
			}
		})
	}
}

// office returns an office that accepts badges and is closed to programs, with a client and a path
// for each operation. If the duty needs the state of a record, the path has the id of an existing
// record.
func (k *kindTest) office(t *testing.T) (*apitest.Office, *apitest.Client, map[string]string) {
	t.Helper()
	var metered []apitest.Option
	if k.duties.Limits {
		metered = append(metered, apitest.Metered(limit.Override{Name: "key", Quota: 1, Capacity: 1}))
	}
	o := office(t, metered...)
	c := o.As(access.Member)
	paths := map[string]string{}
	for op := range rows() {
		paths[op.ID] = somePath(op)
		if maker := creator(op.Family); op.Conditional() && maker != nil && !k.duties.Limits {
			paths[op.ID] = strings.Replace(op.Path, "{id}", makeRecord(t, c, maker, "organization"), 1)
		}
	}
	actor, err := o.Directory.Authenticate(t.Context(), c.Key, access.V1, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	issueBadges(t, o, actor.Org(), &k.duties)
	off := access.Off
	if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.SandboxID, Level: &off}); err != nil {
		t.Fatal(err)
	}
	return o, c, paths
}

// judge reports a response that the rules of the duty do not explain.
func (k *kindTest) judge(t *testing.T, op *api.Operation, answer *api.Response) {
	t.Helper()
	code := fault.Code("")
	if answer.Fault != nil {
		code = answer.Fault.Code
	}
	switch refused := k.refused != nil && k.refused(op); {
	case refused && (answer.Status != k.status || code != k.code):
		t.Errorf("%s: %d %s, want %d %s", op.ID, answer.Status, code, k.status, k.code)
	case !refused && answer.Status >= 400 && code != fault.NotFound && code != fault.ValidationFailed:
		t.Errorf("%s: %d %s %s", op.ID, answer.Status, code, answer.Body)
	}
	served := "internal"
	if k.duties.Version {
		served = apitest.Current()
	}
	if got := strings.Join(answer.Header["Svc-Version"], ","); answer.Status < 400 && got != served {
		t.Errorf("%s is served in the version %q, want %q", op.ID, got, served)
	}
}

// logs reports whether the request log must have the call. For a person, the log has only changes
// and refused calls.
func (k *kindTest) logs(op *api.Operation, status int) bool {
	return k.duties.RequestLog && (!k.duties.Person || status >= 400 || op.Changes())
}

// loggedCalls counts the calls of a credential in the request log. An empty credential means all
// calls.
func loggedCalls(t *testing.T, o *apitest.Office, credential string) int {
	t.Helper()
	if err := o.Log.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := o.Requests(requestlog.QueryInput{Organization: o.SandboxID, Key: credential, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(found.Data)
}

// TestCredentialScheme checks that a credential with an unknown or empty scheme is refused.
func TestCredentialScheme(t *testing.T) {
	o := office(t)
	for _, credential := range []api.Credential{
		{},
		{Scheme: badges, Text: o.User(access.Admin)},
		api.Bearer(""),
		api.Bearer("local"),
	} {
		_, err := apitest.Ask[api.Me](t.Context(), o.API, api.Caller{Door: "test", Credential: credential}, "me.get",
			api.Arguments{})
		if !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%+v: %v", credential, err)
		}
	}
}

// TestOperatorIsNoMember checks that the operator's credential cannot call the operations of the
// contract. This credential is not a secret.
func TestOperatorIsNoMember(t *testing.T) {
	o := office(t)
	for op := range rows() {
		answer := o.API.Do(t.Context(), &api.Request{
			Method: op.Method, Path: somePath(op), Credential: api.Local(),
			Header: map[string][]string{"Content-Type": {"application/json"}},
		}, nil)
		if answer.Status < 400 {
			t.Errorf("%s: %d %s", op.ID, answer.Status, answer.Body)
		}
	}
}

// TestCall checks calls from inside the process. A successful call returns a typed value, and a
// problem document becomes an error.
func TestCall(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		by := api.Caller{
			Door: "test", Credential: api.Bearer(c.Key), Address: netip.MustParseAddr("192.0.2.1"),
			Header: map[string][]string{"Svc-Preview": {"true"}, "Idempotency-Key": {apitest.Fresh()}, "If-Match": {"*"}},
		}
		made, err := apitest.Ask[contact.Contact](t.Context(), o.API, by, "contacts.create",
			api.Arguments{Body: map[string]any{"lastName": "Berg"}})
		if err != nil || made.LastName == nil || *made.LastName != "Berg" {
			t.Fatalf("created: %+v %v", made, err)
		}
		if read, err := apitest.Ask[contact.Contact](t.Context(), o.API, by, "contacts.get",
			api.Arguments{ID: made.ID}); err != nil || read.ID != made.ID {
			t.Errorf("read: %+v %v", read, err)
		}
		page, err := apitest.Ask[struct {
			Data []contact.Contact `json:"data"`
		}](t.Context(), o.API, by, "contacts.list", api.Arguments{Query: map[string][]string{"q": {"berg"}}})
		if err != nil || len(page.Data) != 1 {
			t.Errorf("found: %+v %v", page, err)
		}
		if _, err := apitest.Ask[op.Nothing](t.Context(), o.API, by, "contacts.delete",
			api.Arguments{ID: made.ID}); err != nil {
			t.Error(err)
		}
		if _, err := apitest.Ask[contact.Contact](t.Context(), o.API, by, "contacts.get",
			api.Arguments{ID: made.ID}); !fault.Is(err, fault.NotFound) {
			t.Errorf("after the deletion: %v", err)
		}
		_, err = apitest.Ask[contact.Contact](t.Context(), o.API, by, "contacts.update", api.Arguments{
			ID:   id.New(id.Contact),
			Body: map[string]any{"email": "x"},
		})
		if f := fault.From(err); f.Code != fault.ValidationFailed || len(f.Fields) != 1 || f.Fields[0].Name != "email" {
			t.Errorf("a wrong field: %+v", f)
		}
	})
}

// TestTypedCall checks calls of operations of the contract with their Go types. Unset fields are
// not sent, and the rules of the OpenAPI document apply.
func TestTypedCall(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		by := api.Caller{
			Door: "test", Credential: api.Bearer(c.Key), Address: netip.MustParseAddr("192.0.2.1"),
			Header: map[string][]string{"Svc-Preview": {"true"}, "Idempotency-Key": {apitest.Fresh()}, "If-Match": {"*"}},
		}
		made, err := api.Answer(t.Context(), o.API, by, contact.Create,
			contact.CreateInput{Fields: contact.Fields{LastName: new("Berg")}})
		if err != nil || made.Status != 201 {
			t.Fatalf("created: %+v %v", made, err)
		}
		name := strings.TrimPrefix(made.Header["Location"][0], "/v1/contacts/")
		var patch op.Patch[contact.Fields]
		patch.SetRaw([]byte(`{"jobTitle":"Notarin"}`))
		if changed, err := api.Answer(t.Context(), o.API, by, contact.Update,
			record.UpdateInput[contact.Fields]{ID: name, Patch: patch}); err != nil ||
			!strings.Contains(string(changed.Body), "Notarin") {
			t.Errorf("changed: %+v %v", changed, err)
		}
		var list contact.ListInput
		list.Limit = 1000
		if _, err := api.Call(t.Context(), o.API, by, contact.List, list); err == nil ||
			len(fault.From(err).Fields) != 1 || fault.From(err).Fields[0].Code != fault.OutOfRange {
			t.Errorf("a page of 1,000: %v", err)
		}
		if _, err := api.Call(t.Context(), o.API, by, contact.Delete, op.ByID{ID: name}); err != nil {
			t.Error(err)
		}
	})
}
