package requestlog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// MaxLimit is the maximum number of entries of a query. DefaultLimit is the
// number without a limit in the filter.
const (
	MaxLimit     = 1000
	DefaultLimit = 100
)

// skew is how far the time in a request id may differ from that of its entry. The
// clock is read twice, and may be set in between.
const skew = time.Minute

// Filter selects entries of one organization. Zero members do not restrict.
type Filter struct {
	Organization int64
	// Request is the Request-Id of one call; that of a batch selects its parts too.
	// It contains the time of the call, which bounds the search.
	Request string
	// Key is the id of a key or of another credential, or the first 8 characters of
	// a kid.
	Key      string
	Statuses Statuses
	// Door is the way in.
	Door string
	// Since is inclusive, Until exclusive.
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

// Reader reads the request log. It is safe for use by several goroutines.
type Reader struct{ db db.DB }

// NewReader returns a reader for a process that writes no log of its own.
func NewReader(d db.DB) *Reader { return &Reader{d} }

// Query returns the newest entries that match, newest first. Entries appear
// some 500 ms after their call.
func (r *Reader) Query(ctx context.Context, f Filter) ([]Entry, error) {
	var out []Entry
	err := r.db.Read(ctx, func(tx db.Tx) error {
		var err error
		out, err = query(ctx, tx, f, f.limit())
		return err
	})
	return out, err
}

// queryEach is Query over several organizations and keys. Each pair of them is a range
// of the index. more reports whether there are more entries than the limit.
func queryEach(ctx context.Context, tx db.Tx, f Filter, organizations []int64, keys []string) (out []Entry, more bool, err error) {
	limit := f.limit()
	for _, f.Organization = range organizations {
		for _, f.Key = range keys {
			some, err := query(ctx, tx, f, limit+1)
			if err != nil {
				return nil, false, err
			}
			out = append(out, some...)
			slices.SortFunc(out, func(a, b Entry) int {
				return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.RequestID, a.RequestID))
			})
			if len(out) > limit {
				out, more = out[:limit], true
			}
		}
	}
	return out, more, nil
}

// Organizations returns the ids of all organizations by their numbers; Nobody
// has the empty one.
func Organizations(ctx context.Context, tx db.Tx) (map[int64]string, error) {
	rows, err := tx.Query(ctx, `select number, id from organizations`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := map[int64]string{Nobody: ""}
	for rows.Next() {
		var number int64
		var id string
		if err := rows.Scan(&number, &id); err != nil {
			return nil, err
		}
		ids[number] = id
	}
	return ids, rows.Err()
}

func query(ctx context.Context, tx db.Tx, f Filter, limit int) ([]Entry, error) {
	text, args := f.statement(limit)
	return db.List(ctx, tx, scan, text, args...)
}
