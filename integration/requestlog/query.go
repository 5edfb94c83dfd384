package requestlog

import (
	"cmp"
	"context"
	"errors"
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

// skew is how far the time in a request id may differ from its entry's time. The
// clock is read twice, and may be set in between.
const skew = time.Minute

// Programs stands for the doors of programs: the API and the assistants' door.
const Programs = "programs"

// Filter selects entries of one organization. Zero members do not restrict.
type Filter struct {
	Organization int64
	// Request is the Request-Id of one call; a batch's Request-Id selects its parts
	// too. It contains the time of the call, which bounds the search.
	Request string
	// Key is the id of a key or of another credential, or the first 8 characters of
	// a kid.
	Key      string
	Statuses Statuses
	// Door is the way in, or Programs.
	Door string
	// Operation and Reason filter the newest calls. The variable searched bounds the number of
	// these calls.
	Operation, Reason string
	// Since is inclusive, Until exclusive.
	Since, Until clock.Micros
	// Before is the last entry of the previous page.
	Before *Entry
	// Limit is at most MaxLimit.
	Limit int
}

// searched bounds the calls that are read for a filter without an index. Without a bound, a
// rare operation would cost the log of a month. It is a variable for tests alone.
var searched = 20_000

// selects reports whether the filter has a condition without an index.
func (f *Filter) selects() bool { return f.Operation != "" || f.Reason != "" }

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

// queryResult is the answer to a query over several organizations and keys.
type queryResult struct {
	entries []Entry
	// more says that more entries match than the limit, or that the search
	// stopped at its bound. In the second case, entries up to through may match
	// too.
	more bool
	// through is the time after which all calls were looked at; zero means that all
	// were.
	through clock.Micros
}

// queryEach is Query over several organizations and keys. Each pair of them is a range
// of the index.
func queryEach(
	ctx context.Context, tx db.Tx, f Filter, organizations []int64, keys []string,
) (all queryResult, err error) {
	limit := f.limit()
	for _, f.Organization = range organizations {
		for _, f.Key = range keys {
			some, err := query(ctx, tx, f, limit+1)
			if err != nil {
				return all, err
			}
			through, err := f.bound(ctx, tx)
			if err != nil {
				return all, err
			}
			all.through = max(all.through, through)
			all.entries = append(all.entries, some...)
			slices.SortFunc(all.entries, func(a, b Entry) int {
				return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.RequestID, a.RequestID))
			})
			if len(all.entries) > limit {
				all.entries, all.more = all.entries[:limit], true
			}
		}
	}
	if all.through > 0 {
		all.entries = slices.DeleteFunc(all.entries, func(e Entry) bool { return e.At <= all.through })
		if all.more && len(all.entries) == limit { // the next page continues after the last entry
			all.through = 0
		}
		all.more = true
	}
	return all, nil
}

// bound returns the time of the last call that a query looks at, if it meets its bound.
func (f *Filter) bound(ctx context.Context, tx db.Tx) (at clock.Micros, err error) {
	if !f.selects() {
		return 0, nil
	}
	q := f.ranged()
	q.Query = "select at from (" + q.Query + ") as r"
	q.Add(newestFirst+" limit 1 offset ?", searched-1)
	err = tx.QueryRow(ctx, q.Query, q.Args...).Scan(&at)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return at, err
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
	q := f.statement(limit)
	return db.List(ctx, tx, scan, q.Query, q.Args...)
}
