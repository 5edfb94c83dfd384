package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kartei/store/db"
	"kartei/store/schema"
)

// NotCopied maps the tables that Copy omits to the reasons.
var NotCopied = map[string]string{
	"limit_replicas": "the replicas that run, of which there are none",
}

// ErrOtherInstance is the error, wrapped, of a Copy to a target with rows that are not from the
// source.
var ErrOtherInstance = errors.New("the target is not empty: it holds a finished copy, or another instance")

// ErrUnfinishedCopy is the error of CheckCopied for an interrupted copy.
var ErrUnfinishedCopy = errors.New("the database is a copy that was not finished: repeat kartei copy")

// comparing is a weight for the progress: in the time to copy one row, that many rows can be read
// and hashed.
const comparing = 8

// copyMark is the name of the setting in the target that contains the progress of the copy. It is
// deleted last.
const copyMark = "copy"

// TableCopy is the result of the copy of one table.
type TableCopy struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	// Hash is the sum of the SHA-256 hashes of all rows, in hex. It depends neither on the engine
	// nor on the order of the rows.
	Hash string `json:"sha256Sum"`
}

// copyProgress is the progress of a copy. It is stored in the target.
type copyProgress struct {
	// Source is the id of the source's first organization.
	Source string `json:"source"`
	// Table is the table in progress. All tables before it are complete.
	Table string `json:"table"`
	// After is the primary key of the last copied row in Table.
	After []any `json:"after"`
}

// Copy copies all rows of one database to another, empty one, and compares the rows of both. Both
// must have the schema of this release, and no other program may write to them. If a copy was
// interrupted, the next call continues it.
//
// Copy has a few thousand rows in memory. If tell is not nil, it is called with the progress in
// rows. The comparison of a row counts as a quarter of a row.
func Copy(ctx context.Context, from, to db.DB, tell func(done, total int64)) ([]TableCopy, error) {
	if tell == nil {
		tell = func(int64, int64) {}
	}
	tables, err := copiedTables(ctx, from, to)
	if err != nil {
		return nil, err
	}
	var total, done, read int64
	for _, t := range tables {
		n, err := countRows(ctx, from, &t)
		if err != nil {
			return nil, err
		}
		total += n + 2*n/comparing
	}
	state, err := beginCopy(ctx, from, to, tables)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(tables, func(t table) bool { return t.Name == state.Table })
	for i, t := range tables {
		if i <= at { // an earlier call copied or began this table
			n, err := countRows(ctx, to, &t)
			if err != nil {
				return nil, err
			}
			done += n
		}
		if i < at {
			continue
		}
		if i > at {
			state.Table, state.After = t.Name, nil
		}
		if err := copyTable(ctx, from, to, &t, state, func(n int64) { done += n; tell(done, total) }); err != nil {
			return nil, fmt.Errorf("db: copy %s: %w", t.Name, err)
		}
	}
	var all []TableCopy
	for _, t := range tables {
		var both [2]TableCopy
		for i, d := range []db.DB{from, to} {
			if both[i], err = sumTable(ctx, d, &t,
				func(n int64) { read += n; tell(min(done+read/comparing, total), total) }); err != nil {
				return nil, fmt.Errorf("db: compare %s: %w", t.Name, err)
			}
		}
		if both[0] != both[1] {
			return nil, fmt.Errorf("db: the copy of %s is not the same: %d rows with %.12s, now %d with %.12s; was the source changed meanwhile? Empty the target and copy again",
				t.Name, both[0].Rows, both[0].Hash, both[1].Rows, both[1].Hash)
		}
		all = append(all, both[0])
	}
	err = to.Write(ctx, func(tx db.Tx) error {
		if tx.Dialect().Name == "postgres" { // PostgreSQL's planner needs statistics of the new rows
			for _, t := range tables {
				tx.Queue("analyze " + t.Name)
			}
		}
		tx.Queue("delete from settings where name = $1", copyMark)
		return nil
	})
	return all, err
}

// CheckCopied returns ErrUnfinishedCopy if a Copy to the database was interrupted.
func CheckCopied(ctx context.Context, d db.DB) error {
	return d.Read(ctx, func(tx db.Tx) error {
		var value string
		err := tx.QueryRow(ctx, "select value from settings where name = $1", copyMark).Scan(&value)
		switch {
		case errors.Is(err, db.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		return ErrUnfinishedCopy
	})
}

// copiedTables returns the tables to copy. It fails unless both databases have the same tables.
func copiedTables(ctx context.Context, from, to db.DB) ([]table, error) {
	var both [2][]table
	for i, d := range []db.DB{from, to} {
		state, err := schema.Status(ctx, d)
		if err != nil {
			return nil, err
		}
		if !state.Current() {
			return nil, fmt.Errorf("db: the %s is at version %d and this release needs %d: migrate it first",
				[]string{"source", "target"}[i], state.Version, state.Latest)
		}
		tables, err := schema.Tables(ctx, d)
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			if NotCopied[t.Name] == "" {
				both[i] = append(both[i], table{t})
			}
		}
	}
	same := func(a, b table) bool {
		return a.Name == b.Name && slices.Equal(a.Columns, b.Columns) && slices.Equal(a.Key, b.Key)
	}
	if !slices.EqualFunc(both[0], both[1], same) {
		return nil, errors.New("db: source and target have different tables")
	}
	return both[0], nil
}

// beginCopy marks an empty target, or returns the progress of an earlier copy. It fails if the
// target contains other rows.
func beginCopy(ctx context.Context, from, to db.DB, tables []table) (*copyProgress, error) {
	state := &copyProgress{Table: tables[0].Name}
	err := from.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select id from organizations order by number limit 1").Scan(&state.Source)
	})
	if errors.Is(err, db.ErrNoRows) {
		return nil, errors.New("db: the source has no organization: there is nothing to copy")
	}
	if err != nil {
		return nil, err
	}
	if err := CheckCopied(ctx, from); err != nil {
		return nil, fmt.Errorf("db: the source: %w", err)
	}
	err = to.Write(ctx, func(tx db.Tx) error {
		var value string
		err := tx.QueryRow(ctx, "select value from settings where name = $1", copyMark).Scan(&value)
		if err == nil {
			var found copyProgress
			decoder := json.NewDecoder(strings.NewReader(value))
			decoder.UseNumber()
			if err := decoder.Decode(&found); err != nil {
				return err
			}
			if found.Source != state.Source {
				return fmt.Errorf("db: %w: an unfinished copy of another instance", ErrOtherInstance)
			}
			*state = found
			return nil
		}
		if !errors.Is(err, db.ErrNoRows) {
			return err
		}
		for _, t := range tables {
			// Migrations fill the table generations. A server that ran on the empty target has
			// stored the fingerprint of its master key in settings.
			if t.Name == "generations" || t.Name == "settings" {
				tx.Queue("delete from " + t.Name)
				continue
			}
			var one int
			err := tx.QueryRow(ctx, "select 1 from "+t.Name+" limit 1").Scan(&one)
			if err == nil {
				return fmt.Errorf("db: %w (there are rows in %s)", ErrOtherInstance, t.Name)
			}
			if !errors.Is(err, db.ErrNoRows) {
				return err
			}
		}
		mark(tx, state)
		return nil
	})
	return state, err
}

func mark(tx db.Tx, state *copyProgress) {
	value, err := json.Marshal(state)
	if err != nil {
		panic(err) // cannot fail for strings, numbers and booleans
	}
	tx.Queue("insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value", copyMark, string(value))
}

// copyTable copies the rows of a table that are not copied yet.
func copyTable(ctx context.Context, from, to db.DB, t *table, state *copyProgress, tell func(int64)) error {
	after, err := keyOf(state.After)
	if err != nil {
		return err
	}
	return eachPage(ctx, from, t, after, func(rows [][]any, last []any) error {
		err := to.Write(ctx, func(tx db.Tx) error {
			if err := t.insert(ctx, tx, rows); err != nil {
				return err
			}
			mark(tx, &copyProgress{Source: state.Source, Table: t.Name, After: last})
			return nil
		})
		tell(int64(len(rows)))
		return err
	})
}
