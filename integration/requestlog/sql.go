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

// columns are the columns of request_log, in the order of Entry.
const columns = `organization, at, request_id, key_id, kid_short, principal_id, operation, method, status, code, duration, address, reason, version, batch, door`

// width is the number of columns.
const width = 16

var names = strings.Split(columns, ", ")

// sizes are the numbers of rows of the insert statements. Each batch is divided into these sizes,
// so there are only three prepared statements.
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

// fewest is the number of rows from which COPY is used. COPY takes more round trips than an insert.
const fewest = 50

// insert writes the rows and the counts in one transaction. args is a buffer. If the database
// supports it, many rows are written with COPY. A row then takes 4 µs of processor time in
// PostgreSQL and 1 µs in this process, instead of 8 and 4.
//
// COPY fails if rows exist already, because they belong to a batch whose commit was in doubt. Then
// all rows are inserted. A Citus cluster does not report why one of its servers failed, so any
// failure of COPY leads to inserts.
func (l *Log) insert(ctx context.Context, rows []Entry, args []any, counts *usage.Sums) ([]any, error) {
	args = args[:0]
	for i := range rows {
		args = rows[i].appendTo(args)
	}
	copied := false
	err := l.db.Write(ctx, func(tx db.Tx) (err error) {
		counts.Queue(tx)
		if len(rows) >= fewest {
			if copied, err = tx.CopyRows(ctx, "request_log", names, slices.Collect(slices.Chunk(args, width))); copied {
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

// queue queues inserts of rows that do not exist yet. args has width arguments for each row.
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

const newestFirst = " order by at desc, request_id desc"

// statement returns the query for the filter with at most limit rows. Its text depends only on
// which members are set, so there are few prepared statements.
func (f *Filter) statement(limit int) db.Statement {
	q := f.ranged()
	if f.selects() {
		q.Query = fmt.Sprintf("select "+columns+" from (%s limit %d) as r where 1 = 1", q.Query, searched)
		q.AndIf(f.Operation != "", "operation = ?", f.Operation)
		q.AndIf(f.Reason != "", "reason = ?", f.Reason)
		q.Add(newestFirst)
	}
	q.Add(" limit ?", limit)
	return q
}

// ranged returns the part of the query that an index serves, without a limit.
func (f *Filter) ranged() db.Statement {
	q := db.Statement{
		Query: "select " + columns + " from request_log where organization = $1",
		Args:  []any{f.Organization},
	}
	if f.Request != "" {
		at := clock.FromTime(id.Time(f.Request))
		q.And("at between ? and ?", at.Add(-skew), at.Add(skew))
		q.And("(request_id = ? or batch = ?)", f.Request, f.Request)
	}
	q.AndIf(f.Since != 0, "at >= ?", f.Since)
	q.AndIf(f.Until != 0, "at < ?", f.Until)
	switch {
	case strings.HasPrefix(f.Key, id.Key):
		q.And("kid_short = (select substr(kid, 1, 8) from api_keys where id = ?) and key_id = ?", f.Key, f.Key)
	case strings.HasPrefix(f.Key, id.User): // the calls of the user's sessions
		q.And("kid_short = ? and principal_id = ?", id.Short(f.Key), f.Key)
	case strings.HasPrefix(f.Key, id.Session): // the lines of a session have the short form of its principal
		q.And("kid_short = (select substr(principal_id, length(principal_id) - 7) from sessions where id = ?) and key_id = ?", f.Key, f.Key)
	case strings.Contains(f.Key, "_"): // the id of another kind of credential
		q.And("kid_short = ? and key_id = ?", id.Short(f.Key), f.Key)
	case f.Key != "":
		q.And("kid_short = ?", f.Key)
	}
	q.AndIf(f.Statuses.From >= 400 || f.Reason != "", "refused = true") // the condition of the partial index
	q.AndIf(f.Statuses != Statuses{}, "status between ? and ?", f.Statuses.From, f.Statuses.To)
	switch f.Door {
	case "":
	case Programs:
		q.And("(door = ? or door = ?)", "rest", "mcp")
	default:
		q.And("door = ?", f.Door)
	}
	if f.Before != nil {
		q.And("(at < ? or at = ? and request_id < ?)", f.Before.At, f.Before.At, f.Before.RequestID)
		q.And("at <= ?", f.Before.At)
	}
	q.Add(newestFirst)
	return q
}
