package imports

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"kartei/api/op"
	"kartei/extract"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
	"kartei/transfer/process"
)

// Kinds of jobs.
const (
	// JobKind is the job that reads, checks, imports or undoes.
	JobKind = "imports.work"
	// ForgetKind is the job that deletes the data of an import after Age.
	ForgetKind = "imports.forget"
)

// Words of the audit log for the end of an import and of its undo.
const (
	DoneWord   = "records.imported"
	UndoneWord = "records.importUndone"
)

const (
	// window is the number of lines in one transaction of reading and of the dry run.
	window = 500
	// pauses is the ratio of the job's pauses to its work. With 1, an import takes half of one
	// processor.
	pauses = 1
)

// Worker runs the jobs of imports.
type Worker struct {
	process.Worker
	// Secrets decrypts the keys of imports.
	Secrets masterkey.Vault
	// Decode decodes the body of an API operation, and returns the violated rules as an error. So
	// an entry of a file has to follow the same rules as a call.
	Decode func(operation string, body []byte, into any, services *op.Services) error
	// Extractor unpacks archives and workbooks in a sandboxed process.
	Extractor *extract.Extractor
}

// Handlers returns the handlers of the worker's jobs.
func (w *Worker) Handlers() []job.Handler {
	return []job.Handler{{Kind: JobKind, Lease: process.Lease, Run: w.run}, {Kind: ForgetKind, Run: w.forget}}
}

// run continues an import from its present state.
func (w *Worker) run(ctx context.Context, j *job.Job) error {
	x := &work{worker: w}
	return x.TakeSteps(ctx, &w.Worker, j, pauses, x)
}

// work is one run of an import's job.
type work struct {
	process.Run
	*row
	worker *Worker
	// companies are the ids of known companies by candidate.CacheKey. made are the ones that the
	// last transaction created.
	companies, made map[string]string
	// joined has the members of contacts with several entries, by the number of the first entry. It
	// is used in the dry run.
	joined map[int64]map[string]any
}

// Load implements process.Act. It also loads an import that cannot be decrypted.
func (x *work) Load(ctx context.Context, tx db.Tx, organization int64, id string) (err error) {
	x.row, err = scan(tx.QueryRow(ctx, selectImport, organization, id), x.worker.Secrets)
	if errors.Is(err, errSealed) {
		return nil
	}
	return err
}

// Call implements process.Act. The call has the rights of the person who requested the step.
func (x *work) Call(ctx context.Context, tx db.Tx) (*op.Call, error) {
	return x.Delegation.Call(ctx, tx, x.organization, clock.Now(x.Clock), x.Services, needed...)
}

// Step implements process.StepAct.
func (x *work) Step() func(context.Context) error {
	switch {
	case x.state.Works() && x.row.broken:
		return func(context.Context) error { return errSealed }
	case x.state == Reading:
		return x.read
	case x.state == Checking:
		return x.check
	case x.state == Running:
		return x.importAll
	case x.state == Undoing:
		return x.undoAll
	}
	return nil
}

// Stop implements process.StepAct. A stopped import can be resumed.
func (x *work) Stop(ctx context.Context, why Reason) error {
	x.Reason = why
	switch x.state {
	case Reading:
		x.state = Unreadable
	case Checking:
		x.state = Mapping
	default:
		x.state = Stopped
	}
	return x.End(ctx, nil)
}

// end stores the final state of an import or its undo, and writes the counts to the audit log.
func (x *work) end(ctx context.Context, next State, word string) error {
	x.state = next
	act := new(audit.Act)
	act.About(x.organization, x.id)
	for _, outcome := range slices.Sorted(maps.Keys(x.Counts)) {
		act.Changed(string(outcome), int64(0), x.Counts[outcome])
	}
	act.Changed("companies", int64(0), x.Companies)
	return x.End(ctx, func(tx db.Tx) error {
		return audit.Append(tx, act, x.Delegation.Line(x.Job, word, clock.Now(x.Clock)))
	})
}

// line is a row of the table import_lines: an entry with its cells.
type line struct {
	number, line int64
	// file is the name of the file, if the import has several files.
	file string
	// values are nil for an unreadable entry. done says that its values were deleted.
	values   []source.Value
	done     bool
	state    Outcome
	problems string
	record   *string
	// made is the id of the company that the entry created, or nil.
	made *string
	// revision is the revision of the record after the import. former is the revision before.
	revision, former int64
	before           string
}

const (
	selectLines = `select number, line, file, content, state, problems, record_id, company_id, revision, former, before from import_lines
		where organization = $1 and import_id = $2 and number > $3 order by number limit $4`
	selectLinesDown = `select number, line, file, content, state, problems, record_id, company_id, revision, former, before from import_lines
		where organization = $1 and import_id = $2 and number < $3 order by number desc limit $4`
	insertLine   = `insert into import_lines (organization, import_id, number, line, file, content, state) values ($1, $2, $3, $4, $5, $6, '')`
	deletePieces = `delete from import_pieces where organization = $1 and import_id = $2`
)

// lines returns at most limit entries from a number on.
func (x *work) lines(ctx context.Context, tx db.Tx, statement string, from int64, limit int) ([]*line, error) {
	return db.List(ctx, tx, func(row db.Row) (*line, error) {
		l, file, sealed := new(line), "", ""
		if err := row.Scan(&l.number, &l.line, &file, &sealed, &l.state, &l.problems, &l.record, &l.made, &l.revision,
			&l.former, &l.before); err != nil {
			return nil, err
		}
		var err error
		if l.file, err = x.openFile(l.number, file); err != nil {
			return nil, err
		}
		if l.done = sealed == ""; l.done {
			return l, nil
		}
		return l, x.unseal(sealed, linePart(l.number), &l.values)
	}, statement, x.organization, x.id, from, limit)
}

// sealFile returns the encrypted file name of a line, or an empty string.
func (r *row) sealFile(number int64, name string) string {
	if name == "" {
		return ""
	}
	return r.seal(name, filePart(number))
}

// openFile decrypts the result of sealFile.
func (r *row) openFile(number int64, sealed string) (name string, err error) {
	if sealed != "" {
		err = r.unseal(sealed, filePart(number), &name)
	}
	return name, err
}

func filePart(number int64) string { return fmt.Sprintf("file %d", number) }

func linePart(number int64) string { return fmt.Sprintf("line %d", number) }

func beforePart(number int64) string { return fmt.Sprintf("before %d", number) }

// pieces is a reader of the file of an import.
type pieces struct {
	*work
	ctx    context.Context
	number int64
	bytes.Reader
}

const selectPiece = `select content from import_pieces where organization = $1 and import_id = $2 and number = $3`

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	for p.Len() == 0 {
		var sealed string
		err := p.DB.Read(p.ctx, func(tx db.Tx) error {
			return tx.QueryRow(p.ctx, selectPiece, p.organization, p.id, p.number).Scan(&sealed)
		})
		if errors.Is(err, db.ErrNoRows) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		content, _, err := p.vault.Open(sealed, p.place(piecePart(p.number)))
		if err != nil {
			return 0, errors.Join(errSealed, err)
		}
		p.number++
		p.Reset(content)
	}
	return p.Reader.Read(b)
}

// read turns the file into lines. After an interruption it reads the file again, and skips the
// lines that are stored already.
func (x *work) read(ctx context.Context) error {
	f, err := x.openSource(ctx)
	if f != nil {
		x.tellLeftOut(f)
	}
	if errors.Is(err, source.ErrNoTable) {
		return process.StopError{Reason: NoTable}
	}
	if err != nil {
		return err
	}
	columns, err := x.readLines(ctx, f)
	x.tellLeftOut(f)
	if err != nil {
		return err
	}
	if x.Lines = x.After; x.Lines == 0 {
		return process.StopError{Reason: NoLines}
	}
	x.Files, x.Sheet, x.Groups = f.Files, f.Sheet, f.Groups()
	x.Format, x.Encoding, x.Program, x.Above, x.Columns = f.Format, f.Encoding(), f.Program, f.Above, columns
	x.Options.Companies = f.Companies()
	x.Options.MonthFirst = mapping.HasMonthFirst(f.Program, columns)
	x.progress = x.progress.begin()
	x.state = Mapping
	return x.End(ctx, func(tx db.Tx) error {
		tx.Queue(updateSamples, x.organization, x.id, x.sealSamples())
		tx.Queue(deletePieces, x.organization, x.id)
		return nil
	})
}

// openSource opens the file. It unpacks an archive or a workbook in a sandboxed process, and has
// the parts in memory.
func (x *work) openSource(ctx context.Context) (*source.File, error) {
	file := bufio.NewReader(&pieces{work: x, ctx: ctx})
	begin, err := file.Peek(source.Begin)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !source.Packed(begin) {
		return source.Open(file)
	}
	parts, why, err := x.worker.Extractor.Unpack(ctx, x.organization, file)
	if err != nil {
		return nil, err
	}
	if why != extract.Complete {
		reason, known := unpackReasons[why]
		if !known {
			reason = NoTable
		}
		return nil, process.StopError{Reason: reason}
	}
	return source.OpenParts(parts)
}

// unpackReasons maps reasons of package extract to reasons of imports.
var unpackReasons = map[extract.Reason]Reason{
	extract.Encrypted: Encrypted, extract.Broken: Broken, extract.Crashed: Broken,
	extract.Inflated: TooLarge, extract.OutOfTime: TooLarge, extract.OutOfMemory: TooLarge,
	extract.Legacy: OldWorkbook, extract.Foreign: OtherWorkbook, extract.Unconfined: Unconfined,
}

// maxLeftOut is the maximum number of listed files and sheets that were not read.
const maxLeftOut = 100

// tellLeftOut stores which files and sheets were not read.
func (x *work) tellLeftOut(f *source.File) {
	n := min(len(f.LeftOut), maxLeftOut)
	x.LeftOut, x.NotListed = f.LeftOut[:n:n], len(f.LeftOut)-n
}

// readLines stores the lines of a file, and returns its columns. A column without a heading is
// added when its first value occurs.
func (x *work) readLines(ctx context.Context, f *source.File) ([]mapping.Column, error) {
	var list []mapping.Column
	at := map[int]int{}
	for _, c := range f.Columns {
		at[c.At] = len(list)
		list = append(list, mapping.ColumnOf(c))
	}
	var ready []*line
	for number := int64(1); ; number++ {
		e, err := f.Read()
		torn := errors.Is(err, source.ErrEntry)
		switch {
		case errors.Is(err, io.EOF):
			return list, x.store(ctx, ready)
		case err != nil && !torn:
			return nil, err
		}
		if number > MaxLines {
			return nil, process.StopError{Reason: TooMany}
		}
		for _, v := range e.Values {
			i, known := at[v.Column]
			if !known {
				i = len(list)
				at[v.Column], list = i, append(list, mapping.Column{Target: source.Other, At: v.Column})
			}
			list[i].Sample(v.Text)
		}
		if number <= x.After {
			continue
		}
		if torn && e.Values != nil {
			e.Values = append(e.Values, source.Value{Column: entry.Torn})
		}
		if ready = append(ready, &line{
			number: number, line: int64(e.Line), file: e.File, values: e.Values,
		}); len(ready) == window {
			if err := x.store(ctx, ready); err != nil {
				return nil, err
			}
			ready = ready[:0]
		}
	}
}

// store stores lines and the progress.
func (x *work) store(ctx context.Context, list []*line) error {
	if len(list) == 0 {
		return nil
	}
	begun := clock.Now(x.Clock)
	sealed, files := make([]string, len(list)), make([]string, len(list)) // before the transaction, which blocks others
	for i, l := range list {
		sealed[i], files[i] = x.seal(l.values, linePart(l.number)), x.sealFile(l.number, l.file)
	}
	err := x.Update(ctx, func(tx db.Tx) error {
		for i, l := range list {
			tx.Queue(insertLine, x.organization, x.id, l.number, l.line, files[i], sealed[i])
		}
		x.After = list[len(list)-1].number
		x.Lines = x.After
		return nil
	})
	if err != nil {
		return err
	}
	return x.Pace.Rest(ctx, begun)
}

const (
	selectForgettable = `select number from import_lines where organization = $1 and import_id = $2 order by number limit $3`
	deleteLines       = `delete from import_lines where organization = $1 and import_id = $2 and number <= $3`
	forgetImport      = `update imports set sealed_key = '', content = '', samples = '', forgotten_at = $3 where organization = $1 and id = $2`
)

// forget deletes the data of an import after Age. Its row and the counts stay for a while.
func (w *Worker) forget(ctx context.Context, j *job.Job) error {
	x := &work{worker: w}
	return x.Do(ctx, &w.Worker, j, pauses, x, func(ctx context.Context) error {
		if x.forgotten == 0 { // otherwise an interrupted run has done this
			if err := x.AwaitExpiry(x.state.Works(), x.expires); err != nil {
				return err
			}
			// The key is deleted first, so that all encrypted data becomes unreadable.
			err := j.Update(ctx, func(tx db.Tx) error {
				tx.Queue(forgetImport, x.organization, x.id, clock.Now(w.Clock))
				tx.Queue(deletePieces, x.organization, x.id)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return process.DeleteLines[int64](ctx, &x.Run, x.id, selectForgettable, deleteLines)
	})
}

// Reseal encrypts the keys of all imports with the current master key, and returns the number of
// changed keys. unreadable has an error for each import that cannot be decrypted. Reseal may be
// interrupted at any time.
func Reseal(ctx context.Context, d db.DB, secrets masterkey.Vault) (changed int, unreadable []error, err error) {
	var organizations []int64
	err = d.Read(ctx, func(tx db.Tx) (err error) {
		organizations, err = db.Organizations(ctx, tx)
		return err
	})
	for _, organization := range organizations {
		if err != nil {
			return changed, unreadable, err
		}
		var n int
		var wrong []error
		err = d.Write(ctx, func(tx db.Tx) (err error) {
			n, wrong, err = resealIn(ctx, tx, organization, secrets)
			return err
		})
		changed, unreadable = changed+n, append(unreadable, wrong...)
	}
	return changed, unreadable, err
}

const (
	selectKeys = `select id, sealed_key from imports where organization = $1 and forgotten_at = 0`
	updateKey  = `update imports set sealed_key = $3 where organization = $1 and id = $2 and forgotten_at = 0`
)

// resealIn encrypts the keys of the imports of one organization, at most maxKept.
func resealIn(
	ctx context.Context, tx db.Tx, organization int64, secrets masterkey.Vault,
) (changed int, unreadable []error, err error) {
	list, err := db.List(ctx, tx, func(from db.Row) (*row, error) {
		r := &row{organization: organization}
		return r, from.Scan(&r.id, &r.sealedKey)
	}, selectKeys, organization)
	for _, r := range list {
		key, first, wrong := secrets.Open(r.sealedKey, r.place("key"))
		switch {
		case wrong != nil:
			unreadable = append(unreadable, fmt.Errorf("the import %s: %w", r.id, wrong))
		case !first:
			changed++
			tx.Queue(updateKey, organization, r.id, secrets.Seal(key, r.place("key")))
		}
	}
	return changed, unreadable, err
}
