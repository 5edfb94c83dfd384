package access

import (
	"context"

	"kartei/store/db"
)

// Audience returns the users to notify about a principal's credentials: the
// user and the admins; for a service account the admins. live is the
// organization of these users. A sandbox has those of its live organization.
func Audience(ctx context.Context, tx db.Tx, organization int64, principal string) (live int64, users []string, err error) {
	return audience(ctx, tx, selectAudience, organization, principal)
}

// Owners returns the users to notify about the property of a principal: the
// user; for a service account the admins. live is as in Audience.
func Owners(ctx context.Context, tx db.Tx, organization int64, principal string) (live int64, users []string, err error) {
	return audience(ctx, tx, selectOwners, organization, principal)
}

func audience(ctx context.Context, tx db.Tx, query string, organization int64, principal string) (live int64, users []string, err error) {
	rows, err := tx.Query(ctx, query, organization, principal)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var user string
		if err := rows.Scan(&live, &user); err != nil {
			return 0, nil, err
		}
		users = append(users, user)
	}
	return live, users, rows.Err()
}

// UserIn reads a user inside a transaction. An unknown id is NOT_FOUND.
func UserIn(ctx context.Context, tx db.Tx, id string) (PrincipalInfo, error) {
	return PrincipalIn(ctx, tx, UserPrincipal, id)
}

// OrganizationID returns the id of the organization with a number, or the empty
// string.
func OrganizationID(ctx context.Context, tx db.Tx, number int64) (id string, err error) {
	err = tx.QueryRow(ctx, selectOrganizationID, number).Scan(&id)
	if err == db.ErrNoRows {
		err = nil
	}
	return id, err
}

// KeyLabel is how people recognize a key.
type KeyLabel struct {
	KidShort, Name, Organization string
}

// KeyLabelIn reads a key's label inside a transaction. It is empty if there is
// no such key.
func KeyLabelIn(ctx context.Context, tx db.Tx, key string) (l KeyLabel, err error) {
	var kid string
	err = tx.QueryRow(ctx, selectKeyLabel, key).Scan(&kid, &l.Name, &l.Organization)
	if err == nil {
		l.KidShort = kid[:kidShortLength]
	}
	if err == db.ErrNoRows {
		err = nil
	}
	return l, err
}

// PauseKeyIn pauses a key inside a transaction. The caller must call Forget
// after the commit.
func PauseKeyIn(ctx context.Context, tx db.Tx, key string) error {
	if err := Changed(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, updatePaused, key)
	return err
}
