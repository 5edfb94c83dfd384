package db

import (
	"context"
	"strings"
	"sync"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// expectation is a query that returns one number, and which it shall be.
type expectation struct {
	query string
	want  int64
}

// composed holds the statements that expectation.within made, by both texts.
var composed sync.Map

// within returns a statement that also answers the expectation, in a first
// column of its own; can is false where the statement is not one select, so
// that the expectation has to travel as a statement of its own. That takes the
// server 8 microseconds more, a fifth of what reading a record takes.
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

// compound reports whether a statement joins several selects outside of
// parentheses, or speaks of what it returns as a whole. (Ours name columns and
// do not count them, as in 'order by 1'.)
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

// met reads the answer to an expectation.
func (t *pgTx) met(e *expectation, row pgx.Row) error {
	var number int64
	if err := row.Scan(&number); err != nil {
		return err
	}
	if number != e.want {
		t.stale = true
		return ErrStale
	}
	return nil
}

// Expect asks at once, or divides by zero in a speculative transaction.
func (t *pgTx) Expect(ctx context.Context, query string, want int64) error {
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
	return expect(ctx, t, query, want)
}

// assume fails the transaction if a condition on $1 is not true. Two of them that
// wait one after the other travel as one statement, because each statement costs
// the server 8 microseconds.
func (t *pgTx) assume(condition string, value any) {
	values := []any{value}
	beside := t.assumption
	if beside != "" {
		last := len(t.pending) - 1
		condition = beside + " and " + strings.ReplaceAll(condition, "$1", "$2")
		values = append(t.pending[last].args, value)
		t.pending = t.pending[:last]
	}
	t.Queue("select 1 / (case when "+condition+" then 1 else 0 end)", values...)
	if beside == "" {
		t.assumption = condition
	}
}

// expect asks at once.
func expect(ctx context.Context, t Tx, query string, want int64) error {
	var number int64
	if err := t.QueryRow(ctx, query).Scan(&number); err != nil {
		return err
	}
	if number != want {
		return ErrStale
	}
	return nil
}

// settled returns what a Read ends with, which its function may not have
// noticed, or not have asked for.
func (t *pgTx) settled(err error) error {
	if t.open != nil {
		t.open.Close()
	}
	switch {
	case t.err != nil:
		return t.err
	case t.expected != nil && !t.lost(err):
		if missed := t.met(t.expected, t.conn.QueryRow(t.ctx, t.expected.query)); missed != nil {
			return mapError(missed)
		}
	case t.stale:
		return ErrStale
	}
	return err
}
