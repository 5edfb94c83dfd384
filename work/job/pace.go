package job

import "time"

// Pace chooses how many records one transaction of a long job changes. It holds the
// organization's change clock, and on SQLite the only writer, so others wait for it. A
// transaction then takes about ten milliseconds, on a slow machine too.
type Pace struct {
	// Most is the highest number.
	Most int
	next int
}

const (
	// paceGoal is how long a transaction should hold up others.
	paceGoal = 10 * time.Millisecond
	// paceLeast is the lowest number: each transaction has a price of its own.
	paceLeast = 5
)

// Next returns the number for the next transaction.
func (p *Pace) Next() int {
	if p.next == 0 {
		p.next = min(2*paceLeast, p.Most)
	}
	return p.next
}

// Took tells how long a transaction with so many records took.
func (p *Pace) Took(records int, d time.Duration) {
	fits := 2 * records
	if d > 0 {
		fits = min(fits, int(int64(records)*int64(paceGoal)/int64(d)))
	}
	p.next = min(max(fits, paceLeast), p.Most)
}
