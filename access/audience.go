package access

import (
	"context"

	"kartei/kit/id"
	"kartei/store/db"
)

// Audience returns the users to notify about a principal's credentials. These are the admins and,
// for a user, that user. live is the number of the users' organization. For a sandbox, it is the
// live organization.
func Audience(
	ctx context.Context, tx db.Tx, organization int64, principal string,
) (live int64, users []string, err error) {
	return audience(ctx, tx, selectAudience, organization, principal)
}

// Owners returns the users to notify about the property of a principal. For a user, it is that
// user. For a service account, these are the admins. live is the number of the users'
// organization, as in Audience.
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

// UserIn returns a user, read in a transaction. It fails with NOT_FOUND for an unknown id.
func UserIn(ctx context.Context, tx db.Tx, id string) (PrincipalInfo, error) {
	return PrincipalIn(ctx, tx, UserPrincipal, id)
}

// OrganizationID returns the id of the organization with a number. It returns "" if there is no
// such organization.
func OrganizationID(ctx context.Context, tx db.Tx, number int64) (id string, err error) {
	err = tx.QueryRow(ctx, selectOrganizationID, number).Scan(&id)
	if err == db.ErrNoRows {
		err = nil
	}
	return id, err
}

// Label has the texts by which people recognize an API key, or the application of a grant.
type Label struct {
	// KidShort is the short form of the key's id. It is empty for a grant.
	KidShort, Name, Organization string
	// Application says that the label belongs to a grant.
	Application bool
}

// LabelIn returns the label of a key or a grant, read in a transaction. Its names are empty if
// there is no key or grant with that id.
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

// PauseIn pauses a key or a grant in a transaction. The caller must call Forget after the commit.
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
