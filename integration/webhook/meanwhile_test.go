package webhook_test

import (
	"fmt"
	"testing"

	"kartei/api/op"
	"kartei/api/optest"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// TestEnabledByTwo checks that Enable changes nothing if another call has just enabled the
// endpoint. The events that the other call resent, and all later events, are still delivered.
func TestEnabledByTwo(t *testing.T) {
	for before := range 3 { // at the third statement the endpoint is locked
		t.Run(fmt.Sprintf("before statement %d", before), func(t *testing.T) {
			d := dbtest.Postgres(t)
			o := endpointtest.Open(t, d)
			name := o.Endpoint()
			missed := o.Event()
			o.Exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'gone', cursor = (select tick from clocks where organization = $1) where organization = $1`, o.Organization)
			first := o.StillDesk()
			var later string
			m := &endpointtest.Meanwhile{DB: d, Writing: true, Before: before, Do: func() {
				_, err := first.Enable(t.Context(), webhook.One{Organization: o.Info.ID, ID: name})
				endpointtest.Must(t, err)
				_, err = first.Resend(t.Context(), webhook.ResendInput{Organization: o.Info.ID, ID: name, Event: missed})
				endpointtest.Must(t, err)
				later = o.Event()
			}}
			second := o.StillDesk()
			second.DB = m
			_, err := second.Enable(t.Context(), webhook.One{Organization: o.Info.ID, ID: name})
			endpointtest.Must(t, err)
			m.Once(func() { t.Fatal("there are fewer statements") })
			// The resent event is pending, and the later event is after the cursor.
			if n := o.Count("webhook_deliveries", "event_id = '"+missed+"'"); n != 1 {
				t.Errorf("%d deliveries of what was sent again", n)
			}
			if n := o.Count("events", fmt.Sprintf("id = '%s' and tick > %d", later, o.Read(name).Cursor)); n != 1 {
				t.Error("the cursor has passed what came since")
			}
		})
	}
}

// TestSealedAnewWhileRotated checks a rotation of a secret that a reseal has changed meanwhile. The
// rotation fails with a conflict, so it runs again with the new value.
func TestSealedAnewWhileRotated(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		endpointtest.Must(t, d.Write(t.Context(), func(tx db.Tx) error {
			c := o.Call(tx)
			m := &endpointtest.Meanwhile{Do: func() {
				_, err := tx.Exec(t.Context(), `update webhook_endpoints set secret = 'anew' where organization = $1`,
					o.Organization)
				endpointtest.Must(t, err)
			}}
			c.Tx = m.Within(tx, 1)
			if _, err := optest.Run(t.Context(), c, webhook.RotateSecret, op.ByID{ID: name}); err != db.ErrConflict {
				t.Errorf("rotated: %v", err)
			}
			return nil
		}))
		if n := o.Count("webhook_endpoints", "secret = 'anew'"); n != 1 {
			t.Error("what was sealed anew is gone")
		}
	})
}

// TestRotatedWhileSealedAnew checks that a secret which is rotated during a reseal is encrypted
// with the new key too.
func TestRotatedWhileSealedAnew(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		place := o.Place(name)
		next := make([]byte, 32)
		next[0] = 1
		both, err := masterkey.NewVault(next, make([]byte, 32))
		endpointtest.Must(t, err)
		m := &endpointtest.Meanwhile{DB: d, Do: func() {
			o.Exec(`update webhook_endpoints set secret = $2, previous_secret = secret, previous_until = $3, revision = 2 where organization = $1`,
				o.Organization, both.Seal([]byte("new"), place), clock.Now(o.Clock)+webhook.Overlap)
		}}
		n, _, err := webhook.Reseal(t.Context(), m, both, clock.Now(o.Clock))
		if n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		only, err := masterkey.NewVault(next)
		endpointtest.Must(t, err)
		var secret, previous string
		endpointtest.Must(t, d.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select secret, previous_secret from webhook_endpoints where organization = $1`,
				o.Organization).Scan(&secret, &previous)
		}))
		for _, sealed := range []string{secret, previous} {
			if _, _, err := only.Open(sealed, place); err != nil {
				t.Errorf("it needs the earlier key: %v", err)
			}
		}
	})
}

// TestTestWithoutAModule checks a test call while the API module is off. Neither a test event nor
// its delivery is written.
func TestTestWithoutAModule(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		o.Set(organization.Change{Module: endpointtest.As("off")})
		endpointtest.Must(t, d.Write(t.Context(), func(tx db.Tx) error {
			if _, err := optest.Run(t.Context(), o.Call(tx), webhook.SendTest,
				op.ByID{ID: name}); !fault.Is(err, fault.APIModuleDisabled) {
				t.Errorf("%v", err)
			}
			return nil
		}))
		if n := o.Count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries", n)
		}
	})
}
