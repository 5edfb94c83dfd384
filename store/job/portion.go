package job

import (
	"cmp"
	"context"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Portion chooses the number of records that one transaction of a long job changes. Such a
// transaction locks the organization's change clock (its row in clocks), and on SQLite the whole
// database. Other writers wait for the transaction. So Portion chooses a number for which the
// transaction takes about four milliseconds, also on a slow machine.
type Portion struct {
	// Most and Least are the maximum and the minimum number of records. Zero for Least means 5. On
	// SQLite many transactions share a commit, so the measured time includes the time of others.
	// Least limits how far this lowers the number.
	Most, Least int
	next        int
}

const (
	// portionGoal is the time that a transaction should take. A change of another caller takes
	// about four milliseconds on SQLite, and should take at most twice as long because of the wait.
	portionGoal = 4 * time.Millisecond
	// portionLeast is the default of Least. Smaller transactions cost too much, because each has a
	// fixed cost.
	portionLeast = 5
)

// Next returns the number of records for the next transaction.
func (p *Portion) Next() int {
	if p.next == 0 {
		p.next = min(2*p.least(), p.Most)
	}
	return p.next
}

// Update calls j.Update for a transaction with this number of records. It chooses the next number
// by the time that the transaction took.
func (p *Portion) Update(ctx context.Context, j *Job, records int, f func(tx db.Tx) error) error {
	return p.measure(ctx, j.clock, records, f, j.Update)
}

// Write calls d.Write for a transaction with this number of records. It chooses the next number as
// Update does.
func (p *Portion) Write(ctx context.Context, d db.DB, c clock.Clock, records int, f func(tx db.Tx) error) error {
	return p.measure(ctx, c, records, f, d.Write)
}

// measure measures the time of a transaction from the first call of f to the end of the commit. The
// wait before f does not count. A transaction without records is ignored.
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

// took chooses the next number, after a transaction with this number of records has taken the time
// d.
func (p *Portion) took(records int, d time.Duration) {
	fits := 2 * records
	if d > 0 {
		fits = min(fits, int(int64(records)*int64(portionGoal)/int64(d)))
	}
	p.next = min(max(fits, p.least()), p.Most)
}

func (p *Portion) least() int { return cmp.Or(p.Least, portionLeast) }
