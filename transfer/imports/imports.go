// Package imports owns how contacts of other programs move in: files, dry runs, imports and their undoing.
//
// A file arrives in pieces and becomes lines. A dry run finds what is wrong with each
// line, and which contact it may be already. The import makes or changes a contact of
// each line, and for seven days it can be undone. All of this are jobs, which work in
// short transactions and store with each how far they came. So a process may die at
// any time: no line is done twice and none is left out.
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

// Secrets seals the keys of imports.
var Secrets = op.Need[masterkey.Vault]("secrets of imports")

// Age is how long an import keeps what it needs to be undone.
const Age = 7 * 24 * time.Hour

const (
	// MaxSize bounds the bytes of a file, MaxPiece the bytes of a piece.
	MaxSize  = 64 << 20
	MaxPiece = 512 << 10
	// MaxLines bounds the entries of a file.
	MaxLines = 100_000
	// maxKept bounds the imports of an organization that keep something, maxPerPerson the
	// imports of one person, so that nobody takes the place of the others.
	maxKept      = 100
	maxPerPerson = 50
)

// State is where an import is.
type State string

// The states. A job works in those that end with -ing, but for Receiving and Mapping.
const (
	// Receiving takes pieces of the file.
	Receiving State = "receiving"
	Reading   State = "reading"
	// Unreadable is the end of a file that is no table and no cards.
	Unreadable State = "unreadable"
	// Mapping waits for somebody to say what the columns are.
	Mapping  State = "mapping"
	Checking State = "checking"
	// Checked waits for somebody to begin the import.
	Checked State = "checked"
	Running State = "running"
	// Stopped is a run that could not go on. It can be resumed or undone.
	Stopped  State = "stopped"
	Finished State = "finished"
	Undoing  State = "undoing"
	Undone   State = "undone"
	// Discarded is an import that somebody gave up before it ran.
	Discarded State = "discarded"
)

// Works reports whether a job works on an import in this state.
func (s State) Works() bool {
	return s == Reading || s == Checking || s == Running || s == Undoing
}

// Import is an import as its rows return it.
type Import struct {
	ID string `json:"id"`
	// PrincipalID is who began it.
	PrincipalID string `json:"principalId"`
	State       State  `json:"state"`
	// FileName is empty once the import has forgotten its file.
	FileName string `json:"fileName"`
	// Format is csv, xlsx or vcard, Encoding the encoding of the file: utf-8, utf-16,
	// windows-1252 for any code page, or mixed if its values have several ones.
	Format   string `json:"format"`
	Encoding string `json:"encoding"`
	// Files counts the files whose entries were read, if there were several. Sheet is the
	// sheet of a workbook, or the table of an archive.
	Files int    `json:"files,omitempty"`
	Sheet string `json:"sheet,omitempty"`
	// LeftOut are the first files and sheets that were not read, and NotListed counts the
	// others.
	LeftOut   []source.LeftOut `json:"leftOut,omitempty"`
	NotListed int              `json:"notListed,omitempty"`
	// Program wrote the table, as far as its headings tell. Above counts the rows above
	// the headings.
	Program string           `json:"program,omitempty"`
	Above   int              `json:"above,omitempty"`
	Columns []mapping.Column `json:"columns"`
	Options mapping.Options  `json:"options"`
	// Lines counts the entries of the file, Done those that the present step is done
	// with.
	Lines int64 `json:"lines"`
	Done  int64 `json:"done"`
	// Counts counts the entries by their outcome.
	Counts map[Outcome]int64 `json:"counts"`
	// Companies counts the companies that the import created.
	Companies int64 `json:"companies"`
	// Reason says why an import is unreadable or stopped.
	Reason    Reason       `json:"reason,omitempty"`
	CreatedAt clock.Micros `json:"createdAt"`
	// KeptUntil is until when it can be undone. Forgotten reports that this time is
	// over.
	KeptUntil clock.Micros `json:"keptUntil"`
	Forgotten bool         `json:"forgotten"`
}

// Records returns 0: the file is the caller's own.
func (Import) Records() int { return 0 }

// Outcome is what becomes of an entry: in a dry run, what would.
type Outcome string

// The outcomes.
const (
	Created Outcome = "created"
	Updated Outcome = "updated"
	// Unchanged is a contact that has all of it already.
	Unchanged Outcome = "unchanged"
	// Skipped is a contact that is left as it is.
	Skipped Outcome = "skipped"
	Refused Outcome = "refused"
	// Erased is an entry whose contact was erased before the import came to it.
	Erased Outcome = "erased"
	// Deleted and Restored are undone. Kept was changed by others since, or is needed
	// by their records. Gone was deleted by others.
	Deleted  Outcome = "deleted"
	Restored Outcome = "restored"
	Kept     Outcome = "kept"
	Gone     Outcome = "gone"
)

// Reason says why an import did not go on.
type Reason = process.Reason

// The reasons.
const (
	// NoTable is a file that is neither a table nor cards, and an archive that has none.
	NoTable Reason = "noTable"
	// Encrypted is a file with a password. Broken is a damaged file, or one that crashed the reader.
	Encrypted Reason = "encrypted"
	Broken    Reason = "broken"
	// TooLarge is an archive or a workbook that unpacks to more than is read.
	TooLarge Reason = "tooLarge"
	// OldWorkbook is a workbook of Excel before 2007, OtherWorkbook one of another format.
	OldWorkbook   Reason = "oldWorkbook"
	OtherWorkbook Reason = "otherWorkbook"
	// Unconfined is an archive or a workbook on a system that cannot confine its reader.
	Unconfined Reason = "unconfined"
	// NoLines is a file without entries, TooMany one with more than MaxLines.
	NoLines Reason = "noLines"
	TooMany Reason = "tooMany"
	NoRight        = process.NoRight
	NotOpen        = process.NotOpen
	// Sealed is a run whose file no master key opens.
	Sealed Reason = "sealed"
)

// content is what a row keeps sealed.
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

// progress is what a row says about how far it came.
type progress struct {
	Lines     int64             `json:"lines"`
	After     int64             `json:"after"`
	Counts    map[Outcome]int64 `json:"counts"`
	Companies int64             `json:"companies"`
	Reason    Reason            `json:"reason,omitempty"`
	// Undo is true from the beginning of an undoing. ContactsDone is true once only the
	// companies are left.
	Undo         bool `json:"undo,omitempty"`
	ContactsDone bool `json:"contactsDone,omitempty"`
}

// begin returns the progress at the beginning of another step.
func (p progress) begin() progress {
	return progress{Lines: p.Lines, Companies: p.Companies, Counts: map[Outcome]int64{}}
}

// row is an import as the database has it.
type row struct {
	organization int64
	id           string
	principal    string
	// state is the present state, was the one that the database has.
	state, was State
	sealedKey  string
	content
	progress
	process.Delegation
	created, expires, forgotten clock.Micros
	// vault seals with the import's own key. sealed is the content as it is stored, and
	// broken is true if no master key opens it.
	vault  masterkey.Vault
	sealed string
	broken bool
	// samples are the sealed first values of the columns. They have a place of their own,
	// because they go when the import runs, and with a record that is erased.
	samples string
}

// SecretsPurpose is the purpose of the keys that seal the keys of imports.
const SecretsPurpose = "imports"

const (
	columns = `organization, id, principal, state, sealed_key, content, progress, requested_by, kind, door, request_id, created_at, expires_at, forgotten_at, samples`

	selectImport = `select ` + columns + ` from imports where organization = $1 and id = $2`
	insertImport = `insert into imports (` + columns +
		`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`
	// updateImport changes an import in the state that was read.
	updateImport = `update imports set state = $4, content = $5, progress = $6, requested_by = $7, kind = $8, door = $9, request_id = $10, expires_at = $11
		where organization = $1 and id = $2 and state = $3`
	updateSamples  = `update imports set samples = $3 where organization = $1 and id = $2`
	updateProgress = `update imports set progress = $3 where organization = $1 and id = $2`
	countKept      = `select count(*), coalesce(sum(case when principal = $2 then 1 else 0 end), 0) from imports where organization = $1 and forgotten_at = 0`
	selectOwn      = `select ` + columns + ` from imports where organization = $1 and principal = $2 and state <> 'discarded' and ($3 = '' or id < $3) order by id desc limit $4`
	selectAll      = `select ` + columns + ` from imports where organization = $1 and $2 = $2 and state <> 'discarded' and ($3 = '' or id < $3) order by id desc limit $4`
)

// place names the part of an import that a sealed text belongs to.
func (r *row) place(part string) string { return fmt.Sprintf("%d|%s|%s", r.organization, r.id, part) }

// newKey makes the key of a new import.
func (r *row) newKey(secrets masterkey.Vault) error {
	key := masterkey.New().Derive(SecretsPurpose)
	r.sealedKey = secrets.Seal(key, r.place("key"))
	var err error
	r.vault, err = masterkey.NewVault(key)
	return err
}

// errSealed means that no master key opens an import.
var errSealed error = process.StopError{Reason: Sealed}

// open reads what is sealed.
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

// openSamples sets the samples of the columns.
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

// sealSamples returns the samples of the columns as they are stored.
func (r *row) sealSamples() string {
	samples := make([][]string, len(r.Columns))
	for i := range r.Columns {
		samples[i] = r.Columns[i].Samples
	}
	return r.seal(samples, "samples")
}

// withoutSamples returns the content as it is stored.
func (r *row) withoutSamples() content {
	c := r.content
	c.Columns = slices.Clone(c.Columns)
	for i := range c.Columns {
		c.Columns[i].Samples = nil
	}
	return c
}

// seal returns v as a sealed text.
func (r *row) seal(v any, part string) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("imports: " + err.Error()) // texts always encode
	}
	return r.vault.Seal(b, r.place(part))
}

// unseal reads what seal returned for the same part.
func (r *row) unseal(sealed, part string, v any) error {
	b, _, err := r.vault.Open(sealed, r.place(part))
	if err != nil {
		return errors.Join(errSealed, err)
	}
	return json.Unmarshal(b, v)
}

// scan reads a row. If what is sealed cannot be opened, the error is errSealed, and the
// rest is there.
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

// Reference names an import.
type Reference struct {
	// Organization is the import's organization. The operator must name it.
	Organization string `json:"organizationId,omitempty"`
	// Principal is whose rights the step has if the operator calls. Empty is the person
	// who began the import.
	Principal string `json:"principalId,omitempty"`
	ID        string `json:"id"`
}

// find reads an import for its caller: their own one, or any for admins and the
// operator.
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

// organizationOf returns the number of the organization of an import. Everybody but the
// operator is in it.
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

// person returns the actor whose rights a step has: the caller, or the principal for
// whom the operator acts.
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

// needed are the scopes of an import.
var needed = []string{"contacts:read", "contacts:write"}

// mayImport refuses those who may not write contacts.
func mayImport(a *access.Actor) error { return process.Require(a, needed...) }

func unknown() error {
	return &fault.Fault{Code: fault.NotFound, Detail: "There is no import with this id."}
}

// change stores the next state of an import. It fails with process.ErrMoved if another
// call was first.
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

// public returns the import for its rows.
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
