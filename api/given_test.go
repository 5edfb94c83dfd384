package api_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/people/account"
	"kartei/people/agent"
	"kartei/people/gains"
	"kartei/people/invitation"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/bulk"
)

// inOffice calls an operation of the contract in the sandbox, as the web application does. name is
// the id in the path, if there is one.
func inOffice(t *testing.T, o *apitest.Office, as api.Credential, row, name string, body any) *api.Response {
	t.Helper()
	by := api.Caller{
		Door:       api.Web,
		Credential: as,
		Address:    netip.MustParseAddr("192.0.2.7"),
		Header:     map[string][]string{},
	}
	if name != "" {
		by.Header["If-Match"] = []string{"*"}
	}
	got, err := api.Send(t.Context(), o.API, by, api.ByID(row), api.Arguments{ID: name, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// givenTo returns the facts in a person's notices about given access, the newest first.
func givenTo(t *testing.T, o *apitest.Office, person string) (list []gains.Facts) {
	t.Helper()
	for _, data := range dbtest.Texts(t, o.DB,
		`select data from notices where principal = $1 and kind = $2 order by id desc`, person, string(gains.AccessGiven)) {
		var f gains.Facts
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// TestPrivateRecordsAreGivenInTheOpen checks what happens when an admin gives private records of
// others to an accomplice. The admin needs a recent sign-in, and notices and audit lines follow.
func TestPrivateRecordsAreGivenInTheOpen(t *testing.T) {
	apitest.Through(t, "") // keys need no recent sign-in
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other, admin, accomplice := o.As(access.Member), o.User(access.Admin), o.As(access.Admin), o.User(access.Member)
		boss, mine := api.Cookie(o.Session(admin.Principal), true), api.Cookie(o.Session(owner.Principal), true)
		private := func(n int) (list []string) {
			for i := range n {
				list = append(list, owner.Do("POST", "/contacts",
					fmt.Sprintf(`{"lastName":"Still %d","visibility":"private"}`, i)).Want(201).Text("id"))
			}
			return list
		}
		records, shared := private(3), owner.Do("POST", "/contacts", `{"lastName":"Offen"}`).Want(201).Text("id")
		lines := func() int {
			return len(dbtest.Texts(t, o.DB, `select target from audit_lines where word = 'records.give'`))
		}
		freshUntil(t, o, 1)
		for name, body := range map[string]map[string]any{
			"an owner":       {"ownerId": accomplice},
			"the visibility": {"visibility": "organization"},
		} {
			if got := inOffice(t, o, boss, "contacts.update", records[0], body); !api.Stale(got.Fault) {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
		for _, c := range []struct {
			name, record string
			as           api.Credential
			body         map[string]any
		}{
			{"another member", records[0], boss, map[string]any{"mobile": "1"}},
			{"what all see", shared, boss, map[string]any{"ownerId": accomplice}},
			{"the own record", private(1)[0], mine, map[string]any{"ownerId": accomplice}},
			{"the own visibility", private(1)[0], mine, map[string]any{"visibility": "organization"}},
		} {
			if got := inOffice(t, o, c.as, "contacts.update", c.record, c.body); got.Fault != nil {
				t.Errorf("%s: %d %s", c.name, got.Status, got.Body)
			}
		}
		admin.Do("PATCH", "/contacts/"+private(1)[0], map[string]any{"ownerId": accomplice}, "If-Match", "*").Want(200)
		if n := lines() + len(givenTo(t, o, owner.Principal)) + len(givenTo(t, o, other)); n != 0 {
			t.Errorf("%d notices and lines of what gives nothing", n)
		}
		freshUntil(t, o, o.Clock.Now().Add(1<<40).UnixMicro())
		var calls []map[string]any
		for i, name := range records[1:] {
			calls = append(calls, map[string]any{
				"id":      name,
				"method":  "PATCH",
				"path":    "/contacts/" + name,
				"headers": map[string]string{"If-Match": "*", "Idempotency-Key": fmt.Sprint("one-form-of-picks-", i)},
				"body":    map[string]string{"ownerId": accomplice},
			})
		}
		if got := inOffice(t, o, boss, "contacts.update", records[0],
			map[string]any{"ownerId": accomplice}); got.Fault != nil {
			t.Fatalf("%s", got.Body)
		}
		if got := inOffice(t, o, boss, "batch.run", "", map[string]any{"calls": calls}); got.Fault != nil ||
			strings.Count(string(got.Body), `"status":200`) != 2 {
			t.Fatalf("%s", got.Body)
		}
		for _, person := range []string{owner.Principal, other, admin.Principal} {
			if told := givenTo(t, o, person); len(told) != 1 || told[0].Count != 3 || told[0].To != accomplice ||
				told[0].Own != (person == admin.Principal) {
				t.Errorf("told: %+v", told)
			}
		}
		if n := lines(); n != 3 {
			t.Errorf("%d lines", n)
		}
		if n := len(dbtest.Texts(t, o.DB, `select id from notices where mailing and principal = $1`,
			owner.Principal)); n != 1 {
			t.Errorf("%d emails", n)
		}
	})
}

// TestListsAreGivenInTheOpen does the same for whole lists of private records, and undoes this.
func TestListsAreGivenInTheOpen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other, admin, accomplice := o.As(access.Member), o.User(access.Admin), o.As(access.Admin), o.User(access.Member)
		as, mine := api.Cookie(o.Session(admin.Principal), true), api.Cookie(o.Session(owner.Principal), true)
		admin.Do("POST", "/contacts", `{"lastName":"Eigen","visibility":"private"}`).Want(201)
		start := func(as api.Credential, kind bulk.Kind, value string, filters map[string]string, stale bool) (act bulk.Act) {
			t.Helper()
			got := ask(t, o, api.Web, as, "bulk.start", bulk.StartInput{
				Family: "contacts", Kind: kind, Value: value, Filters: filters,
			})
			if api.Stale(got.Fault) != stale || !stale && got.Fault != nil {
				t.Errorf("%s %s %v: %d %s", kind, value, filters, got.Status, got.Body)
			}
			if !stale {
				if err := json.Unmarshal(got.Body, &act); err != nil {
					t.Fatal(err)
				}
				o.Recover()
			}
			return act
		}
		freshUntil(t, o, 1)
		start(as, bulk.Owner, admin.Principal, nil, false) // no other person has private records
		for i := range 4 {
			owner.Do("POST", "/contacts", fmt.Sprintf(`{"lastName":"Still %d","visibility":"private"}`, i)).Want(201)
		}
		start(as, bulk.Owner, accomplice, nil, true)
		start(as, bulk.Visibility, "organization", nil, true)
		start(as, bulk.Tag, "Messe", nil, false)
		start(as, bulk.Owner, admin.Principal, map[string]string{"ownerId": admin.Principal}, false)
		start(mine, bulk.Visibility, "organization", nil, false) // the owner may show the records to others
		start(mine, bulk.Visibility, "private", nil, false)
		if n := len(givenTo(t, o, owner.Principal)) + len(givenTo(t, o, other)); n != 0 {
			t.Fatalf("%d notices of what gives nothing", n)
		}
		freshUntil(t, o, o.Clock.Now().Add(1<<40).UnixMicro())
		act := start(as, bulk.Owner, accomplice, map[string]string{"ownerId": owner.Principal}, false)
		for _, person := range []string{owner.Principal, other, admin.Principal} {
			if told := givenTo(t, o, person); len(told) != 1 || told[0].Count != 4 || told[0].To != accomplice ||
				told[0].ID != act.ID {
				t.Errorf("told: %+v", told)
			}
		}
		freshUntil(t, o, 1)
		if got := ask(t, o, api.Web, as, "bulk.undo", op.ByID{ID: act.ID}); !api.Stale(got.Fault) {
			t.Errorf("undone: %d %s", got.Status, got.Body)
		}
	})
}

// TestApplicationsAreAdmittedInTheOpen checks the notices when an admin changes which applications
// people may connect.
func TestApplicationsAreAdmittedInTheOpen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin := o.User(access.Admin)
		as := api.Cookie(o.Session(admin), false)
		for _, c := range []struct {
			to   access.Applications
			told bool
		}{
			{access.AllApplications, true}, {access.KnownApplications, false}, {access.NoApplications, false},
			{access.KnownApplications, true},
			{access.NoApplications, false}, {access.AllApplications, true}, {access.AllApplications, false},
		} {
			before := len(givenTo(t, o, admin))
			if got := ask(t, o, api.Web, as, "organizations.set",
				organization.Change{ID: o.ID, Applications: &c.to}); got.Fault != nil {
				t.Fatalf("%s", got.Body)
			}
			if told := len(givenTo(t, o, admin)) > before; told != c.told {
				t.Errorf("%s: told %v, want %v", c.to, told, c.told)
			}
		}
	})
}

// TestUnapprovedConnectionsAreShown checks that grants.list marks the grants of unapproved
// applications, unless the organization allows all applications.
func TestUnapprovedConnectionsAreShown(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin, person := o.User(access.Admin), o.User(access.Member)
		as := api.Cookie(o.Session(admin), false)
		newApplications(t, o, person, serviceOf(t, o))
		unapproved := func() int {
			return strings.Count(string(ask(t, o, api.Web, as, "grants.list", op.Page{Organization: o.ID}).Body),
				`"unapproved":true`)
		}
		if n := unapproved(); n != 0 {
			t.Errorf("%d connections lack an approval", n)
		}
		dbtest.Run(t, o.DB, `delete from oauth_approvals`)
		if n := unapproved(); n != 1 {
			t.Errorf("%d connections lack an approval", n)
		}
		dbtest.Run(t, o.DB, `update organizations set applications = 'all' where id = $1`, o.ID)
		if n := unapproved(); n != 0 {
			t.Errorf("%d connections lack an approval that nobody needs", n)
		}
	})
}

// TestCodesEndWithTheirSession connects an application in a session of a stranger. It checks that
// each way to end the session also makes the authorization code invalid.
func TestCodesEndWithTheirSession(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		boss := api.Cookie(o.Session(o.User(access.Admin)), false)
		yes, no := true, false
		for name, end := range map[string]func(v *visitor, a account.AcceptResult, email, session string){
			"nothing": nil,
			"all is ended": func(v *visitor, _ account.AcceptResult, _, _ string) {
				v.ask("access.end", agent.EndInput{All: true}, nil, 200)
			},
			"the session is ended": func(v *visitor, _ account.AcceptResult, _, session string) {
				v.ask("sessions.end", account.EndInput{ID: session}, nil, 204)
			},
			"other sessions are ended": func(v *visitor, _ account.AcceptResult, _, _ string) {
				v.ask("sessions.end", account.EndInput{Others: true}, nil, 204)
			},
			"the password is reset": func(v *visitor, _ account.AcceptResult, email, _ string) {
				w := visit(t, o)
				w.ask("signin.forgot", account.ForgotInput{Email: email}, nil, 204)
				w.ask("signin.reset", account.NewByLink{Token: o.Linked(email), Password: "ein ganz anderes Kennwort"}, nil, 204)
			},
			"the person is disabled for a moment": func(_ *visitor, a account.AcceptResult, _, _ string) {
				for _, disabled := range []*bool{&yes, &no} {
					if got := ask(t, o, api.Web, boss, "people.set",
						principal.Change{ID: a.ID, Disabled: disabled}); got.Fault != nil {
						t.Fatalf("%s", got.Body)
					}
				}
			},
		} {
			email := freshEmail()
			v, a := join(t, o, o.ID, email, access.Member)
			o.Session(a.ID) // the stranger's session
			sessions := dbtest.Texts(t, o.DB, `select id from sessions where principal_id = $1 order by id desc`, a.ID)
			apps := newApplications(t, o, a.ID, serviceOf(t, o))
			code := apps.exchange()
			if end != nil {
				end(v, a, email, sessions[0])
			}
			got := ask(t, o, api.OAuth, api.Credential{}, "oauth.token", code)
			if issued := strings.Contains(string(got.Body), "access_token") ||
				strings.Contains(string(got.Body), "accessToken"); issued != (end == nil) {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
	})
}

// TestMadeForTheOrganization checks that access.list also lists the keys, invitations, endpoints
// and clients that an admin made and that others own.
func TestMadeForTheOrganization(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, _ := join(t, o, o.ID, freshEmail(), access.Admin)
		service := serviceOf(t, o)
		as := api.Cookie(v.token, true)
		list := func() (kinds string) {
			var acting agent.Overview
			v.ask("access.list", struct{}{}, &acting, 200)
			for _, m := range acting.Made {
				kinds += m.Kind + " "
				if m.OrganizationName == "" || !m.Here || (m.Owner != service) != (m.Kind == "invitation") {
					t.Errorf("%+v", m)
				}
			}
			return kinds
		}
		if got := list(); got != "" {
			t.Errorf("%q before anything is made", got)
		}
		v.ask("keys.create", key.New{Principal: service, Environment: access.Test, Scopes: []string{"contacts:read"}},
			nil, 200)
		v.ask("people.invite", invitation.New{Email: freshEmail(), Role: access.Member}, nil, 200)
		program := &apitest.Client{Office: o, Principal: service, Key: o.Key(service)}
		made := program.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "Buchhaltung",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201).Text("id")
		hook := ask(t, o, api.Web, as, "webhooks.rotate", map[string]string{"organizationId": o.SandboxID, "id": made})
		if hook.Fault != nil {
			t.Fatalf("%s", hook.Body)
		}
		v.ask("clients.create", map[string]any{
			"name":        "Rechnung",
			"principalId": service,
			"scopes":      []string{"contacts:read"},
			"environment": "test",
		}, nil, 200)
		if got := list(); got != "key invitation endpoint client " {
			t.Errorf("made: %q", got)
		}
		v.ask("access.end", agent.EndInput{All: true}, nil, 200)
		if got := list(); got != "key invitation endpoint client " {
			t.Errorf("after the end of all: %q", got)
		}
	})
}

// TestAddressOfMailsIsChangedInTheOpen checks the notices and emails when an admin changes the
// email address of a colleague.
func TestAddressOfMailsIsChangedInTheOpen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		boss := api.Cookie(o.Session(o.User(access.Admin)), false)
		person, former, next := o.User(access.Member), freshEmail(), freshEmail()
		dbtest.Run(t, o.DB, `update principals set email = $2, email_folded = $2 where id = $1`, person, former)
		set := func(email string) {
			if got := ask(t, o, api.Web, boss, "people.set", principal.Change{ID: person, Email: &email}); got.Fault != nil {
				t.Fatalf("%s", got.Body)
			}
		}
		set(former)
		if n := len(givenTo(t, o, person)); n != 0 {
			t.Errorf("%d notices of the same address", n)
		}
		set(next)
		if told := givenTo(t, o, person); len(told) != 1 || told[0].Word != "person.address" {
			t.Errorf("told: %+v", told)
		}
		found := 0
		for _, m := range o.Mailed() {
			if m.To == former && strings.Contains(m.Text, "Administration") && !strings.Contains(m.Text, next) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("the former address got %d emails", found)
		}
		if n := len(dbtest.Texts(t, o.DB, `select id from audit_lines where word = 'person.set' and target = $1 and changes like '%email%'`, person)); n != 1 {
			t.Errorf("%d lines name the address", n)
		}
	})
}

// TestUnknownDeviceAfterAWhile checks the notices about sign-ins once the devices and sessions of
// an account are no longer stored.
func TestUnknownDeviceAfterAWhile(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		email := freshEmail()
		_, a := join(t, o, o.ID, email, access.Member)
		told := func() int {
			return len(dbtest.Texts(t, o.DB, `select id from notices where principal = $1 and kind = $2 and data like '%"device"%'`, a.ID, string(account.SignInChanged)))
		}
		if n := told(); n != 0 {
			t.Errorf("%d notices of the first sign-in", n)
		}
		for _, table := range []string{"devices", "sessions"} {
			dbtest.Run(t, o.DB, `delete from `+table+` where account_id = (select account_id from principals where id = $1)`,
				a.ID)
		}
		visit(t, o).signIn(email, somePassword, "signedIn")
		if n := told(); n != 1 {
			t.Errorf("%d notices of an unknown device", n)
		}
	})
}

// serviceOf creates a service account of the organization, and returns its id.
func serviceOf(t *testing.T, o *apitest.Office) string {
	t.Helper()
	made, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{
		Organization: o.ID, Name: "Buchhaltung", Role: access.Member,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}
