package job

import "time"

// Portion chooses how many records one transaction of a long job changes. It holds the
// organization's change clock, and on SQLite the only writer, so others wait for it. A
// transaction then takes about four milliseconds, on a slow machine too.
type Portion struct {
	// Most is the highest number.
	Most int
	next int
}

const (
	// portionGoal is how long a transaction should hold up others. A change of somebody
	// else takes some four milliseconds on SQLite and should take at most twice as long.
	portionGoal = 4 * time.Millisecond
	// portionLeast is the lowest number: each transaction has a price of its own.
	portionLeast = 5
)

// Next returns the number for the next transaction.
func (p *Portion) Next() int {
	if p.next == 0 {
		p.next = min(2*portionLeast, p.Most)
	}
	return p.next
}

// Took tells how long a transaction with so many records took.
func (p *Portion) Took(records int, d time.Duration) {
	fits := 2 * records
	if d > 0 {
		fits = min(fits, int(int64(records)*int64(portionGoal)/int64(d)))
	}
	p.next = min(max(fits, portionLeast), p.Most)
}
