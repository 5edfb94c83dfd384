package grant

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// Approval is an organization's approval of an application, or a request that waits for an admin.
//
// An application that registered itself is approved for one person, because anybody may register
// the same name again. An application with a document is approved for all people, because the host
// of the document proves who it is. The approval is only valid for that document, because a changed
// document may have other redirect URIs.
type Approval struct {
	// ID has the form apr_....
	ID string
	// Organization is the number of a live organization.
	Organization int64
	// Client is the id of the client and has the form cli_....
	Client string
	// Principal is the id of the person who may connect the application. Empty means everybody.
	Principal    string
	DocumentHash string
	// AskedBy has the ids of the people who asked for the application.
	AskedBy []string
	AskedAt clock.Micros
	// ApprovedAt is the time of the approval, and zero while the request waits. ApprovedBy is the
	// id of the admin, and empty for the operator.
	ApprovedAt clock.Micros
	ApprovedBy string
}

// maxAskers is the maximum number of people in AskedBy. Others who ask get no notice of the
// approval.
const maxAskers = 100

const (
	approvalColumns = `select organization, id, client_id, principal, document_hash, asked_by, asked_at, approved_at, approved_by
		from oauth_approvals`
	selectApproval   = approvalColumns + ` where organization = $1 and id = $2`
	selectApprovalOf = approvalColumns + ` where organization = $1 and client_id = $2 and principal = $3 and document_hash = $4`
	selectApprovals  = approvalColumns + ` where organization = $1 and id > $2 and ($3 = '' or principal = $3 or principal = '' and (approved_at > 0 or asked_by like $4)) order by id limit $5`
	insertApproval   = `insert into oauth_approvals (organization, id, client_id, principal, document_hash, asked_at) values ($1, $2, $3, $4, $5, $6)`
	updateAskers     = `update oauth_approvals set asked_by = $3 where organization = $1 and id = $2`
	updateApproved   = `update oauth_approvals set approved_at = $3, approved_by = $4, asked_by = '[]' where organization = $1 and id = $2`
	deleteSuperseded = `delete from oauth_approvals where organization = $1 and client_id = $2 and principal = $3 and id <> $4`
	eraseApprovals   = `delete from oauth_approvals where organization = $1 and principal = $2`
	deleteApproval   = `delete from oauth_approvals where organization = $1 and id = $2`
	// selectCovered reads the live grants that depend on an approval, in the organization and its
	// sandbox.
	selectCovered = grantColumns + ` where client_id = $1 and ($2 = '' or principal_id = $2) and ended_at = 0 and expires_at > $3
		and organization in (select number from organizations where number = $4 or sandbox_of = $4) order by id`
)

// approvedFor returns the Principal of an approval of the client: the person, or empty for
// everybody.
func (c *Client) approvedFor(principal string) string {
	if c.Kind == ByDocument {
		return ""
	}
	return principal
}

// ApprovalOf returns the approval of a client for a person, or the request that waits. It fails
// with db.ErrNoRows if there is neither. live is the number of a live organization.
func ApprovalOf(ctx context.Context, tx db.Tx, live int64, c *Client, principal string) (Approval, error) {
	return scanApproval(tx.QueryRow(ctx, selectApprovalOf, live, c.ID, c.approvedFor(principal), c.DocumentHash))
}

// Approved reports whether a client with its present document is approved for a person.
func Approved(ctx context.Context, tx db.Tx, live int64, c *Client, principal string) (bool, error) {
	a, err := ApprovalOf(ctx, tx, live, c, principal)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return a.ApprovedAt != 0, err
}

// ApprovalByID returns an approval of an organization. It fails with db.ErrNoRows if there is none.
func ApprovalByID(ctx context.Context, tx db.Tx, live int64, name string) (Approval, error) {
	return scanApproval(tx.QueryRow(ctx, selectApproval, live, name))
}

// Approvals returns at most limit approvals and requests with ids after the id after. They concern
// the principal. An empty principal selects all.
func Approvals(ctx context.Context, tx db.Tx, live int64, principal, after string, limit int) ([]Approval, error) {
	return db.List(ctx, tx, scanApproval, selectApprovals, live, after, principal, `%"`+principal+`"%`, limit)
}

// AskFor stores that a person asks for a client. first is true if the person had not asked before.
func AskFor(
	ctx context.Context, tx db.Tx, now clock.Micros, live int64, c *Client, principal string,
) (a Approval, first bool, err error) {
	a, err = OpenApproval(ctx, tx, now, live, c, principal)
	if err != nil || a.ApprovedAt != 0 || slices.Contains(a.AskedBy, principal) || len(a.AskedBy) >= maxAskers {
		return a, false, err
	}
	a.AskedBy = append(a.AskedBy, principal)
	_, err = tx.Exec(ctx, updateAskers, live, a.ID, list(a.AskedBy))
	return a, true, err
}

// OpenApproval returns the approval of a client for a person, or the request that waits. If there
// is neither, it stores a new request.
func OpenApproval(
	ctx context.Context, tx db.Tx, now clock.Micros, live int64, c *Client, principal string,
) (Approval, error) {
	a, err := ApprovalOf(ctx, tx, live, c, principal)
	if !errors.Is(err, db.ErrNoRows) {
		return a, err
	}
	a = Approval{
		ID: id.New(id.Approval), Organization: live, Client: c.ID, Principal: c.approvedFor(principal),
		DocumentHash: c.DocumentHash, AskedAt: now,
	}
	if _, err = tx.Exec(ctx, insertApproval, live, a.ID, a.Client, a.Principal, a.DocumentHash,
		now); errors.Is(err, db.ErrDuplicate) {
		err = db.ErrConflict // another call stored the request
	}
	return a, err
}

// ApproveClient approves a client with its present document for a person. by is the id of the
// admin.
func ApproveClient(
	ctx context.Context, tx db.Tx, now clock.Micros, live int64, c *Client, principal, by string,
) (Approval, error) {
	a, err := OpenApproval(ctx, tx, now, live, c, principal)
	if err != nil {
		return a, err
	}
	return a, a.Approve(ctx, tx, now, by)
}

// Approve approves a request. by is the id of the admin, and empty for the operator. Approve
// deletes an approval of an older document of the client. The grants that depended on it then
// depend on this approval.
func (a *Approval) Approve(ctx context.Context, tx db.Tx, now clock.Micros, by string) error {
	if a.ApprovedAt != 0 {
		return nil
	}
	a.ApprovedAt, a.ApprovedBy = now, by
	if _, err := tx.Exec(ctx, updateApproved, a.Organization, a.ID, now, by); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, deleteSuperseded, a.Organization, a.Client, a.Principal, a.ID)
	return err
}

// TakeBack deletes an approval or a request. It ends the live grants that depended on it, and
// returns them. The caller must have called access.Changed.
func (a *Approval) TakeBack(ctx context.Context, tx db.Tx, now clock.Micros) ([]Grant, error) {
	if _, err := tx.Exec(ctx, deleteApproval, a.Organization, a.ID); err != nil || a.ApprovedAt == 0 {
		return nil, err
	}
	covered, err := db.List(ctx, tx, scanGrant, selectCovered, a.Client, a.Principal, now, a.Organization)
	if err != nil {
		return nil, err
	}
	for _, g := range covered {
		if _, err := End(ctx, tx, now, g.ID); err != nil {
			return nil, err
		}
	}
	return covered, nil
}

// Admission says whether a person may connect a client.
type Admission struct {
	// Setting is the organization's setting for applications. Live is the number of the live
	// organization.
	Setting access.Applications
	Live    int64
	// Approved says that an admin has approved the client for the person.
	Approved bool
}

// Open reports whether the person may connect the client.
func (s *Admission) Open() bool {
	return s.Setting == access.AllApplications || s.Setting == access.KnownApplications && s.Approved
}

// StandingOf returns the Admission of a person for a client in an organization.
func StandingOf(
	ctx context.Context, tx db.Tx, o *access.OrganizationInfo, c *Client, principal string,
) (s Admission, err error) {
	s = Admission{Setting: o.Applications, Live: o.Live}
	s.Approved, err = Approved(ctx, tx, o.Live, c, principal)
	return s, err
}

func scanApproval(row db.Row) (a Approval, err error) {
	var askers string
	if err = row.Scan(&a.Organization, &a.ID, &a.Client, &a.Principal, &a.DocumentHash, &askers, &a.AskedAt,
		&a.ApprovedAt, &a.ApprovedBy); err != nil {
		return a, err
	}
	err = json.Unmarshal([]byte(askers), &a.AskedBy)
	return a, err
}
