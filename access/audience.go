package access

import (
	"context"

	"kartei/kit/id"
	"kartei/store/db"
)

// Audience returns the users to notify about a principal's credentials: the
// user and the admins; for a service account the admins. live is the
// organization of these users. A sandbox has the users of its live organization.
func Audience(
	ctx context.Context, tx db.Tx, organization int64, principal string,
) (live int64, users []string, err error) {
	return audience(ctx, tx, selectAudience, organization, principal)
}

// Owners returns the users to notify about the property of a principal: the
// user; for a service account the admins. live is as in Audience.
func Owners(
	ctx context.Context, tx db.Tx, organization int64, principal string,
) (live int64, users []string, err error) {
	return audience(ctx, tx, selectOwners, organization, principal)
}

func audience(
	ctx context.Context, tx db.Tx, query string, organization int64, principal string,
) (live int64, users []string, err error) {
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

// Label is how people recognize a key, or the application of a grant.
type Label struct {
	// KidShort is empty for a grant.
	KidShort, Name, Organization string
	// Application is true for a grant.
	Application bool
}

// LabelIn reads the label of a key or a grant inside a transaction. It has no names if
// there is none with that id.
func LabelIn(ctx context.Context, tx db.Tx, name string) (l Label, err error) {
	if l.Application = id.Valid(id.Grant, name); l.Application {
		err = tx.QueryRow(ctx, selectGrantLabel, name).Scan(&l.Name, &l.Organization)
	} else {
		var kid string
		if err = tx.QueryRow(ctx, selectKeyLabel, name).Scan(&kid, &l.Name, &l.Organization); err == nil {
			l.KidShort = kid[:kidShortLength]
		}
	}
	if err == db.ErrNoRows {
		err = nil
	}
	return l, err
}

// PauseIn pauses a key or a grant inside a transaction. The caller must call Forget
// after the commit.
func PauseIn(ctx context.Context, tx db.Tx, name string) error {
	if err := Changed(ctx, tx); err != nil {
		return err
	}
	statement := updatePaused
	if id.Valid(id.Grant, name) {
		statement = updateGrantPaused
	}
	_, err := tx.Exec(ctx, statement, name)
	return err
}
