package access

import (
	"context"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// ByID is an input with one id.
type ByID struct {
	ID string `json:"id"`
}

// Page is the input of a list. Where it needs more members, they stand beside these
// in a type of its own.
type Page struct {
	// Organization is the id of an organization; empty means all.
	Organization string `json:"organizationId,omitempty"`
	// After is the id of the last entry of the previous page.
	After string `json:"after,omitempty"`
	// Limit is 1 to 1,000; zero means 1,000.
	Limit int `json:"limit,omitempty"`
}

// List is a page of a list.
type List[T any] struct {
	Data    []T  `json:"data"`
	HasMore bool `json:"hasMore"`
}

// MaxPage bounds the entries of a page.
const MaxPage = 1000

// PageSize checks the limit of an input. A limit of zero means unset.
func PageSize(limit, unset int) (int, error) {
	if limit == 0 {
		return unset, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, fault.Invalid(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: MaxPage}})
	}
	return limit, nil
}

// PageOf returns a page. The caller reads one row more than the limit, which says
// that there are more.
func PageOf[T any](rows []T, limit int) List[T] {
	page := List[T]{Data: append([]T{}, rows...)}
	if len(rows) > limit {
		page.Data, page.HasMore = page.Data[:limit], true
	}
	return page
}

// ListPage reads a page with the limit of p. query takes the number of rows as its first
// argument; the order and what p.After means are the query's.
func ListPage[T any](
	ctx context.Context, tx db.Tx, p Page, scan func(db.Row) (T, error), query string, args ...any,
) (List[T], error) {
	limit, err := PageSize(p.Limit, MaxPage)
	if err != nil {
		return List[T]{}, err
	}
	found, err := db.List(ctx, tx, scan, query, append([]any{int64(limit) + 1}, args...)...)
	return PageOf(found, limit), err
}

// Changed declares that a transaction changes rights, so that every replica
// empties its cache. It must come first: it locks a row, so such changes are
// serialized, and none meets an uncommitted one. Forget must be called after
// the transaction, even if the outcome of the commit is unknown.
func Changed(ctx context.Context, tx db.Tx) error {
	tx.Notify(Topic, "")
	_, err := tx.Exec(ctx, updateGeneration)
	return err
}

// act changes rights in a transaction of its own.
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

func pick(yes bool, word, other string) string {
	if yes {
		return word
	}
	return other
}
