package offboarding_test

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/webhook"
	"kartei/people/notify"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// retryCounter counts the runs of transaction functions after their first run.
type retryCounter struct {
	db.DB
	repeats atomic.Int64
}

func (r *retryCounter) count(f func(db.Tx) error) func(db.Tx) error {
	first := true
	return func(tx db.Tx) error {
		if !first {
			r.repeats.Add(1)
		}
		first = false
		return f(tx)
	}
}

func (r *retryCounter) Write(ctx context.Context, f func(db.Tx) error) error {
	return r.DB.Write(ctx, r.count(f))
}

func (r *retryCounter) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	return r.DB.WriteIn(ctx, organization, r.count(f))
}

// TestLockOrder checks transactions that meet another transaction, which has locked an endpoint and
// posts a notice about it. A transaction that waits for the endpoint must not have locked what the
// notice needs. Otherwise the database would detect a deadlock, and one of the two would run again.
func TestLockOrder(t *testing.T) {
	for name, other := range map[string]func(t *testing.T, o *apitest.Office, c *apitest.Client, endpoint, key string){
		"erase": func(t *testing.T, o *apitest.Office, c *apitest.Client, _, _ string) {
			must[access.PrincipalInfo](t, o, "people.erase", op.ByID{ID: c.Principal})
		},
		"delete": func(_ *testing.T, _ *apitest.Office, c *apitest.Client, endpoint, _ string) {
			c.Do("DELETE", "/webhook_endpoints/"+endpoint, nil, "If-Match", "*").Want(204)
		},
		"revoke": func(t *testing.T, o *apitest.Office, _ *apitest.Client, _, key string) {
			must[webhook.RevokedKey](t, o, "keys.revoke", webhook.RevokeInput{ID: key, Endpoints: webhook.DisableEndpoints})
		},
		"resend": func(t *testing.T, o *apitest.Office, _ *apitest.Client, endpoint, _ string) {
			must[webhook.ResendOutput](t, o, "webhooks.resend", webhook.ResendInput{Organization: o.ID, ID: endpoint, Since: 1})
			until(t, o.DB, `select case when count(*) = 0 then 1 else 0 end from jobs where kind = 'webhooks.resend'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "revoke" {
				apitest.BySession.Except(t, "authenticate", "the endpoints are those that a key has made")
			}
			d := &retryCounter{DB: dbtest.Postgres(t)}
			o := apitest.New(t, d, apitest.Replicas(1))
			admin := live(t, o, access.Admin)
			owner := live(t, o, access.Member)
			if name == "resend" {
				create(admin.Client, "contacts", `{"lastName":"Berg"}`)
			}
			var endpoint string
			for range 2 {
				endpoint = create(owner.Client, "webhook_endpoints",
					`{"name":"Mirror","url":"https://example.com/hook","eventTypes":["contact.created"]}`)
			}
			if err := d.Write(ctx, func(tx db.Tx) error {
				tx.Queue(`update webhook_endpoints set cursor = 9000000000000000`)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			center := notify.New(notify.Options{
				DB: d, Clock: o.Clock, Forms: webhook.Forms, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			})
			states := webhook.StateStore{Clock: o.Clock, Notices: center}
			d.repeats.Store(0)
			var ground sync.WaitGroup
			begin := sync.OnceFunc(func() { ground.Go(func() { other(t, o, owner.Client, endpoint, owner.id) }) })
			if err := d.Write(ctx, func(tx db.Tx) error {
				var organization int64
				if err := tx.QueryRow(ctx, `select number from organizations where id = $1`, o.ID).Scan(&organization); err != nil {
					return err
				}
				if _, err := states.Hold(ctx, tx, webhook.Address{Organization: organization, ID: endpoint}); err != nil {
					return err
				}
				begin()
				until(t, d, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
				return center.Post(ctx, tx, organization, []string{admin.Principal}, webhook.IsFailing, webhook.AlertFacts{})
			}); err != nil {
				t.Error(err)
			}
			ground.Wait()
			if n := d.repeats.Load(); n != 0 {
				t.Errorf("%d transactions ran again", n)
			}
		})
	}
}

// keyClient is a client with a live key, and the id of the key.
type keyClient struct {
	*apitest.Client
	id string
}

func live(t *testing.T, o *apitest.Office, role access.Role) keyClient {
	t.Helper()
	c := o.As(role)
	key, err := o.Operator.CreateKey(ctx, key.New{
		Organization: o.ID, Principal: c.Principal, Environment: access.Live, Scopes: apitest.AllScopes,
		Networks: []string{"192.0.2.0/24", "127.0.0.0/8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Key = key.Key
	return keyClient{c, key.ID}
}

// until waits until a query returns a positive number.
func until(t *testing.T, d db.DB, query string) {
	t.Helper()
	for watch := waittest.New(); ; {
		var n int64
		if err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, query).Scan(&n) }); err != nil {
			t.Error(err)
		}
		if n > 0 {
			return
		}
		if watch.IsStuck() {
			t.Errorf("never: %s", query)
			return
		}
	}
}
