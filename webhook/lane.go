package webhook

import (
	"time"

	"kartei/kit/clock"
)

// address names an endpoint.
type address struct {
	organization int64
	id           string
}

// lane is an endpoint that there is something to do for.
type lane struct {
	address
	tenant *tenant
	window
	took      time.Duration // of an attempt, about
	running   int
	unsettled int
	ready     []*delivery
	visiting  bool
	look      bool // there may be something to take
	due       bool // there is more due than the endpoint says
	note      bool // its cursor is to be stored
	stale     bool // its deliveries are to be asked for again
	gone      bool // its receiver answered 410, which is not stored yet
	newFirst  bool
	rests     bool
	notBefore clock.Micros
	alarm     clock.Micros
	seen      clock.Micros
	used      clock.Micros
	inLooks   bool
	inRing    bool
}

// tenant is an organization that has lanes.
type tenant struct {
	organization int64
	lanes        int
	changes      int // how often its endpoints were told to have changed
	running      int
	endpoints    int         // that have something under way
	parked       queue[lane] // wait for the organization's bound
	tries        []*try      // wait to be stored
	inStoring    bool        // in the line of those, or being stored
}

// endpoints are the endpoints that an organization was found to have.
type endpoints struct {
	ids   []string
	until clock.Micros
}

// lane returns the lane of an endpoint.
func (c *Courier) lane(a address) *lane {
	l := c.lanes[a]
	if l == nil {
		t := c.tenants[a.organization]
		if t == nil {
			t = &tenant{organization: a.organization}
			c.tenants[a.organization] = t
		}
		t.lanes++
		l = &lane{address: a, tenant: t, window: newWindow(0), used: clock.Now(c.clock)}
		c.lanes[a] = l
	}
	return l
}

// drop forgets a lane that has nothing under way.
func (c *Courier) drop(l *lane) {
	if c.lanes[l.address] != l {
		return
	}
	delete(c.lanes, l.address)
	if l.tenant.lanes--; l.tenant.lanes == 0 {
		delete(c.tenants, l.organization)
	}
}

// mayBegin reports whether a lane has a delivery to begin, as far as the lane itself says.
func (l *lane) mayBegin(now clock.Micros) bool {
	return len(l.ready) > 0 && l.running < l.size && l.notBefore <= now && !l.gone
}

// consider puts a lane into the lines that it belongs to.
func (c *Courier) consider(l *lane) {
	now := clock.Now(c.clock)
	switch {
	case l.gone:
		return
	case l.notBefore > now:
		c.alarms.set(l, l.notBefore)
		return
	}
	if len(l.ready) > 0 && l.running < l.size && !l.inRing && !l.stale {
		l.inRing = true
		c.ring.push(l)
	}
	if (l.look || l.stale) && !l.visiting && !l.inLooks && (l.stale || c.room(l) > 0) {
		l.inLooks = true
		c.looks.push(l)
	}
}

// room returns how many deliveries may be taken for a lane: so many that it
// need not wait for the next look, as long as its receiver answers fast.
func (c *Courier) room(l *lane) int {
	has := l.running + len(l.ready)
	switch {
	case c.ending, l.unsettled >= unstored, has > 0 && !c.admits(l):
		return 0
	case l.failures > patience:
		return max(0, 1-has)
	}
	ahead := 1
	switch {
	case l.took > 500*time.Millisecond, c.held > 2*widestProcess:
		ahead = 0
	case l.took > 0 && l.took < 100*time.Millisecond:
		ahead = 4
	}
	full := l.size * (1 + ahead)
	if c.pace.line.len() > 0 {
		full = min(full, c.pace.share())
	}
	if 2*has > full {
		return 0
	}
	return full - has
}

// admits reports whether the bounds let one more attempt of a lane begin.
func (c *Courier) admits(l *lane) bool {
	t := l.tenant
	switch {
	case c.crowded(t):
		return false
	case l.running == 0:
		return t.endpoints < mostEndpoints
	}
	return t.running-t.endpoints < widestOrganization
}

// crowded reports whether the process has too much under way for one more of a tenant.
func (c *Courier) crowded(t *tenant) bool {
	return c.running >= widestProcess || c.running >= widestProcess-reserved && t.running >= fewRunning
}

// park has a lane wait until an attempt ends that keeps it from its own.
func (c *Courier) park(l *lane) {
	l.inRing = true // it is in a line
	if c.crowded(l.tenant) {
		c.parked.push(l)
	} else {
		l.tenant.parked.push(l)
	}
}

// unpark has the first lane try again that can begin: an attempt that ended
// leaves room for one. So of thousands that wait each end touches one, and not
// all. Those before it that have to be looked at first, or have nothing left, wait no more.
func (c *Courier) unpark(parked *queue[lane], now clock.Micros) {
	for range parked.len() {
		l := parked.pop()
		if !c.admits(l) {
			parked.push(l)
			continue
		}
		l.inRing = false
		c.consider(l)
		if l.mayBegin(now) && l.ready[0].fresh(now) {
			return
		}
	}
}
