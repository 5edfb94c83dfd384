package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/record/search"
	"kartei/store/db"
)

// CountCap is the highest result of Count. Counting stops at this number.
const CountCap = 10_000

// position is the content of an encrypted cursor. It is a place between two records of a list,
// after or before the record with a tick or key. Tick is for the order of changes, Key for any
// other order, and Hit for a search.
type position struct {
	Tick   clock.Micros     `json:"t,omitempty"`
	Key    string           `json:"k,omitempty"`
	Before bool             `json:"b,omitempty"`
	Hit    *search.Position `json:"h,omitempty"`
}

// List returns a page of records. They are ordered by relevance if q is set, and otherwise by the
// order in in.Sort. filters is empty, or has a pointer to the family's struct of filters.
func (k *Collection[T, F, P]) List(ctx context.Context, c *op.Call, in ListInput, filters ...any) (Page[T], error) {
	n := k.selectionOf(filters)
	if err := n.check(in.Q, in.IncludeDeleted); err != nil {
		return Page[T]{}, err
	}
	if err := k.ordered(&in, &n); err != nil {
		return Page[T]{}, err
	}
	scope := fmt.Sprintf("%d|%s|%s|%s|%d|%t|%q|%s", c.Actor.Org(), c.Actor.PrincipalID(), k.Plural,
		in.Sort, in.UpdatedSince, in.IncludeDeleted, in.Q, c.Version) + n.String()
	var from position
	if in.Cursor != "" {
		if err := c.Services.Cursors.Open(scope, in.Cursor, c.Now, &from); err != nil {
			return Page[T]{}, fault.New(fault.CursorMismatch)
		}
	}
	if in.Near != "" {
		var err error
		if from, err = k.placeOf(ctx, c, in.Near, n); err != nil {
			return Page[T]{}, err
		}
	}
	var rows []row
	var next *position
	var more bool
	var err error
	if in.Q != "" {
		rows, next, err = k.byRelevance(ctx, c, in, from)
		more = next != nil
	} else {
		rows, next, more, err = k.inOrder(ctx, c, in, from, n)
	}
	if err != nil {
		return Page[T]{}, err
	}
	cursor := ""
	if next != nil {
		if cursor, err = c.Services.Cursors.Seal(scope, c.Now, next); err != nil {
			return Page[T]{}, err
		}
	}
	return k.page(rows, more, cursor), nil
}

// placeOf returns the place before a record in the order of a list. It fails with a fault if the
// caller does not see the record, or if the order leaves it out.
func (k *Collection[T, F, P]) placeOf(ctx context.Context, c *op.Call, name string, n selection) (position, error) {
	at := position{Before: true}
	var key any = &at.Tick
	if n.order != nil {
		key = &at.Key
	}
	err := c.Tx.QueryRow(ctx, `select r.`+n.key()+` from `+k.Plural+` as r where r.organization = $1 and `+
		op.Visible("r", c.Actor, "$2")+` and r.id = $3 and r.deleted = false and r.`+n.key()+` is not null`,
		c.Actor.Org(), c.Actor.PrincipalID(), name).Scan(key)
	if errors.Is(err, db.ErrNoRows) {
		return at, fault.New(fault.CursorMismatch)
	}
	return at, err
}

// inOrder returns the rows of a page, the position of its end, and whether another page follows.
// It reads one row more than the page has. The end is nil if no page follows, except in a sync,
// which reads from the oldest change on. A sync always gets a position, because later changes
// will follow. A client can store it in place of a time, whose microseconds some languages drop.
func (k *Collection[T, F, P]) inOrder(
	ctx context.Context, c *op.Call, in ListInput, from position, n selection,
) ([]row, *position, bool, error) {
	ascending := in.Sort != "" && in.Sort[0] != '-'
	l := listVariant{all: c.Actor.SeesAll(), ascending: ascending != in.Back, deleted: in.IncludeDeleted}
	after, before := bounds(&in, from, n.order != nil, ascending)
	var end *position
	if ascending && in.UpdatedSince != 0 {
		end = &position{Tick: after.(clock.Micros)}
	}
	if nothing, err := k.matchesNothing(ctx, c, n); nothing || err != nil {
		return nil, end, false, err
	}
	statement := k.sql.list[c.Tx.Dialect()][l]
	if !n.plain() {
		statement = k.sql.page(c.Tx.Dialect(), l, n)
	}
	rows, err := k.query(ctx, c, in.Limit+1, n.order != nil, statement,
		append([]any{c.Actor.Org(), c.Actor.PrincipalID(), after, before, in.Limit + 1}, n.values...)...)
	if err != nil {
		return nil, nil, false, err
	}
	more := len(rows) > in.Limit
	rows = rows[:min(len(rows), in.Limit)]
	if more || end != nil && len(rows) > 0 {
		last := &rows[len(rows)-1]
		end = &position{Tick: last.updated, Before: in.Back}
		if n.order != nil {
			end = &position{Key: last.key, Before: in.Back}
		}
	}
	if in.Back {
		slices.Reverse(rows)
	}
	return rows, end, more, nil
}

// bounds returns the ticks or keys between which the rows of a page lie. Both bounds are
// exclusive. ascending is the order of the list, which in.Back reads in reverse.
func bounds(in *ListInput, from position, byKey, ascending bool) (after, before any) {
	above := ascending != from.Before // the position is above its tick or key
	upwards := ascending != in.Back
	if byKey {
		low, high := "", string(unicode.MaxRune)
		switch {
		case from.Key == "":
		case upwards && above:
			low = from.Key
		case upwards:
			low = justBelow(from.Key)
		case above:
			high = from.Key + "\x01" // no key is a prefix of another key
		default:
			high = from.Key
		}
		return low, high
	}
	low, high := in.UpdatedSince, clock.Micros(math.MaxInt64)
	switch {
	case from.Tick == 0:
	case upwards && above:
		low = max(low, from.Tick)
	case upwards:
		low = max(low, from.Tick-1)
	case above:
		high = from.Tick + 1
	default:
		high = from.Tick
	}
	return low, high
}

// justBelow returns a text that is less than a key and greater than all smaller keys. It relies
// on the ids at the end of keys, which do not contain a tilde.
func justBelow(key string) string {
	last := len(key) - 1
	return key[:last] + string(rune(key[last]-1)) + "~"
}

// byRelevance returns the records that the index finds and that the actor still sees. The
// position is nil on the last page. A page may have fewer records than its limit although more
// pages follow. The reason is that a search reads a limited number of candidates in each call
// (see package search).
func (k *Collection[T, F, P]) byRelevance(
	ctx context.Context, c *op.Call, in ListInput, from position,
) ([]row, *position, error) {
	meant, err := search.Meant(ctx, c.Tx, k.searchScope(c), in.Q)
	if err != nil {
		return nil, nil, err
	}
	hits, err := search.Find(ctx, c.Tx, k.searchScope(c), meant, from.Hit, in.Limit)
	if err != nil {
		return nil, nil, err
	}
	place := make(map[string]int, len(hits.IDs))
	rows := make([]row, 0, len(hits.IDs))
	for i, name := range hits.IDs {
		place[name] = i
	}
	found := make([]*row, len(hits.IDs))
	if len(hits.IDs) > 0 {
		read, err := k.query(ctx, c, len(hits.IDs), false, k.byIDs(c), c.Actor.Org(), c.Actor.PrincipalID(),
			db.Texts(hits.IDs))
		if err != nil {
			return nil, nil, err
		}
		for i := range read {
			found[place[read[i].id]] = &read[i]
		}
	}
	for _, r := range found {
		if r != nil { // the record was deleted or hidden between the two statements
			rows = append(rows, *r)
		}
	}
	if !hits.More {
		return rows, nil, nil
	}
	return rows, &position{Hit: &hits.Next}, nil
}

// byIDs returns the statement that reads the visible records among a list of ids.
func (k *Collection[T, F, P]) byIDs(c *op.Call) string {
	return `select ` + shown + `, ` + hidden(k.references, c.Actor.SeesAll(), "$2") + ` from ` + k.Plural +
		` as r where r.organization = $1 and ` + op.Visible("r", c.Actor, "$2") +
		` and r.deleted = false and r.id ` + c.Tx.Dialect().In("$3")
}

// query returns the rows of a query. size is their expected number. If keyed is true, the last
// column is the sort key of the row.
func (k *Collection[T, F, P]) query(
	ctx context.Context, c *op.Call, size int, keyed bool, query string, args ...any,
) ([]row, error) {
	rows, err := c.Tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := make([]row, 0, size)
	for rows.Next() {
		list = append(list, row{})
		r := &list[len(list)-1]
		var more []any
		if keyed {
			more = []any{&r.key}
		}
		if err := k.scan(r, rows, more...); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// page returns the response of a list as JSON. An empty cursor becomes null.
func (k *Collection[T, F, P]) page(rows []row, more bool, cursor string) Page[T] {
	size := 128 + len(cursor)
	for i := range rows {
		size += 192 + len(rows[i].content)
	}
	b := append(make([]byte, 0, size), `{"data":[`...)
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = k.appendJSON(b, &rows[i])
	}
	b = append(b, `],"hasMore":`...)
	b = strconv.AppendBool(b, more)
	if cursor == "" {
		b = append(b, `,"nextCursor":null}`...)
	} else {
		b = append(b, `,"nextCursor":"`...)
		b = append(b, cursor...) // base64url has no characters to escape
		b = append(b, `"}`...)
	}
	return Page[T]{json: b, records: len(rows)}
}

// AppendJSON appends the page. If b is nil it returns the page without a copy.
func (p Page[T]) AppendJSON(b []byte) []byte {
	if b == nil {
		return p.json
	}
	return append(b, p.json...)
}

// Records returns the number of records on the page.
func (p Page[T]) Records() int { return p.records }

// Count counts the records that the caller sees, up to CountCap. The method List describes
// filters.
func (k *Collection[T, F, P]) Count(ctx context.Context, c *op.Call, in CountInput, filters ...any) (Count, error) {
	narrow := k.selectionOf(filters)
	if err := narrow.check(in.Q, false); err != nil {
		return Count{}, err
	}
	if in.Q != "" {
		meant, err := search.Meant(ctx, c.Tx, k.searchScope(c), in.Q)
		if err != nil {
			return Count{}, err
		}
		n, capped, err := search.Count(ctx, c.Tx, k.searchScope(c), meant, CountCap)
		return Count{int64(n), capped}, err
	}
	if nothing, err := k.matchesNothing(ctx, c, narrow); nothing || err != nil {
		return Count{}, err
	}
	l := listVariant{all: c.Actor.SeesAll()}
	statement := k.sql.count[l]
	if narrow.filters != nil {
		statement = k.sql.counting(c.Tx.Dialect(), l, narrow)
	}
	var n int64
	err := c.Tx.QueryRow(ctx, statement,
		append([]any{c.Actor.Org(), c.Actor.PrincipalID(), in.UpdatedSince, clock.Micros(math.MaxInt64), CountCap},
			narrow.values...)...).Scan(&n)
	return Count{Count: n, Capped: n >= CountCap}, err
}

func (k *Collection[T, F, P]) searchScope(c *op.Call) search.Scope {
	return search.ScopeFor(c.Actor.Org(), k.Object, c.Actor.PrincipalID(), c.Actor.SeesAll())
}
