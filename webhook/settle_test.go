package webhook

import (
	"testing"
	"time"

	"kartei/event"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/dbtest"
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

// An attempt that ends lets one begin of those that wait for it, however many
// these are; who can begin nothing, or has to be looked at first, is not in the way.
func TestOneEndOneBeginning(t *testing.T) {
	fake := clock.NewFake(begin)
	now := clock.Now(fake)
	c := NewCourier(Options{Clock: fake})
	add := func(name string, asked clock.Micros, n int) *lane {
		l := c.lane(address{1, name})
		for range n {
			l.ready = append(l.ready, &delivery{lane: l, asked: asked, until: now.Add(time.Hour), to: &target{}})
		}
		c.held += n
		return l
	}
	// The organization has as much under way as it may.
	busy := add("busy", now, 0)
	busy.size, busy.running, busy.tenant.running, c.running = widestOrganization+1, widestOrganization+1, widestOrganization+1, widestOrganization+1
	busy.tenant.endpoints, c.held = 1, widestOrganization+1
	var parked []*lane
	for _, name := range []string{"empty", "old", "1", "2", "3"} {
		l := add(name, now, 1)
		// Each has one under way that is its first.
		l.size, l.running = 2, 1
		l.tenant.running, l.tenant.endpoints, c.running, c.held = l.tenant.running+1, l.tenant.endpoints+1, c.running+1, c.held+1
		if c.begin(l, now) || l.tenant.parked.len() != len(parked)+1 {
			t.Fatalf("%s does not wait", name)
		}
		parked = append(parked, l)
	}
	parked[0].ready = nil
	parked[1].ready[0].asked = now - 2*clock.Second
	for i, waiting := range []int{2, 1, 0} {
		ended := c.newTry(&delivery{lane: busy, event: event.Event{ID: id.New(id.Event)}, claim: firstClaim})
		ended.outcome = Outcome{Status: 200}
		c.attempted(ended)
		if n := busy.tenant.parked.len(); n != waiting || c.ring.len() != i+2 { // and the one that is looked at first
			t.Errorf("after %d ends %d wait, and %d try again", i+1, n, c.ring.len())
		}
	}
}
