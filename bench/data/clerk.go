package data

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"kartei/api/release"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/account"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
)

// Clerk is a member of the office with an account. IDs has records that the measured pages show.
type Clerk struct {
	Email, Password string
	Users           []string
	// IDs are the ids of records by family.
	IDs map[string][]string
}

// Hired fills the office with the missing records and logged calls. Then it creates an account with
// a password for a member.
func Hired(ctx context.Context, o *Office, n int) (c Clerk, err error) {
	d, f, err := Found(ctx, o.URL, db.Options{})
	if err != nil {
		return c, err
	}
	defer d.Close()
	if err := f.Furnish(ctx, n/10); err != nil {
		return c, err
	}
	if err := f.called(ctx, loggedCalls); err != nil {
		return c, err
	}
	if c, err = f.Hire(ctx); err != nil {
		return c, err
	}
	c.IDs = map[string][]string{"contacts": o.IDs}
	return c, d.Read(ctx, func(tx db.Tx) (err error) {
		for _, family := range []string{"companies", "tasks", "documents"} {
			c.IDs[family], err = db.List(ctx, tx,
				func(row db.Row) (id string, err error) { err = row.Scan(&id); return id, err },
				"select id from "+family+" where organization = $1 order by id limit 400", f.Actor.Org())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Hire creates an account with a password for a member of the office.
func (f *Founder) Hire(ctx context.Context) (c Clerk, err error) {
	now := clock.Now(clock.System)
	c = Clerk{Email: fmt.Sprintf("bench-%d@example.com", now), Password: rand.Text(), Users: f.Office.Users}
	hash, err := signin.NewHasher().Hash(ctx, c.Password)
	if err != nil {
		return c, err
	}
	return c, f.db.Write(ctx, func(tx db.Tx) error {
		name, err := account.Create(ctx, tx, now, c.Email)
		if err != nil {
			return err
		}
		// sessions of the account that an earlier run created and nobody uses now
		if _, err = tx.Exec(ctx, `delete from sessions where principal_id = $1`, c.Users[1]); err != nil {
			return err
		}
		if err = principal.Join(ctx, tx, c.Users[1], name); err != nil {
			return err
		}
		return account.Provide(ctx, tx, now, c.Users[1], c.Email, hash)
	})
}

// loggedCalls is the number of calls in the request log, for the pages that show logged calls.
const loggedCalls = 200_000

// called adds calls of the member's key to the request log until it has n calls. The calls are
// spread over 30 days, and one in fifty is refused.
func (f *Founder) called(ctx context.Context, n int) error {
	var have int
	if err := f.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from request_log where organization = $1`, f.Actor.Org()).Scan(&have)
	}); err != nil || have >= n {
		return err
	}
	log := requestlog.New(f.db, clock.System)
	defer log.Close(context.WithoutCancel(ctx))
	now, span := clock.Now(clock.System), 30*24*time.Hour
	for i := have; i < n; i++ {
		e := requestlog.Entry{
			At: now.Add(-span + span*time.Duration(i)/time.Duration(n)), RequestID: id.New(id.Request),
			Organization: f.Actor.Org(),
			KeyID:        f.Actor.Credential().ID, KidShort: "bench", PrincipalID: f.Actor.PrincipalID(),
			Operation: "contacts.get", Method: "GET",
			Status: http.StatusOK, Duration: time.Duration(i%100) * time.Millisecond,
			Address: netip.MustParseAddr("127.0.0.1"), Version: release.Versions[0].Name, Door: "rest", Points: 1, Records: 1,
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
