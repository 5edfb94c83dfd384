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
	"kartei/app"
	"kartei/contact"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/limit"
	"kartei/requestlog"
	"kartei/settings"
	"kartei/store/db"
	"kartei/test/apitest"
)

// badges is a scheme for these tests: a badge is the name of a principal, and
// the test defines its kind.
const badges access.Scheme = "badge"

// issueBadges makes an office accept badges with every scope.
func issueBadges(t *testing.T, o *apitest.Office, organization int64, duties *access.Duties) {
	t.Helper()
	o.Directory.Accept(badges, access.Finder{
		Kind: "badge", Prefix: "bdg_", Duties: duties,
		ByText: func(_ context.Context, _ db.Tx, name string) (access.Proof, error) {
			return access.Proof{Credential: access.Credential{ID: "bdg_" + name}, Organization: organization, Principal: name, Scopes: access.AllScopes()}, nil
		},
		ByID: func(context.Context, db.Tx, int64, string) (access.Proof, error) { return access.Proof{}, db.ErrNoRows },
	})
}

// withBadge calls a row with a badge and without optional headers.
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

// TestNewCredentialKind adds a kind of credential without a change of the path. It
// calls every row with it, once for each possible duty: only the rule of that
// duty applies.
func TestNewCredentialKind(t *testing.T) {
	always := func(*api.Operation) bool { return true }
	for _, test := range []struct {
		name   string
		duties access.Duties
		// refused reports whether a row is refused with status and code.
		refused func(*api.Operation) bool
		status  int
		code    fault.Code
		// level is the level of the organization.
		level access.Level
	}{
		{name: "no duty", level: access.Off},
		{"gate", access.Duties{Gate: true}, always, 401, fault.Unauthenticated, access.Off},
		{"preview", access.Duties{Version: true, Preview: true}, func(op *api.Operation) bool { return op.Channel.Preview(apitest.Current()) }, 404, fault.OperationNotInVersion, access.Off},
		{"idempotency key", access.Duties{IdempotencyKey: true}, (*api.Operation).Creates, 400, fault.InvalidRequest, access.Off},
		{"precondition", access.Duties{Precondition: true}, (*api.Operation).Conditional, 428, fault.PreconditionRequired, access.Off},
		{"limits", access.Duties{Limits: true}, func(op *api.Operation) bool { return op.Cost > 0 }, 429, fault.RateLimited, access.Off},
		{"request log", access.Duties{RequestLog: true}, nil, 0, "", access.Off},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var metered []apitest.Option
			if test.duties.Limits {
				metered = append(metered, apitest.Metered(limit.Override{Name: "key", Quota: 1, Capacity: 1}))
			}
			o := office(t, metered...)
			c := o.As(access.Member)
			paths := map[string]string{}
			for op := range rows() {
				paths[op.ID] = somePath(op)
				if maker := creator(op.Family); op.Conditional() && maker != nil && !test.duties.Limits {
					paths[op.ID] = strings.Replace(op.Path, "{id}", makeRecord(t, c, maker, "organization"), 1)
				}
			}
			if err := o.Log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, err := o.Requests(requestlog.QueryInput{Organization: o.SandboxID, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			actor, err := o.Directory.Authenticate(t.Context(), c.Key, access.V1, netip.MustParseAddr("192.0.2.1"))
			if err != nil {
				t.Fatal(err)
			}
			duties := test.duties
			issueBadges(t, o, actor.Org(), &duties)
			if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.SandboxID, Level: &test.level}); err != nil {
				t.Fatal(err)
			}
			withBadge(t, c, &api.Operations[0], "/me", nil) // uses the only point, if points are charged
			called := 1
			for op := range rows() {
				answer := withBadge(t, c, op, paths[op.ID], example(t, op))
				called++
				code := fault.Code("")
				if answer.Fault != nil {
					code = answer.Fault.Code
				}
				switch refused := test.refused != nil && test.refused(op); {
				case refused && (answer.Status != test.status || code != test.code):
					t.Errorf("%s: %d %s, want %d %s", op.ID, answer.Status, code, test.status, test.code)
				case !refused && answer.Status >= 400 && code != fault.NotFound && code != fault.ValidationFailed:
					t.Errorf("%s: %d %s %s", op.ID, answer.Status, code, answer.Body)
				}
			}
			if err := o.Log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			logged, err := o.Requests(requestlog.QueryInput{Organization: o.SandboxID, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			want := len(before.Data)
			if duties.RequestLog {
				want += called
			}
			mine, err := o.Requests(requestlog.QueryInput{Organization: o.SandboxID, Key: "bdg_" + c.Principal, Limit: 1000})
			if err != nil || len(mine.Data) != want-len(before.Data) {
				t.Errorf("%d calls of the badge are in the request log, want %d: %v", len(mine.Data), want-len(before.Data), err)
			}
			if len(logged.Data) != want {
				t.Errorf("%d of %d calls are in the request log, want %d", len(logged.Data), called, want)
			}
		})
	}
}

// TestCredentialScheme presents a scheme that no kind of credential has.
func TestCredentialScheme(t *testing.T) {
	o := office(t)
	for _, credential := range []api.Credential{{}, {Scheme: badges, Text: o.User(access.Admin)}, api.Bearer(""), api.Bearer("local")} {
		_, err := api.Call[api.Me](t.Context(), o.API, api.Caller{Door: "test", Credential: credential}, "me.get", api.Arguments{})
		if !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%+v: %v", credential, err)
		}
	}
}

// TestOperatorIsNoMember checks that the operator's credential, which is no
// secret, cannot call rows of the contract that require a scope.
func TestOperatorIsNoMember(t *testing.T) {
	o := office(t)
	for op := range rows() {
		answer := o.API.Do(t.Context(), &api.Request{
			Method: op.Method, Path: somePath(op), Credential: api.Local(), Header: map[string][]string{"Content-Type": {"application/json"}},
		}, nil)
		if answer.Status < 400 {
			t.Errorf("%s: %d %s", op.ID, answer.Status, answer.Body)
		}
	}
}

// TestCall checks calls from inside the process: the answer is typed, and a
// problem document is an error.
func TestCall(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		by := api.Caller{
			Door: "test", Credential: api.Bearer(c.Key), Address: netip.MustParseAddr("192.0.2.1"),
			Header: map[string][]string{"Svc-Preview": {"true"}, "Idempotency-Key": {apitest.Fresh()}, "If-Match": {"*"}},
		}
		made, err := api.Call[contact.Contact](t.Context(), o.API, by, "contacts.create", api.Arguments{Body: map[string]any{"lastName": "Berg"}})
		if err != nil || made.LastName == nil || *made.LastName != "Berg" {
			t.Fatalf("created: %+v %v", made, err)
		}
		if read, err := api.Call[contact.Contact](t.Context(), o.API, by, "contacts.get", api.Arguments{ID: made.ID}); err != nil || read.ID != made.ID {
			t.Errorf("read: %+v %v", read, err)
		}
		page, err := api.Call[struct {
			Data []contact.Contact `json:"data"`
		}](t.Context(), o.API, by, "contacts.list", api.Arguments{Query: map[string][]string{"q": {"berg"}}})
		if err != nil || len(page.Data) != 1 {
			t.Errorf("found: %+v %v", page, err)
		}
		if _, err := api.Call[app.Nothing](t.Context(), o.API, by, "contacts.delete", api.Arguments{ID: made.ID}); err != nil {
			t.Error(err)
		}
		if _, err := api.Call[contact.Contact](t.Context(), o.API, by, "contacts.get", api.Arguments{ID: made.ID}); !fault.Is(err, fault.NotFound) {
			t.Errorf("after the deletion: %v", err)
		}
		_, err = api.Call[contact.Contact](t.Context(), o.API, by, "contacts.update", api.Arguments{ID: id.New(id.Contact), Body: map[string]any{"email": "x"}})
		if f := fault.From(err); f.Code != fault.ValidationFailed || len(f.Fields) != 1 || f.Fields[0].Name != "email" {
			t.Errorf("a wrong field: %+v", f)
		}
		if _, err := api.Call[app.Nothing](t.Context(), o.API, by, "contacts.nothing", api.Arguments{}); err == nil {
			t.Error("an operation that does not exist was called")
		}
	})
}
