package postgres

import (
	"context"
	"strings"
	"sync"
	"unicode"

	"github.com/jackc/pgx/v5"

	"kartei/store/db"
	"kartei/store/db/internal/engine"
)

// expectation is a query that returns one number, and the expected number.
type expectation struct {
	query string
	want  int64
}

// composed caches the results of expectation.within. The key has the texts of both queries.
var composed sync.Map

// within returns a query with the expectation's number as an additional first column. can is false
// if the query is not a single select. Then the expectation must travel as a separate statement.
// That takes the server 8 microseconds more, a fifth of the time to read a record.
func (e *expectation) within(query string) (together string, can bool) {
	key := [2]string{e.query, query}
	if known, is := composed.Load(key); is {
		together = known.(string)
		return together, together != ""
	}
	if rest, is := strings.CutPrefix(query, "select "); is && !compound(rest) {
		together = "select (" + e.query + "), " + rest
	}
	composed.Store(key, together)
	return together, together != ""
}

// compound reports whether a query combines several selects outside of parentheses, or has a clause
// for its result as a whole. Kartei's queries refer to columns by name, and not by number, as in
// 'order by 1'.
func compound(query string) bool {
	depth := 0
	for _, word := range strings.FieldsFunc(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(query), unicode.IsSpace) {
		switch word {
		case "(":
			depth++
		case ")":
			depth--
		case "union", "intersect", "except", "distinct", "group", "having":
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// met scans the number of an expectation. It returns db.ErrStale if the number is wrong.
func (t *transaction) met(e *expectation, row pgx.Row) error {
	var number int64
	if err := row.Scan(&number); err != nil {
		return err
	}
	if number != e.want {
		t.stale = true
		return db.ErrStale
	}
	return nil
}

// Expect runs the query at once in a Write. In a Read, the query travels with the next statement.
// In a speculative transaction, a wrong expectation divides by zero.
func (t *transaction) Expect(ctx context.Context, query string, want int64) error {
	switch {
	case !t.write:
		t.expected = &expectation{query, want}
		if t.stated != nil {
			t.stated(query)
		}
		return nil
	case t.speculative:
		t.expecting = true
		t.assume("("+query+") = $1", want)
		return nil
	}
	return engine.Expect(ctx, t, query, want)
}

// settled returns the final error of a Read. It includes failures that the function ignored, and an
// expectation without a statement.
func (t *transaction) settled(err error) error {
	if t.open != nil {
		t.open.Close()
	}
	switch {
	case t.err != nil:
		return t.err
	case t.expected != nil && !t.lost(err):
		if missed := t.met(t.expected, t.conn.QueryRow(t.ctx, t.expected.query)); missed != nil {
			return MapError(missed)
		}
	case t.stale:
		return db.ErrStale
	}
	return err
}
