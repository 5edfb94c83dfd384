package db

import "context"

// List returns the results of scan for all rows of a query, in the order of the rows.
func List[T any](
	ctx context.Context, tx Tx, scan func(Row) (T, error), query string, args ...any,
) (list []T, err error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Values returns the values of a query with one column.
func Values[T any](ctx context.Context, tx Tx, query string, args ...any) ([]T, error) {
	return List(ctx, tx, func(row Row) (v T, err error) {
		err = row.Scan(&v)
		return v, err
	}, query, args...)
}

// Organizations returns the numbers of all organizations that are not erased, in ascending order.
func Organizations(ctx context.Context, tx Tx) ([]int64, error) {
	return Values[int64](ctx, tx, `select number from organizations where erased_at = 0 order by number`)
}
