package move

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kartei/store/db"
	"kartei/store/schema"
)

// copyPage is the number of rows that are read at once and written in one transaction.
const copyPage = 1000

// table is a table with methods that read and store its rows.
type table struct{ schema.Table }

// countRows returns the number of rows of a table, for the progress. On PostgreSQL a count reads
// the whole table, and can exceed the time limit of a statement. So countRows returns the server's
// estimate for a large table, or 0 if the count took too long.
func countRows(ctx context.Context, d db.DB, t *table) (n int64, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		if tx.Dialect().Name == "postgres" {
			err := tx.QueryRow(ctx, "select cast(reltuples as bigint) from pg_class where oid = to_regclass($1)",
				t.Name).Scan(&n)
			if err != nil || n > 100_000 {
				return err
			}
		}
		err := tx.QueryRow(ctx, "select count(*) from "+t.Name).Scan(&n)
		if errors.Is(err, db.ErrBusy) {
			n, err = 0, nil
		}
		return err
	})
	return n, err
}

// insert stores rows. On PostgreSQL it uses COPY, which takes half the time of inserts.
func (t *table) insert(ctx context.Context, tx db.Tx, rows [][]any) error {
	if copied, err := tx.CopyRows(ctx, t.Name, t.columnNames(), rows); copied {
		return err
	}
	marks := make([]string, len(t.Columns))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	insert := "insert into " + t.Name + " (" + t.names() + ") values (" + strings.Join(marks, ", ") + ")"
	for _, row := range rows {
		tx.Queue(insert, row...)
	}
	return nil
}

// keyOf converts a primary key from its JSON form to arguments of a statement.
func keyOf(values []any) ([]any, error) {
	var key []any
	for _, v := range values {
		if n, ok := v.(json.Number); ok {
			whole, err := n.Int64()
			if err != nil {
				return nil, err
			}
			v = whole
		}
		key = append(key, v)
	}
	return key, nil
}

func (t *table) columnNames() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

func (t *table) names() string { return strings.Join(t.columnNames(), ", ") }

// eachPage calls f for each page of rows after a primary key. last is the key of the last row of
// the page. The next page is read while f runs. eachPage omits the row copyMark.
func eachPage(ctx context.Context, d db.DB, t *table, after []any, f func(rows [][]any, last []any) error) error {
	if len(t.Key) == 0 {
		return errors.New("a table without primary key")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type page struct {
		rows [][]any
		last []any
		err  error
	}
	pages := make(chan page)
	go func() {
		defer close(pages)
		for full := true; full; {
			rows, err := nextPage(ctx, d, t, after)
			p := page{rows: rows, err: err}
			if full = err == nil && len(rows) == copyPage; len(rows) > 0 {
				after = t.keyIn(rows[len(rows)-1])
				p.last = after
			}
			select {
			case pages <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	for p := range pages {
		if p.err != nil || len(p.rows) == 0 {
			return p.err
		}
		if t.Name == "settings" {
			name := slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.Name == "name" })
			p.rows = slices.DeleteFunc(p.rows, func(row []any) bool { return row[name] == copyMark })
		}
		if err := f(p.rows, p.last); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// nextPage returns at most copyPage rows after a primary key.
func nextPage(ctx context.Context, d db.DB, t *table, after []any) (page [][]any, err error) {
	key, where := strings.Join(t.Key, ", "), ""
	if after != nil {
		var marks []string
		for i := range t.Key {
			marks = append(marks, fmt.Sprintf("$%d", i+1))
		}
		where = " where (" + key + ") > (" + strings.Join(marks, ", ") + ")"
	}
	query := fmt.Sprintf("select %s from %s%s order by %s limit %d", t.names(), t.Name, where, key, copyPage)
	err = d.Read(ctx, func(tx db.Tx) (err error) {
		page, err = readPage(ctx, tx, t, query, after)
		return err
	})
	return page, err
}

func (t *table) keyIn(row []any) []any {
	var key []any
	for _, name := range t.Key {
		key = append(key, row[slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.Name == name })])
	}
	return key
}

// readPage returns the rows of a query. The values are strings, int64, bool or nil.
func readPage(ctx context.Context, tx db.Tx, t *table, query string, args []any) ([][]any, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	texts, numbers, flags := make([]*string, len(t.Columns)), make([]*int64, len(t.Columns)), make([]*bool, len(t.Columns))
	dest := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		switch c.Type {
		case "text":
			dest[i] = &texts[i]
		case "bigint":
			dest[i] = &numbers[i]
		default:
			dest[i] = &flags[i]
		}
	}
	var page [][]any
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		row := make([]any, len(dest))
		for i := range row {
			switch {
			case texts[i] != nil:
				row[i] = *texts[i]
			case numbers[i] != nil:
				row[i] = *numbers[i]
			case flags[i] != nil:
				row[i] = *flags[i]
			}
			texts[i], numbers[i], flags[i] = nil, nil, nil
		}
		page = append(page, row)
	}
	return page, rows.Err()
}

// sumTable counts and hashes the rows of a table.
func sumTable(ctx context.Context, d db.DB, t *table, tell func(int64)) (TableCopy, error) {
	sum := TableCopy{Table: t.Name}
	var lanes [4]uint64
	err := eachPage(ctx, d, t, nil, func(rows [][]any, _ []any) error {
		for _, row := range rows {
			encoded, err := json.Marshal(row)
			if err != nil {
				return err
			}
			hash := sha256.Sum256(encoded)
			for i := range lanes {
				lanes[i] += binary.BigEndian.Uint64(hash[8*i:])
			}
		}
		sum.Rows += int64(len(rows))
		tell(int64(len(rows)))
		return nil
	})
	sum.Hash = fmt.Sprintf("%016x%016x%016x%016x", lanes[0], lanes[1], lanes[2], lanes[3])
	return sum, err
}
