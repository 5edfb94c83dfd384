package api_test

import (
	"encoding/json"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	keys "kartei/integration/key"
	"kartei/integration/oauth"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/people/gains"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/store/replay"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/bulk"
	"kartei/transfer/exports"
)

// giveNothing maps reasons to the ids of operations that change something but give nobody access.
// An operation that changes something must be in this map or have the property Gives.
var giveNothing = map[string]string{
	"the input proves who signs in, and a device that is not known is told of": "signin.password signin.second signin.passkey signin.sso signin.choose",
	"the invitation was told, and its token is the proof":                      "signin.ssoAccept invitations.accept",
	"only the owner of the address gets a link":                                "signin.forgot",
	"it takes access away": "signin.out sessions.end access.end invitations.revoke keys.pause keys.revoke grants.end webhooks.delete clients.disapprove oauth.revoke people.erase " +
		"organizations.erase webhookEndpoints.delete",
	"the account has the person already, and the session goes on":               "session.switch",
	"the input proves the person, and only the session that asks is recent now": "session.refresh session.ssoRefresh",
	"it prepares another row, which gives access":                               "factors.totpBegin factors.passkeyOptions factors.ssoBegin oauth.ask",
	"a grant was told, and its tokens are as good as it":                        "oauth.token",
	"the application may do nothing until a person lets it":                     "oauth.register",
	"nobody is in the organization yet":                                         "organizations.create",
	"it changes what the caller sees, and no right":                             "profile.set bell.read lookup.opened",
	"it changes nothing but the audit log":                                      "lookup.conflicts",
	"it repeats work that somebody was allowed to begin":                        "jobs.retry",
	"it changes records with the rights of the caller": "imports.create imports.append imports.complete imports.map imports.run imports.undo imports.discard " +
		"bulk.stop merges.undo lookup.dismiss contacts.create contacts.delete companies.create companies.delete tasks.create tasks.delete tasks.complete " +
		"documents.create documents.delete uploads.create batch.run",
	"the event has nothing but its id, and goes where events go already": "webhookEndpoints.test webhooks.test",
}

// TestRowsThatGiveNoAccess checks that each operation that changes something has the property Gives
// or a reason in giveNothing.
func TestRowsThatGiveNoAccess(t *testing.T) {
	reasons := map[string]string{}
	for why, rows := range giveNothing {
		for id := range strings.FieldsSeq(rows) {
			reasons[id] = why
		}
	}
	check := func(op *api.Operation) {
		why := reasons[op.ID]
		switch {
		case op.Gives && why != "":
			t.Errorf("%s gives access, and is in giveNothing: %s", op.ID, why)
		case op.Writes() && !op.Gives && why == "":
			t.Errorf("%s changes something: give it the column of access, or say in giveNothing why it gives none", op.ID)
		}
		delete(reasons, op.ID)
	}
	for i := range api.Operations {
		check(&api.Operations[i])
	}
	for i := range api.Unpublished {
		check(&api.Unpublished[i])
	}
	for id := range reasons {
		t.Errorf("%s is in giveNothing, and no row", id)
	}
}

// TestAccessIsConfirmedToldAndAudited calls each operation that gives access, with an input that
// gives access. Without a recent sign-in, the call must be refused and leave nothing behind. With a
// recent sign-in, a notice, an email and a line in the audit log must exist.
func TestAccessIsConfirmedToldAndAudited(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		inputs, owner := consoleInputs(t, o)
		maps.Copy(inputs, wideningInputs(t, o, inputs, owner))
		for i := range api.Unpublished {
			r := &api.Unpublished[i]
			if !r.Gives {
				continue
			}
			in := inputs[r.ID]
			if f, is := in.(func() any); is {
				in = f()
			}
			door, as := api.Web, api.Cookie(o.Session(owner), aboutTheCaller(r))
			if f, is := in.(func(api.Door, api.Credential) any); is {
				in = f(door, as)
			}
			switch {
			case r.Who.Open():
				as = api.Credential{}
			case r.Who.String() == "operator":
				door, as = api.Admin, api.Local()
			default:
				before := given(t, o, r.Audit)
				freshUntil(t, o, 1)
				if got := ask(t, o, door, as, r.ID, in); !api.Stale(got.Fault) {
					t.Errorf("%s gives access to somebody whose sign-in is not recent: %d %s", r.ID, got.Status, got.Body)
				}
				if after := given(t, o, r.Audit); after != before {
					t.Errorf("%s was refused, and leaves %v of %v", r.ID, after, before)
				}
				freshUntil(t, o, o.Clock.Now().Add(time.Hour).UnixMicro())
			}
			before := given(t, o, r.Audit)
			if got := ask(t, o, door, as, r.ID, in); got.Fault != nil {
				t.Errorf("%s does not succeed: %s", r.ID, got.Body)
				continue
			}
			after := given(t, o, r.Audit)
			if after.bell <= before.bell || after.mails <= before.mails || after.lines <= before.lines {
				t.Errorf("%s gives access, and was %+v and is %+v: its function must call op.Call.Gives", r.ID, before, after)
			}
		}
	})
}

// freshUntil sets the time until which all sessions count as recent, in microseconds since 1970.
func freshUntil(t *testing.T, o *apitest.Office, at int64) {
	t.Helper()
	dbtest.Run(t, o.DB, `update sessions set fresh_until = $1`, at)
	o.Directory.Forget()
}

// wideningInputs returns inputs of operations that give access only with some inputs.
func wideningInputs(t *testing.T, o *apitest.Office, inputs map[string]any, owner string) map[string]any {
	t.Helper()
	key := inputs["keys.resume"].(op.ByID).ID
	dbtest.Run(t, o.DB, `update api_keys set paused = true where id = $1`, key)
	dbtest.Run(t, o.DB, `update organizations set level = 'read' where id = $1`, o.ID)
	hook := inputs["webhooks.enable"].(map[string]string)
	dbtest.Run(t, o.DB, `update webhook_endpoints set status = 'disabled', disabled_reason = 'gone' where id = $1`,
		hook["id"])
	other := inputs["webhooks.rotate"].(map[string]string)["id"]
	role, on := access.Admin, access.On
	// The private record makes the admin get a notice now, so that the job posts no notice between
	// the counts.
	o.As(access.Admin).Do("POST", "/contacts", `{"lastName":"Still","visibility":"private"}`).Want(201)
	heir := o.User(access.Member)
	act := func(state bulk.State) func() any {
		return func() any {
			name := id.New(id.BulkAct)
			dbtest.Run(t, o.DB, `insert into bulk_acts (organization, id, principal, state, reason, content, progress, requested_by, kind, door, request_id, created_at, began_at, expires_at)
				select number, cast($1 as text), cast($2 as text), cast($3 as text), '', cast($5 as text), '{"collected":true}', cast($2 as text), '', '', '', 1, 1, cast($4 as bigint)
				from organizations where id = '`+o.SandboxID+`'`, name, owner, string(state), clock.Now(o.Clock).Add(bulk.Age),
				`{"family":"contacts","kind":"owner","value":"`+heir+`"}`)
			return op.ByID{ID: name}
		}
	}
	return map[string]any{
		"bulk.start":  bulk.StartInput{Family: "contacts", Kind: bulk.Owner, Value: heir},
		"bulk.resume": act(bulk.Stopped), "bulk.undo": act(bulk.Finished),
		"organizations.set":   organization.Change{ID: o.ID, Level: &on},
		"people.set":          principal.Change{ID: o.User(access.Member), Role: &role},
		"serviceAccounts.set": principal.Change{ID: inputs["serviceAccounts.set"].(principal.Change).ID, Role: &role},
		"clients.set":         oauth.ClientChange{ID: inputs["clients.set"].(oauth.ClientChange).ID},
		"keys.update":         keys.Change{ID: inputs["keys.update"].(keys.Change).ID, ExpiresIn: 300 * 24 * time.Hour},
		"webhooks.create": map[string]any{
			"name":       "Buchhaltung",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		},
		"webhooks.resend": map[string]any{"organizationId": o.SandboxID, "id": other, "failed": true},
		"exports.begin":   exports.ListInput{Family: "contacts", Format: "csv", Chosen: 201},
	}
}

// traces are the numbers of notices, emails and audit lines about given access.
type traces struct{ bell, mails, lines int }

// given counts all notices and emails so far, and the lines of the audit log with a word.
func given(t *testing.T, o *apitest.Office, word string) (all traces) {
	t.Helper()
	count := func(query string, args ...any) (n int) {
		dbtest.Get(t, o.DB, []any{&n}, query, args...)
		return n
	}
	all.bell = count(`select count(*) from notices`)
	all.mails = count(`select count(*) from notices where mailing`) +
		count(`select count(*) from jobs where kind = 'emails.send'`)
	all.lines = count(`select count(*) from audit_lines where word = $1`, word)
	return all
}

// TestProgramsGiveAccessInTheOpen checks the operations of the contract that give access. The owner
// of the key must get a notice about each of these calls, and the audit log must have a line.
func TestProgramsGiveAccessInTheOpen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		kind := "key"
		if apitest.Door() == string(api.Web) {
			kind = "session"
		}
		member := o.As(access.Member)
		made := member.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "Buchhaltung",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201)
		path := "/webhook_endpoints/" + made.Text("id")
		member.Do("PATCH", path, map[string]any{"name": "Buchführung"}, "If-Match", `"r1"`).Want(200)
		member.Do("PATCH", path, map[string]any{"eventTypes": []string{"contact.created", "contact.updated"}}, "If-Match",
			`"r2"`).Want(200)
		member.Do("POST", path+"/rotate_secret", nil).Want(200)
		want := []string{"webhook.created", "webhook.changed", "webhook.rotated"}
		var told []string
		for _, data := range dbtest.Texts(t, o.DB,
			`select data from notices where principal = $1 and kind = $2 order by id`, member.Principal,
			string(gains.AccessGiven)) {
			word, _, _ := strings.Cut(strings.TrimPrefix(data, `{"word":"`), `"`)
			if told = append(told, word); !strings.Contains(data, made.Text("id")) ||
				!strings.Contains(data, `"kind":"`+kind+`"`) {
				t.Errorf("%s", data)
			}
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		audited := dbtest.Texts(t, o.DB, `select word || ' ' || kind || ' ' || target from audit_lines order by id`)
		for i, word := range []string{"webhook.create", "webhook.change", "webhook.change", "webhook.rotate"} {
			if line := word + " " + kind + " " + made.Text("id"); i >= len(audited) || audited[i] != line {
				t.Errorf("the lines %q lack %q in place %d", audited, line, i)
			}
		}
		// A replay adds no notice.
		again := map[string]any{
			"name":       "Zweiter",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}
		for range 2 {
			member.Do("POST", "/webhook_endpoints", again, "Idempotency-Key", "the-same-key").Want(201)
		}
		if n := len(dbtest.Texts(t, o.DB, `select id from notices where principal = $1`,
			member.Principal)); n != len(want)+1 {
			t.Errorf("%d notices", n)
		}
	})
}

// askOnce calls an operation like ask, with an Idempotency-Key. The forms of web pages have one
// too.
func askOnce(t *testing.T, o *apitest.Office, as api.Credential, row, key string, in any) *api.Response {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return o.API.Do(t.Context(), &api.Request{
		Operation: api.ByID(row), Door: api.Web, Credential: as, Address: netip.MustParseAddr("192.0.2.7"), HasBody: true,
		Header: map[string][]string{"Idempotency-Key": {key}}, Body: func() ([]byte, error) { return body, nil },
	}, nil)
}

// TestSecretsAreShownAgainToTheirSessionOnly sends a form a second time if its response has a
// secret. It checks that only the same session gets the same response, and only for ten minutes.
func TestSecretsAreShownAgainToTheirSessionOnly(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		inputs, owner := consoleInputs(t, o)
		maps.Copy(inputs, wideningInputs(t, o, inputs, owner))
		tried := 0
		for i := range api.Unpublished {
			r := &api.Unpublished[i]
			if !r.Output.Implements(reflect.TypeFor[op.Secret]()) || !r.Writes() || r.Unstored ||
				r.Who.String() == "operator" || r.Who.Open() || r.ID == "factors.ssoBegin" {
				// this operation needs a provider
				continue
			}
			tried++
			in := inputs[r.ID]
			if f, is := in.(func() any); is {
				in = f()
			}
			sandbox := aboutTheCaller(r)
			mine, other := api.Cookie(o.Session(owner), sandbox), api.Cookie(o.Session(owner), sandbox)
			made := askOnce(t, o, mine, r.ID, "form-"+r.ID, in)
			if made.Fault != nil {
				t.Errorf("%s: %s", r.ID, made.Body)
				continue
			}
			if r.ID == "factors.totpConfirm" || r.ID == "factors.passkeyAdd" || r.ID == "factors.recoveryCodes" {
				// the operation ends all other sessions
				other = api.Cookie(o.Session(owner), sandbox)
			}
			if got := askOnce(t, o, other, r.ID, "form-"+r.ID, in); got.Status != 404 ||
				!strings.Contains(string(got.Body), "schon bearbeitet") {
				t.Errorf("%s shows its secret to another session: %d %s", r.ID, got.Status, got.Body)
			}
			if got := askOnce(t, o, mine, r.ID, "form-"+r.ID, in); string(got.Body) != string(made.Body) {
				t.Errorf("%s: the same session gets %d %s", r.ID, got.Status, got.Body)
			}
			o.Clock.Advance(replay.SecretLifetime)
			if got := askOnce(t, o, mine, r.ID, "form-"+r.ID, in); got.Status != 404 && got.Status != 403 {
				// the status is 403 if the sign-in is no longer recent
				t.Errorf("%s shows its secret after ten minutes: %d %s", r.ID, got.Status, got.Body)
			}
			freshUntil(t, o, o.Clock.Now().Add(time.Hour).UnixMicro())
			if got := askOnce(t, o, mine, r.ID, "form-"+r.ID, in); got.Status != 404 {
				t.Errorf("%s shows its secret after ten minutes: %d %s", r.ID, got.Status, got.Body)
			}
		}
		if tried < 8 {
			t.Errorf("%d rows show a secret", tried)
		}
	})
}

// TestSecretOfAUsedKeyIsGone repeats a call that created a key. It checks that the response has no
// secret after the first use of the key, a rotation or a revocation. The test has one replica,
// because other replicas learn of a first use only within ten seconds.
func TestSecretOfAUsedKeyIsGone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		owner := o.User(access.Member)
		as := api.Cookie(o.Session(owner), false)
		create := func(form string) (made keys.WithSecret, again func() int) {
			in := keys.New{Principal: owner, Environment: access.Test, Scopes: []string{"contacts:read"}}
			if got := askOnce(t, o, as, "keys.create", form, in); json.Unmarshal(got.Body, &made) != nil || made.Key == "" {
				t.Fatalf("%s", got.Body)
			}
			return made, func() int { return askOnce(t, o, as, "keys.create", form, in).Status }
		}
		used, again := create("one-form-of-a-key")
		if got := again(); got != 200 {
			t.Errorf("before its use: %d", got)
		}
		(&apitest.Client{Office: o, Principal: owner, Key: used.Key}).Do("GET", "/me", nil).Want(200)
		if got := again(); got != 404 {
			t.Errorf("after its use: %d", got)
		}
		if n := len(dbtest.Texts(t, o.DB, `select body from idempotency where record = $1 and body <> ''`, used.ID)); n != 0 {
			t.Errorf("%d answers with the secret are kept", n)
		}
		for form, row := range map[string]string{
			"another-form-of-a-key": "keys.revoke", "a-third-form-of-a-key": "keys.rotate",
			"a-fourth-form-of-a-key": "access.end",
		} {
			made, again := create(form)
			if got := ask(t, o, api.Web, as, row, op.ByID{ID: made.ID}); got.Fault != nil {
				t.Fatalf("%s: %s", row, got.Body)
			}
			if got := again(); got != 404 {
				t.Errorf("after %s: %d", row, got)
			}
		}
	})
}

// TestExportsOfADayAreCounted checks that the exports of a day count together. Two exports above
// the bound in sum need a recent sign-in, like a single export above the bound. Exports of other
// people and of other days do not count.
func TestExportsOfADayAreCounted(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		clerk, other := o.User(access.Member), o.User(access.Member)
		as, others := api.Cookie(o.Session(clerk), false), api.Cookie(o.Session(other), false)
		export := func(as api.Credential, records int64, stale bool) {
			t.Helper()
			got := ask(t, o, api.Web, as, "exports.begin",
				exports.ListInput{Family: "contacts", Format: "csv", Chosen: records})
			if api.Stale(got.Fault) != stale || !stale && got.Fault != nil {
				t.Errorf("%d records: %d %s", records, got.Status, got.Body)
			}
		}
		freshUntil(t, o, 1)
		export(as, 201, true)
		export(as, 150, false)
		export(as, 51, true)
		export(as, 50, false)
		export(as, 1, true)
		export(others, 200, false)
		if n := len(dbtest.Texts(t, o.DB, `select id from notices`)); n != 0 {
			t.Errorf("%d notices of small exports", n)
		}
		freshUntil(t, o, o.Clock.Now().Add(time.Hour).UnixMicro())
		export(as, 1, false)
		if n := len(dbtest.Texts(t, o.DB, `select id from notices where principal = $1`, clerk)); n != 1 {
			t.Errorf("%d notices of a large export", n)
		}
		o.Clock.Advance(24*time.Hour + time.Microsecond)
		as = api.Cookie(o.Session(clerk), false)
		freshUntil(t, o, 1)
		export(as, 200, false)
	})
}
