package job

import (
	"cmp"
	"context"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Portion chooses how many records one transaction of a long job changes. It holds the
// organization's change clock, and on SQLite the only writer, so others wait for it. A
// transaction then takes about four milliseconds, on a slow machine too.
type Portion struct {
	// Most is the highest number, Least the lowest one: zero means 5. On SQLite many
	// transactions share a commit, so the time of one includes the time of others. Least
	// bounds how far this lowers the number.
	Most, Least int
	next        int
}

const (
	// portionGoal is how long a transaction should hold up others. A change of somebody
	// else takes some four milliseconds on SQLite and should take at most twice as long.
	portionGoal = 4 * time.Millisecond
	// portionLeast is the default of Least: each transaction has a price of its own.
	portionLeast = 5
)

// Next returns the number for the next transaction.
func (p *Portion) Next() int {
	if p.next == 0 {
		p.next = min(2*p.least(), p.Most)
	}
	return p.next
}

// Update is Update of the job for so many records, and chooses the next number by the
// time that it took.
func (p *Portion) Update(ctx context.Context, j *Job, records int, f func(tx db.Tx) error) error {
	return p.measure(ctx, j.clock, records, f, j.Update)
}

// Write is Write of the database for so many records, and chooses the next number as
// Update does.
func (p *Portion) Write(ctx context.Context, d db.DB, c clock.Clock, records int, f func(tx db.Tx) error) error {
	return p.measure(ctx, c, records, f, d.Write)
}

// measure takes the time of a transaction with its commit. The time in which it waited for
// others before does not count, and one without records says nothing.
func (p *Portion) measure(
	ctx context.Context, c clock.Clock, records int, f func(tx db.Tx) error,
	run func(context.Context, func(tx db.Tx) error) error,
) error {
	var begun clock.Micros
	err := run(ctx, func(tx db.Tx) error {
		begun = clock.Now(c)
		return f(tx)
	})
	if err != nil {
		return err
	}
	if records > 0 {
		p.took(records, clock.Now(c).Sub(begun))
	}
	return err
}

// took tells how long a transaction with so many records took.
func (p *Portion) took(records int, d time.Duration) {
	fits := 2 * records
	if d > 0 {
		fits = min(fits, int(int64(records)*int64(portionGoal)/int64(d)))
	}
	p.next = min(max(fits, p.least()), p.Most)
}

func (p *Portion) least() int { return cmp.Or(p.Least, portionLeast) }
