// Package bulk owns acts on all records of a list: found by its filters, changed by a job, undone within a week.
//
// A job first notes which records the list has, then it changes them one by one, as
// calls would. It works in short transactions, and each also stores what became of its
// records. So a process may die at any time: no record is changed twice and none is left
// out.
package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/transfer/process"
)

// Age is how long an act keeps what it needs to be undone.
const Age = 7 * 24 * time.Hour

const (
	// MaxRecords bounds the records of an act.
	MaxRecords = 500_000
	// maxKept bounds the acts of an organization that are kept, maxPerPerson the acts of one
	// person, so that nobody takes the place of the others.
	maxKept      = 200
	maxPerPerson = 100
)

// family is a family whose lists have acts on all of their records.
type family struct {
	op.Family
	record.Matcher
	// filters reads the filters of a list by the names of its parameters.
	filters func(map[string]string) (any, error)
}

// families are all of them.
var families = []family{
	{contact.Contacts.Family, contact.Contacts, filtersOf[contact.Filters]},
	{company.Companies.Family, company.Companies, filtersOf[company.Filters]},
}

func filtersOf[X any](values map[string]string) (any, error) {
	filters, err := record.ReadFilters[X](values)
	return &filters, err
}

// familyOf returns a family by its name, or nil.
func familyOf(plural string) *family {
	if i := slices.IndexFunc(families, func(f family) bool { return f.Plural == plural }); i >= 0 {
		return &families[i]
	}
	return nil
}

// scopes are what an act on records of the family needs.
func (f *family) scopes() []string { return []string{f.Plural + ":read", f.Plural + ":write"} }

// Kind is what an act does.
type Kind string

// The kinds. Deleting is none of them: docs/decisions/0052.
const (
	Tag        Kind = "tag"
	Untag      Kind = "untag"
	Owner      Kind = "owner"
	Visibility Kind = "visibility"
)

var kinds = []string{string(Tag), string(Untag), string(Owner), string(Visibility)}

// member is the member of a record that acts of the kind change.
func (k Kind) member() string {
	switch k {
	case Owner:
		return "ownerId"
	case Visibility:
		return "visibility"
	}
	return "tags"
}

// State is where an act is.
type State string

// The states. A job works on an act in Collecting, Running and Undoing.
const (
	// Collecting notes which records the list has.
	Collecting State = "collecting"
	Running    State = "running"
	// Stopped is an act that somebody stopped, or that could not go on. It can be
	// resumed or undone.
	Stopped  State = "stopped"
	Finished State = "finished"
	Undoing  State = "undoing"
	Undone   State = "undone"
)

// Works reports whether a job works on an act in this state.
func (s State) Works() bool { return s == Collecting || s == Running || s == Undoing }

// Outcome is what became of a record.
type Outcome string

// The outcomes.
const (
	Changed Outcome = "changed"
	// Unchanged is a record that the act did not need to change.
	Unchanged Outcome = "unchanged"
	Refused   Outcome = "refused"
	// Gone is a record that was deleted before its turn, or that the person no longer sees.
	Gone Outcome = "gone"
	// Restored is undone. Kept was changed by others since.
	Restored Outcome = "restored"
	Kept     Outcome = "kept"
)

// Reason says why an act stopped.
type Reason = process.Reason

// The reasons.
const (
	ByPerson Reason = "byPerson"
	NoRight         = process.NoRight
	NotOpen         = process.NotOpen
	// TooMany is an act on more than MaxRecords records.
	TooMany Reason = "tooMany"
)

// Act is an act as its rows return it.
type Act struct {
	ID string `json:"id"`
	// PrincipalID is who began it.
	PrincipalID string `json:"principalId"`
	// Family is contacts or companies.
	Family string `json:"family"`
	Kind   Kind   `json:"kind"`
	// Value is the tag, the new owner or the visibility.
	Value string `json:"value"`
	State State  `json:"state"`
	// Waits is true while other acts of the organization have their turn.
	Waits bool `json:"waits"`
	// Records counts the records of the list, Done those that the present step is done
	// with.
	Records int64 `json:"records"`
	Done    int64 `json:"done"`
	// Counts counts the records by their outcome.
	Counts map[Outcome]int64 `json:"counts"`
	// Undo is true from the beginning of an undoing.
	Undo bool `json:"undo"`
	// Reason says why the act stopped.
	Reason    Reason       `json:"reason,omitempty"`
	CreatedAt clock.Micros `json:"createdAt"`
	// KeptUntil is until when it can be undone. It is forgotten then.
	KeptUntil clock.Micros `json:"keptUntil"`
}

// content is what an act does, and the list that it was begun at.
type content struct {
	Family string `json:"family"`
	Kind   Kind   `json:"kind"`
	Value  string `json:"value"`
	// Q and Filters are the search and the filters of the list. They are forgotten
	// with the end of Collecting, since a search may have names.
	Q       string            `json:"q,omitempty"`
	Filters map[string]string `json:"filters,omitempty"`
	// Until is the tick of the last change before the act.
	Until clock.Micros `json:"until"`
}

// progress is how far an act came.
type progress struct {
	// Collected is true once the records of the list are noted.
	Collected bool              `json:"collected,omitempty"`
	After     string            `json:"after"`
	Records   int64             `json:"records"`
	Done      int64             `json:"done"`
	Counts    map[Outcome]int64 `json:"counts"`
	Undo      bool              `json:"undo,omitempty"`
	// Requests are the ids of the calls whose changes of records the history has. An act
	// that was undone made them, and took them back.
	Requests []string `json:"requests"`
}

// clone returns a copy whose counts are its own.
func (p progress) clone() progress {
	if p.Counts = maps.Clone(p.Counts); p.Counts == nil {
		p.Counts = map[Outcome]int64{}
	}
	return p
}

// row is an act as the database has it.
type row struct {
	organization int64
	id           string
	principal    string
	// state is the present state, was the one that the database has.
	state, was State
	reason     Reason
	content
	progress
	process.Delegation
	// began is when the present step began: of several acts the first has its turn.
	created, began, expires clock.Micros
}

const (
	columns = `organization, id, principal, state, reason, content, progress, requested_by, kind, door, request_id, created_at, began_at, expires_at`

	selectAct = `select ` + columns + ` from bulk_acts where organization = $1 and id = $2`
	insertAct = `insert into bulk_acts (` + columns +
		`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	// updateAct changes an act in the state that was read.
	updateAct = `update bulk_acts set state = $4, reason = $5, content = $6, progress = $7, requested_by = $8, kind = $9, door = $10, request_id = $11, began_at = $12, expires_at = $13
		where organization = $1 and id = $2 and state = $3`
	// updateProgress stores the progress of an act that nobody stopped meanwhile.
	updateProgress = `update bulk_acts set progress = $4 where organization = $1 and id = $2 and state = $3`
	countKept      = `select count(*), coalesce(sum(case when principal = $2 then 1 else 0 end), 0) from bulk_acts where organization = $1`
	selectOwn      = `select ` + columns + ` from bulk_acts where organization = $1 and principal = $2 and ($3 = '' or id < $3) order by id desc limit $4`
	selectAll      = `select ` + columns + ` from bulk_acts where organization = $1 and $2 = $2 and ($3 = '' or id < $3) order by id desc limit $4`
	// selectBefore counts the acts whose turn comes before another act's turn.
	selectBefore = `select count(*) from bulk_acts where organization = $1 and state in ('running', 'undoing') and id <> $2
		and (began_at < $3 or began_at = $3 and id < $2)`
)

// scan reads a row.
func scan(from db.Row) (*row, error) {
	r := new(row)
	var what, how string
	if err := from.Scan(&r.organization, &r.id, &r.principal, &r.state, &r.reason, &what, &how, &r.By,
		&r.Delegation.Kind, &r.Door, &r.RequestID, &r.created, &r.began, &r.expires); err != nil {
		return nil, err
	}
	if err := errors.Join(json.Unmarshal([]byte(what), &r.content), json.Unmarshal([]byte(how), &r.progress)); err != nil {
		return nil, fmt.Errorf("bulk: %s: %w", r.id, err)
	}
	r.was = r.state
	return r, nil
}

// change stores the next state of an act. It fails with process.ErrMoved if another call
// was first.
func (r *row) change(ctx context.Context, tx db.Tx) error {
	err := process.Exec(ctx, tx, updateAct, r.organization, r.id, r.was, r.state, r.reason, process.Encode(r.content),
		process.Encode(r.progress), r.By, r.Delegation.Kind, r.Door, r.RequestID, r.began, r.expires)
	r.was = r.state
	return err
}

// Store implements process.Act.
func (r *row) Store(ctx context.Context, tx db.Tx) error {
	if r.state != r.was {
		return r.change(ctx, tx)
	}
	return process.Exec(ctx, tx, updateProgress, r.organization, r.id, r.state, process.Encode(r.progress))
}

// Snapshot implements process.Act.
func (r *row) Snapshot() (restore func()) {
	before := *r
	r.progress = r.clone()
	return func() { *r = before }
}

// waits reports whether other acts have their turn first.
func (r *row) waits(ctx context.Context, tx db.Tx) (bool, error) {
	if r.state != Running && r.state != Undoing {
		return false, nil
	}
	var n int64
	err := tx.QueryRow(ctx, selectBefore, r.organization, r.id, r.began).Scan(&n)
	return n > 0, err
}

// find reads an act for its caller: their own one, or any for admins.
func find(ctx context.Context, c *op.Call, name string) (*row, error) {
	if !id.Valid(id.BulkAct, name) {
		return nil, unknown()
	}
	r, err := scan(c.Tx.QueryRow(ctx, selectAct, c.Actor.Org(), name))
	switch {
	case errors.Is(err, db.ErrNoRows):
		return nil, unknown()
	case err != nil:
		return nil, err
	case r.principal != c.Actor.PrincipalID() && !c.Actor.SeesAll():
		return nil, unknown()
	}
	return r, nil
}

func unknown() error {
	return &fault.Fault{
		Code:   fault.NotFound,
		Detail: "There is no change of a whole list with this id, or its seven days are over.",
	}
}

// public returns the act for its rows.
func (r *row) public(ctx context.Context, tx db.Tx) (Act, error) {
	waits, err := r.waits(ctx, tx)
	return Act{
		ID: r.id, PrincipalID: r.principal, Family: r.Family, Kind: r.content.Kind, Value: r.Value, State: r.state,
		Waits:   waits,
		Records: r.progress.Records, Done: r.Done, Counts: r.clone().Counts, Undo: r.Undo, Reason: r.reason,
		CreatedAt: r.created, KeptUntil: r.expires,
	}, err
}
