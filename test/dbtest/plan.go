package dbtest

import (
	"context"
	"strings"

	"kartei/store/db"
)

// SQLitePlan returns SQLite's query plan for a statement, one line for each step.
func SQLitePlan(ctx context.Context, tx db.Tx, statement string, args ...any) (string, error) {
	rows, err := tx.Query(ctx, "explain query plan "+statement, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int64
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		plan = append(plan, detail)
	}
	return strings.Join(plan, "\n"), rows.Err()
}
