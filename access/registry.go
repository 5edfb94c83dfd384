package access

import (
	"context"
	"encoding/json"
	"strconv"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// The administrative acts are methods of Directory of one form: a typed input,
// a typed answer, and a fault that names every wrong field. They ask nobody
// for permission: who reaches them is the operator, or a door that checked.
// Each takes effect on the next call of Authenticate, here and on every
// replica.

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

// act runs an administrative change: in one transaction, after which every
// replica forgets what it kept in memory.
func (d *Directory) act(ctx context.Context, f func(db.Tx) error) error {
	defer d.Forget() // also after an error that left open whether the commit was made
	return d.db.Write(ctx, func(tx db.Tx) error {
		// The row is locked from the beginning: acts come one after the other,
		// and none meets what another is about to commit.
		if _, err := tx.Exec(ctx, updateGeneration); err != nil {
			return err
		}
		tx.Notify(Topic, "")
		return f(tx)
	})
}

func (d *Directory) now() clock.Micros { return clock.Now(d.clock) }

// list reads a page with one row more than asked for, which tells whether
// there are more. query takes the page's limit as its first argument.
func list[T any](ctx context.Context, d *Directory, p Page, scan func(db.Row) (T, error), query string, args ...any) (List[T], error) {
	page := List[T]{Data: []T{}}
	limit := p.Limit
	if limit == 0 {
		limit = maxPage
	}
	if limit < 1 || limit > maxPage {
		return page, fault.Invalid(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: maxPage}})
	}
	err := d.db.Read(ctx, func(tx db.Tx) error {
		page = List[T]{Data: []T{}}
		rows, err := tx.Query(ctx, query, append([]any{int64(limit) + 1}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			entry, err := scan(rows)
			if err != nil {
				return err
			}
			page.Data = append(page.Data, entry)
		}
		return rows.Err()
	})
	if len(page.Data) > limit {
		page.Data, page.HasMore = page.Data[:limit], true
	}
	return page, err
}

// unknown is 404 for an id that the operator named.
func unknown(de, en string) error {
	return &fault.Fault{Code: fault.NotFound, Detail: &fault.Text{
		DE: de + " mit dieser Kennung gibt es nicht.",
		EN: "There is no " + en + " with this id.",
	}}
}

func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// mustJSON writes values that cannot fail: strings, lists and maps of them.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("access: " + err.Error())
	}
	return string(b)
}

func pick(yes bool, word, other string) string {
	if yes {
		return word
	}
	return other
}
