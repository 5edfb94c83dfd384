package webhook

import (
	"time"

	"kartei/kit/clock"
)

// While calls are answered a backlog gives way to them: what is older than
// backlogAge begins one after the other, slowest a second, so that calls take
// hardly longer. What is younger begins at once, since it is the order of the day and
// not a backlog. So that a process which always has calls and more to deliver
// than that does not fall behind for ever, the pace doubles with each speedUp
// for which it was kept without a break.
const (
	backlogAge = 5 * time.Second
	slowest    = 500
	speedUp    = 5 * time.Minute
	// fastest is how often it doubles at most: then it is none any more.
	fastest = 6
	// paceBreak is how long nothing waited where the next begins anew.
	paceBreak = 10 * time.Second
	// paceBurst is what a timer that rang late may make up for.
	paceBurst = 4 * time.Millisecond
)

// pace is the line of the lanes whose next delivery is of a backlog that gives
// way to calls.
type pace struct {
	line queue[lane]
	// next is when the next may begin.
	next clock.Micros
	// since is when it began that something waits, and last when last something
	// came into the line.
	since, last clock.Micros
}

// givesWay puts a lane into the line where its next delivery is to give way to calls.
func (c *Courier) givesWay(l *lane, now clock.Micros) bool {
	if len(l.ready) == 0 || l.running >= l.size || now.Sub(l.ready[0].event.CreatedAt) < backlogAge || c.ending || !c.Calls() {
		return false
	}
	p := &c.pace
	if now.Sub(p.last) > paceBreak {
		p.since = now
	}
	p.last = now
	l.inRing = true // it is in a line
	p.line.push(l)
	return true
}

// takeWay begins what has given way for long enough, and all of it once there
// are no calls.
func (c *Courier) takeWay(now clock.Micros) {
	p := &c.pace
	interval := clock.Micros(time.Second.Microseconds() / slowest >> min(now.Sub(p.since)/speedUp, fastest))
	for p.line.len() > 0 && (p.next <= now || c.ending || !c.Calls()) {
		l := p.line.pop()
		l.inRing = false
		p.next = max(p.next, now.Add(-paceBurst)) + interval
		if c.begin(l, now) {
			c.consider(l)
		}
	}
}

// share is how many deliveries one of the lanes in the line has begun within
// half the time for which it is known whether a delivery may be made.
func (p *pace) share() int {
	return max(1, int(slowest*(current/2)/time.Second)/p.line.len())
}
