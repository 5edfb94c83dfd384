package usage

import (
	"context"
	"fmt"
	"strings"

	"kartei/kit/clock"
	"kartei/store/db"
)

// columns are the columns of the counts, in the order of Counts.fields.
var columns = func() []string {
	names := []string{"calls", "unauthenticated", "forbidden", "limited", "rejected", "failed", "points", "records"}
	for i := range buckets {
		names = append(names, fmt.Sprintf("took_%d", i))
	}
	return names
}()

// keyed is the number of columns of the primary key.
const keyed = 5

// upsert writes the sum of an hour so far into a row that only its writer changes. A repeated write
// changes nothing.
var upsert = insertHours + ` values (` + places(keyed+wide) + `)` + replacing

// insertHours is the beginning of an insert with all columns. replacing is the end of an insert
// that replaces existing rows.
var (
	insertHours = `insert into usage_hours (organization, hour, kind, subject, writer, ` +
		strings.Join(columns, ", ") + `)`
	replacing = func() string {
		sets := make([]string, len(columns))
		for i, name := range columns {
			sets[i] = name + " = excluded." + name
		}
		return ` on conflict (organization, hour, kind, subject, writer) do update set ` + strings.Join(sets, ", ")
	}()
)

// places returns n placeholders, separated by commas.
func places(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(list, ", ")
}

func (c *Counts) args(name row, writer string) []any {
	args := make([]any, 0, keyed+wide)
	args = append(args, name.organization, int64(name.hour), string(name.kind), name.subject, writer)
	for _, n := range c.fields() {
		args = append(args, *n)
	}
	return args
}

// sums selects the sums of the counts. The cast is needed because PostgreSQL's sums are decimals.
var sums = func() string {
	list := make([]string, len(columns))
	for i, name := range columns {
		list[i] = "cast(sum(" + name + ") as bigint)"
	}
	return strings.Join(list, ", ")
}()

// These statements fold rows. A folded row has an empty writer. If it already exists, it is part of
// the new sum.
var (
	unfolded  = ` from usage_hours where organization = $1 and hour >= $2 and hour < $3 and writer <> ''`
	foldHours = insertHours + ` select organization, hour, kind, subject, '', ` + sums + ` from usage_hours
		where organization = $1 and hour >= $2 and hour < $3 and (hour, kind, subject) in (select hour, kind, subject` +
		unfolded + `)
		group by organization, hour, kind, subject` + replacing
	dropFolded  = `delete` + unfolded
	anyUnfolded = `select count(*) from (select 1` + unfolded + ` limit 1) as found`
)

// Range is a period of an organization. It may select subjects.
type Range struct {
	Organization int64
	Kind         Kind
	// From is the first hour, and Until is the hour after the last. Both are whole hours.
	From, Until clock.Micros
	// Subjects selects the subjects with these ids. nil means all subjects.
	Subjects []string
}

// sum returns the query for columns and the sums of the range. It has no group by yet.
func (r *Range) sum(d *db.Dialect, columns string) db.Statement {
	q := db.Statement{
		Query: `select ` + columns + `, ` + sums +
			` from usage_hours where organization = $1 and hour >= $2 and hour < $3 and kind = $4`,
		Args: []any{r.Organization, hourOf(r.From), r.Until, r.Kind},
	}
	q.AndIf(r.Subjects != nil, "subject "+d.In("?"), db.Texts(r.Subjects))
	return q
}

// Hour has the counts of an hour.
type Hour struct {
	Start clock.Micros
	Counts
}

// Hours returns the counts of each hour with calls, in chronological order.
func (r *Range) Hours(ctx context.Context, tx db.Tx) ([]Hour, error) {
	q := r.sum(tx.Dialect(), `hour`)
	q.Add(` group by hour order by hour`)
	return db.List(ctx, tx, func(rows db.Row) (h Hour, err error) {
		return h, rows.Scan(append([]any{(*int64)(&h.Start)}, h.dest()...)...)
	}, q.Query, q.Args...)
}

// Subject has the counts of a key or an endpoint.
type Subject struct {
	ID string
	// LimitedAt is the last hour with a call that was refused with 429, and zero if there is none.
	LimitedAt clock.Micros
	Counts
}

// BySubject returns the counts of at most limit subjects with calls. Subjects with more calls come
// first.
func (r *Range) BySubject(ctx context.Context, tx db.Tx, limit int) ([]Subject, error) {
	q := r.sum(tx.Dialect(), `subject, cast(coalesce(max(case when limited > 0 then hour end), 0) as bigint)`)
	q.Add(` group by subject order by sum(calls) desc, subject limit ?`, limit)
	return db.List(ctx, tx, func(rows db.Row) (s Subject, err error) {
		return s, rows.Scan(append([]any{&s.ID, (*int64)(&s.LimitedAt)}, s.dest()...)...)
	}, q.Query, q.Args...)
}

// dest returns the destinations for a scan of columns.
func (c *Counts) dest() []any {
	list := make([]any, 0, wide)
	for _, n := range c.fields() {
		list = append(list, n)
	}
	return list
}
