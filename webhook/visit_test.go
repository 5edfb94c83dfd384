package webhook

import (
	"testing"

	"kartei/db"
	"kartei/dbtest"
)

// A look at an endpoint takes as many deliveries as there is room for, beside
// those that it asks for once more.
func TestHeldDeliveriesTakeNoRoom(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		c := NewCourier(Options{DB: d, Clock: o.clock, Vault: o.vault, Families: families})
		l := c.lane(address{o.organization, o.endpoint()})
		o.events(3)
		first := &visit{Courier: c, lane: l, room: 3}
		must(t, first.run(ctx))
		o.events(5)
		second := &visit{Courier: c, lane: l, room: 1, held: first.taken}
		must(t, second.run(ctx))
		if len(first.taken) != 3 || len(second.taken) != 4 || !second.more {
			t.Errorf("%d were taken, then %d, more %v", len(first.taken), len(second.taken), second.more)
		}
	})
}
