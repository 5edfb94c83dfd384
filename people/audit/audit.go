// Package audit owns the audit log: one line for each administrative act, written in the act's own transaction.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// Age is the retention of a line.
const Age = 400 * 24 * time.Hour

// Instance is the organization number of acts that belong to no organization.
// Examples are a pause of the API, and the erasure of an organization: the
// erasure removes the organization's own lines.
const Instance int64 = 0

// OperatorKind is the kind of the operator's credential. Filter.Who accepts it
// instead of a principal.
const OperatorKind = "operator"

// Act is an operation's description of itself. The path adds the caller, the
// door and the time. The methods of a nil Act do nothing.
type Act struct {
	organization int64
	target       string
	changes      []Change
	by           string
	omitted      bool
}

// Change is a member that an act changed. From and To are null if the member's
// values are personal data or secret.
type Change struct {
	Member string `json:"member"`
	From   any    `json:"from"`
	To     any    `json:"to"`
}

// About sets the subject of the act: the number of the organization whose log
// has the line, and the id of the target.
func (a *Act) About(organization int64, target string) {
	if a != nil {
		a.organization, a.target = organization, target
	}
}

// By sets the person of an act whose caller has no credential yet, as at a sign-in, or
// has one of another organization. A log names nobody of another organization.
func (a *Act) By(principal string) {
	if a != nil {
		a.by = principal
	}
}

// Omit says that the log has no line: the operation only prepared the act.
func (a *Act) Omit() {
	if a != nil {
		a.omitted = true
	}
}

// Omitted reports whether Omit was called.
func (a *Act) Omitted() bool { return a != nil && a.omitted }

// Target returns the target set by About, or the empty string.
func (a *Act) Target() string {
	if a == nil {
		return ""
	}
	return a.target
}

// Changed records a member's values before and after, unless they are equal.
// For personal data and secrets use Hidden.
func (a *Act) Changed(member string, from, to any) {
	if a != nil && !reflect.DeepEqual(from, to) {
		a.changes = append(a.changes, Change{member, from, to})
	}
}

// Hidden records that a member changed, without its values.
func (a *Act) Hidden(member string, changed bool) {
	if a != nil && changed {
		a.changes = append(a.changes, Change{Member: member})
	}
}

// Hide removes the values of a member from the changes of a line, as they are stored.
func Hide(changes, member string) (string, error) {
	var list []Change
	if err := json.Unmarshal([]byte(changes), &list); err != nil {
		return "", fmt.Errorf("audit: changes: %w", err)
	}
	for i := range list {
		if list[i].Member == member {
			list[i] = Change{Member: member}
		}
	}
	hidden, err := json.Marshal(list)
	return string(hidden), err
}

// Line is a line of the log. It identifies people by their ids only.
type Line struct {
	ID   string       `json:"id"`
	Time clock.Micros `json:"time"`
	// OrganizationID is empty for acts that belong to no organization.
	OrganizationID string `json:"organizationId"`
	// PrincipalID is empty for the operator, and for callers who did not sign in.
	PrincipalID string `json:"principalId"`
	// CredentialKind and CredentialID identify the credential of the caller.
	CredentialKind string `json:"credentialKind"`
	CredentialID   string `json:"credentialId"`
	Door           string `json:"door"`
	// Address is empty for callers on the same machine.
	Address   string   `json:"address"`
	Operation string   `json:"operation"`
	Word      string   `json:"word"`
	Target    string   `json:"target"`
	Changes   []Change `json:"changes"`
	RequestID string   `json:"requestId"`
}

const (
	insertLine = `insert into audit_lines (organization, id, at, principal, kind, credential, door, address, operation, word, target, changes, request_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
	selectLines = `select organization, id, at, principal, kind, credential, door, address, operation, word, target, changes, request_id
		from audit_lines where organization = $1`
)

// Append writes the line of an act in the transaction. l holds the values from
// the path; the others come from the act.
func Append(tx db.Tx, a *Act, l Line) error {
	changes, err := json.Marshal(a.changes)
	if err != nil {
		return fmt.Errorf("audit: %s: %w", l.Word, err)
	}
	tx.Queue(insertLine, a.organization, id.New(id.AuditLine), int64(l.Time), cmp.Or(a.by, l.PrincipalID),
		l.CredentialKind, l.CredentialID, l.Door, l.Address, l.Operation, l.Word, a.target, string(changes), l.RequestID)
	return nil
}

// Filter selects lines. Empty members do not restrict.
type Filter struct {
	// Who is the id of a principal, or OperatorKind.
	Who string
	// Word is a word, for example key.create, or its first part, for example
	// key.
	Word string
	// Target is the id of the target.
	Target string
	// Since is inclusive, Until exclusive.
	Since, Until clock.Micros
	// Before is the id of the last line of the previous page.
	Before string
	// Limit bounds the number of lines.
	Limit int
}

// statement returns the query for an organization's lines.
func (f *Filter) statement(organization int64) db.Statement {
	q := db.Statement{Query: selectLines, Args: []any{organization}}
	switch f.Who {
	case "":
	case OperatorKind:
		q.And("kind = ?", OperatorKind)
	default:
		q.And("principal = ?", f.Who)
	}
	if strings.Contains(f.Word, ".") {
		q.And("word = ?", f.Word)
	} else if f.Word != "" {
		q.And("word >= ? and word < ?", f.Word+".", f.Word+"/") // the character after the dot
	}
	q.AndIf(f.Target != "", "target = ?", f.Target)
	q.AndIf(f.Since != 0, "at >= ?", f.Since)
	q.AndIf(f.Until != 0, "at < ?", f.Until)
	q.AndIf(f.Before != "", "id < ?", f.Before)
	q.Add(" order by id desc limit ?", f.Limit)
	return q
}

// Query returns the newest lines of several organizations, the newest first.
// The map holds their ids by number.
func Query(ctx context.Context, tx db.Tx, organizations map[int64]string, f Filter) ([]Line, error) {
	lines := []Line{}
	for number := range organizations {
		more, err := query(ctx, tx, number, organizations[number], f)
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
		slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(b.ID, a.ID) })
		lines = lines[:min(len(lines), f.Limit)]
	}
	return lines, nil
}

func query(ctx context.Context, tx db.Tx, number int64, name string, f Filter) ([]Line, error) {
	q := f.statement(number)
	return db.List(ctx, tx, func(row db.Row) (Line, error) {
		l := Line{OrganizationID: name}
		var changes string
		if err := row.Scan(&number, &l.ID, &l.Time, &l.PrincipalID, &l.CredentialKind, &l.CredentialID, &l.Door,
			&l.Address, &l.Operation, &l.Word, &l.Target, &changes, &l.RequestID); err != nil {
			return l, err
		}
		if err := json.Unmarshal([]byte(changes), &l.Changes); err != nil {
			return l, fmt.Errorf("audit: line %s: %w", l.ID, err)
		}
		if l.Changes == nil {
			l.Changes = []Change{}
		}
		return l, nil
	}, q.Query, q.Args...)
}
