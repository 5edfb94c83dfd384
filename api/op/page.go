package op

import (
	"context"

	"kartei/kit/fault"
	"kartei/store/db"
)

// Page is the input of a list. A list with more parameters embeds Page in its own type.
type Page struct {
	// Organization is the id of an organization. If it is empty, the list has all organizations.
	Organization string `json:"organizationId,omitempty"`
	// After is the id of the last entry on the previous page.
	After string `json:"after,omitempty"`
	// Limit is the maximum number of entries, from 1 to 1,000. Zero means 1,000.
	Limit int `json:"limit,omitempty"`
}

// Entries are a page of a list.
type Entries[T any] struct {
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
func PageOf[T any](rows []T, limit int) Entries[T] {
	page := Entries[T]{Data: append([]T{}, rows...)}
	if len(rows) > limit {
		page.Data, page.HasMore = page.Data[:limit], true
	}
	return page
}

// ListPage returns a page with the limit of p. The number of rows is the first parameter of the
// query. The query must define the order and use p.After.
func ListPage[T any](
	ctx context.Context, tx db.Tx, p Page, scan func(db.Row) (T, error), query string, args ...any,
) (Entries[T], error) {
	limit, err := PageSize(p.Limit, MaxPage)
	if err != nil {
		return Entries[T]{}, err
	}
	found, err := db.List(ctx, tx, scan, query, append([]any{int64(limit) + 1}, args...)...)
	return PageOf(found, limit), err
}
