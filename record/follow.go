package record

import (
	"context"
	"fmt"

	"kartei/kit/clock"
	"kartei/record/search"
	"kartei/store/db"
)

// ChangedAfter returns the records whose last change has a tick after after, in the order of these
// ticks. It returns at most limit records, whoever may see them. Ticks become visible in their order,
// so the next call can continue after the last record.
func (k *Collection[T, F, P]) ChangedAfter(
	ctx context.Context, tx db.Tx, organization int64, after clock.Micros, limit int,
) ([]Sight[P], error) {
	d := tx.Dialect()
	arm := func(index, audience string) string {
		return d.Arm(`select `+shown+` from `+k.Plural+d.Along(k.Plural+index)+`
			where organization = $1 and deleted = false and `+audience+` and updated_at > $2`, `updated_at`, `$3`)
	}
	return k.living(ctx, tx, `select `+shown+`, cast(0 as bigint) from (`+arm("_live_audience", `audience = ''`)+
		` union all `+arm("_live_private", `audience <> ''`)+`) as r order by updated_at limit $3`,
		organization, int64(after), limit)
}

// LivingByID returns the records with these ids that are not deleted, in any order, whoever may see
// them.
func (k *Collection[T, F, P]) LivingByID(
	ctx context.Context, tx db.Tx, organization int64, ids []string,
) ([]Sight[P], error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return k.living(ctx, tx, `select `+shown+`, cast(0 as bigint) from `+k.Plural+
		` where organization = $1 and deleted = false and id `+tx.Dialect().In("$2"), organization, db.Texts(ids))
}

// WholeSearcher returns a reader of the search index for all records of an organization, whoever may see them.
func (k *Collection[T, F, P]) WholeSearcher(
	ctx context.Context, tx db.Tx, organization int64,
) (*search.Reader, error) {
	return search.Open(ctx, tx, search.ScopeFor(organization, k.Object, "", true))
}

// living returns the records of a query with the columns in shown, and a zero.
func (k *Collection[T, F, P]) living(
	ctx context.Context, tx db.Tx, query string, args ...any,
) ([]Sight[P], error) {
	return db.List(ctx, tx, func(s db.Row) (Sight[P], error) {
		var r row
		if err := k.scan(&r, s); err != nil {
			return Sight[P]{}, err
		}
		f, err := k.decode(r.content)
		if err != nil {
			return Sight[P]{}, fmt.Errorf("record: %s: %w", r.id, err)
		}
		return Sight[P]{r.id, r.created, r.updated, f}, nil
	}, query, args...)
}
