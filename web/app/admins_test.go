package app_test

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/people/invitation"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/pagetest"
	"kartei/web/app"
	"kartei/web/shell"
)

// ofAdmins matches the paths that only admins may use. It does not depend on the declarations of
// the pages.
var ofAdmins = regexp.MustCompile(`^/settings/(people|service-accounts|organization|audit|data/organization|interfaces/applications/(new|.*/(rotate|disable|enable)))`)

// secretName is a name that no page may show to members.
const secretName = "Geheim Gehalten"

// administered creates the people, accounts, invitations and applications that admins administer.
// It returns their ids by the beginning of their paths.
func administered(t *testing.T, o *apitest.Office, admin *pagetest.Browser) map[string]string {
	t.Helper()
	person := o.User(access.Viewer)
	if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: person, Name: new(secretName)}); err != nil {
		t.Fatal(err)
	}
	o.Session(person) // a session marks the person as joined
	account, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{Organization: o.ID, Name: secretName, Role: access.Member})
	if err != nil {
		t.Fatal(err)
	}
	invitation, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{Organization: o.ID, Email: "neu@kanzlei.example", Role: access.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	const applications = "/settings/interfaces/applications"
	admin.Get(applications+"/new").Send(applications+"/new", "name", secretName, "principalId", account.ID, "environment", "test", "scopes", "contacts:read").Want(200)
	var client string
	dbtest.Get(t, o.DB, []any{&client}, `select id from oauth_clients where name = $1`, secretName)
	waiting, asked := pagetest.NewClient(t, o, "Kalender"), grant.Approval{}
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		in, err := access.OrganizationIn(t.Context(), tx, o.ID)
		if err == nil {
			asked, _, err = grant.AskFor(t.Context(), tx, clock.Now(o.Clock), in.Live, &waiting, person)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return map[string]string{applications + "/approvals/": asked.ID, shell.PeoplePath + "/invitations/": invitation.ID, shell.PeoplePath + "/": person, shell.AccountsPath + "/": account.ID, applications + "/": client}
}

// form returns a form that an admin could send to path.
func form(b *pagetest.Browser, path, account, to string) url.Values {
	b.T.Helper()
	f := url.Values{
		"name": {secretName}, "email": {"gekapert@kanzlei.example"}, "language": {"de"}, "role": {"admin"}, "right.contacts": {"none"}, "to": {to}, "private": {"true"},
		"level": {"off"}, "module": {"off"}, "secondFactor": {"required"}, "principalId": {account}, "environment": {"test"}, "scopes": {"contacts:read"}, "was.name": {"Anders"},
	}
	if strings.HasPrefix(path, shell.AccountsPath) {
		f.Del("email") // service accounts have no e-mail address
		f.Del("language")
	}
	f.Set("form-token", b.Get("/settings/profile").Fields("/settings/profile").Get("form-token"))
	return f
}

// kept matches the tables that every call changes, such as the last use of sessions and the request
// log.
var kept = regexp.MustCompile(`^(sessions|request_log|usage_hours|limits|idempotency)$`)

// rowsOf returns all rows of the database by table, without the tables that match kept.
func rowsOf(t *testing.T, d db.DB) map[string]string {
	t.Helper()
	tables, err := schema.Tables(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, table := range tables {
		var columns []string
		for _, c := range table.Columns {
			columns = append(columns, "coalesce(cast("+c.Name+" as text), '')")
		}
		if !kept.MatchString(table.Name) {
			rows := dbtest.Texts(t, d, "select "+strings.Join(columns, " || '|' || ")+" from "+table.Name)
			slices.Sort(rows)
			all[table.Name] = strings.Join(rows, "\n")
		}
	}
	return all
}

// TestOnlyAdminsReachTheirPages requests every page of admins and sends its form, as a member and
// as a viewer. The responses must be refusals without the secret name, and no row may change. The
// same requests succeed for an admin.
func TestOnlyAdminsReachTheirPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		admin := pagetest.Open(t, o, access.Admin)
		ids, heir := administered(t, o, admin), o.User(access.Member)
		var pages []shell.Page
		for _, p := range app.Pages {
			if p.AdminsOnly() || ofAdmins.MatchString(p.Path) && p.Path != shell.PeoplePath { // TestColleagues
				for _, begin := range slices.Backward(slices.Sorted(maps.Keys(ids))) {
					if strings.HasPrefix(p.Path, begin) {
						p.Path = strings.Replace(p.Path, "{id}", ids[begin], 1)
					}
				}
				pages = append(pages, p)
			}
		}
		for _, role := range []access.Role{access.Member, access.Viewer} {
			b := pagetest.Open(t, o, role)
			o.Rest() // a job sends the notices about the admin's rights
			before := rowsOf(t, d)
			for _, p := range pages {
				got := b.Do(p.Method, p.Path, map[string]url.Values{"POST": form(b, p.Path, ids[shell.AccountsPath+"/"], heir)}[p.Method])
				if got.Status != 403 && got.Status != 404 || strings.Contains(got.Body, secretName) || strings.Contains(got.Body, "neu@kanzlei.example") {
					t.Errorf("%s %s as %s: %d %s", p.Method, p.Path, role, got.Status, got.Main())
				}
			}
			for table, rows := range rowsOf(t, d) {
				if rows != before[table] {
					t.Errorf("a %s changed %s: %s\nbefore: %s", role, table, rows, before[table])
				}
			}
		}
		for _, p := range pages {
			o.Rest() // the job after the hand-over erases the person
			if got := admin.Do(p.Method, p.Path, map[string]url.Values{"POST": form(admin, p.Path, ids[shell.AccountsPath+"/"], heir)}[p.Method]); got.Status >= 400 {
				t.Errorf("%s %s as an admin: %d %s", p.Method, p.Path, got.Status, got.Main())
			}
		}
	})
}
