package usage

import (
	"crypto/rand"
	"sync"

	"kartei/kit/clock"
	"kartei/store/db"
)

const (
	// tooLate is the age at which counts of an hour are dropped because the database has not stored
	// them. It is less than foldAfter, so no rows are written for an hour that has already been
	// folded.
	tooLate = 12 * clock.Hour
	// foldAfter is the age at which the rows of an hour are folded.
	foldAfter = 24 * clock.Hour
)

// row identifies a row of a counter.
type row struct {
	organization int64
	hour         clock.Micros
	kind         Kind
	subject      string
}

// sum is the state of a row in memory.
type sum struct {
	Counts
	unwritten bool
	// written is the number of its calls that the database has.
	written int64
}

// Counter counts the calls of one process. A nil Counter counts nothing. A Counter is safe for
// concurrent use.
type Counter struct {
	changed chan struct{}

	mu sync.Mutex
	// writer is the name of this counter in its rows. It changes whenever sums are forgotten,
	// because a row with the old name would start at zero and lose the earlier calls.
	writer string
	// since is the hour of the first call that the present writer counted.
	since clock.Micros
	rows  map[row]*sum
	// unwritten is set if any row has counts that are not written.
	unwritten bool
	lost      uint64
}

// NewCounter returns an empty counter.
func NewCounter() *Counter {
	return &Counter{changed: make(chan struct{}, 1), writer: rand.Text(), rows: map[row]*sum{}}
}

// Changed returns a channel that receives after the first call that is counted after a write.
func (c *Counter) Changed() <-chan struct{} { return c.changed }

// Lost returns the number of calls and deliveries that were dropped, because the database accepted
// no writes for hours.
func (c *Counter) Lost() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// Count counts a call.
func (c *Counter) Count(call *Call) {
	if c == nil {
		return
	}
	name := row{call.Organization, hourOf(call.At), call.Kind, call.Subject}
	c.mu.Lock()
	s := c.rows[name]
	if s == nil {
		if s = new(sum); len(c.rows) == 0 {
			c.since = name.hour
		}
		c.rows[name] = s
	}
	s.count(call)
	first := !c.unwritten
	s.unwritten, c.unwritten = true, true
	c.mu.Unlock()
	if first {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// Sums are the rows that one transaction writes.
type Sums struct {
	writer string
	rows   map[row]Counts
}

// Pending returns the counts that must be written. It drops counts that are older than tooLate.
// Only one goroutine may write the counts of a counter.
func (c *Counter) Pending(now clock.Micros) *Sums {
	if c == nil {
		return &Sums{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &Sums{c.writer, map[row]Counts{}}
	for name, s := range c.rows {
		switch {
		case !s.unwritten:
		case name.hour+clock.Hour+tooLate < now:
			c.lost += uint64(s.Calls - s.written)
			delete(c.rows, name)
		default:
			p.rows[name] = s.Counts
		}
	}
	c.unwritten = len(p.rows) > 0
	return p
}

// Queue queues the statements that write the sums.
func (p *Sums) Queue(tx db.Tx) {
	if p == nil {
		return
	}
	for name, counts := range p.rows {
		tx.Queue(upsert, counts.args(name, p.writer)...)
	}
}

// Len returns the number of rows.
func (p *Sums) Len() int {
	if p == nil {
		return 0
	}
	return len(p.rows)
}

// Written must be called after the transaction with the sums. stored says that the database has
// committed them. If the hour has ended, Written then forgets the sums, and later counts get a new
// writer. If counts are left, Changed receives again.
func (c *Counter) Written(p *Sums, now clock.Micros, stored bool) {
	if p.Len() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if stored {
		c.forget(p, now)
	}
	if c.unwritten {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

func (c *Counter) forget(p *Sums, now clock.Micros) {
	over := hourOf(now) != c.since
	c.unwritten = false
	for name, s := range c.rows {
		if written, is := p.rows[name]; is {
			s.unwritten, s.written = s.Counts != written, written.Calls
			if over {
				s.subtract(&written)
				s.written = 0
			}
		}
		c.unwritten = c.unwritten || s.unwritten
		if over && !s.unwritten {
			delete(c.rows, name)
		}
	}
	if over {
		c.writer, c.since = rand.Text(), hourOf(now)
	}
}

// Total returns the sum of all rows.
func (p *Sums) Total() (all Counts) {
	for _, counts := range p.rows {
		all.Add(&counts)
	}
	return all
}
