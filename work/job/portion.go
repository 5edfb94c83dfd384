package job

import (
	"context"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

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

// Update is Update of the job for so many records, and chooses the next number by the
// time that it took. The time in which the transaction waited for others does not count.
func (p *Portion) Update(ctx context.Context, j *Job, records int, f func(tx db.Tx) error) error {
	var begun clock.Micros
	err := j.Update(ctx, func(tx db.Tx) error {
		begun = clock.Now(j.clock)
		return f(tx)
	})
	if err == nil {
		p.took(records, clock.Now(j.clock).Sub(begun))
	}
	return err
}

// took tells how long a transaction with so many records took.
func (p *Portion) took(records int, d time.Duration) {
	fits := 2 * records
	if d > 0 {
		fits = min(fits, int(int64(records)*int64(portionGoal)/int64(d)))
	}
	p.next = min(max(fits, portionLeast), p.Most)
}
