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

// MaxLimit is the maximum number of entries that a query returns. DefaultLimit is the number if the
// filter has no Limit.
const (
	MaxLimit     = 1000
	DefaultLimit = 100
)

// skew is the maximum difference between the time in a request id and the time of its entry. The
// clock is read twice, and may be set in between.
const skew = time.Minute

// Programs is a value of Filter.Door that selects calls of the API and of the MCP server.
const Programs = "programs"

// Filter selects entries of one organization. A zero member does not restrict the result.
type Filter struct {
	Organization int64
	// Request is the Request-Id of one call. The Request-Id of a batch also selects its calls. The
	// id contains the time of the call, which bounds the search.
	Request string
	// Key is the id of a key or of another credential, or the first 8 characters of a kid.
	Key      string
	Statuses Statuses
	// Door is the entry point of the call, for example rest, or Programs.
	Door string
	// Operation and Reason select from the newest calls. The variable searched is the maximum
	// number of these calls.
	Operation, Reason string
	// Since is the first time of the range, and Until is the end of the range, which it does not
	// include.
	Since, Until clock.Micros
	// Before is the last entry of the previous page.
	Before *Entry
	// Limit is the maximum number of entries, at most MaxLimit. 0 means DefaultLimit.
	Limit int
}

// searched is the maximum number of calls that a query reads if the filter has no index. Without
// this bound, a query for a rare operation would read the log of a month. Only tests change it.
var searched = 20_000

// selects reports whether the filter has a condition without an index.
func (f *Filter) selects() bool { return f.Operation != "" || f.Reason != "" }

func (f *Filter) limit() int {
	if f.Limit <= 0 {
		return DefaultLimit
	}
	return min(f.Limit, MaxLimit)
}

// Reader reads the request log. It is safe for concurrent use.
type Reader struct{ db db.DB }

// NewReader returns a reader for a process that does not write the log.
func NewReader(d db.DB) *Reader { return &Reader{d} }

// Query returns the entries that match, the newest first. An entry appears about 500 ms after its
// call.
func (r *Reader) Query(ctx context.Context, f Filter) ([]Entry, error) {
	var out []Entry
	err := r.db.Read(ctx, func(tx db.Tx) error {
		var err error
		out, err = query(ctx, tx, f, f.limit())
		return err
	})
	return out, err
}

// queryResult is the result of a query over several organizations and keys.
type queryResult struct {
	entries []Entry
	// more says that more entries match than the limit, or that the search
	// stopped at its bound. In the second case, entries up to through may match
	// too.
	more bool
	// through is the time after which the query has read all calls. Zero means that it has read all
	// calls.
	through clock.Micros
}

// queryEach runs a query for each pair of organization and key, and merges the results. Each pair
// is a range of the index.
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

// bound returns the time of the oldest call that a query reads, if the query stops at its bound.
// Otherwise it returns zero.
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

// Organizations returns the ids of all organizations by their numbers. The id of Nobody is empty.
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
