package db

import "context"

// Values returns the values of a query's only column.
func Values[T any](ctx context.Context, tx Tx, query string, args ...any) (list []T, err error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Organizations returns the sorted numbers of all organizations.
func Organizations(ctx context.Context, tx Tx) ([]int64, error) {
	return Values[int64](ctx, tx, `select number from organizations where erased_at = 0 order by number`)
}
