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

// errKilled is the error of a process that is killed before the commit.
var errKilled = errors.New("killed")

// TestRotation checks one grant over random steps: refreshes, lost responses, concurrent calls,
// killed processes and changes of the clock. The grant of an honest client never ends. Once a thief
// and the client have used the same token, the grant ends for both.
func TestRotation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		random := seed.Rand(t)
		for run := range 6 {
			t.Run(fmt.Sprint(run), func(t *testing.T) { newRotation(t, o, random).drive() })
		}
	})
}

// rotation is one grant with the tokens that its client has.
type rotation struct {
	*testing.T
	*office
	random *rand.Rand
	// held is the refresh token of the client, and access is its access token.
	held, access string
	// behind has the refresh tokens whose successors the client has used.
	behind []string
}

func newRotation(t *testing.T, o *office, random *rand.Rand) *rotation {
	tokens := o.connected(read)
	return &rotation{T: t, office: o, random: random, held: tokens.Refresh, access: tokens.Access}
}

func (r *rotation) drive() {
	for range 30 {
		switch r.random.IntN(6) {
		case 0: // the client receives the response
			r.take(r.refreshed())
		case 1: // responses are lost, and the client repeats the request within Grace
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
		case 3: // a process is killed before the commit, so the grant is unchanged
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

// refreshed refreshes with the held token, and fails the test if the token is refused.
func (r *rotation) refreshed() grant.Tokens {
	r.T.Helper()
	tokens, err := r.refresh(r.held)
	if err != nil {
		r.T.Fatalf("an honest client is logged out: %v", err)
	}
	return tokens
}

// take stores the tokens of a response as the client's tokens.
func (r *rotation) take(tokens grant.Tokens) {
	r.T.Helper()
	r.behind = append(r.behind, r.held)
	r.held, r.access = tokens.Refresh, tokens.Access
	if _, reason := r.scopes(r.access, access.V1); reason != "" {
		r.T.Fatalf("the new access token is refused: %s", reason)
	}
}

// together refreshes with the held token several times at once, as programs with several windows
// do. All responses must be the same.
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

// theft lets a thief use a refresh token of the client. The second user of the token ends the
// grant.
func (r *rotation) theft() {
	r.T.Helper()
	switch stolen := r.held; {
	case len(r.behind) > 1 && r.random.IntN(2) == 0: // a token whose successor was used
		stolen = r.behind[r.random.IntN(len(r.behind)-1)]
		_, err := r.refresh(stolen)
		r.refused(err, grant.InvalidGrant)
	default: // the thief is faster and refreshes twice; then the client refreshes
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

// TestGrace checks the end of Grace. A later second use of a token ends the grant even if its
// successor is unused. A used successor ends the grant even earlier.
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

		kept := o.connected(read) // if it is used every two weeks, a grant lasts for its year
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
