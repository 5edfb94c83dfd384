package requestlog

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// columns of request_log, in the order of Entry.
const columns = `organization, at, request_id, key_id, kid_short, principal_id, operation, method, status, code, duration, address, reason, version, batch, door`

// width is the number of columns.
const width = 16

var names = strings.Split(columns, ", ")

// sizes are the numbers of rows of the insert statements. Any batch is cut into
// these, so three prepared statements suffice.
var sizes = [...]int{50, 10, 1}

var inserts = func() (s [len(sizes)]string) {
	for i, rows := range sizes {
		var b strings.Builder
		b.WriteString("insert into request_log (" + columns + ") values ")
		for r := range rows {
			if r > 0 {
				b.WriteString(", ")
			}
			for c := range width {
				b.WriteString(map[bool]string{true: "(", false: ", "}[c == 0])
				fmt.Fprintf(&b, "$%d", r*width+c+1)
			}
			b.WriteString(")")
		}
		b.WriteString(" on conflict do nothing")
		s[i] = b.String()
	}
	return s
}()

// fewest is the number of rows from which COPY is used. It takes more round
// trips than an insert.
const fewest = 50

// insert writes the rows and the counts in one transaction, with args as a buffer. Many rows are
// copied if the engine can: that takes 4 µs of processor time a row in PostgreSQL and
// 1 µs in this process, instead of 8 and 4. COPY fails if rows exist already, from a
// batch whose commit was in doubt: then all are inserted. A Citus cluster reports
// only that one of its servers failed, so any failed COPY counts as that.
func (l *Log) insert(ctx context.Context, rows []Entry, args []any, counts *usage.Pending) ([]any, error) {
	args = args[:0]
	for i := range rows {
		args = rows[i].appendTo(args)
	}
	copied := false
	err := l.db.Write(ctx, func(tx db.Tx) (err error) {
		counts.Queue(tx)
		if len(rows) >= fewest {
			if copied, err = db.CopyRows(ctx, tx, "request_log", names, slices.Collect(slices.Chunk(args, width))); copied {
				return err
			}
		}
		queue(tx, args)
		return nil
	})
	if copied && err != nil && !errors.Is(err, db.ErrBusy) && !errors.Is(err, db.ErrUnavailable) {
		err = l.db.Write(ctx, func(tx db.Tx) error {
			counts.Queue(tx)
			queue(tx, args)
			return nil
		})
	}
	return args, err
}

// queue inserts rows of width arguments each, unless they exist.
func queue(tx db.Tx, args []any) {
	for i, n := range sizes {
		for ; len(args) >= n*width; args = args[n*width:] {
			tx.Queue(inserts[i], args[:n*width]...)
		}
	}
}

func (e *Entry) appendTo(args []any) []any {
	address := ""
	if e.Address.IsValid() {
		address = e.Address.Unmap().String()
	}
	return append(args, e.Organization, int64(e.At), e.RequestID, e.KeyID, e.KidShort, e.PrincipalID, e.Operation,
		e.Method, int64(e.Status), e.Code, e.Duration.Microseconds(), address, e.Reason, e.Version, e.Batch, e.Door)
}

func scan(rows db.Row) (Entry, error) {
	var e Entry
	var at, duration int64
	var address string
	err := rows.Scan(&e.Organization, &at, &e.RequestID, &e.KeyID, &e.KidShort, &e.PrincipalID, &e.Operation,
		&e.Method, &e.Status, &e.Code, &duration, &address, &e.Reason, &e.Version, &e.Batch, &e.Door)
	e.At, e.Duration = clock.Micros(at), time.Duration(duration)*time.Microsecond
	e.Address, _ = netip.ParseAddr(address)
	return e, err
}

// clauses are a statement in the making with its arguments.
type clauses struct {
	strings.Builder
	args []any
}

// and adds a condition with ? in place of each value.
func (q *clauses) and(condition string, values ...any) {
	q.WriteString(" and " + q.fill(condition, values...))
}

// fill numbers the values of a text.
func (q *clauses) fill(text string, values ...any) string {
	for _, v := range values {
		q.args = append(q.args, v)
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", len(q.args)), 1)
	}
	return text
}

const newestFirst = " order by at desc, request_id desc"

// statement returns the query for f with at most limit rows. Its text depends only on
// which members are set, so few statements are prepared.
func (f *Filter) statement(limit int) (string, []any) {
	q := f.ranged()
	if f.selects() {
		inner := q.String()
		q.Reset()
		fmt.Fprintf(&q.Builder, "select "+columns+" from (%s limit %d) as r where 1 = 1", inner, searched)
		if f.Operation != "" {
			q.and("operation = ?", f.Operation)
		}
		if f.Reason != "" {
			q.and("reason = ?", f.Reason)
		}
		q.WriteString(newestFirst)
	}
	return q.String() + q.fill(" limit ?", int64(limit)), q.args
}

// ranged returns the query for what f selects by an index, without a limit.
func (f *Filter) ranged() *clauses {
	q := &clauses{args: []any{f.Organization}}
	q.WriteString("select " + columns + " from request_log where organization = $1")
	if f.Request != "" {
		at := clock.FromTime(id.Time(f.Request))
		q.and("at between ? and ?", int64(at.Add(-skew)), int64(at.Add(skew)))
		q.and("(request_id = ? or batch = ?)", f.Request, f.Request)
	}
	if f.Since != 0 {
		q.and("at >= ?", int64(f.Since))
	}
	if f.Until != 0 {
		q.and("at < ?", int64(f.Until))
	}
	switch {
	case strings.HasPrefix(f.Key, id.Key):
		q.and("kid_short = (select substr(kid, 1, 8) from api_keys where id = ?) and key_id = ?", f.Key, f.Key)
	case strings.HasPrefix(f.Key, id.User): // the calls of its sessions
		q.and("kid_short = ? and principal_id = ?", id.Short(f.Key), f.Key)
	case strings.HasPrefix(f.Key, id.Session): // its lines have the short form of its principal
		q.and("kid_short = (select substr(principal_id, length(principal_id) - 7) from sessions where id = ?) and key_id = ?", f.Key, f.Key)
	case strings.Contains(f.Key, "_"): // the id of another kind of credential
		q.and("kid_short = ? and key_id = ?", id.Short(f.Key), f.Key)
	case f.Key != "":
		q.and("kid_short = ?", f.Key)
	}
	if f.Statuses.From >= 400 || f.Reason != "" { // the same words as in the partial index
		q.and("refused = true")
	}
	if f.Statuses != (Statuses{}) {
		q.and("status between ? and ?", int64(f.Statuses.From), int64(f.Statuses.To))
	}
	switch f.Door {
	case "":
	case Programs:
		q.and("(door = ? or door = ?)", "rest", "mcp")
	default:
		q.and("door = ?", f.Door)
	}
	if f.Before != nil {
		q.and("(at < ? or at = ? and request_id < ?)", int64(f.Before.At), int64(f.Before.At), f.Before.RequestID)
		q.and("at <= ?", int64(f.Before.At))
	}
	q.WriteString(newestFirst)
	return q
}
