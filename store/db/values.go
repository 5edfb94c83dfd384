package db

import "context"

// Values returns what a query's only column has in each of its rows.
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

// Organizations returns the numbers of all organizations, in their order.
func Organizations(ctx context.Context, tx Tx) ([]int64, error) {
	return Values[int64](ctx, tx, `select number from organizations where erased_at = 0 order by number`)
}
