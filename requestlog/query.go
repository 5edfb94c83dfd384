package requestlog

import (
	"cmp"
	"context"
	"slices"

	"kartei/clock"
	"kartei/db"
)

// MaxLimit is the most entries that one query returns; DefaultLimit is what
// it returns when the filter does not say.
const (
	MaxLimit     = 1000
	DefaultLimit = 100
)

// Filter chooses entries of one organization. Zero members do not restrict.
type Filter struct {
	Organization int64
	// Key is a key's id (key_...) or the first 8 characters of its kid.
	Key      string
	Statuses Statuses
	// Since is included, Until is not.
	Since, Until clock.Micros
	// Before is the last entry of the previous page.
	Before *Entry
	// Limit is at most MaxLimit.
	Limit int
}

func (f *Filter) limit() int {
	if f.Limit <= 0 {
		return DefaultLimit
	}
	return min(f.Limit, MaxLimit)
}

// Query returns the newest entries that match, newest first. Entries appear
// some 200 ms after their call.
func (l *Log) Query(ctx context.Context, f Filter) ([]Entry, error) {
	var out []Entry
	err := l.db.Read(ctx, func(tx db.Tx) error {
		var err error
		out, err = query(ctx, tx, f)
		return err
	})
	return out, err
}

// QueryAll is Query over all organizations and those that belong to nobody,
// for the operator; it does not look at f.Organization.
func (l *Log) QueryAll(ctx context.Context, f Filter) ([]Entry, error) {
	var out []Entry
	err := l.db.Read(ctx, func(tx db.Tx) error {
		numbers, err := organizations(ctx, tx)
		if err != nil {
			return err
		}
		out = nil
		for _, f.Organization = range numbers {
			some, err := query(ctx, tx, f)
			if err != nil {
				return err
			}
			out = newest(append(out, some...), f.limit())
		}
		return nil
	})
	return out, err
}

func newest(entries []Entry, limit int) []Entry {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.RequestID, a.RequestID))
	})
	return entries[:min(len(entries), limit)]
}

func organizations(ctx context.Context, tx db.Tx) ([]int64, error) {
	rows, err := tx.Query(ctx, `select number from organizations order by number`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	numbers := []int64{Nobody}
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		if n != Nobody {
			numbers = append(numbers, n)
		}
	}
	return numbers, rows.Err()
}

func query(ctx context.Context, tx db.Tx, f Filter) ([]Entry, error) {
	text, args := f.statement()
	rows, err := tx.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Entry
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}
