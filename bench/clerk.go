package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"kartei/api"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/account"
	"kartei/people/signin"
	"kartei/store/db"
)

// clerk is a member of the office with an account, and the records that its pages show.
type clerk struct {
	email, password string
	users           []string
	// ids are the ids of records, by family.
	ids map[string][]string
}

// hired fills the office if necessary, and gives a member an account with a password.
func hired(ctx context.Context, o *office, n int) (c clerk, err error) {
	d, f, err := found(ctx, o.url, db.Options{})
	if err != nil {
		return c, err
	}
	defer d.Close()
	if err := f.furnish(ctx, n/10); err != nil {
		return c, err
	}
	if err := f.called(ctx, loggedCalls); err != nil {
		return c, err
	}
	if c, err = f.hire(ctx); err != nil {
		return c, err
	}
	c.ids = map[string][]string{"contacts": o.ids}
	return c, d.Read(ctx, func(tx db.Tx) (err error) {
		for _, family := range []string{"companies", "tasks", "documents"} {
			c.ids[family], err = db.List(ctx, tx,
				func(row db.Row) (id string, err error) { err = row.Scan(&id); return id, err },
				"select id from "+family+" where organization = $1 order by id limit 400", f.actor.Org())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// hire gives a member an account with a password.
func (f *founder) hire(ctx context.Context) (c clerk, err error) {
	now := clock.Now(clock.System)
	c = clerk{email: fmt.Sprintf("bench-%d@example.com", now), password: rand.Text(), users: f.office.Users}
	hash, err := signin.NewHasher().Hash(ctx, c.password)
	if err != nil {
		return c, err
	}
	return c, f.db.Write(ctx, func(tx db.Tx) error {
		name, err := account.Create(ctx, tx, now, c.email)
		if err != nil {
			return err
		}
		// the sessions of the account of an earlier run, which is nobody's now
		if _, err = tx.Exec(ctx, `delete from sessions where principal_id = $1`, c.users[1]); err != nil {
			return err
		}
		if err = account.Join(ctx, tx, c.users[1], name); err != nil {
			return err
		}
		return account.Provide(ctx, tx, now, c.users[1], c.email, hash)
	})
}

// loggedCalls is the number of calls in the log, for the pages about interfaces.
const loggedCalls = 200_000

// called fills the request log with n calls of the member's key over 30 days, as far as
// they are missing: one in fifty is refused.
func (f *founder) called(ctx context.Context, n int) error {
	var have int
	if err := f.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from request_log where organization = $1`, f.actor.Org()).Scan(&have)
	}); err != nil || have >= n {
		return err
	}
	log := requestlog.New(f.db, clock.System)
	defer log.Close(context.WithoutCancel(ctx))
	now, span := clock.Now(clock.System), 30*24*time.Hour
	for i := have; i < n; i++ {
		e := requestlog.Entry{
			At: now.Add(-span + span*time.Duration(i)/time.Duration(n)), RequestID: id.New(id.Request),
			Organization: f.actor.Org(),
			KeyID:        f.actor.Credential().ID, KidShort: "bench", PrincipalID: f.actor.PrincipalID(),
			Operation: "contacts.get", Method: "GET",
			Status: http.StatusOK, Duration: time.Duration(i%100) * time.Millisecond,
			Address: netip.MustParseAddr("127.0.0.1"), Version: api.Versions[0].Name, Door: "rest", Points: 1, Records: 1,
		}
		if i%50 == 0 {
			e.Status, e.Code, e.Reason, e.Records = http.StatusUnauthorized, string(fault.Unauthenticated), "address", 0
		}
		log.Add(e)
		if i%(requestlog.Waiting/4) == 0 {
			if err := log.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return log.Flush(ctx)
}
