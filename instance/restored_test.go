package instance

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"

	"kartei/access"
	"kartei/access/signin"
	"kartei/api"
	"kartei/console/account"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/settings"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/test/operator"
)

// TestRestoredEndsSessions checks what a restore tells and ends. A session that had
// ended, a key that was revoked and a role that was taken are there again in a copy.
func TestRestoredEndsSessions(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	i := begin(t, configOf(dir))
	o := operator.New(i.DB, i.clock, i.Directory)
	org, err := o.CreateOrganization(ctx, settings.NewOrganization{Name: "A", Module: "on", Secrecy: "declared", Level: access.On})
	if err != nil {
		t.Fatal(err)
	}
	ida, err := o.CreateUser(ctx, settings.NewPrincipal{Organization: org.ID, Name: "Ida", Email: "ida@neu.example"})
	if err != nil {
		t.Fatal(err)
	}
	key, err := o.CreateKey(ctx, settings.NewKey{Organization: org.ID, Principal: ida.ID, Environment: access.Test, Scopes: []string{"contacts:read"}})
	if err != nil {
		t.Fatal(err)
	}
	var token string
	var device signin.Device
	err = i.DB.Write(ctx, func(tx db.Tx) error {
		name, err := account.Create(ctx, tx, 1, ida.Email)
		if err == nil {
			err = account.Join(ctx, tx, ida.ID, name)
		}
		if err == nil {
			token, _, err = access.BeginSession(ctx, tx, clock.Now(i.clock), access.NewSession{Account: name, Organization: org.Number, Principal: ida.ID})
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
		_, err := api.Call[account.Session](ctx, i.API, api.Caller{Door: api.Web, Credential: api.Cookie(token, false)}, "session.get", api.Arguments{})
		return err
	}
	if err := works(i); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := i.door().Call(ctx, "backup", BackupInput{File: file}, nil); err != nil {
		t.Fatal(err)
	}
	admin := access.Admin
	for row, in := range map[string]any{"keys.revoke": access.ByID{ID: key.ID}, "people.set": settings.PrincipalChange{ID: ida.ID, Role: &admin}} {
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
	if _, err := move.Restore(ctx, file, "sqlite:"+filepath.Join(dir, "kartei.db"), true); err != nil {
		t.Fatal(err)
	}
	if err := Restored(ctx, &c.Store, "copy"); err != nil {
		t.Fatal(err)
	}
	lost, err := Lost(ctx, &c.Store, before)
	words := map[string]string{}
	for _, l := range lost {
		words[l.Word] = l.Target
	}
	if err != nil || len(lost) != 2 || words["key.revoke"] != key.ID || words["person.set"] != ida.ID {
		t.Errorf("%+v %v", lost, err)
	}
	restored := begin(t, c)
	if err := works(restored); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a session goes on: %v", err)
	}
	if err := restored.DB.Read(ctx, func(tx db.Tx) error {
		o, err := signin.FindBrowser(ctx, tx, clock.Now(restored.clock), device.Tokens, netip.Addr{})
		if o.Device != "" {
			t.Error("a browser is known still")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
