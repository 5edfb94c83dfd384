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

// Approval is an application that an organization lets its people connect, or that waits
// for the answer of an admin. One that registered itself is approved for one person: anybody
// may register the same name again. One with a document is approved for all people, with that
// document: its host is proven, and a changed document may name other addresses.
type Approval struct {
	// ID is apr_....
	ID string
	// Organization is a live one.
	Organization int64
	// Client is the id of the client, cli_....
	Client string
	// Principal is who may connect it, empty for everybody.
	Principal    string
	DocumentHash string
	// AskedBy are the people who asked for it.
	AskedBy []string
	AskedAt clock.Micros
	// ApprovedAt is zero while it waits. ApprovedBy is empty for the operator.
	ApprovedAt clock.Micros
	ApprovedBy string
}

// maxAskers bounds the people who are remembered for asking. The others get no
// notice of the answer.
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
	// The live grants that rest on an approval, in the organization and its sandbox.
	selectCovered = grantColumns + ` where client_id = $1 and ($2 = '' or principal_id = $2) and ended_at = 0 and expires_at > $3
		and organization in (select number from organizations where number = $4 or sandbox_of = $4) order by id`
)

// approvedFor returns for whom an approval of the client holds: one person, or everybody.
func (c *Client) approvedFor(principal string) string {
	if c.Kind == ByDocument {
		return ""
	}
	return principal
}

// ApprovalOf returns the approval of a client for a person, or the question that waits. If
// there is none it is db.ErrNoRows. live is a live organization.
func ApprovalOf(ctx context.Context, tx db.Tx, live int64, c *Client, principal string) (Approval, error) {
	return scanApproval(tx.QueryRow(ctx, selectApprovalOf, live, c.ID, c.approvedFor(principal), c.DocumentHash))
}

// Approved reports whether a person may connect a client as it describes itself at present.
func Approved(ctx context.Context, tx db.Tx, live int64, c *Client, principal string) (bool, error) {
	a, err := ApprovalOf(ctx, tx, live, c, principal)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return a.ApprovedAt != 0, err
}

// ApprovalByID returns an approval of an organization. An unknown one is db.ErrNoRows.
func ApprovalByID(ctx context.Context, tx db.Tx, live int64, name string) (Approval, error) {
	return scanApproval(tx.QueryRow(ctx, selectApproval, live, name))
}

// Approvals lists approvals and open questions after an id: those that concern a person, or
// all if it is empty.
func Approvals(ctx context.Context, tx db.Tx, live int64, principal, after string, limit int) ([]Approval, error) {
	return db.List(ctx, tx, scanApproval, selectApprovals, live, after, principal, `%"`+principal+`"%`, limit)
}

// AskFor notes that a person asks for a client, and reports whether they had not done so
// before.
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

// OpenApproval returns the approval of a client for a person, and stores an open question
// if there is none.
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
		err = db.ErrConflict // another call stored it
	}
	return a, err
}

// ApproveClient approves a client for a person, as it describes itself at present.
func ApproveClient(
	ctx context.Context, tx db.Tx, now clock.Micros, live int64, c *Client, principal, by string,
) (Approval, error) {
	a, err := OpenApproval(ctx, tx, now, live, c, principal)
	if err != nil {
		return a, err
	}
	return a, a.Approve(ctx, tx, now, by)
}

// Approve answers an open question. An approval of an older document ends: the grants
// that rested on it rest on this one.
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

// TakeBack removes an approval or an open question, and returns the live grants that rested
// on it, which it ends. access.Changed must come before.
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
	// Setting is the one of the organization, Live its number.
	Setting access.Applications
	Live    int64
	// Approved says that an admin has approved the client.
	Approved bool
}

// Open reports whether the person may connect the client.
func (s *Admission) Open() bool {
	return s.Setting == access.AllApplications || s.Setting == access.KnownApplications && s.Approved
}

// StandingOf returns whether a person may connect a client in an organization.
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
