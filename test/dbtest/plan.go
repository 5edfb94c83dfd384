package dbtest

import (
	"context"
	"fmt"
	"strings"

	"kartei/store/db"
)

// SQLitePlan returns the lines of SQLite's plan for a statement.
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

// Plan returns the plan that a connection keeps for a statement. On PostgreSQL that is the
// plan for all values (plan_cache_mode). Explaining the statement with its values would not
// show it.
func Plan(ctx context.Context, tx db.Tx, statement string, args ...any) (string, error) {
	if tx.Dialect().Name == "sqlite" {
		return SQLitePlan(ctx, tx, statement, args...)
	}
	var mode string
	if err := tx.QueryRow(ctx, "select current_setting('plan_cache_mode')").Scan(&mode); err != nil {
		return "", err
	}
	if mode == "auto" { // a cluster
		return planLines(ctx, tx, "explain "+statement, args...)
	}
	if _, err := tx.Exec(ctx, "prepare explained as "+statement); err != nil {
		return "", err
	}
	none := strings.TrimSuffix(strings.Repeat("null, ", parameters(statement)), ", ")
	plan, err := planLines(ctx, tx, "explain execute explained ("+none+")")
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, "deallocate explained")
	return plan, err
}

// parameters returns the number of parameters of a statement.
func parameters(statement string) int {
	n := 0
	for strings.Contains(statement, fmt.Sprint("$", n+1)) {
		n++
	}
	return n
}

// planLines reads the lines of a PostgreSQL explain.
func planLines(ctx context.Context, tx db.Tx, query string, args ...any) (string, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", err
		}
		plan.WriteString(line + "\n")
	}
	return plan.String(), rows.Err()
}
