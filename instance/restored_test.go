package instance

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/invitation"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/operator"
)

// TestRestoredEndsSessions checks what a restore reports as lost, and that it ends sessions,
// invitations and codes. Without that, a copy would have ended sessions and used invitations again.
func TestRestoredEndsSessions(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	i := begin(t, configOf(dir))
	o := operator.New(i.DB, i.clock, i.Directory)
	org, err := o.CreateOrganization(ctx, organization.New{Name: "A", Module: "on", Secrecy: "declared", Level: access.On})
	if err != nil {
		t.Fatal(err)
	}
	ida, err := o.CreateUser(ctx, principal.New{Organization: org.ID, Name: "Ida", Email: "ida@neu.example"})
	if err != nil {
		t.Fatal(err)
	}
	key, err := o.CreateKey(ctx, key.New{
		Organization: org.ID,
		Principal:    ida.ID,
		Environment:  access.Test,
		Scopes:       []string{"contacts:read"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var token string
	var device signin.Device
	err = i.DB.Write(ctx, func(tx db.Tx) error {
		name, err := account.Create(ctx, tx, 1, ida.Email)
		if err == nil {
			err = principal.Join(ctx, tx, ida.ID, name)
		}
		if err == nil {
			token, _, err = access.BeginSession(ctx, tx, clock.Now(i.clock), access.NewSession{
				Account: name, Organization: org.Number, Principal: ida.ID,
			})
		}
		if err == nil {
			device, err = signin.Remember(ctx, tx, clock.Now(i.clock), name, "", netip.Addr{})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	works := func(i *Instance) error {
		_, err := apitest.Ask[account.Session](ctx, i.API,
			api.Caller{Door: api.Web, Credential: api.Cookie(token, false)}, "session.get", api.Arguments{})
		return err
	}
	if err := works(i); err != nil {
		t.Fatal(err)
	}
	revoked, used := i.invited(t, o, org.ID, "a@neu.example"), i.invited(t, o, org.ID, "b@neu.example")
	if err := i.DB.Write(ctx, func(tx db.Tx) error { // a sign-in ticket and a recovery code
		now := clock.Now(i.clock)
		if _, err := signin.Issue(ctx, tx, now, signin.PageLifetime, signin.Consent, "", "x"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into recovery_codes (account_id, code_hash) select id, 'x' from accounts`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := i.door().Call(ctx, "backup", BackupInput{File: file}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Do(ctx, o, invitation.Accept,
		invitation.Acceptance{Token: used.Token, Name: "Ben"}); err != nil {
		t.Fatal(err)
	}
	if err := i.door().Call(ctx, "invitations.revoke", op.ByID{ID: revoked.ID}, nil); err != nil {
		t.Fatal(err)
	}
	admin := access.Admin
	for row, in := range map[string]any{
		"keys.revoke": op.ByID{ID: key.ID},
		"people.set":  principal.Change{ID: ida.ID, Role: &admin},
	} {
		if err := i.door().Call(ctx, row, in, nil); err != nil {
			t.Fatal(err)
		}
	}
	c := configOf(dir)
	end(t, i)
	before, err := Acts(ctx, &c.Store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(ctx, &c.Store, file, true, nil); err != nil {
		t.Fatal(err)
	}
	lost, err := Lost(ctx, &c.Store, before)
	words := map[string]string{}
	for _, l := range lost {
		words[l.Word] = l.Target
	}
	if err != nil || len(lost) != 3 || words["key.revoke"] != key.ID || words["person.set"] != ida.ID {
		t.Errorf("%+v %v", lost, err)
	}
	again := begin(t, c)
	if err := works(again); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a session goes on: %v", err)
	}
	o = operator.New(again.DB, again.clock, again.Directory)
	for what, token := range map[string]string{"revoked": revoked.Token, "used": used.Token} {
		if _, err := operator.Do(ctx, o, invitation.Accept,
			invitation.Acceptance{Token: token, Name: "Mallory"}); err == nil {
			t.Errorf("an invitation that was %s after the backup works again", what)
		}
	}
	if err := again.DB.Read(ctx, func(tx db.Tx) error {
		o, err := signin.FindBrowser(ctx, &op.Call{Now: clock.Now(again.clock), Device: device.Tokens}, tx)
		if o.Device != "" {
			t.Error("a browser is known still")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	for _, table := range onceOnly {
		var left int64
		if err := again.DB.Read(ctx, func(tx db.Tx) error {
			return tx.QueryRow(ctx, `select count(*) from `+table).Scan(&left)
		}); err != nil || left > 0 {
			t.Errorf("%d rows of %s serve again, %v", left, table, err)
		}
	}
}

// onceOnly are the tables whose rows may each be used once.
var onceOnly = []string{"sign_in_tickets", "invitations", "recovery_codes", "devices"}

// invited creates an invitation and returns it with its token.
func (i *Instance) invited(t *testing.T, o *operator.Operator, organization, email string) invitation.NewInvitation {
	t.Helper()
	made, err := operator.Run(t.Context(), o, invitation.Create, invitation.New{
		Organization: organization, Email: email, Role: access.Member,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
