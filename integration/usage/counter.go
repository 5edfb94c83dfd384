package usage

import (
	"crypto/rand"
	"sync"

	"kartei/kit/clock"
	"kartei/store/db"
)

const (
	// tooLate is the age of an hour whose counts are dropped, because the database
	// did not take them. They must not be written once rows of others are folded.
	tooLate = 12 * clock.Hour
	// foldAfter is the age of an hour whose rows are folded.
	foldAfter = 24 * clock.Hour
)

// row names a row of a counter.
type row struct {
	organization int64
	hour         clock.Micros
	kind         Kind
	subject      string
}

// sum is a row in memory.
type sum struct {
	Counts
	unwritten bool
	// written is how many of its calls are in the database.
	written int64
}

// Counter counts the calls of one process. A nil Counter counts nothing. It is safe
// for use by several goroutines.
type Counter struct {
	changed chan struct{}

	mu sync.Mutex
	// writer names the rows of this counter. It is new whenever sums are forgotten,
	// since a row of the same name would begin at zero again.
	writer string
	// since is the hour of the first call of the writer.
	since clock.Micros
	rows  map[row]*sum
	// unwritten is whether a row has counts that were not written.
	unwritten bool
	lost      uint64
}

// NewCounter returns a counter.
func NewCounter() *Counter {
	return &Counter{changed: make(chan struct{}, 1), writer: rand.Text(), rows: map[row]*sum{}}
}

// Changed receives after the first count that follows a write.
func (c *Counter) Changed() <-chan struct{} { return c.changed }

// Lost returns how many calls and deliveries are in no row, because the database took
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

// Sums are the sums that one transaction writes.
type Sums struct {
	writer string
	rows   map[row]Counts
}

// Pending returns what is to be written. Counts that the database did not take for so
// long that they are too late are dropped. One goroutine writes a counter.
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

// Queue writes the sums with the commit of a transaction.
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

// Written is called after the transaction. If it was stored and an hour is over, the
// sums are forgotten, and what was counted since the Sums goes on under a new name.
// Otherwise Changed receives again.
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

// Total returns the sum of all.
func (p *Sums) Total() (all Counts) {
	for _, counts := range p.rows {
		all.Add(&counts)
	}
	return all
}
