package access_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/db"
	"kartei/dbtest"
)

// attempt is one way to present a credential.
type attempt struct {
	name      string
	presented string
	from      netip.Addr
}

// measure runs the attempts in turns, each turn in another order, and returns
// how long each took.
func measure(o *office, turns int, attempts []attempt) map[string][]time.Duration {
	took := map[string][]time.Duration{}
	for range turns {
		for _, i := range rand.Perm(len(attempts)) {
			a := attempts[i]
			begin := time.Now()
			o.dir.Authenticate(ctx, a.presented, a.from)
			took[a.name] = append(took[a.name], time.Since(begin))
		}
	}
	return took
}

// advantage is how often somebody is right who sees one call of a and one of
// b and says that the slower is of b: 0.5 is guessing, 1 (or 0) is knowing.
// It is the statistic of Mann and Whitney over the two distributions.
func advantage(a, b []time.Duration) float64 {
	b = slices.Sorted(slices.Values(b))
	sum := 0.0
	for _, x := range a {
		below, _ := slices.BinarySearch(b, x)
		upTo, _ := slices.BinarySearch(b, x+1)
		sum += float64(len(b)-upTo) + float64(upTo-below)/2
	}
	return sum / float64(len(a)*len(b))
}

func median(samples []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(samples))[len(samples)/2]
}

// All credential failures last the same, as far as can be measured: whoever
// compares a refusal of a key that exists with that of an unknown one is right
// hardly more often than by tossing a coin, or has to tell half a microsecond
// (a look-up takes ten times as long, a network varies by hundreds). That the
// measure sees a difference where there is one is shown by a success, which
// needs no look-up.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		good := o.key()
		unknown := attempt{"unknown", access.Forge(good.Key[:10] + flip(good.Key[10]) + good.Key[11:]), loopback}
		accepted := attempt{"accepted", good.Key, loopback}
		revoked, paused, expired := o.key(), o.key(), must(o.dir.CreateKey(ctx, func() access.NewKey {
			in := o.newKey()
			in.ExpiresIn = time.Second
			return in
		}()))
		must(o.dir.RevokeKey(ctx, access.ByID{ID: revoked.ID}))
		must(o.dir.PauseKey(ctx, access.ByID{ID: paused.ID}))
		o.clock.Advance(time.Second)
		refusals := []attempt{
			{"wrong secret", access.Forge(good.Key[:40] + flip(good.Key[40]) + good.Key[41:]), loopback},
			{"revoked", revoked.Key, loopback},
			{"paused", paused.Key, loopback},
			{"expired", expired.Key, loopback},
			{"address", good.Key, netip.MustParseAddr("192.0.2.1")},
		}
		all := append([]attempt{unknown, accepted}, refusals...)
		measure(o, 50, all) // everything into memory, every statement prepared

		// The machine is shared: a round that was disturbed is repeated, but a
		// real difference shows in every round.
		const rounds, turns, tolerance, blur = 6, 400, 0.1, 500 * time.Nanosecond
		for round := 1; ; round++ {
			took := measure(o, turns, all)
			if control := advantage(took["accepted"], took["unknown"]); control < 0.95 {
				t.Logf("a success is told from a refusal only with %.2f", control)
				if round == rounds {
					t.Fatal("the measure sees nothing")
				}
				continue
			}
			worst := 0.0
			for _, r := range refusals {
				a := advantage(took[r.name], took["unknown"])
				if apart := median(took[r.name]) - median(took["unknown"]); max(apart, -apart) > blur {
					worst = max(worst, a-0.5, 0.5-a)
				}
				t.Logf("round %d: %-12s median %8s, unknown %8s, advantage %.3f", round, r.name, median(took[r.name]), median(took["unknown"]), a)
			}
			if worst <= tolerance {
				return
			}
			if round == rounds {
				t.Fatalf("refusals can be told apart: right in %.0f %% of the cases", 100*(0.5+worst))
			}
		}
	})
}
