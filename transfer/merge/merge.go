// Package merge owns the merging of two contacts or companies into one, and its undo within a week.
//
// One transaction changes the record that stays and deletes the other one. So nobody can change a
// member that the merge has read. A job then moves the references of tasks, documents and contacts
// to the record that stays, in short transactions. Until then they are hidden, as references to any
// deleted record. The row of a merge has a sealed copy of the members of both records for the undo.
// After a week, the row keeps only the two ids, so that pages lead from one to the other.
package merge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/record"
	"kartei/store/db"
	"kartei/transfer/process"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Age is the time during which a merge can be undone. Then its copies are erased.
const Age = 7 * 24 * time.Hour

// SecretsPurpose is the purpose of the vault for the copies (masterkey.Ring.Vault).
const SecretsPurpose = "merged records"

// Secrets is the service that seals the copies.
var Secrets = op.Need[masterkey.Vault]("merge.Secrets")

// State is the state of a merge.
type State string

// The values of State. A job works on a merge in Moving and Undoing.
const (
	// Moving is the state in which the job moves references to the record that stays.
	Moving State = "moving"
	Merged State = "merged"
	// Undoing is the state in which the job moves references to the record that the undo created.
	Undoing State = "undoing"
	Undone  State = "undone"
)

// Merge is a merge as the operations return it.
type Merge struct {
	ID string `json:"id"`
	// PrincipalID is the id of the person or service account that merged the records. It is empty
	// after the time for the undo.
	PrincipalID string `json:"principalId"`
	// Family is contacts or companies.
	Family string `json:"family"`
	// RecordID is the id of the record that stayed. MergedID is the id of the record that was
	// deleted. RestoredID is the id of the record that the undo created, or empty.
	RecordID   string `json:"recordId"`
	MergedID   string `json:"mergedId"`
	RestoredID string `json:"restoredId,omitempty"`
	State      State  `json:"state"`
	// Moved is the number of records whose references were moved. It counts private records of others,
	// so only admins get it.
	Moved     int64        `json:"moved,omitempty"`
	CreatedAt clock.Micros `json:"createdAt"`
	// KeptUntil is the time until which the merge can be undone. It is zero if it was undone, if its
	// record was merged into another one itself, or if its time is over.
	KeptUntil clock.Micros `json:"keptUntil,omitzero"`
}

// copies are the members of the two records, for the undo. Before and After belong to the record
// that stayed, and From to the record that was deleted.
type copies struct {
	Before, After, From jsontext.Value
}

// row is a merge as the database stores it.
type row struct {
	organization int64
	id           string
	family       string
	// kept is the record that stayed, merged the one that was deleted, and restored the one that
	// the undo created.
	kept, merged, restored string
	principal              string
	// state is the current state. was is the state in the database.
	state, was State
	// sealed are the copies. It is empty if the merge cannot be undone.
	sealed string
	moved  int64
	// operation is the id of the operation that ends with the moving.
	operation string
	process.Delegation
	created, expires clock.Micros
}

const (
	columns = `organization, id, family, kept, merged, restored, principal, state, copies, moved, operation,
		requested_by, kind, door, request_id, created_at, expires_at`

	insertMerge = `insert into merges (` + columns +
		`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`
	selectMerge = `select ` + columns + ` from merges where organization = $1 and id = $2`
	selectOwn   = `select ` + columns + ` from merges where organization = $1 and principal = $2 and ($3 = '' or id < $3)
		order by id desc limit $4`
	// selectAll leaves out the merges whose time is over, which have no principal.
	selectAll = `select ` + columns + ` from merges where organization = $1 and principal <> '' and $2 = $2
		and ($3 = '' or id < $3) order by id desc limit $4`
	// selectOf selects the merge by which a record was deleted.
	selectOf = `select ` + columns + ` from merges where organization = $1 and merged = $2`
	// updateMerge updates a merge if its state and its record are still those that were read. It
	// leaves out the copies, which an erasure may change meanwhile.
	updateMerge = `update merges set state = $4, restored = $5, moved = $6, requested_by = $7, kind = $8, door = $9,
		request_id = $10 where organization = $1 and id = $2 and state = $3 and kept = $11`
	// followOn leads the earlier merges into a record to the record into which it is merged itself.
	// Their undo would need a record that no longer exists.
	followOn = `update merges set kept = $3, via = $2, copies = '' where organization = $1 and kept = $2`
	// leadBack undoes followOn: the earlier merges lead to the restored record.
	leadBack   = `update merges set kept = $3, via = '' where organization = $1 and kept = $2 and via = $4`
	eraseCopy  = `update merges set copies = '' where organization = $1 and kept = $2`
	eraseMoves = `delete from merge_moves where organization = $1 and merge_id in
		(select id from merges where organization = $1 and kept = $2 and state in ('merged', 'undone'))`
	eraseMerge = `delete from merges where organization = $1 and kept = $2 and state in ('merged', 'undone')`
	// forgetMerge keeps the way from the record that was deleted to the record that stayed.
	forgetMerge = `update merges set copies = '', principal = '', requested_by = '', request_id = ''
		where organization = $1 and id = $2 and state = $3`
)

// scan returns the merge in a database row.
func scan(from db.Row) (*row, error) {
	r := new(row)
	err := from.Scan(&r.organization, &r.id, &r.family, &r.kept, &r.merged, &r.restored, &r.principal, &r.state,
		&r.sealed, &r.moved, &r.operation, &r.By, &r.Kind, &r.Door, &r.RequestID, &r.created, &r.expires)
	r.was = r.state
	return r, err
}

// insert queues the insertion of the merge.
func (r *row) insert(tx db.Tx) {
	tx.Queue(insertMerge, r.organization, r.id, r.family, r.kept, r.merged, r.restored, r.principal, r.state,
		r.sealed, r.moved, r.operation, r.By, r.Kind, r.Door, r.RequestID, r.created, r.expires)
}

// Store implements process.Act.
func (r *row) Store(ctx context.Context, tx db.Tx) error {
	err := process.Exec(ctx, tx, updateMerge, r.organization, r.id, r.was, r.state, r.restored, r.moved, r.By, r.Kind,
		r.Door, r.RequestID, r.kept)
	if err == nil {
		r.was = r.state
	}
	return err
}

// Snapshot implements process.Act.
func (r *row) Snapshot() (restore func()) {
	before := *r
	return func() { *r = before }
}

// undoable reports whether the merge can be undone at a time.
func (r *row) undoable(now clock.Micros) bool {
	return r.sealed != "" && r.expires > now && (r.state == Moving || r.state == Merged)
}

// public returns the merge as the operations return it to the caller.
func (r *row) public(c *op.Call) Merge {
	m := Merge{
		ID: r.id, PrincipalID: r.principal, Family: r.family, RecordID: r.kept, MergedID: r.merged,
		RestoredID: r.restored, State: r.state, CreatedAt: r.created,
	}
	if c.Actor.SeesAll() {
		m.Moved = r.moved
	}
	if r.undoable(c.Now) {
		m.KeptUntil = r.expires
	}
	return m
}

// place is where the copies stand. Sealed copies of one merge do not open for another one.
func (r *row) place() string { return fmt.Sprintf("merges %d %s", r.organization, r.id) }

// seal sets the copies.
func (r *row) seal(v masterkey.Vault, m record.MergeOutcome) error {
	text, err := json.Marshal(copies{m.Before, m.After, m.From})
	r.sealed = v.Seal(text, r.place())
	return err
}

// open returns the copies.
func (r *row) open(v masterkey.Vault) (c copies, err error) {
	text, _, err := v.Open(r.sealed, r.place())
	if err != nil {
		return c, fmt.Errorf("merge: %s: %w", r.id, err)
	}
	return c, json.Unmarshal(text, &c)
}

// find returns a merge of the caller whose record the caller sees. Admins find the merges of all. find
// fails with NOT_FOUND for any other merge.
func find(ctx context.Context, c *op.Call, name string) (*row, *family, error) {
	if !id.Valid(id.Merge, name) {
		return nil, nil, unknown()
	}
	r, err := scan(c.Tx.QueryRow(ctx, selectMerge, c.Actor.Org(), name))
	switch {
	case errors.Is(err, db.ErrNoRows):
		return nil, nil, unknown()
	case err != nil:
		return nil, nil, err
	case r.principal == "" || r.principal != c.Actor.PrincipalID() && !c.Actor.SeesAll():
		return nil, nil, unknown()
	}
	f := familyNamed(r.family)
	if f == nil {
		return nil, nil, fmt.Errorf("merge: %s is about %q", r.id, r.family)
	}
	if err := process.Require(c.Actor, f.ReadScope()); err != nil {
		return nil, nil, err
	}
	seen, err := record.Seen(ctx, c, f.Plural, r.kept)
	if err == nil && !seen {
		err = unknown()
	}
	return r, f, err
}

func unknown() error {
	return fault.Unknown("There is no merge with this id, or its seven days are over.")
}
