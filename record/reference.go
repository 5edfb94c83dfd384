package record

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"kartei/app"
	"kartei/db"
	"kartei/id"
)

// visible reports whether a reference names a record of its family that the
// actor sees.
func visible(ctx context.Context, c *app.Call, r Reference) (bool, error) {
	i := slices.IndexFunc(c.Services.Families, func(f app.Family) bool { return f.Object == r.Object })
	if i < 0 {
		return false, nil // a family that this release does not serve has no records
	}
	f := c.Services.Families[i]
	if !c.Actor.May(f.ReadScope()) || !id.Valid(f.Prefix, *r.ID) {
		return false, nil
	}
	var one int64
	err := c.Tx.QueryRow(ctx, `select 1 from `+f.Plural+` as r where r.organization = $1 and r.id = $2 and r.deleted = false and `+
		app.Visible("r", c.Actor, "$3"), c.Actor.Org(), *r.ID, c.Actor.PrincipalID()).Scan(&one)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// kept reports whether r stands among the references of before with the same value.
func kept(r Reference, before []Reference) bool {
	return slices.ContainsFunc(before, func(b Reference) bool {
		return b.Field == r.Field && b.ID != nil && *b.ID == *r.ID
	})
}

// textList packs texts into one parameter, for db.Dialect.TextList.
func textList(texts []string) string {
	b, _ := json.Marshal(texts) // strings always encode
	return string(b)
}

// unique drops repetitions and keeps the order. It never returns nil.
func unique(texts []string) []string {
	kept := make([]string, 0, len(texts))
	for _, t := range texts {
		if !slices.Contains(kept, t) {
			kept = append(kept, t)
		}
	}
	return kept
}
