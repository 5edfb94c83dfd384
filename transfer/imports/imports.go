// Package imports owns how contacts of other programs move in: files, dry runs, imports and their undoing.
//
// A client sends a file in pieces. The file is read into lines, with one line for each entry. The
// dry run finds the problems of each line, and an existing contact that may be the same. The import
// creates or changes a contact for each line. It can be undone for seven days.
//
// All steps are jobs. They work in short transactions, and store their progress in each. So if a
// process dies, no line is handled twice and none is omitted.
package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
	"kartei/transfer/process"
)

// Secrets encrypts the keys of imports.
var Secrets = op.Need[masterkey.Vault]("secrets of imports")

// Age is the time after which an import can no longer be undone and its data is deleted.
const Age = 7 * 24 * time.Hour

const (
	// MaxSize is the maximum size of a file, and MaxPiece of a piece, in bytes.
	MaxSize  = 64 << 20
	MaxPiece = 512 << 10
	// MaxLines is the maximum number of entries in a file.
	MaxLines = 100_000
	// maxKept is the maximum number of imports with data in an organization. maxPerPerson is the
	// maximum for one person, so that nobody can use up the total.
	maxKept      = 100
	maxPerPerson = 50
)

// State is the state of an import.
type State string

// The states. A job works in Reading, Checking, Running and Undoing.
const (
	// Receiving waits for pieces of the file.
	Receiving State = "receiving"
	Reading   State = "reading"
	// Unreadable is the final state for a file that is neither a table nor cards.
	Unreadable State = "unreadable"
	// Mapping waits until a person maps the columns to members.
	Mapping  State = "mapping"
	Checking State = "checking"
	// Checked waits until a person starts the import.
	Checked State = "checked"
	Running State = "running"
	// Stopped is an import that could not continue. It can be resumed or undone.
	Stopped  State = "stopped"
	Finished State = "finished"
	Undoing  State = "undoing"
	Undone   State = "undone"
	// Discarded is an import that was given up before it ran.
	Discarded State = "discarded"
)

// Works reports whether a job works on an import in this state.
func (s State) Works() bool {
	return s == Reading || s == Checking || s == Running || s == Undoing
}

// Import is an import in the responses of operations.
type Import struct {
	ID string `json:"id"`
	// PrincipalID is the id of the person who began the import.
	PrincipalID string `json:"principalId"`
	State       State  `json:"state"`
	// FileName is empty once the data of the import was deleted.
	FileName string `json:"fileName"`
	// Format is csv, xlsx or vcard. Encoding is the encoding of the file: utf-8, utf-16,
	// windows-1252 for any code page, or mixed if its values have several encodings.
	Format   string `json:"format"`
	Encoding string `json:"encoding"`
	// Files is the number of files whose entries were read, if there are several. Sheet is the
	// sheet of a workbook, or the table in an archive.
	Files int    `json:"files,omitempty"`
	Sheet string `json:"sheet,omitempty"`
	// LeftOut are the first files and sheets that were not read. NotListed is the number of further
	// ones.
	LeftOut   []source.LeftOut `json:"leftOut,omitempty"`
	NotListed int              `json:"notListed,omitempty"`
	// Program is the program that wrote the table, if the headings show it. Above is the number of
	// rows above the headings.
	Program string           `json:"program,omitempty"`
	Above   int              `json:"above,omitempty"`
	Columns []mapping.Column `json:"columns"`
	Options mapping.Options  `json:"options"`
	// Lines is the number of entries in the file. Done is the number of entries that the present
	// step has handled.
	Lines int64 `json:"lines"`
	Done  int64 `json:"done"`
	// Counts has the number of entries for each outcome.
	Counts map[Outcome]int64 `json:"counts"`
	// Companies is the number of companies that the import created.
	Companies int64 `json:"companies"`
	// Reason says why an import is unreadable or stopped. It is empty otherwise.
	Reason    Reason       `json:"reason,omitempty"`
	CreatedAt clock.Micros `json:"createdAt"`
	// KeptUntil is the time until which the import can be undone. Forgotten says that its data was
	// deleted after that.
	KeptUntil clock.Micros `json:"keptUntil"`
	Forgotten bool         `json:"forgotten"`
}

// Records returns 0, because an import contains the caller's own data.
func (Import) Records() int { return 0 }

// Outcome is the outcome of an entry. In a dry run it is the expected one.
type Outcome string

// The outcomes.
const (
	Created Outcome = "created"
	Updated Outcome = "updated"
	// Unchanged is an entry whose values the contact already has.
	Unchanged Outcome = "unchanged"
	// Skipped is an entry about an existing contact, which does not change.
	Skipped Outcome = "skipped"
	Refused Outcome = "refused"
	// Erased is an entry whose contact was erased before the import handled the entry.
	Erased Outcome = "erased"
	// Deleted and Restored are undone entries. Kept is an entry whose record others have changed,
	// or whose record other records refer to. Gone is an entry whose record others have deleted.
	Deleted  Outcome = "deleted"
	Restored Outcome = "restored"
	Kept     Outcome = "kept"
	Gone     Outcome = "gone"
)

// Reason says why an import stopped.
type Reason = process.Reason

// The reasons.
const (
	// NoTable is a file that is neither a table nor cards, or an archive without such files.
	NoTable Reason = "noTable"
	// Encrypted is a file with a password. Broken is a damaged file, or a file that crashed the
	// reader.
	Encrypted Reason = "encrypted"
	Broken    Reason = "broken"
	// TooLarge is an archive or a workbook whose unpacked size exceeds the limit.
	TooLarge Reason = "tooLarge"
	// OldWorkbook is a workbook of Excel before 2007. OtherWorkbook is a workbook in another
	// format.
	OldWorkbook   Reason = "oldWorkbook"
	OtherWorkbook Reason = "otherWorkbook"
	// Unconfined is an archive or a workbook on a system without a sandbox for its reader.
	Unconfined Reason = "unconfined"
	// NoLines is a file without entries. TooMany is a file with more than MaxLines.
	NoLines Reason = "noLines"
	TooMany Reason = "tooMany"
	NoRight        = process.NoRight
	NotOpen        = process.NotOpen
	// Sealed is an import whose data no master key can decrypt.
	Sealed Reason = "sealed"
)

// content is the encrypted part of a row.
type content struct {
	FileName string `json:"fileName"`
	Encoding string `json:"encoding"`
	Program  string `json:"program,omitempty"`
	Above    int    `json:"above,omitempty"`
	mapping.Plan
	// Files, Sheet and LeftOut are as in Import.
	Files     int              `json:"files,omitempty"`
	Sheet     string           `json:"sheet,omitempty"`
	LeftOut   []source.LeftOut `json:"leftOut,omitempty"`
	NotListed int              `json:"notListed,omitempty"`
}

// progress is the part of a row about the progress of an import.
type progress struct {
	Lines     int64             `json:"lines"`
	After     int64             `json:"after"`
	Counts    map[Outcome]int64 `json:"counts"`
	Companies int64             `json:"companies"`
	Reason    Reason            `json:"reason,omitempty"`
	// Undo says that the undo of the import has begun. ContactsDone says that the undo has handled
	// all contacts, and only companies are left.
	Undo         bool `json:"undo,omitempty"`
	ContactsDone bool `json:"contactsDone,omitempty"`
}

// begin returns the progress at the beginning of another step.
func (p progress) begin() progress {
	return progress{Lines: p.Lines, Companies: p.Companies, Counts: map[Outcome]int64{}}
}

// row is a row of the table imports.
type row struct {
	organization int64
	id           string
	principal    string
	// state is the present state. was is the state in the database.
	state, was State
	sealedKey  string
	content
	progress
	process.Delegation
	created, expires, forgotten clock.Micros
	// vault encrypts with the key of the import. sealed is the encrypted content. broken says that
	// no master key can decrypt it.
	vault  masterkey.Vault
	sealed string
	broken bool
	// samples are the encrypted first values of the columns. They have a column of their own,
	// because they are deleted when the import runs, or when a record of the file is erased.
	samples string
}

// SecretsPurpose is the purpose of the derived keys that encrypt the keys of imports.
const SecretsPurpose = "imports"

const (
	columns = `organization, id, principal, state, sealed_key, content, progress, requested_by, kind, door, request_id, created_at, expires_at, forgotten_at, samples`

	selectImport = `select ` + columns + ` from imports where organization = $1 and id = $2`
	insertImport = `insert into imports (` + columns +
		`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`
	// updateImport changes an import only if its state is still the one that was read.
	updateImport = `update imports set state = $4, content = $5, progress = $6, requested_by = $7, kind = $8, door = $9, request_id = $10, expires_at = $11
		where organization = $1 and id = $2 and state = $3`
	updateSamples  = `update imports set samples = $3 where organization = $1 and id = $2`
	updateProgress = `update imports set progress = $3 where organization = $1 and id = $2`
	countKept      = `select count(*), coalesce(sum(case when principal = $2 then 1 else 0 end), 0) from imports where organization = $1 and forgotten_at = 0`
	selectOwn      = `select ` + columns + ` from imports where organization = $1 and principal = $2 and state <> 'discarded' and ($3 = '' or id < $3) order by id desc limit $4`
	selectAll      = `select ` + columns + ` from imports where organization = $1 and $2 = $2 and state <> 'discarded' and ($3 = '' or id < $3) order by id desc limit $4`
)

// place returns the context to which an encrypted part of an import is bound.
func (r *row) place(part string) string { return fmt.Sprintf("%d|%s|%s", r.organization, r.id, part) }

// newKey makes the key of a new import.
func (r *row) newKey(secrets masterkey.Vault) error {
	key := masterkey.New().Derive(SecretsPurpose)
	r.sealedKey = secrets.Seal(key, r.place("key"))
	var err error
	r.vault, err = masterkey.NewVault(key)
	return err
}

// errSealed means that no master key can decrypt an import.
var errSealed error = process.StopError{Reason: Sealed}

// open decrypts the content and the samples.
func (r *row) open(secrets masterkey.Vault) error {
	if r.forgotten != 0 || r.sealedKey == "" {
		return nil
	}
	key, _, err := secrets.Open(r.sealedKey, r.place("key"))
	if err == nil {
		r.vault, err = masterkey.NewVault(key)
	}
	if err == nil {
		err = r.unseal(r.sealed, "content", &r.content)
	}
	if err == nil && r.samples != "" {
		err = r.openSamples()
	}
	if err != nil {
		r.broken = true
		return errors.Join(errSealed, err)
	}
	return nil
}

// openSamples decrypts the samples of the columns.
func (r *row) openSamples() error {
	var samples [][]string
	if err := r.unseal(r.samples, "samples", &samples); err != nil {
		return err
	}
	for i := range min(len(samples), len(r.Columns)) {
		r.Columns[i].Samples = samples[i]
	}
	return nil
}

// sealSamples returns the encrypted samples of the columns.
func (r *row) sealSamples() string {
	samples := make([][]string, len(r.Columns))
	for i := range r.Columns {
		samples[i] = r.Columns[i].Samples
	}
	return r.seal(samples, "samples")
}

// withoutSamples returns a copy of the content without the samples.
func (r *row) withoutSamples() content {
	c := r.content
	c.Columns = slices.Clone(c.Columns)
	for i := range c.Columns {
		c.Columns[i].Samples = nil
	}
	return c
}

// seal returns v, encoded and encrypted, as a text.
func (r *row) seal(v any, part string) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("imports: " + err.Error()) // such values can always be encoded
	}
	return r.vault.Seal(b, r.place(part))
}

// unseal decrypts the result of seal for the same part into v.
func (r *row) unseal(sealed, part string, v any) error {
	b, _, err := r.vault.Open(sealed, r.place(part))
	if err != nil {
		return errors.Join(errSealed, err)
	}
	return json.Unmarshal(b, v)
}

// scan reads a row. If the row cannot be decrypted, scan returns the rest of it and errSealed.
func scan(from db.Row, secrets masterkey.Vault) (*row, error) {
	r := new(row)
	var text string
	err := from.Scan(&r.organization, &r.id, &r.principal, &r.state, &r.sealedKey, &r.sealed, &text, &r.By, &r.Kind,
		&r.Door, &r.RequestID, &r.created, &r.expires, &r.forgotten, &r.samples)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &r.progress); err != nil {
		return nil, fmt.Errorf("imports: %s: %w", r.id, err)
	}
	r.was = r.state
	return r, r.open(secrets)
}

// Reference is the part of an input that identifies an import.
type Reference struct {
	// Organization is the id of the import's organization. Only the operator sets it: for other
	// callers, empty means their own organization.
	Organization string `json:"organizationId,omitempty"`
	// Principal is the person with whose rights the step runs, if the operator calls. If it is
	// empty, that is the person who began the import.
	Principal string `json:"principalId,omitempty"`
	ID        string `json:"id"`
}

// find returns an import that the caller may use. People may use their own imports. Admins and the
// operator may use all.
func find(ctx context.Context, c *op.Call, in Reference) (*row, error) {
	if !id.Valid(id.Import, in.ID) {
		return nil, unknown()
	}
	organization, err := organizationOf(ctx, c, in.Organization)
	if err != nil {
		return nil, err
	}
	if err := mayImport(c.Actor); !c.IsOperator() && err != nil {
		return nil, err
	}
	r, err := scan(c.Tx.QueryRow(ctx, selectImport, organization, in.ID), Secrets.In(c))
	switch {
	case errors.Is(err, errSealed):
		r.Reason = Sealed
	case errors.Is(err, db.ErrNoRows):
		return nil, unknown()
	case err != nil:
		return nil, err
	}
	if r.state == Discarded || r.principal != c.Actor.PrincipalID() && !c.Actor.SeesAll() && !c.IsOperator() {
		return nil, unknown()
	}
	return r, nil
}

// organizationOf returns the number of an import's organization. It fails if the caller belongs to
// another organization.
func organizationOf(ctx context.Context, c *op.Call, name string) (int64, error) {
	if !c.IsOperator() && name == "" {
		return c.Actor.Org(), nil
	}
	o, err := c.FindOrganization(ctx, name)
	if err != nil {
		return o.Number, err
	}
	if !c.IsOperator() && o.Number != c.Actor.Org() {
		err = unknown()
	}
	return o.Number, err
}

// person returns the actor with whose rights a step runs: the caller, or the principal for whom the
// operator calls.
func person(ctx context.Context, c *op.Call, organization int64, principal string) (*access.Actor, error) {
	if !c.IsOperator() {
		return c.Actor, mayImport(c.Actor)
	}
	a, err := access.PersonFor(ctx, c.Tx, organization, principal)
	switch {
	case errors.Is(err, db.ErrNoRows) || err == nil && a.Disabled():
		return nil, fault.Invalid(fault.Field{Name: "principalId", Code: fault.FieldNotFound})
	case err != nil:
		return nil, err
	}
	return a, mayImport(a)
}

// needed are the scopes that an import needs.
var needed = []string{"contacts:read", "contacts:write"}

// mayImport returns an error if an actor may not write contacts.
func mayImport(a *access.Actor) error { return process.Require(a, needed...) }

func unknown() error {
	return &fault.Fault{Code: fault.NotFound, Detail: "There is no import with this id."}
}

// change stores the state of an import. It fails with process.ErrMoved if another call has changed
// the state.
func (r *row) change(ctx context.Context, tx db.Tx) error {
	sealed := r.sealed
	if r.sealedKey != "" && !r.broken {
		sealed = r.seal(r.withoutSamples(), "content")
	}
	err := process.Exec(ctx, tx, updateImport, r.organization, r.id, r.was, r.state, sealed,
		process.Encode(r.progress), r.By, r.Kind, r.Door, r.RequestID, r.expires)
	r.was = r.state
	return err
}

// Store implements process.Act.
func (r *row) Store(ctx context.Context, tx db.Tx) error {
	if r.state != r.was {
		return r.change(ctx, tx)
	}
	tx.Queue(updateProgress, r.organization, r.id, process.Encode(r.progress))
	return nil
}

// Snapshot implements process.Act.
func (r *row) Snapshot() (restore func()) {
	before := *r
	if r.Counts = maps.Clone(r.Counts); r.Counts == nil {
		r.Counts = map[Outcome]int64{}
	}
	return func() { *r = before }
}

// public returns the import for a response.
func (r *row) public() Import {
	out := Import{
		ID: r.id, PrincipalID: r.principal, State: r.state, FileName: r.FileName, Format: r.Format, Encoding: r.Encoding,
		Program: r.Program, Above: r.Above, Columns: slices.Clone(r.Columns), Options: r.Options,
		Files: r.Files, Sheet: r.Sheet, LeftOut: r.LeftOut, NotListed: r.NotListed,
		Lines: r.Lines, Done: r.After, Counts: r.Counts, Companies: r.Companies, Reason: r.Reason, CreatedAt: r.created,
		KeptUntil: r.expires, Forgotten: r.forgotten != 0,
	}
	if out.Columns == nil {
		out.Columns = []mapping.Column{}
	}
	for i := range out.Columns {
		if out.Columns[i].Samples == nil {
			out.Columns[i].Samples = []string{}
		}
	}
	if out.Counts == nil {
		out.Counts = map[Outcome]int64{}
	}
	if out.Options.Tags == nil {
		out.Options.Tags = []string{}
	}
	return out
}
