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

// expectation is a query for one number, and the expected number.
type expectation struct {
	query string
	want  int64
}

// composed caches the statements of expectation.within, by both texts.
var composed sync.Map

// within returns a statement that also returns the expectation's number, as an
// additional first column. If the statement is not a single select, can is
// false, and the expectation travels as a separate statement. That costs the
// server 8 microseconds more, a fifth of reading a record.
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

// compound reports whether a statement combines several selects outside of
// parentheses, or refers to its result as a whole. (Kartei's statements name
// columns and never number them, as in 'order by 1'.)
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

// met reads the result of an expectation.
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

// Expect queries at once. A speculative transaction divides by zero instead if
// the expectation is wrong.
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

// settled returns the result of a Read, including failures that its function
// did not notice or did not ask for.
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
