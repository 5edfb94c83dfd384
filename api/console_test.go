package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/optest"
	"kartei/integration/event"
	"kartei/integration/key"
	"kartei/integration/oauth"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/account"
	"kartei/people/agent"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/people/invitation"
	"kartei/people/offboarding"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/ssotest"
	"kartei/transfer/bulk"
	"kartei/transfer/exports"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/merge"
)

// session and token are credential schemes for tests. The text of a credential is the id of an
// organization, a space, and the id of a person in it. session is for people, like the session of a
// web application. token is for programs.
const session, token access.Scheme = "session", "token"

// acceptSessions makes the office accept the schemes session and token.
func acceptSessions(o *apitest.Office) {
	find := func(ctx context.Context, tx db.Tx, text string) (access.Proof, error) {
		name, person, _ := strings.Cut(text, " ")
		org, err := access.OrganizationIn(ctx, tx, name)
		fresh := clock.Now(o.Clock).Add(time.Minute)
		return access.Proof{
			Credential:   access.Credential{ID: "tst_1", FreshUntil: fresh},
			Organization: org.Number,
			Principal:    person,
			Scopes:       access.AllScopes(),
		}, err
	}
	tokens := sessions(find)
	tokens.Kind, tokens.Prefix, tokens.Duties = "token", "tok_", &access.Duties{}
	o.Directory.Accept(session, sessions(find))
	o.Directory.Accept(token, tokens)
}

// sessions returns a Finder for a kind of credential that may call the unpublished operations. The
// ids of its credentials differ from the ids of real sessions in the office.
func sessions(find func(context.Context, db.Tx, string) (access.Proof, error)) access.Finder {
	return access.Finder{Kind: "session", Prefix: "tst_", Duties: &access.Duties{Console: true}, ByText: find,
		ByID: func(context.Context, db.Tx, int64, string) (access.Proof, error) { return access.Proof{}, db.ErrNoRows }}
}

// ask calls an unpublished operation (api.Unpublished), which is not in the contract. row is its
// id.
func ask(t *testing.T, o *apitest.Office, door api.Door, as api.Credential, row string, in any) *api.Response {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return o.API.Do(t.Context(), &api.Request{
		Operation: api.ByID(row), Door: door, Credential: as, Address: netip.MustParseAddr("192.0.2.7"),
		HasBody: true, Body: func() ([]byte, error) { return body, nil },
	}, nil)
}

func TestConsoleAndOperationsAreDisjoint(t *testing.T) {
	ids := map[string]bool{}
	for _, op := range api.Operations {
		ids[op.ID] = true
	}
	for _, r := range api.Unpublished {
		if ids[r.ID] {
			t.Errorf("%s stands twice in the table", r.ID)
		}
		ids[r.ID] = true
		if r.Path != "" || r.Method != "" || r.Batch || slices.Contains(r.Doors, api.REST) || len(r.Doors) == 0 {
			t.Errorf("%s can be reached as a program reaches operations: %+v", r.ID, r)
		}
		if r.Who == 0 || r.Writes() && r.Audit == "" && r.ID != "bell.read" && r.Act != "note" ||
			!r.Writes() && r.Audit != "" {
			t.Errorf("%s: it has no callers, or it changes something without an audit word, or it reads with one", r.ID)
		}
	}
}

// consoleCallers maps each set of callers to the ids of the operations that this set may call. It
// and the maps below repeat the table of operations on purpose. Other tests read the table, so they
// would not notice a permission that was changed by mistake.
var (
	consoleCallers = map[string]string{
		"anyone": "signin.password signin.second signin.passkeyOptions signin.passkey signin.ssoBegin signin.sso signin.ssoInvited signin.ssoAccept signin.choose signin.forgot signin.reset " +
			"account.confirmEmail",
		"anyone operator": "invitations.accept",
		"client":          "oauth.token oauth.revoke oauth.introspect oauth.register",
		"member": "oauth.ask oauth.answer signin.out session.get session.switch session.refresh session.ssoBegin session.ssoRefresh sessions.list signins.list sessions.end access.list access.end factors.get " +
			"factors.password factors.totpBegin factors.totpConfirm factors.totpRemove factors.recoveryCodes factors.passkeyOptions " +
			"factors.passkeyAdd factors.passkeyRemove factors.ssoBegin factors.ssoLink factors.ssoUnlink account.changeEmail profile.get profile.set records.history records.changes " +
			"documents.page documents.text documents.underway uploads.terms uploads.open lookup.find lookup.similar lookup.duplicates lookup.dismiss lookup.conflicts lookup.titles lookup.tags " +
			"exports.begin lookup.recent lookup.opened events.feed bulk.list bulk.get bulk.report bulk.start bulk.stop bulk.resume bulk.undo " +
			"merges.list merges.get merges.find merges.undo",
		"program":  "tools.list tools.text",
		"operator": "organizations.list organizations.create organizations.erase people.resetPassword people.unlink webhooks.test jobs.list jobs.retry",
		"admin operator": "clients.approve clients.disapprove clients.list clients.create clients.rotate clients.set organizations.get organizations.set people.list people.get people.holdings people.create people.set people.handOver people.handOverStatus " +
			"people.erase people.invite people.resetFactors invitations.list invitations.revoke serviceAccounts.list serviceAccounts.get " +
			"serviceAccounts.create serviceAccounts.set requests.versions audit.list exports.organization",
		"member operator": "clients.approvals names.resolve names.find exports.contact exports.parts imports.list imports.get imports.lines imports.create imports.append imports.complete " +
			"imports.map imports.run imports.undo imports.discard",
		"admin": "exports.audit",
		"self":  "grants.renew keys.terms requests.caused events.outcomes",
		"self operator": "grants.list grants.end keys.list keys.get keys.create keys.update keys.pause keys.resume keys.revoke keys.rotate requests.list usage.get bell.list bell.read " +
			"webhooks.list webhooks.get webhooks.deliveries webhooks.create webhooks.change webhooks.rotate webhooks.delete webhooks.enable webhooks.resend events.deliveries exports.person",
	}
	// consoleColumns maps a property of an operation to the ids of the operations with this
	// property. Operations that anyone may call also have the property "always", but are not listed
	// there.
	consoleColumns = map[string]string{
		"fresh": "factors.password factors.totpBegin factors.totpConfirm factors.totpRemove factors.recoveryCodes factors.passkeyOptions factors.passkeyAdd " +
			"factors.passkeyRemove factors.ssoBegin factors.ssoLink factors.ssoUnlink account.changeEmail organizations.set people.create people.set " +
			"people.handOver people.erase people.invite people.resetFactors serviceAccounts.create serviceAccounts.set keys.create keys.resume keys.rotate " +
			"grants.renew clients.approve clients.create clients.rotate webhooks.create webhooks.rotate webhooks.enable webhooks.resend exports.person exports.organization exports.audit",
		"always": "signin.out session.get session.switch session.refresh session.ssoBegin session.ssoRefresh sessions.list signins.list sessions.end access.list access.end " +
			"factors.get factors.password factors.totpBegin factors.totpConfirm factors.recoveryCodes factors.passkeyOptions factors.passkeyAdd " +
			"profile.get invitations.revoke keys.pause keys.revoke grants.end clients.disapprove",
		"setup": "access.list access.end factors.get factors.password factors.totpBegin factors.totpConfirm factors.totpRemove factors.recoveryCodes factors.passkeyOptions " +
			"factors.passkeyAdd factors.passkeyRemove factors.ssoBegin factors.ssoLink factors.ssoUnlink",
		"reads": "lookup.conflicts exports.begin exports.contact exports.person exports.organization exports.audit",
		"unstored": "signin.password signin.second signin.passkey signin.sso signin.ssoAccept signin.choose signin.forgot signin.reset session.switch " +
			"session.refresh session.ssoRefresh invitations.accept oauth.answer oauth.token oauth.register",
	}
	// consoleDoors maps an api.Door to the operations that can be called only through it. All other
	// operations can be called through web and admin.
	consoleDoors = map[string]string{
		"web": "signin.password signin.second signin.passkeyOptions signin.passkey signin.ssoBegin signin.sso signin.ssoInvited signin.ssoAccept " +
			"signin.choose signin.out signin.forgot signin.reset session.get session.switch session.refresh session.ssoBegin session.ssoRefresh " +
			"sessions.list signins.list sessions.end access.list access.end factors.get factors.password factors.totpBegin factors.totpConfirm factors.totpRemove " +
			"factors.recoveryCodes factors.passkeyOptions factors.passkeyAdd factors.passkeyRemove factors.ssoBegin factors.ssoLink factors.ssoUnlink " +
			"account.changeEmail account.confirmEmail profile.get profile.set records.history records.changes documents.page documents.underway " +
			"documents.text uploads.terms uploads.open keys.terms oauth.ask oauth.answer grants.renew requests.caused " +
			"events.feed events.outcomes lookup.find lookup.similar lookup.duplicates lookup.dismiss lookup.conflicts lookup.titles lookup.tags exports.begin exports.audit bulk.list bulk.get " +
			"bulk.report bulk.start bulk.stop bulk.resume bulk.undo lookup.recent lookup.opened " +
			"merges.list merges.get merges.find merges.undo",
		"admin": "organizations.list organizations.create organizations.erase people.resetPassword people.unlink webhooks.test jobs.list jobs.retry",
		"oauth": "oauth.token oauth.revoke oauth.introspect oauth.register",
		"mcp":   "tools.list tools.text",
	}
)

func TestConsoleRightsAsDecided(t *testing.T) {
	decided := map[string]string{}
	for who, rows := range consoleCallers {
		for id := range strings.FieldsSeq(rows) {
			decided[id] = who
		}
	}
	for i := range api.Unpublished {
		r := &api.Unpublished[i]
		switch decided[r.ID] {
		case r.Who.String():
		case "":
			t.Errorf("%s is new: add it to consoleCallers[%q] in api/console_test.go, and to consoleDoors if its doors are not [admin web]", r.ID, r.Who)
			continue
		default:
			t.Errorf("%s is for %q, and was decided for %q: see consoleCallers", r.ID, r.Who, decided[r.ID])
		}
		columns := map[string]bool{"fresh": r.Fresh, "always": r.Always &&
			!r.Who.Open(), "setup": r.Setup, "reads": r.Reads, "unstored": r.Unstored}
		if r.Who.Open() && !r.Always {
			t.Errorf("%s is for anyone, and refuses people whose organization is closed", r.ID)
		}
		for column, set := range columns {
			if want := slices.Contains(strings.Fields(consoleColumns[column]), r.ID); set != want {
				t.Errorf("%s has %s %t, and was decided %t: see consoleColumns", r.ID, column, set, want)
			}
		}
		doors := []api.Door{api.Admin, api.Web}
		for door, rows := range consoleDoors {
			if slices.Contains(strings.Fields(rows), r.ID) {
				doors = []api.Door{api.Door(door)}
			}
		}
		if !slices.Equal(r.Doors, doors) {
			t.Errorf("%s has the doors %v, and %v were decided: see consoleDoors", r.ID, r.Doors, doors)
		}
		delete(decided, r.ID)
	}
	if len(decided) > 0 {
		t.Errorf("rows that are gone: %v", decided)
	}
}

// TestConsoleCallers calls every unpublished operation as every caller. It checks that a caller
// without permission is refused before any data is read. Through an api.Door that the operation
// does not have, the response is 404.
func TestConsoleCallers(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	acceptSessions(o)
	foreign, _ := o.Organization("Andere")
	person := func(role access.Role, organization string) api.Credential {
		return api.Credential{Scheme: session, Text: organization + " " + o.User(role, organization)}
	}
	callers := map[string]api.Credential{
		"operator": api.Local(), "admin": person(access.Admin, o.ID), "member": person(access.Member, o.ID),
		"viewer":  person(access.Viewer, o.ID),
		"foreign": person(access.Admin, foreign), "nobody": {}, "key": api.Bearer(o.Key(o.User(access.Admin))),
		"token": {Scheme: token, Text: person(access.Admin, o.ID).Text},
	}
	may := func(r *api.Operation, who string) bool {
		words := strings.Fields(r.Who.String())
		has := func(w ...string) bool {
			return slices.ContainsFunc(w, func(w string) bool { return slices.Contains(words, w) })
		}
		switch who {
		case "operator":
			return has("operator", "anyone", "client")
		case "admin", "foreign":
			return has("admin", "member", "self", "anyone", "client")
		case "member", "viewer":
			return has("member", "self", "anyone", "client")
		case "key", "token":
			return has("program", "anyone", "client")
		}
		return has("anyone", "client")
	}
	for i := range api.Unpublished {
		r := &api.Unpublished[i]
		for who, as := range callers {
			if got := ask(t, o, api.REST, as, r.ID, struct{}{}); got.Status != 404 {
				t.Errorf("%s by rest as %s: %d", r.ID, who, got.Status)
			}
			for _, door := range []api.Door{api.Admin, api.Web, api.MCP, api.OAuth} {
				got := ask(t, o, door, as, r.ID, struct{}{})
				if door == api.OAuth && slices.Contains(r.Doors, door) { // other tests check the refusals for OAuth clients
					if got.Status == 404 || got.Status >= 500 {
						t.Errorf("%s by %s as %s: %d", r.ID, door, who, got.Status)
					}
					continue
				}
				// The operation admitted the person, and then its function required a scope.
				lacks := strings.Contains(string(got.Body), "fehlt der Scope")
				switch refused := got.Status == 401 || got.Status == 403 && !lacks; {
				case !slices.Contains(r.Doors, door):
					if got.Status != 404 {
						t.Errorf("%s by %s as %s: %d", r.ID, door, who, got.Status)
					}
				case refused == may(r, who), got.Status >= 500:
					t.Errorf("%s by %s as %s: %d %s", r.ID, door, who, got.Status, got.Body)
				}
			}
		}
	}
}

// TestConsoleFreshSignIn checks that operations with the property Fresh require a recent sign-in.
func TestConsoleFreshSignIn(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	admin := o.User(access.Admin)
	o.Directory.Accept(session, sessions(func(ctx context.Context, tx db.Tx, _ string) (access.Proof, error) {
		org, err := access.OrganizationIn(ctx, tx, o.ID)
		return access.Proof{
			Credential:   access.Credential{FreshUntil: clock.Now(o.Clock)},
			Organization: org.Number,
			Principal:    admin,
			Scopes:       access.AllScopes(),
		}, err
	}))
	for i := range api.Unpublished {
		r := &api.Unpublished[i]
		if !slices.Contains(r.Doors, api.Web) {
			continue
		}
		if got := ask(t, o, api.Web, api.Credential{Scheme: session, Text: "x"}, r.ID,
			struct{}{}); (got.Status == 403) != r.Fresh {
			t.Errorf("%s: %d %s", r.ID, got.Status, got.Body)
		}
	}
}

// TestConsoleReachesOnesOwn checks that no caller reaches the data of others. An admin of another
// organization is refused with the input of every operation. A member of the same organization is
// refused by operations about the caller's own data. Operations for anyone are called with wrong
// secrets, and must do nothing.
func TestConsoleReachesOnesOwn(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		foreign, _ := o.Organization("Andere")
		admin := o.User(access.Admin, foreign)
		stranger := api.Credential{Scheme: session, Text: foreign + " " + admin}
		x := &others{
			T: t, o: o, stranger: stranger, member: api.Credential{Scheme: session, Text: o.ID + " " + o.User(access.Member)},
			doors: map[api.Door]api.Credential{
				api.Web:   stranger,
				api.Admin: stranger,
				api.MCP:   api.Bearer(o.Key(admin)),
				api.OAuth: {},
			},
		}
		x.inputs, x.owner = consoleInputs(t, o)
		for i := range api.Unpublished {
			r := &api.Unpublished[i]
			switch who := strings.Fields(r.Who.String()); {
			case r.Who.Open():
				x.withoutSecrets(r)
			case slices.Equal(who, []string{"operator"}):
				if got := ask(t, o, api.Admin, stranger, r.ID, x.input(r, api.Admin)); got.Status != 401 && got.Status != 403 {
					t.Errorf("%s is for the operator alone, and answers an admin: %d %.60s", r.ID, got.Status, got.Body)
				}
			case aboutTheCaller(r):
				door := r.Doors[0]
				if got := ask(t, o, door, x.doors[door], r.ID, x.input(r, door)); strings.Contains(string(got.Body), x.owner) ||
					got.Status == 401 || got.Status >= 500 {
					t.Errorf("%s tells somebody else about %s: %d %s", r.ID, x.owner, got.Status, got.Body)
				}
			default:
				x.named(r)
			}
		}
	})
}

// others are callers to whom the data in the inputs does not belong.
type others struct {
	*testing.T
	o *apitest.Office
	// inputs and owner are the results of consoleInputs.
	inputs map[string]any
	owner  string
	// stranger is an admin of another organization. doors has a credential of this admin for each
	// api.Door. member is a member of the owner's organization.
	stranger, member api.Credential
	doors            map[api.Door]api.Credential
}

// input returns the input of an operation for a call by the stranger.
func (x *others) input(r *api.Operation, door api.Door) any {
	x.Helper()
	in := x.inputs[r.ID]
	if f, is := in.(func() any); is {
		in = f()
	}
	if f, is := in.(func(api.Door, api.Credential) any); is {
		in = f(door, x.doors[door])
	}
	if in == nil {
		x.Errorf("%s: consoleInputs has no input for it", r.ID)
	}
	return in
}

// named calls an operation with an input that has ids of the owner or the organization, and fails
// the test if the call succeeds.
func (x *others) named(r *api.Operation) {
	x.Helper()
	door := r.Doors[len(r.Doors)-1] // Web, if the operation has it
	in := x.input(r, door)
	got := ask(x.T, x.o, door, x.stranger, r.ID, in)
	if got.Status != 404 && got.Status != 422 {
		x.Errorf("%s reaches another organization: its function must ask c.FindOrganization or principal.Find, and its input in consoleInputs name what is the office's: %d %.60s", r.ID, got.Status, got.Body)
	}
	if !strings.Contains(r.Who.String(), "self") {
		return
	}
	got = ask(x.T, x.o, door, x.member, r.ID, in)
	if refused := got.Status == 404 || got.Status == 422; !refused &&
		(r.Audit != "" || strings.Contains(string(got.Body), x.owner)) {
		x.Errorf("%s reaches what is another person's: its function must compare the owner with the caller, as c.Owns does: %d %.60s", r.ID, got.Status, got.Body)
	}
	if got.Fault != nil || r.Writes() {
		return
	}
	if all := ask(x.T, x.o, api.Admin, api.Local(), r.ID, in); !strings.Contains(string(all.Body), x.owner) {
		x.Errorf("%s has nothing of the owner to show or to hide: let consoleInputs make it: %d %.60s", r.ID, all.Status,
			all.Body)
	}
}

// secretsOf maps operations that anyone may call to the secret members of their inputs. If one of
// these members is wrong, the call must be refused, unless the operation is in needNoSecret too.
// The identity provider of these tests accepts every code.
var secretsOf = map[string]string{
	"signin.password": "password", "signin.second": "ticket recoveryCode", "signin.passkey": "ticket response",
	"signin.choose": "ticket",
	"signin.sso":    "ticket state", "signin.ssoInvited": "token", "signin.ssoAccept": "ticket state",
	"signin.reset":         "token",
	"account.confirmEmail": "token", "invitations.accept": "token", "oauth.token": "code codeVerifier",
	"oauth.revoke": "token", "oauth.introspect": "clientSecret",
}

// needNoSecret maps operations that anyone may call without a secret to the reason why they reach
// no data of others.
var needNoSecret = map[string]string{
	"signin.passkeyOptions": "a question that a passkey answers",
	"signin.ssoBegin":       "leads to the provider",
	"signin.forgot":         "mails a link to the address, and says the same of every address",
	"oauth.revoke":          "says the same of every token (RFC 7009)",
	"oauth.register":        "registers a new application, which may do nothing",
}

// withoutSecrets calls an operation for anyone once for each secret in its input, with this secret
// changed. It checks that nothing happens, and that the response does not contain the owner's id.
func (x *others) withoutSecrets(r *api.Operation) {
	x.Helper()
	// OAuth for operations of applications, else Web
	door, secrets, why := r.Doors[len(r.Doors)-1], strings.Fields(secretsOf[r.ID]), needNoSecret[r.ID]
	if len(secrets) == 0 {
		if secrets = []string{""}; why == "" {
			x.Errorf("%s is for anyone: secretsOf must name its secrets, or needNoSecret say why it has none", r.ID)
		}
	}
	for _, secret := range secrets {
		for who, as := range map[string]api.Credential{"nobody": {}, "a stranger": x.doors[door]} {
			in := x.input(r, door)
			if secret != "" {
				in = spoiled(x.T, in, secret)
			}
			before := x.acted(r)
			got := ask(x.T, x.o, door, as, r.ID, in)
			if (got.Fault == nil) != (why != "") || got.Status >= 500 {
				x.Errorf("%s without its %s as %s: %d %s, and needNoSecret says %q", r.ID, secret, who, got.Status, got.Body, why)
			}
			if n := x.acted(r) - before; n != 0 || strings.Contains(string(got.Body), x.owner) {
				x.Errorf("%s without its %s as %s writes %d lines: %d %s", r.ID, secret, who, n, got.Status, got.Body)
			}
		}
	}
}

// acted counts the lines in the audit log with the word of an operation. Refused sign-ins can have
// such lines too.
func (x *others) acted(r *api.Operation) (n int) {
	x.Helper()
	for _, l := range lines(x.T, x.o) {
		if l.Word == r.Audit {
			n++
		}
	}
	return n
}

// spoiled returns an input with a changed member: each text in the member has another character in
// its middle.
func spoiled(t *testing.T, in any, member string) map[string]any {
	t.Helper()
	text, err := json.Marshal(in)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || out[member] == nil {
		t.Fatalf("%s: no %s: %v", text, member, err)
	}
	var spoil func(v any) any
	spoil = func(v any) any {
		switch v := v.(type) {
		case string:
			if v == "" {
				return "x"
			}
			return v[:len(v)/2] + string(v[len(v)/2]^1) + v[len(v)/2+1:]
		case map[string]any:
			for name := range v {
				v[name] = spoil(v[name])
			}
		}
		return v
	}
	out[member] = spoil(out[member])
	return out
}

// prepares are the operations that only prepare another operation. They therefore write no line in
// the audit log.
var prepares = map[string]bool{
	"signin.forgot": true, "factors.totpBegin": true, "factors.passkeyOptions": true,
	"factors.ssoBegin": true, "oauth.token": true,
}

// aboutTheCaller reports whether an operation only concerns the person who calls. The operator
// cannot call it, because the operator is not a person.
func aboutTheCaller(r *api.Operation) bool { return !strings.Contains(r.Who.String(), "operator") }

// TestConsoleAtHome checks that an admin also reaches the sandbox of the
// organization. Names are resolved only for people of the organization. A
// member creates keys only for themselves, and sees only those keys and their
// calls.
func TestConsoleAtHome(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		foreign, _ := o.Organization("Andere")
		stranger := o.User(access.Member, foreign)
		admin := o.User(access.Admin)
		as := api.Credential{Scheme: session, Text: o.ID + " " + admin}
		if got := ask(t, o, api.Web, as, "organizations.get", op.ByID{ID: o.SandboxID}); got.Status != 200 {
			t.Errorf("the own sandbox: %d %s", got.Status, got.Body)
		}
		if got := ask(t, o, api.Web, as, "names.resolve",
			principal.NamesInput{IDs: []string{admin, stranger}}); got.Status != 200 ||
			strings.Contains(string(got.Body), stranger) || !strings.Contains(string(got.Body), "Petra Morgenstern") {
			t.Errorf("names: %d %s", got.Status, got.Body)
		}
		// Names are found by their words, as in every search. Disabled people are not found.
		gone, yes, name := o.User(access.Member), true, "Jörg Müller"
		for _, change := range []principal.Change{{ID: gone, Disabled: &yes}, {ID: o.User(access.Member), Name: &name}} {
			if _, err := o.Operator.SetUser(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		for q, want := range map[string]string{
			"": "Jörg Müller, Petra Morgenstern", "mueller": "Jörg Müller", "petra morg": "Petra Morgenstern",
			"orgen": "",
		} {
			var found principal.FoundNames
			var names []string
			got := ask(t, o, api.Web, as, "names.find", principal.FindNamesInput{Q: q})
			if json.Unmarshal(got.Body, &found) != nil {
				t.Fatalf("%q: %d %s", q, got.Status, got.Body)
			}
			for _, n := range found.Data {
				names = append(names, n.Name)
			}
			if strings.Join(names, ", ") != want {
				t.Errorf("%q finds %q, want %q", q, names, want)
			}
		}
		// A member creates keys only for themselves, and sees only their own keys.
		member := o.User(access.Member)
		own := api.Credential{Scheme: session, Text: o.ID + " " + member}
		for principal, want := range map[string]int{member: 200, admin: 422} {
			if got := ask(t, o, api.Web, own, "keys.create", key.New{
				Principal:   principal,
				Environment: access.Test,
				Scopes:      []string{"contacts:read"},
			}); got.Status != want {
				t.Errorf("a key for %s: %d %s", principal, got.Status, got.Body)
			}
		}
		var keys op.Entries[key.Info]
		if got := ask(t, o, api.Web, own, "keys.list", op.Page{}); json.Unmarshal(got.Body, &keys) != nil ||
			len(keys.Data) != 1 || keys.Data[0].PrincipalID != member {
			t.Errorf("keys of a member: %s", got.Body)
		}
		// A member sees only the calls with their own keys.
		foreigner, err := o.Operator.CreateKey(t.Context(), key.New{
			Organization: o.ID,
			Principal:    admin,
			Environment:  access.Test,
			Scopes:       []string{"contacts:read"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]int{
			keys.Data[0].ID: 200, keys.Data[0].KidShort: 200, foreigner.ID: 404, admin: 404, "": 200,
		} {
			if got := ask(t, o, api.Web, own, "requests.list", requestlog.QueryInput{Key: key}); got.Status != want {
				t.Errorf("calls of the key %q: %d %s", key, got.Status, got.Body)
			}
		}
	})
}

// TestConsoleActsAreAudited checks that each operation succeeds for the operator, or for a person
// if it concerns only people. An operation with an audit word writes one line about its target in
// the same transaction. The line contains no names, no addresses of people and no secrets.
func TestConsoleActsAreAudited(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		inputs, owner := consoleInputs(t, o)
		for i := range api.Unpublished {
			r := &api.Unpublished[i]
			in, known := inputs[r.ID]
			if !known {
				t.Errorf("%s: consoleInputs in api/console_test.go has no input for it", r.ID)
				continue
			}
			if f, is := in.(func() any); is {
				in = f()
			}
			before := lines(t, o)
			door, as, kind := api.Admin, api.Local(), "operator"
			if aboutTheCaller(r) {
				door, as, kind = api.Web, api.Cookie(o.Session(owner), true), "session" // the records are in the sandbox
			}
			if r.Who.Open() {
				as, kind = api.Credential{}, "anonymous"
			}
			if slices.Contains(r.Doors, api.OAuth) {
				door = api.OAuth
			}
			if slices.Contains(r.Doors, api.MCP) {
				door, as, kind = api.MCP, api.Bearer(o.Key(owner)), "key"
			}
			if f, is := in.(func(api.Door, api.Credential) any); is {
				in = f(door, as)
			}
			got := ask(t, o, door, as, r.ID, in)
			if got.Fault != nil {
				t.Errorf("%s does not succeed with its input in consoleInputs: %s", r.ID, got.Body)
				continue
			}
			after, want := lines(t, o), 0
			if r.Audit != "" && !prepares[r.ID] {
				want = 1
			}
			if n := len(after) - len(before); n != want {
				t.Errorf("%s writes %d lines, not %d", r.ID, n, want)
				continue
			}
			if want == 0 {
				continue
			}
			l := after[0]
			if l.Word != r.Audit || l.Operation != r.ID || l.Target == "" || l.CredentialKind != kind ||
				l.Door != string(door) || l.Address != "192.0.2.7" || l.RequestID == "" || l.Time == 0 {
				t.Errorf("%s: %+v", r.ID, l)
			}
			text, _ := json.Marshal(l)
			for _, secret := range []string{"Geheim", "@example", "kart_"} {
				if strings.Contains(string(text), secret) {
					t.Errorf("%s: the line holds %q: %s", r.ID, secret, text)
				}
			}
		}
		// A refused operation writes no line.
		before := len(lines(t, o))
		ask(t, o, api.Admin, api.Local(), "people.create", principal.New{Organization: o.ID, Name: "Ida", Email: "ida"})
		if n := len(lines(t, o)); n != before {
			t.Errorf("a refused act wrote %d lines", n-before)
		}
	})
}

// lines returns the lines in the audit logs of all organizations, the newest first. Lines of jobs
// are left out.
func lines(t *testing.T, o *apitest.Office) []audit.Line {
	t.Helper()
	page, err := operator.Run(t.Context(), o.Operator, auditlog.List, auditlog.Input{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(page.Data, func(l audit.Line) bool { return l.Door == "job" })
}

// consoleInputs maps each unpublished operation to an input with which the operator succeeds. owner
// is the person to whom the records in the inputs belong. Callers from another organization do not
// reach these records. If the operation is about the caller, no other person reaches the records
// either. An input that is a function is made when its operation is called.
func consoleInputs(t *testing.T, o *apitest.Office) (inputs map[string]any, owner string) {
	t.Helper()
	m := &inputMaker{t: t, o: o, owner: o.As(access.Admin)}
	service, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{Organization: o.ID, Name: secretName})
	if err != nil {
		t.Fatal(err)
	}
	m.service = service.ID
	m.letter = byID(m.owner.Document("geheim.txt", "text/plain", []byte(m.owner.Principal)))
	inputs, owner = map[string]any{}, m.owner.Principal
	for _, some := range []map[string]any{
		m.organizations(), m.people(), m.keys(), m.applications(), m.webhooks(), m.records(), m.exports(), m.jobs(),
		signInInputs(t, o, owner), ssoInputs(t, o, owner), factorInputs(t, o, owner), importInputs(t, o, owner),
		bulkInputs(t, o, owner), m.merges(),
	} {
		maps.Copy(inputs, some)
	}
	return inputs, owner
}

// inputMaker makes the records whose ids the inputs of operations contain.
type inputMaker struct {
	t *testing.T
	o *apitest.Office
	// owner is the admin to whom these records belong.
	owner *apitest.Client
	// service is the id of a service account of the organization. letter has the id of a document
	// in its sandbox.
	service string
	letter  op.ByID
}

// secretName is a name that no line of the audit log may contain.
const secretName = "Geheim"

func byID(id string) op.ByID { return op.ByID{ID: id} }

// organizations returns the inputs of operations about organizations and their people's activity.
func (m *inputMaker) organizations() map[string]any {
	m.t.Helper()
	erased, _ := m.o.Organization("Zu löschen")
	deleting := access.Deleting
	if _, err := m.o.Operator.SetOrganization(m.t.Context(),
		organization.Change{ID: erased, State: &deleting}); err != nil {
		m.t.Fatal(err)
	}
	return map[string]any{
		"organizations.list":   op.Page{},
		"organizations.create": organization.New{Name: secretName},
		"organizations.get":    byID(m.o.ID),
		"organizations.set":    organization.Change{ID: m.o.ID, Name: new(secretName), Module: new("off")},
		"organizations.erase":  byID(erased),
		"requests.versions":    map[string]string{"organizationId": m.o.ID},
		"audit.list":           auditlog.Input{Organization: m.o.ID},
	}
}

// people returns the inputs of operations about people, service accounts, names and notices.
func (m *inputMaker) people() map[string]any {
	m.t.Helper()
	dbtest.Run(m.t, m.o.DB, `insert into notices (organization, principal, id, created_at, kind, data, read_at, mailing, mail_at, mailed_at)
		values (1, $1, 'ntc_1', 1, 'unknown', '{}', 0, false, 0, 0)`, m.owner.Principal)
	home, person := op.Page{
		Organization: m.o.ID,
	}, map[string]string{"organizationId": m.o.ID, "principalId": m.owner.Principal}
	return map[string]any{
		"people.resetFactors": byID(joined(m.t, m.o)), "people.resetPassword": byID(joined(m.t, m.o)),
		"people.unlink": func() any {
			_, a := bySSO(m.t, m.o, ssotest.Forge(m.t), apitest.Fresh())
			return byID(a.ID)
		},
		"people.list":           home,
		"people.get":            byID(m.owner.Principal),
		"serviceAccounts.get":   byID(m.service),
		"people.create":         principal.New{Organization: m.o.ID, Name: secretName, Email: "geheim@example.com"},
		"people.set":            principal.Change{ID: m.owner.Principal, Name: new(secretName)},
		"people.handOver":       offboarding.HandOverInput{ID: m.o.User(access.Member), To: m.owner.Principal},
		"people.handOverStatus": byID(m.owner.Principal),
		"people.holdings":       offboarding.HoldingsInput{ID: m.owner.Principal},
		"people.erase":          byID(m.o.User(access.Member)),
		"people.invite":         invitation.New{Organization: m.o.ID, Email: "geheim.neu@example.com", Role: access.Viewer},
		"invitations.list":      home,
		"invitations.revoke":    byID(m.invite("geheim.weg@example.com").ID),
		"invitations.accept": account.Acceptance{
			Token: m.invite("geheim.an@example.com").Token, Name: secretName, Password: somePassword,
		},
		"serviceAccounts.list":   home,
		"serviceAccounts.create": principal.New{Organization: m.o.ID, Name: secretName},
		"serviceAccounts.set":    principal.Change{ID: m.service, Name: new(secretName)},
		"names.resolve":          principal.NamesInput{Organization: m.o.ID, IDs: []string{m.owner.Principal}},
		"names.find":             principal.FindNamesInput{Organization: m.o.ID, Q: "Pe"},
		"bell.list":              person,
		"bell.read":              person,
	}
}

// invite invites somebody to the organization.
func (m *inputMaker) invite(email string) invitation.NewInvitation {
	m.t.Helper()
	made, err := operator.Run(m.t.Context(), m.o.Operator, invitation.Create,
		invitation.New{Organization: m.o.ID, Email: email})
	if err != nil {
		m.t.Fatal(err)
	}
	return made
}

// keys returns the inputs of operations about API keys and their calls.
func (m *inputMaker) keys() map[string]any {
	m.t.Helper()
	return map[string]any{
		"keys.list": op.Page{Organization: m.o.ID},
		"keys.get":  byID(m.key()),
		"keys.create": key.New{
			Organization: m.o.ID,
			Principal:    m.owner.Principal,
			Environment:  access.Test,
			Name:         secretName,
			Scopes:       []string{"contacts:read"},
		},
		"keys.update": key.Change{
			ID: m.key(), Name: new(secretName), Networks: &[]string{"192.0.2.0/24"}, ExpiresIn: time.Hour,
		},
		"keys.terms":      key.KeyTermsInput{},
		"access.end":      agent.EndInput{ID: m.key()},
		"keys.pause":      byID(m.key()),
		"keys.resume":     byID(m.key()),
		"keys.revoke":     byID(m.key()),
		"keys.rotate":     byID(m.key()),
		"requests.list":   map[string]string{"organizationId": m.o.SandboxID, "key": m.key()},
		"requests.caused": lookup.CausedInput{Request: "req_01m7xt6sane2a9hpasvbmaayqz"},
		"usage.get":       usage.Input{Key: m.key()},
	}
}

// key creates an API key of the owner, and returns its id.
func (m *inputMaker) key() string {
	m.t.Helper()
	made, err := m.o.Operator.CreateKey(m.t.Context(), key.New{
		Organization: m.o.ID,
		Principal:    m.owner.Principal,
		Environment:  access.Test,
		Scopes:       []string{"contacts:read"},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return made.ID
}

// applications returns the inputs of operations about OAuth applications and AI assistants.
func (m *inputMaker) applications() map[string]any {
	m.t.Helper()
	apps := newApplications(m.t, m.o, m.owner.Principal, m.service)
	return map[string]any{
		"tools.list":         api.ToolsInput{},
		"tools.text":         map[string]string{"id": m.letter.ID},
		"oauth.ask":          apps.asks(),
		"oauth.answer":       apps.answer,
		"oauth.token":        func() any { return apps.exchange() },
		"oauth.revoke":       func() any { return apps.revoke() },
		"oauth.introspect":   oauth.TokenQuestion{ClientAuth: apps.service, Token: "x"},
		"oauth.register":     oauth.Registration{RedirectURIs: []string{"https://app.example/cb"}, Name: secretName},
		"grants.list":        oauth.FindGrants{Page: op.Page{Organization: m.o.ID}, Principal: m.owner.Principal},
		"grants.end":         func() any { return byID(apps.grant().ID) },
		"grants.renew":       func() any { return byID(apps.grant().ID) },
		"clients.list":       op.Page{Organization: m.o.ID},
		"clients.approvals":  op.Page{Organization: m.o.ID},
		"clients.approve":    func() any { return oauth.ApproveInput{Organization: m.o.ID, ID: apps.asked()} },
		"clients.disapprove": func() any { return oauth.DisapproveInput{Organization: m.o.ID, ID: apps.asked()} },
		"clients.create": oauth.NewClient{
			Organization: m.o.ID,
			Name:         secretName,
			Principal:    m.service,
			Scopes:       []string{"contacts:read"},
			Environment:  access.Test,
		},
		"clients.rotate": byID(apps.service.ClientID),
		"clients.set":    oauth.ClientChange{ID: apps.service.ClientID, Disabled: true},
	}
}

// webhooks returns the inputs of operations about webhook endpoints and events.
func (m *inputMaker) webhooks() map[string]any {
	m.t.Helper()
	endpoint := m.hooked()
	test := m.owner.Do("POST", "/webhook_endpoints/"+endpoint.ID+"/test", nil).Want(200).Text("eventId")
	hook := map[string]string{"organizationId": m.o.SandboxID, "id": endpoint.ID}
	return map[string]any{
		"events.feed":         event.FeedInput{},
		"events.deliveries":   map[string]string{"organizationId": m.o.SandboxID, "id": test},
		"events.outcomes":     map[string]any{"ids": []string{test}},
		"webhooks.list":       map[string]string{"organizationId": m.o.SandboxID},
		"webhooks.get":        hook,
		"webhooks.deliveries": hook,
		"webhooks.create": map[string]any{
			"organizationId": m.o.SandboxID,
			"principalId":    m.owner.Principal,
			"name":           secretName,
			"url":            "https://example.com/Geheim",
			"eventTypes":     []string{"task.created"},
		},
		"webhooks.change": map[string]any{
			"organizationId": m.o.SandboxID, "id": m.hooked().ID, "name": "Geheimer",
			"url": "https://example.com/GeheimNeu",
		},
		"webhooks.rotate": map[string]string{"organizationId": m.o.SandboxID, "id": m.hooked().ID},
		"webhooks.delete": map[string]string{"organizationId": m.o.SandboxID, "id": m.hooked().ID},
		"webhooks.test":   hook,
		"webhooks.enable": hook,
		"webhooks.resend": map[string]any{"organizationId": m.o.SandboxID, "id": endpoint.ID, "failed": true},
	}
}

// hooked creates a webhook endpoint of the owner, and returns its id.
func (m *inputMaker) hooked() op.ByID {
	m.t.Helper()
	return byID(m.owner.Do("POST", "/webhook_endpoints", map[string]any{
		"name":       secretName,
		"url":        "https://example.com/Geheim",
		"eventTypes": []string{"contact.created"},
	}).Want(201).Text("id"))
}

// records returns the inputs of operations about records and files.
func (m *inputMaker) records() map[string]any {
	m.t.Helper()
	return map[string]any{
		"lookup.find":       lookup.FindInput{Q: secretName},
		"lookup.similar":    lookup.SimilarInput{Family: "contacts", LastName: secretName},
		"lookup.titles":     lookup.TitlesInput{IDs: []string{"con_00000000000000000000000000"}},
		"lookup.tags":       lookup.TagsInput{Family: "contacts", Q: "m"},
		"lookup.recent":     lookup.RecentInput{},
		"lookup.duplicates": lookup.DuplicatesInput{Family: "contacts"},
		"lookup.dismiss":    lookup.DismissInput{Family: "contacts", First: m.contact(), Second: m.contact()},
		"lookup.conflicts":  lookup.ConflictsInput{Lines: []string{secretName}},
		"lookup.opened":     m.letter,
		"uploads.terms":     struct{}{},
		"uploads.open": byID(m.owner.Do("POST", "/uploads", map[string]any{
			"fileName": secretName + ".txt", "contentType": "text/plain", "size": 5,
		}).Want(201).Text("id")),
		"documents.underway": struct{}{},
		"documents.page":     m.letter,
		"documents.text":     m.letter,
		"records.history":    byID(m.contact()),
		"records.changes":    lookup.ChangesInput{},
	}
}

// contact creates a contact of the owner, and returns its id.
func (m *inputMaker) contact() string {
	m.t.Helper()
	return m.owner.Do("POST", "/contacts", map[string]any{"lastName": secretName}).Want(201).Text("id")
}

// exports returns the inputs of operations about exports.
func (m *inputMaker) exports() map[string]any {
	m.t.Helper()
	return map[string]any{
		"exports.begin":        exports.ListInput{Family: "contacts", Format: "csv"},
		"exports.contact":      exports.Input{Organization: m.o.SandboxID, ID: m.contact()},
		"exports.person":       exports.Input{ID: m.owner.Principal},
		"exports.organization": exports.Input{ID: m.o.ID},
		"exports.audit":        exports.AuditInput{},
		"exports.parts": func() any {
			var begun exports.BeginOutput
			if got := ask(m.t, m.o, api.Admin, api.Local(), "exports.person",
				exports.Input{ID: m.owner.Principal}); json.Unmarshal(got.Body, &begun) != nil {
				m.t.Fatalf("exports.person: %s", got.Body)
			}
			return exports.PartsInput{Cursor: begun.Cursor}
		},
	}
}

// jobs returns the inputs of operations about jobs.
func (m *inputMaker) jobs() map[string]any {
	m.t.Helper()
	dbtest.Run(m.t, m.o.DB, `insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at)
		values (1, 'job_1', 'a', 'k', 'null', 'failed', 1, 5, 1000000, '', 1000000, 1000000)`)
	return map[string]any{
		"jobs.list":  struct{}{},
		"jobs.retry": byID("job_1"),
	}
}

// importInputs returns the inputs of operations about imports. An input that is a function is made
// when its operation is called.
func importInputs(t *testing.T, o *apitest.Office, owner string) map[string]any {
	t.Helper()
	// until returns a function that creates an import and calls the steps before the operation
	// last.
	until := func(last string) func() any {
		return func() any {
			made := imports.Import{}
			as := api.Cookie(o.Session(owner), true)
			for _, step := range []string{
				"imports.create", "imports.append", "imports.complete", "imports.map", "imports.run", "imports.undo",
			} {
				in := map[string]any{
					"imports.create": imports.CreateInput{
						Organization: o.SandboxID, Principal: owner, FileName: "Geheim.csv", Size: 14,
					},
					"imports.append": imports.AppendInput{
						Reference: imports.Reference{Organization: o.SandboxID, ID: made.ID},
						Content:   []byte("Nachname\nBerg\n"),
					},
					"imports.complete": imports.CompleteInput{Reference: imports.Reference{Organization: o.SandboxID, ID: made.ID}, Pieces: 1},
					"imports.map": imports.MapInput{
						Reference: imports.Reference{Organization: o.SandboxID, ID: made.ID},
						Targets:   []string{"lastName"},
						Options:   mapping.Options{Duplicates: mapping.Skip},
					},
				}[step]
				if in == nil {
					in = imports.Reference{Organization: o.SandboxID, ID: made.ID}
				}
				if step == last {
					return in
				}
				got := ask(t, o, api.Web, as, step, in)
				if got.Fault != nil || step == "imports.create" && json.Unmarshal(got.Body, &made) != nil {
					t.Fatalf("%s: %s", step, got.Body)
				}
				o.Rest()
			}
			return nil
		}
	}
	all := map[string]any{
		"imports.list":    imports.ListInput{Organization: o.SandboxID},
		"imports.get":     until("imports.run"),
		"imports.discard": until("imports.run"),
		"imports.lines":   until("imports.run"),
	}
	for _, row := range []string{
		"imports.create", "imports.append", "imports.complete", "imports.map", "imports.run", "imports.undo",
	} {
		all[row] = until(row)
	}
	return all
}

// bulkInputs returns the inputs of operations about changes of whole lists of records.
func bulkInputs(t *testing.T, o *apitest.Office, owner string) map[string]any {
	t.Helper()
	in := func(state bulk.State) func() any {
		return func() any {
			name := id.New(id.BulkAct)
			dbtest.Run(t, o.DB, `insert into bulk_acts (organization, id, principal, state, reason, content, progress, requested_by, kind, door, request_id, created_at, began_at, expires_at)
				select number, cast($1 as text), cast($2 as text), cast($3 as text), '', '{"family":"contacts","kind":"tag","value":"Geheim"}', '{"collected":true}', cast($2 as text), '', '', '', 1, 1, cast($4 as bigint)
				from organizations where id = '`+o.SandboxID+`'`, name, owner, string(state), clock.Now(o.Clock).Add(bulk.Age))
			return op.ByID{ID: name}
		}
	}
	return map[string]any{
		"bulk.list": bulk.ListInput{}, "bulk.get": in(bulk.Finished), "bulk.report": in(bulk.Finished),
		"bulk.start": bulk.StartInput{Family: "contacts", Kind: bulk.Tag, Value: "Geheim"},
		"bulk.stop":  in(bulk.Running), "bulk.resume": in(bulk.Stopped), "bulk.undo": in(bulk.Finished),
	}
}

// merges returns the inputs of operations about merges.
func (m *inputMaker) merges() map[string]any {
	merged := func() merge.Merge {
		m.t.Helper()
		into, from := m.contact(), m.contact()
		var all op.Entries[merge.Merge]
		m.owner.Inside(func(ctx context.Context, c *op.Call) (err error) {
			c.Services = c.Services.With(merge.Secrets.Is(apitest.Keys.Vault(merge.SecretsPurpose)))
			in := merge.ContactInput{ID: into, Order: merge.ContactOrder{From: from, FromRevision: 1}}
			if _, err = optest.Run(ctx, c, merge.Contacts, in); err != nil {
				return err
			}
			all, err = optest.Run(ctx, c, merge.List, merge.ListInput{Limit: 1})
			return err
		})
		return all.Data[0]
	}
	return map[string]any{
		"merges.list": merge.ListInput{},
		"merges.get":  func() any { return byID(merged().ID) },
		"merges.find": func() any { return byID(merged().MergedID) },
		"merges.undo": func() any { return byID(merged().ID) },
	}
}

// TestLastAdmin checks that admins cannot disable or demote the last admin of their organization.
// Only the operator can.
func TestLastAdmin(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		admin, disabled, viewer := o.User(access.Admin), o.User(access.Admin), access.Viewer
		foreign, _ := o.Organization("Andere")
		o.User(access.Admin, foreign)
		yes, no, role := true, false, access.Admin
		as := api.Credential{Scheme: session, Text: o.ID + " " + admin}
		if _, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{
			Organization: o.ID, Name: "Abgleich", Role: access.Admin,
		}); err != nil {
			t.Fatal(err)
		}
		set := func(as api.Credential, door api.Door, in principal.Change, want int) {
			t.Helper()
			got := ask(t, o, door, as, "people.set", in)
			if got.Status != want || want == 403 && !strings.Contains(string(got.Body), "letzte Administrator") {
				t.Errorf("%+v: %d %s", in, got.Status, got.Body)
			}
		}
		set(as, api.Web, principal.Change{ID: disabled, Disabled: &yes}, 200)
		set(as, api.Web, principal.Change{ID: admin, Role: &viewer}, 403)
		set(as, api.Web, principal.Change{ID: admin, Disabled: &yes}, 403)
		set(as, api.Web, principal.Change{ID: admin, Role: &role}, 200)
		set(as, api.Web, principal.Change{ID: disabled, Role: &viewer}, 200)
		set(api.Local(), api.Admin, principal.Change{ID: admin, Disabled: &yes}, 200)
		set(api.Local(), api.Admin, principal.Change{ID: admin, Disabled: &no}, 200)
		set(api.Local(), api.Admin, principal.Change{ID: disabled, Role: &role, Disabled: &no}, 200)
		set(as, api.Web, principal.Change{ID: admin, Role: &viewer}, 200) // another admin remains
	})
}

// TestAdminsDemoteEachOther checks that one admin remains if two admins demote each other at the
// same time. Both calls begin while both callers are admins.
func TestAdminsDemoteEachOther(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		var both sync.WaitGroup
		// A call authenticates its caller before it reads the body.
		demote := func(by, of string) int {
			viewer := access.Viewer
			body, err := json.Marshal(principal.Change{ID: of, Role: &viewer})
			if err != nil {
				t.Error(err)
			}
			return o.API.Do(t.Context(), &api.Request{
				Operation: api.ByID("people.set"), Door: api.Web,
				Credential: api.Credential{Scheme: session, Text: o.ID + " " + by},
				HasBody:    true, Body: func() ([]byte, error) { both.Done(); both.Wait(); return body, nil },
			}, nil).Status
		}
		role := access.Admin
		admins := []string{o.User(access.Admin), o.User(access.Admin)}
		for range 5 {
			both.Add(2)
			answers := make(chan int)
			for n := range admins {
				go func() { answers <- demote(admins[n], admins[1-n]) }()
			}
			if got := []int{<-answers, <-answers}; !slices.Contains(got, 200) || !slices.Contains(got, 403) {
				t.Fatalf("answers %v", got)
			}
			for _, id := range admins {
				if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: id, Role: &role}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestChangesAfterLosingTheRight checks that a change is refused if its caller loses the permission
// before the body has arrived. Otherwise people who expect to be disabled could keep calls waiting
// that create new access for them.
func TestChangesAfterLosingTheRight(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		o.User(access.Admin)
		yes, viewer := true, access.Viewer
		for want, loss := range map[int]principal.Change{401: {Disabled: &yes}, 403: {Role: &viewer}} {
			loss.ID = o.User(access.Admin)
			for row, in := range map[string]any{
				"people.invite": invitation.New{Email: "neu@example.com", Role: access.Admin},
				"people.create": principal.New{Name: "Neu", Email: "neu@example.com", Role: access.Admin},
			} {
				body, err := json.Marshal(in)
				if err != nil {
					t.Fatal(err)
				}
				no, role := false, access.Admin
				if _, err := o.Operator.SetUser(t.Context(), principal.Change{
					ID: loss.ID, Disabled: &no, Role: &role,
				}); err != nil {
					t.Fatal(err)
				}
				got := o.API.Do(t.Context(), &api.Request{
					Operation: api.ByID(row), Door: api.Web,
					Credential: api.Credential{Scheme: session, Text: o.ID + " " + loss.ID}, HasBody: true,
					Body: func() ([]byte, error) {
						_, err := o.Operator.SetUser(t.Context(), loss)
						return body, err
					},
				}, nil)
				if got.Status != want {
					t.Errorf("%s: %d %s, want %d", row, got.Status, got.Body, want)
				}
			}
		}
	})
}

// TestConsoleActsNameTheirTarget checks that an operation fails if it does not set its target for
// the audit log. None of its changes remain.
func TestConsoleActsNameTheirTarget(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	i := slices.IndexFunc(api.Unpublished, func(r api.Operation) bool { return r.ID == "people.create" })
	silent := func(ctx context.Context, c *op.Call, in principal.New) (access.PrincipalInfo, error) {
		c.Audit = nil
		return optest.Run(ctx, c, principal.CreateUser, in)
	}
	defer api.Replace(&api.Unpublished[i], silent)()
	got := ask(t, o, api.Admin, api.Local(), "people.create",
		principal.New{Organization: o.ID, Name: "Ida", Email: "ida@example.com"})
	if got.Fault == nil || got.Fault.Code != fault.Internal {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if page, err := o.Operator.ListUsers(t.Context(), op.Page{Organization: o.ID}); err != nil || len(page.Data) != 0 {
		t.Errorf("%v %v", page, err)
	}
}

// writes is a database that counts write transactions.
type writes struct {
	db.DB
	writes atomic.Int64
}

func (w *writes) Write(ctx context.Context, f func(db.Tx) error) error {
	w.writes.Add(1)
	return w.DB.Write(ctx, f)
}

// TestStrangersAcceptInvitations checks that callers without a sign-in can accept an invitation. An
// invalid token causes no write transaction. Otherwise strangers could delay all writes and clear
// caches.
func TestStrangersAcceptInvitations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		counted := &writes{DB: d}
		o := apitest.New(t, counted, apitest.Replicas(1))
		made, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{
			Organization: o.ID, Email: "neu@example.com", Role: access.Admin,
		})
		if err != nil {
			t.Fatal(err)
		}
		before := counted.writes.Load()
		for _, token := range []string{"", "x", made.Token[1:], made.ID} {
			if got := ask(t, o, api.Web, api.Credential{}, "invitations.accept",
				account.Acceptance{Token: token, Name: "Ida", Password: somePassword}); got.Status != 404 {
				t.Errorf("%q: %d %s", token, got.Status, got.Body)
			}
		}
		if n := counted.writes.Load(); n != before {
			t.Errorf("%d transactions for tokens that are not valid", n-before)
		}
		got := ask(t, o, api.Web, api.Credential{}, "invitations.accept",
			account.Acceptance{Token: made.Token, Name: "Ida", Password: somePassword})
		var p access.PrincipalInfo
		if json.Unmarshal(got.Body, &p) != nil || got.Status != 200 && got.Status != 201 || p.Role != access.Admin ||
			p.Name != "Ida" {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		if l := lines(t, o)[0]; l.Word != "invitation.accept" || l.CredentialKind != "anonymous" || l.PrincipalID != "" ||
			l.Target != p.ID || l.Door != "web" {
			t.Errorf("%+v", l)
		}
		if got := ask(t, o, api.Web, api.Credential{}, "invitations.accept",
			account.Acceptance{Token: made.Token, Name: "Ida", Password: somePassword}); got.Status != 404 {
			t.Errorf("again: %d %s", got.Status, got.Body)
		}
	})
}

// TestInvitationsHoldWithTheirSender checks that an invitation is valid only while its sender is an
// admin. Otherwise a disabled admin could come back with an invitation to a second address.
func TestInvitationsHoldWithTheirSender(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		acceptSessions(o)
		first := api.Credential{Scheme: session, Text: o.ID + " " + o.User(access.Admin)}
		yes, no, viewer, role := true, false, access.Viewer, access.Admin
		for loss, lose := range map[string]func(id string) error{
			"disabled": func(id string) error {
				_, err := o.Operator.SetUser(t.Context(), principal.Change{ID: id, Disabled: &yes})
				return err
			},
			"demoted": func(id string) error {
				_, err := o.Operator.SetUser(t.Context(), principal.Change{ID: id, Role: &viewer})
				return err
			},
			"erased": func(id string) error {
				if got := ask(t, o, api.Admin, api.Local(), "people.erase", op.ByID{ID: id}); got.Fault != nil {
					return got.Fault
				}
				return nil
			},
		} {
			sender := o.User(access.Admin)
			var made invitation.NewInvitation
			if got := ask(t, o, api.Web, api.Credential{Scheme: session, Text: o.ID + " " + sender}, "people.invite",
				invitation.New{Email: loss + "@example.com", Role: access.Admin}); json.Unmarshal(got.Body, &made) != nil ||
				made.Token != "" || made.Link != "" {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			made.Token = o.Linked(loss + "@example.com")
			if err := lose(sender); err != nil {
				t.Fatal(err)
			}
			accept := func() int {
				return ask(t, o, api.Web, api.Credential{}, "invitations.accept",
					account.Acceptance{Token: made.Token, Name: "Ida", Password: somePassword}).Status
			}
			if got := accept(); got != 404 {
				t.Errorf("the sender is %s: %d", loss, got)
			}
			if got := ask(t, o, api.Web, first, "invitations.list", op.Page{}); got.Status != 200 ||
				strings.Contains(string(got.Body), made.ID) {
				t.Errorf("the sender is %s: %d %s", loss, got.Status, got.Body)
			}
			if loss == "erased" {
				continue
			}
			if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: sender, Disabled: &no, Role: &role}); err != nil {
				t.Fatal(err)
			}
			if got := accept(); got != 200 {
				t.Errorf("the sender is no longer %s: %d", loss, got)
			}
		}
	})
}
