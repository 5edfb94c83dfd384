package access

import (
	"context"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// ByID names one thing.
type ByID struct {
	ID string `json:"id"`
}

// Page asks for a part of a list, the oldest entries first.
type Page struct {
	// Organization filters by an organization's id; empty for all.
	Organization string `json:"organizationId,omitempty"`
	// After is the id of the last entry already seen.
	After string `json:"after,omitempty"`
	// Limit is 1 to 1,000; zero is 1,000.
	Limit int `json:"limit,omitempty"`
}

// List is a page of a list.
type List[T any] struct {
	Data    []T  `json:"data"`
	HasMore bool `json:"hasMore"`
}

// Changed says that a transaction changes who may do what, upon which every
// replica forgets what it kept in memory. It comes first: it locks a row, so such
// changes come one after the other, and none meets what another is about to
// commit. Forget must be called after the transaction, also after an error that
// left open whether the commit was made.
func Changed(ctx context.Context, tx db.Tx) error {
	tx.Notify(Topic, "")
	_, err := tx.Exec(ctx, updateGeneration)
	return err
}

// act runs a change of who may do what in a transaction of its own.
func (d *Directory) act(ctx context.Context, f func(db.Tx) error) error {
	defer d.Forget()
	return d.db.Write(ctx, func(tx db.Tx) error {
		if err := Changed(ctx, tx); err != nil {
			return err
		}
		return f(tx)
	})
}

func (d *Directory) now() clock.Micros { return clock.Now(d.clock) }

// unknown is 404 for an id that the operator named.
func unknown(de, en string) error {
	return &fault.Fault{Code: fault.NotFound, Detail: &fault.Text{
		DE: de + " mit dieser Kennung gibt es nicht.",
		EN: "There is no " + en + " with this id.",
	}}
}

func pick(yes bool, word, other string) string {
	if yes {
		return word
	}
	return other
}
