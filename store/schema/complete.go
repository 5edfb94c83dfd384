package schema

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"kartei/store/db"
)

// columnsText has the tables of this release and their columns: a line for each table, with its name
// and its columns, sorted by name. It is the same for both engines, without generated columns.
// TestColumnsAreListed writes the file from a migrated database.
//
//go:embed columns.txt
var columnsText string

// IncompleteError is the error for a database of this release that lacks tables or columns. Somebody
// has dropped them, or a copy is incomplete.
type IncompleteError struct {
	// Tables are the names of missing tables. Columns are missing columns of other tables, as
	// table.column. Both are sorted.
	Tables, Columns []string
}

func (e *IncompleteError) Error() string {
	var missing []string
	if len(e.Tables) > 0 {
		missing = append(missing, "the tables "+strings.Join(e.Tables, ", "))
	}
	if len(e.Columns) > 0 {
		missing = append(missing, "the columns "+strings.Join(e.Columns, ", "))
	}
	return fmt.Sprintf("db: the database lacks %s, which this program needs: restore a backup, or create them again as they were",
		strings.Join(missing, " and "))
}

// Complete returns an *IncompleteError if a migrated database lacks a table or a column of this
// release. Other tables and columns are no error. Complete sends one query.
func Complete(ctx context.Context, d db.DB) error {
	found := map[string][]string{}
	err := d.Read(ctx, func(tx db.Tx) error {
		clear(found)
		return eachText(ctx, tx, describing[tx.Dialect().Name].columns, 3, func(v []string) error {
			found[v[0]] = append(found[v[0]], v[1])
			return nil
		})
	})
	if err != nil {
		return err
	}
	var missing IncompleteError
	for line := range strings.Lines(columnsText) {
		names := strings.Fields(line)
		columns, exists := found[names[0]]
		if !exists {
			missing.Tables = append(missing.Tables, names[0])
			continue
		}
		for _, column := range names[1:] {
			if !slices.Contains(columns, column) {
				missing.Columns = append(missing.Columns, names[0]+"."+column)
			}
		}
	}
	if len(missing.Tables)+len(missing.Columns) > 0 {
		return &missing
	}
	return nil
}
