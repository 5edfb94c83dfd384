package grant_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// errKilled stands for a process that died before the commit.
var errKilled = errors.New("killed")

// TestRotation drives one grant with random steps: refreshes, answers that are lost, calls
// at the same time, processes that die before the commit, and time. An honest client is
// never logged out. Once a thief uses a token that the client has left behind, or the
// other way round, the grant is over for both.
func TestRotation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		random := seed.Rand(t)
		for run := range 6 {
			t.Run(fmt.Sprint(run), func(t *testing.T) { newRotation(t, o, random).drive() })
		}
	})
}

// rotation is one grant, and what its client knows of it.
type rotation struct {
	*testing.T
	*office
	random *rand.Rand
	// held is the refresh token that the client has, and accesses the token beside it.
	held, access string
	// behind are refresh tokens that the client has left behind, whose successor was used.
	behind []string
}

func newRotation(t *testing.T, o *office, random *rand.Rand) *rotation {
	tokens := o.connected(read)
	return &rotation{T: t, office: o, random: random, held: tokens.Refresh, access: tokens.Access}
}

func (r *rotation) drive() {
	for range 30 {
		switch r.random.IntN(6) {
		case 0: // the answer arrives
			r.take(r.refreshed())
		case 1: // answers are lost, and the client asks again within the grace
			first := r.refreshed()
			for range 1 + r.random.IntN(3) {
				r.office.clock.Advance(time.Duration(r.random.Int64N(int64(grant.Grace / 4))))
				if again := r.refreshed(); again.Refresh != first.Refresh || again.Access != first.Access {
					r.T.Fatal("a repetition gets another answer")
				}
			}
			r.take(first)
		case 2:
			r.together()
		case 3: // a process dies before the commit, and nothing has happened
			_, err := r.issued(func(tx db.Tx) (grant.Tokens, error) {
				tokens, err := grant.Refresh(r.ctx, tx, r.now(), &r.client, r.held, nil, "")
				return tokens, errors.Join(err, errKilled)
			})
			if !errors.Is(err, errKilled) {
				r.T.Fatal(err)
			}
		case 4:
			r.office.clock.Advance(time.Duration(r.random.Int64N(int64(48 * time.Hour))))
		case 5: // the clock is set back
			r.office.clock.Advance(-time.Duration(r.random.Int64N(int64(time.Hour))))
		}
	}
	r.theft()
}

// refreshed uses the held token as its client.
func (r *rotation) refreshed() grant.Tokens {
	r.T.Helper()
	tokens, err := r.refresh(r.held)
	if err != nil {
		r.T.Fatalf("an honest client is logged out: %v", err)
	}
	return tokens
}

// take lets the client go on with an answer.
func (r *rotation) take(tokens grant.Tokens) {
	r.T.Helper()
	r.behind = append(r.behind, r.held)
	r.held, r.access = tokens.Refresh, tokens.Access
	if _, reason := r.scopes(r.access, access.V1); reason != "" {
		r.T.Fatalf("the new access token is refused: %s", reason)
	}
}

// together uses the held token several times at once, as programs with many windows do.
func (r *rotation) together() {
	r.T.Helper()
	all := make([]grant.Tokens, 4)
	failed := make([]error, len(all))
	var calls sync.WaitGroup
	for i := range all {
		calls.Go(func() { all[i], failed[i] = r.refresh(r.held) })
	}
	calls.Wait()
	for i := range all {
		if failed[i] != nil || all[i].Refresh != all[0].Refresh || all[i].Access != all[0].Access {
			r.T.Fatalf("%d of calls at the same time: %v, or another answer", i, failed[i])
		}
	}
	r.take(all[0])
}

// theft lets somebody else use a token of the client. Whoever comes second ends it.
func (r *rotation) theft() {
	r.T.Helper()
	switch stolen := r.held; {
	case len(r.behind) > 1 && r.random.IntN(2) == 0: // one whose successor was used
		stolen = r.behind[r.random.IntN(len(r.behind)-1)]
		_, err := r.refresh(stolen)
		r.refused(err, grant.InvalidGrant)
	default: // the thief is faster, and goes on; then the client comes
		tokens, err := r.refresh(stolen)
		r.must(err)
		next, err := r.refresh(tokens.Refresh)
		r.must(err)
		_, err = r.refresh(stolen)
		r.refused(err, grant.InvalidGrant)
		r.fails(next.Access, access.Revoked)
		_, err = r.refresh(next.Refresh)
		r.refused(err, grant.InvalidGrant)
	}
	r.fails(r.access, access.Revoked)
	_, err := r.refresh(r.held)
	r.refused(err, grant.InvalidGrant)
}

// TestGrace ends: after it, a second use of a token ends the grant even if its successor
// is unused, and before it a used successor does.
func TestGrace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		tokens := o.connected(read)
		next, err := o.refresh(tokens.Refresh)
		o.must(err)
		o.clock.Advance(grant.Grace)
		if again, err := o.refresh(tokens.Refresh); err != nil || again.Refresh != next.Refresh ||
			again.ExpiresIn != grant.AccessLifetime-grant.Grace {
			t.Errorf("%+v %v", again, err)
		}
		o.clock.Advance(time.Microsecond)
		_, err = o.refresh(tokens.Refresh)
		o.refused(err, grant.InvalidGrant)
		o.fails(next.Access, access.Revoked)

		silent := o.connected(read)
		o.clock.Advance(grant.SilentFor)
		_, err = o.refresh(silent.Refresh)
		o.refused(err, grant.InvalidGrant)

		kept := o.connected(read) // used every two weeks, a grant lasts for its year
		for range int(grant.Lifetime / (14 * 24 * time.Hour)) {
			o.clock.Advance(14 * 24 * time.Hour)
			kept, err = o.refresh(kept.Refresh)
			o.must(err)
		}
		o.clock.Advance(14 * 24 * time.Hour)
		_, err = o.refresh(kept.Refresh)
		o.refused(err, grant.InvalidGrant)

		other := o.newClient("Anderer")
		mine := o.connected(read)
		_, err = o.refreshAs(&other, mine.Refresh)
		o.refused(err, grant.InvalidGrant)
		_, err = o.refresh(mine.Refresh, read, write)
		o.refused(err, grant.InvalidScope)
		_, err = o.refresh(mine.Refresh)
		o.must(err)
	})
}
