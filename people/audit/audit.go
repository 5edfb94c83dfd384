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

// Age is the time for which a line is kept.
const Age = 400 * 24 * time.Hour

// Instance is the organization number of lines that belong to no organization. Examples are a pause
// of the API and the erasure of an organization, which also deletes the organization's own lines.
const Instance int64 = 0

// OperatorKind is the kind of the operator's credential. Filter.Who may be OperatorKind instead of
// a principal.
const OperatorKind = "operator"

// Act collects what an operation says about itself for its line. The API adds the caller, the entry
// point and the time. The methods of a nil Act do nothing.
type Act struct {
	organization int64
	target       string
	changes      []Change
	by           string
	omitted      bool
}

// Change is a change of one member. From and To are null if the values are personal data or
// secrets.
type Change struct {
	Member string `json:"member"`
	From   any    `json:"from"`
	To     any    `json:"to"`
}

// About sets the number of the organization whose log gets the line, and the id of the target.
func (a *Act) About(organization int64, target string) {
	if a != nil {
		a.organization, a.target = organization, target
	}
}

// By sets the principal of the line. It is for callers who have no credential yet, as at a sign-in,
// or who have a credential of another organization. A log contains no principals of other
// organizations.
func (a *Act) By(principal string) {
	if a != nil {
		a.by = principal
	}
}

// Omit prevents the line, because the operation has only prepared the act.
func (a *Act) Omit() {
	if a != nil {
		a.omitted = true
	}
}

// Omitted reports whether Omit was called.
func (a *Act) Omitted() bool { return a != nil && a.omitted }

// Target returns the target that About has set, or the empty string.
func (a *Act) Target() string {
	if a == nil {
		return ""
	}
	return a.target
}

// Changed records the values of a member before and after the act, unless they are equal. Hidden is
// for personal data and secrets.
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

// Hide removes the values of a member from the stored changes of a line, and returns the result. It
// fails if the text is not valid JSON.
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

// Line is a line of the log. It has ids of people, and no other personal data.
type Line struct {
	ID   string       `json:"id"`
	Time clock.Micros `json:"time"`
	// OrganizationID is empty for acts that belong to no organization.
	OrganizationID string `json:"organizationId"`
	// PrincipalID is empty for the operator, and for callers who have not signed in.
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

// Append adds the line of an act to the transaction. l has the caller, the entry point and the
// time, and a has the other members.
func Append(tx db.Tx, a *Act, l Line) error {
	changes, err := json.Marshal(a.changes)
	if err != nil {
		return fmt.Errorf("audit: %s: %w", l.Word, err)
	}
	tx.Queue(insertLine, a.organization, id.New(id.AuditLine), int64(l.Time), cmp.Or(a.by, l.PrincipalID),
		l.CredentialKind, l.CredentialID, l.Door, l.Address, l.Operation, l.Word, a.target, string(changes), l.RequestID)
	return nil
}

// Filter selects lines. An empty member does not restrict the result.
type Filter struct {
	// Who is the id of a principal, or OperatorKind.
	Who string
	// Word is a word, for example key.create, or its part before the dot, for example key.
	Word string
	// Target is the id of the target.
	Target string
	// Since is the first time of the range, and Until is the end of the range, which it does not
	// include.
	Since, Until clock.Micros
	// Before is the id of the last line of the previous page.
	Before string
	// Limit is the maximum number of lines.
	Limit int
}

// statement returns the query for the selected lines of an organization.
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
		q.And("word >= ? and word < ?", f.Word+".", f.Word+"/") // '/' is the character after '.'
	}
	q.AndIf(f.Target != "", "target = ?", f.Target)
	q.AndIf(f.Since != 0, "at >= ?", f.Since)
	q.AndIf(f.Until != 0, "at < ?", f.Until)
	q.AndIf(f.Before != "", "id < ?", f.Before)
	q.Add(" order by id desc limit ?", f.Limit)
	return q
}

// Query returns the selected lines of several organizations, the newest first. organizations maps
// their numbers to their ids.
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
