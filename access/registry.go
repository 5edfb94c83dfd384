package access

import (
	"context"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// ByID is the input of an operation on the object with an id.
type ByID struct {
	ID string `json:"id"`
}

// Page is the input of a list. A list with more parameters embeds Page in its own type.
type Page struct {
	// Organization is the id of an organization. If it is empty, the list has all organizations.
	Organization string `json:"organizationId,omitempty"`
	// After is the id of the last entry on the previous page.
	After string `json:"after,omitempty"`
	// Limit is the maximum number of entries, from 1 to 1,000. Zero means 1,000.
	Limit int `json:"limit,omitempty"`
}

// List is a page of a list.
type List[T any] struct {
	Data    []T  `json:"data"`
	HasMore bool `json:"hasMore"`
}

// MaxPage is the maximum number of entries on a page.
const MaxPage = 1000

// PageSize returns the limit of an input, or unset if the limit is zero. It fails with a fault if
// the limit is out of range.
func PageSize(limit, unset int) (int, error) {
	if limit == 0 {
		return unset, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, fault.Invalid(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: MaxPage}})
	}
	return limit, nil
}

// PageOf returns a page of rows. The caller must read one row more than the limit. This row means
// that there are more.
func PageOf[T any](rows []T, limit int) List[T] {
	page := List[T]{Data: append([]T{}, rows...)}
	if len(rows) > limit {
		page.Data, page.HasMore = page.Data[:limit], true
	}
	return page
}

// ListPage returns a page with the limit of p. The number of rows is the first parameter of the
// query. The query must define the order and use p.After.
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

// Changed declares that a transaction changes rights, so that every replica empties its cache. It
// must be the first statement. It locks a row, so such changes are serialized and none of them
// reads an uncommitted one. The caller must call Forget after the transaction, even if the
// outcome of the commit is unknown.
func Changed(ctx context.Context, tx db.Tx) error {
	tx.Notify(Topic, "")
	_, err := tx.Exec(ctx, updateGeneration)
	return err
}

// act runs f in a transaction that changes rights.
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
