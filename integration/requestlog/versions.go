package requestlog

import (
	"cmp"
	"context"
	"slices"

	"kartei/kit/clock"
	"kartei/store/db"
)

// VersionsInput is the input of ListVersions.
type VersionsInput struct {
	// Organization is an id of the form org_.... Empty means all organizations.
	Organization string `json:"organizationId,omitempty"`
	// Version selects one version. Empty means all versions.
	Version string `json:"version,omitempty"`
}

// VersionsOutput says which keys use which versions. It is sorted by version, the oldest first. The
// entries of a version are sorted by the last call, the latest first.
type VersionsOutput struct {
	Data []VersionUse `json:"data"`
}

// VersionUse counts the logged calls that one key made with one version of the API.
type VersionUse struct {
	Version        string       `json:"version"`
	OrganizationID string       `json:"organizationId"`
	KeyID          string       `json:"keyId"`
	KidShort       string       `json:"kidShort"`
	Calls          int64        `json:"calls"`
	LastUsedAt     clock.Micros `json:"lastUsedAt"`
}

// Find returns which keys use which versions. It reads the whole log of each organization, which is
// too slow for each call of a program.
func (in *VersionsInput) Find(ctx context.Context, tx db.Tx, ids map[int64]string) (VersionsOutput, error) {
	out := VersionsOutput{Data: []VersionUse{}}
	for number, id := range ids {
		uses, err := versionsOf(ctx, tx, number, id)
		if err != nil {
			return out, err
		}
		out.Data = append(out.Data, uses...)
	}
	if in.Version != "" {
		out.Data = slices.DeleteFunc(out.Data, func(u VersionUse) bool { return u.Version != in.Version })
	}
	slices.SortFunc(out.Data, func(a, b VersionUse) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(b.LastUsedAt, a.LastUsedAt),
			cmp.Compare(a.KeyID, b.KeyID))
	})
	return out, nil
}

func versionsOf(ctx context.Context, tx db.Tx, number int64, id string) ([]VersionUse, error) {
	return db.List(ctx, tx, func(row db.Row) (VersionUse, error) {
		u := VersionUse{OrganizationID: id}
		err := row.Scan(&u.Version, &u.KeyID, &u.KidShort, &u.Calls, &u.LastUsedAt)
		return u, err
	}, `select version, key_id, kid_short, count(*), max(at) from request_log
		where organization = $1 and version <> '' group by version, key_id, kid_short`, number)
}
