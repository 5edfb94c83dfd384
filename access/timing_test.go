package access_test

import (
	"net/netip"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestRefusalsTakeTheSameTime checks that all failures of a credential take the same time. An
// attacker compares the refusals of an existing and an unknown key. The comparison must hardly be
// better than chance, or else the difference must be below half a microsecond. A lookup takes ten
// times as long, and the jitter of a network is hundreds of microseconds. A success needs no
// lookup, so its time must differ. This proves that the test can detect a difference.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		good := o.key()
		attempt := func(name, presented string, from netip.Addr) apitest.Attempt {
			return apitest.Attempt{Name: name, Do: func() { o.dir.Authenticate(ctx, presented, access.V1, from) }}
		}
		unknown := attempt("unknown", access.Forge(good.Key[:10]+flip(good.Key[10])+good.Key[11:]), loopback)
		accepted := attempt("accepted", good.Key, loopback)
		revoked, paused, expired := o.key(), o.key(), must(o.operator.CreateKey(ctx, func() key.New {
			in := o.newKey()
			in.ExpiresIn = time.Second
			return in
		}()))
		must(o.operator.RevokeKey(ctx, op.ByID{ID: revoked.ID}))
		must(o.operator.PauseKey(ctx, op.ByID{ID: paused.ID}))
		o.clock.Advance(time.Second)
		refusals := []apitest.Attempt{
			attempt("wrong secret", access.Forge(good.Key[:40]+flip(good.Key[40])+good.Key[41:]), loopback),
			attempt("revoked", revoked.Key, loopback),
			attempt("paused", paused.Key, loopback),
			attempt("expired", expired.Key, loopback),
			attempt("address", good.Key, netip.MustParseAddr("192.0.2.1")),
		}
		all := append([]apitest.Attempt{unknown, accepted}, refusals...)
		apitest.Measure(50, all) // fills the cache and prepares all statements

		// The machine is shared, so a disturbed round is repeated. A real difference shows in
		// every round. On an idle machine, the control measurement almost always shows a
		// difference. On a busy machine, its value may fall to the constant seeing, which is
		// still far above the tolerance.
		const rounds, turns, seeing, tolerance, blur = 6, 400, 0.75, 0.1, 500 * time.Nanosecond
		for round := 1; ; round++ {
			took := apitest.Measure(turns, all)
			if control := apitest.Advantage(took["accepted"], took["unknown"]); control < seeing {
				t.Logf("a success is told from a refusal only with %.2f", control)
				if round == rounds {
					t.Skip("the machine is too busy to see a difference of time")
				}
				continue
			}
			worst := 0.0
			for _, r := range refusals {
				a := apitest.Advantage(took[r.Name], took["unknown"])
				if apart := apitest.Median(took[r.Name]) - apitest.Median(took["unknown"]); max(apart, -apart) > blur {
					worst = max(worst, a-0.5, 0.5-a)
				}
				t.Logf("round %d: %-12s median %8s, unknown %8s, advantage %.3f", round, r.Name, apitest.Median(took[r.Name]),
					apitest.Median(took["unknown"]), a)
			}
			if worst <= tolerance {
				return
			}
			if round == rounds {
				t.Fatalf("refusals can be distinguished: right in %.0f %% of the cases", 100*(0.5+worst))
			}
		}
	})
}
