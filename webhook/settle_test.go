package webhook

import (
	"testing"
	"time"

	"kartei/db"
	"kartei/dbtest"
	"kartei/event"
	"kartei/id"
)

// After a 410 nothing begins until it is stored, also where attempts that ended
// before it are stored first.
func TestNothingBeginsBeforeGoneIsStored(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		c := NewCourier(Options{DB: d, Clock: o.clock, Vault: o.vault, Families: families, Send: o.send})
		l := c.lane(address{o.organization, o.endpoint()})
		ended := func(outcome Outcome) *try {
			l.running, l.tenant.running, c.running = l.running+1, l.tenant.running+1, c.running+1
			l.tenant.endpoints, c.held = l.running, c.held+1
			made := c.newTry(&delivery{lane: l, event: event.Event{ID: id.New(id.Event)}, claim: firstClaim})
			made.outcome = outcome
			c.attempted(made)
			return made
		}
		l.running, l.tenant.running, c.running = 1, 1, 1 // one more stays under way
		before := ended(Outcome{Status: 500, Code: HTTPStatus})
		l.tenant.tries = nil // it is being stored
		last := ended(Outcome{Status: 410, Code: HTTPStatus})
		c.stored(l.tenant, []*try{before}, map[*lane]settled{l: {status: Active}}, nil)
		l.ready = []*delivery{{lane: l, until: before.began.Add(time.Hour), asked: before.began, to: &target{}}}
		l.size = widest
		if c.begin(l, before.began) || !l.gone || len(l.ready) != 1 {
			t.Error("a delivery begins although the 410 is not stored")
		}
		c.stored(l.tenant, []*try{last}, map[*lane]settled{l: {status: Disabled}}, nil)
		if l.gone {
			t.Error("it is held up although the 410 is stored")
		}
	})
}
