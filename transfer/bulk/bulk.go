// Package bulk owns acts that change all records of a list in a job, and that can be undone within a week.
//
// The job first stores the ids of the records in the list. Then it changes the records one by
// one, like calls of the API. It works in short transactions, and each of them also stores the
// outcomes of its records. So a process may die at any time, and no record is changed twice or
// left out.
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

// Age is the time during which an act can be undone. Then its rows are deleted.
const Age = 7 * 24 * time.Hour

const (
	// MaxRecords is the maximum number of records of an act.
	MaxRecords = 500_000
	// maxKept is the maximum number of stored acts of an organization. maxPerPerson is the
	// maximum number for one person, so that one person cannot use up the limit of the
	// organization.
	maxKept      = 200
	maxPerPerson = 100
)

// family is a family of records whose lists support acts.
type family struct {
	op.Family
	record.Matcher
	// filters returns the family's struct of filters. The keys of its argument are the names of
	// query parameters.
	filters func(map[string]string) (any, error)
}

// families are all families whose lists support acts.
var families = []family{
	{contact.Contacts.Family, contact.Contacts, filtersOf[contact.Filters]},
	{company.Companies.Family, company.Companies, filtersOf[company.Filters]},
}

func filtersOf[X any](values map[string]string) (any, error) {
	filters, err := record.ReadFilters[X](values)
	return &filters, err
}

// familyOf returns a family by its plural, or nil.
func familyOf(plural string) *family {
	if i := slices.IndexFunc(families, func(f family) bool { return f.Plural == plural }); i >= 0 {
		return &families[i]
	}
	return nil
}

// scopes are the scopes that an act on records of the family needs.
func (f *family) scopes() []string { return []string{f.Plural + ":read", f.Plural + ":write"} }

// Kind is the kind of change that an act makes.
type Kind string

// The values of Kind. There is no act that deletes records: docs/decisions/0052.
const (
	Tag        Kind = "tag"
	Untag      Kind = "untag"
	Owner      Kind = "owner"
	Visibility Kind = "visibility"
)

var kinds = []string{string(Tag), string(Untag), string(Owner), string(Visibility)}

// member returns the name of the member that acts of this kind change.
func (k Kind) member() string {
	switch k {
	case Owner:
		return "ownerId"
	case Visibility:
		return "visibility"
	}
	return "tags"
}

// State is the state of an act.
type State string

// The values of State. A job works on an act in Collecting, Running and Undoing.
const (
	// Collecting is the state in which the job stores the ids of the records in the list.
	Collecting State = "collecting"
	Running    State = "running"
	// Stopped is the state of an act that a person has stopped, or that could not continue. It
	// can be resumed or undone.
	Stopped  State = "stopped"
	Finished State = "finished"
	Undoing  State = "undoing"
	Undone   State = "undone"
)

// Works reports whether a job works on an act in this state.
func (s State) Works() bool { return s == Collecting || s == Running || s == Undoing }

// Outcome is the result of an act for one record.
type Outcome string

// The values of Outcome.
const (
	Changed Outcome = "changed"
	// Unchanged is a record that the act did not need to change.
	Unchanged Outcome = "unchanged"
	Refused   Outcome = "refused"
	// Gone is a record that was deleted before the act reached it, or that the person no longer
	// sees.
	Gone Outcome = "gone"
	// Restored is a record whose change was undone. Kept is a record that others have changed
	// since the act, so that it was not restored.
	Restored Outcome = "restored"
	Kept     Outcome = "kept"
)

// Reason says why an act stopped.
type Reason = process.Reason

// The values of Reason.
const (
	ByPerson Reason = "byPerson"
	NoRight         = process.NoRight
	NotOpen         = process.NotOpen
	// TooMany means that the list has more than MaxRecords records.
	TooMany Reason = "tooMany"
)

// Act is an act as the operations return it.
type Act struct {
	ID string `json:"id"`
	// PrincipalID is the id of the person who began the act.
	PrincipalID string `json:"principalId"`
	// Family is contacts or companies.
	Family string `json:"family"`
	Kind   Kind   `json:"kind"`
	// Value is the tag, the id of the new owner, or the visibility.
	Value string `json:"value"`
	State State  `json:"state"`
	// Waits says that the act waits until other acts of the organization have ended.
	Waits bool `json:"waits"`
	// Records is the number of records in the list. Done is the number of records that the
	// current step has processed.
	Records int64 `json:"records"`
	Done    int64 `json:"done"`
	// Counts has the number of records for each outcome.
	Counts map[Outcome]int64 `json:"counts"`
	// Undo says that the act is being undone or was undone.
	Undo bool `json:"undo"`
	// Reason says why the act stopped. It is empty in other states.
	Reason    Reason       `json:"reason,omitempty"`
	CreatedAt clock.Micros `json:"createdAt"`
	// KeptUntil is the time until which the act can be undone. Then its rows are deleted.
	KeptUntil clock.Micros `json:"keptUntil"`
}

// content describes the change of an act and its list.
type content struct {
	Family string `json:"family"`
	Kind   Kind   `json:"kind"`
	Value  string `json:"value"`
	// Q and Filters are the search text and the filters of the list. They are erased at the end
	// of Collecting, because a search text may contain names.
	Q       string            `json:"q,omitempty"`
	Filters map[string]string `json:"filters,omitempty"`
	// Until is the tick of the last change before the act.
	Until clock.Micros `json:"until"`
}

// progress is the progress of an act.
type progress struct {
	// Collected says that the ids of all records are stored.
	Collected bool              `json:"collected,omitempty"`
	After     string            `json:"after"`
	Records   int64             `json:"records"`
	Done      int64             `json:"done"`
	Counts    map[Outcome]int64 `json:"counts"`
	Undo      bool              `json:"undo,omitempty"`
	// Requests are the request ids under which the act changed records, as in their histories.
	// They include the request that undid the act.
	Requests []string `json:"requests"`
}

// clone returns a copy with its own map of counts.
func (p progress) clone() progress {
	if p.Counts = maps.Clone(p.Counts); p.Counts == nil {
		p.Counts = map[Outcome]int64{}
	}
	return p
}

// row is an act as the database stores it.
type row struct {
	organization int64
	id           string
	principal    string
	// state is the current state. was is the state in the database.
	state, was State
	reason     Reason
	content
	progress
	process.Delegation
	// began is the time when the current step began. The act that began first works first.
	created, began, expires clock.Micros
}

const (
	columns = `organization, id, principal, state, reason, content, progress, requested_by, kind, door, request_id, created_at, began_at, expires_at`

	selectAct = `select ` + columns + ` from bulk_acts where organization = $1 and id = $2`
	insertAct = `insert into bulk_acts (` + columns +
		`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	// updateAct updates an act if its state is still the one that was read.
	updateAct = `update bulk_acts set state = $4, reason = $5, content = $6, progress = $7, requested_by = $8, kind = $9, door = $10, request_id = $11, began_at = $12, expires_at = $13
		where organization = $1 and id = $2 and state = $3`
	// updateProgress stores the progress of an act, unless the act was stopped meanwhile.
	updateProgress = `update bulk_acts set progress = $4 where organization = $1 and id = $2 and state = $3`
	countKept      = `select count(*), coalesce(sum(case when principal = $2 then 1 else 0 end), 0) from bulk_acts where organization = $1`
	selectOwn      = `select ` + columns + ` from bulk_acts where organization = $1 and principal = $2 and ($3 = '' or id < $3) order by id desc limit $4`
	selectAll      = `select ` + columns + ` from bulk_acts where organization = $1 and $2 = $2 and ($3 = '' or id < $3) order by id desc limit $4`
	// selectBefore counts the acts that must end before another act may work.
	selectBefore = `select count(*) from bulk_acts where organization = $1 and state in ('running', 'undoing') and id <> $2
		and (began_at < $3 or began_at = $3 and id < $2)`
)

// scan returns the act in a database row.
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

// change stores the act with its next state. It fails with process.ErrMoved if another call has
// changed the state.
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

// waits reports whether other acts of the organization work first.
func (r *row) waits(ctx context.Context, tx db.Tx) (bool, error) {
	if r.state != Running && r.state != Undoing {
		return false, nil
	}
	var n int64
	err := tx.QueryRow(ctx, selectBefore, r.organization, r.id, r.began).Scan(&n)
	return n > 0, err
}

// find returns an act of the caller. Admins may read all acts of the organization. find fails
// with NOT_FOUND for any other act.
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

// public returns the act as the operations return it.
func (r *row) public(ctx context.Context, tx db.Tx) (Act, error) {
	waits, err := r.waits(ctx, tx)
	return Act{
		ID: r.id, PrincipalID: r.principal, Family: r.Family, Kind: r.content.Kind, Value: r.Value, State: r.state,
		Waits:   waits,
		Records: r.progress.Records, Done: r.Done, Counts: r.clone().Counts, Undo: r.Undo, Reason: r.reason,
		CreatedAt: r.created, KeptUntil: r.expires,
	}, err
}
