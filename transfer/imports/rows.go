package imports

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
	"kartei/transfer/process"
)

// CreateInput is the input of Create.
type CreateInput struct {
	// Organization and Principal are set only by the operator. The import runs with the rights of
	// that person. Other callers import for themselves.
	Organization string `json:"organizationId,omitempty"`
	Principal    string `json:"principalId,omitempty"`
	FileName     string `json:"fileName"`
	// Size is the size of the file in bytes.
	Size int64 `json:"size"`
}

// Create begins an import. The pieces of its file follow.
var Create = op.New("imports.create", op.Administer, create, op.By(op.Member|op.Operator),
	op.Audited("records.importFile"))

func create(ctx context.Context, c *op.Call, in CreateInput) (Import, error) {
	in.FileName = record.Clean(in.FileName)
	if err := in.check(); err != nil {
		return Import{}, err
	}
	organization, err := organizationOf(ctx, c, in.Organization)
	if err != nil {
		return Import{}, err
	}
	whose, err := person(ctx, c, organization, in.Principal)
	if err != nil {
		return Import{}, err
	}
	var kept, own int64
	if err := c.Tx.QueryRow(ctx, countKept, organization, whose.PrincipalID()).Scan(&kept, &own); err != nil {
		return Import{}, err
	}
	if kept >= maxKept || own >= maxPerPerson {
		return Import{}, &fault.Fault{
			Code:   fault.QuotaExhausted,
			Detail: tooMany,
			Extra:  map[string]any{"violated-policies": []string{"imports"}},
		}
	}
	r := &row{
		organization: organization, id: id.New(id.Import), principal: whose.PrincipalID(), state: Receiving,
		created: c.Now, expires: c.Now.Add(Age),
	}
	r.FileName, r.progress = in.FileName, progress{}.begin()
	r.Options, r.Language = mapping.Options{Duplicates: mapping.Skip}, c.Language
	r.Delegation = process.DelegationOf(c, whose)
	c.Audit.About(r.organization, r.id)
	c.Audit.Changed("size", nil, in.Size)
	if err := r.newKey(Secrets.In(c)); err != nil {
		return Import{}, err
	}
	c.Tx.Queue(insertImport, r.organization, r.id, r.principal, r.state, r.sealedKey,
		r.seal(r.withoutSamples(), "content"), process.Encode(r.progress),
		r.By, r.Kind, r.Door, r.RequestID, r.created, r.expires, r.forgotten, "")
	err = process.Enqueue(ctx, c, r.organization, r.id, job.Spec{Kind: ForgetKind, Due: r.expires})
	return r.public(), err
}

var tooMany = i18n.Text("You or your office have imported so many files within the last seven days that there is no room for another one. Discard imports that you need no more.")

func (in *CreateInput) check() error {
	var wrong []fault.Field
	switch n := utf8.RuneCountInString(in.FileName); {
	case n == 0:
		wrong = append(wrong, fault.Field{Name: "fileName", Code: fault.Required})
	case n > 200:
		wrong = append(wrong, fault.Field{Name: "fileName", Code: fault.TooLong, Limit: 200})
	}
	if in.Size < 1 || in.Size > MaxSize {
		wrong = append(wrong, fault.Field{Name: "size", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: MaxSize},
			Text: i18n.Format("A file to import must not be empty, and may have at most %s.", i18n.Bytes(MaxSize))})
	}
	if wrong == nil {
		return nil
	}
	return fault.Invalid(wrong...)
}

// AppendInput is the input of Append.
type AppendInput struct {
	Reference
	// Number is the number of the piece, from 0.
	Number int64 `json:"number"`
	// Content is the piece, at most MaxPiece bytes.
	Content []byte `json:"content"`
}

// AppendOutput is the output of Append.
type AppendOutput struct {
	Number int64 `json:"number"`
}

// Records returns 0, because the output contains no records.
func (AppendOutput) Records() int { return 0 }

const (
	insertPiece = `insert into import_pieces (organization, import_id, number, content) values ($1, $2, $3, $4)
		on conflict (organization, import_id, number) do update set content = excluded.content`
	countPieces = `select count(*) from import_pieces where organization = $1 and import_id = $2`
)

// Append stores a piece of the file. The same piece can be sent again.
var Append = op.New("imports.append", op.Note, appendPart, op.By(op.Member|op.Operator))

func appendPart(ctx context.Context, c *op.Call, in AppendInput) (AppendOutput, error) {
	r, err := find(ctx, c, in.Reference)
	if err != nil {
		return AppendOutput{}, err
	}
	if r.state != Receiving {
		return AppendOutput{}, r.unfit()
	}
	var wrong []fault.Field
	if limit := int64(MaxSize / MaxPiece); in.Number < 0 || in.Number >= limit {
		wrong = append(wrong, fault.Field{Name: "number", Code: fault.OutOfRange, Limit: fault.Range{Min: 0, Max: limit - 1}})
	}
	if len(in.Content) == 0 || len(in.Content) > MaxPiece {
		wrong = append(wrong, fault.Field{Name: "content", Code: fault.TooLong, Limit: MaxPiece})
	}
	if wrong != nil {
		return AppendOutput{}, fault.Invalid(wrong...)
	}
	c.Tx.Queue(insertPiece, r.organization, r.id, in.Number, r.vault.Seal(in.Content, r.place(piecePart(in.Number))))
	return AppendOutput{in.Number}, nil
}

func piecePart(number int64) string { return fmt.Sprintf("piece %d", number) }

// unfit returns the fault for a call that the state of the import does not allow.
func (r *row) unfit() error {
	return fault.Invalid(fault.Field{
		Name: "id", Code: fault.ForbiddenCombination,
		Text: i18n.Format("This import has gone on already, or works at the moment (%s).", r.state),
	})
}

// CompleteInput is the input of Complete.
type CompleteInput struct {
	Reference
	// Pieces is the number of pieces that were sent.
	Pieces int64 `json:"pieces"`
}

// Complete ends the upload of the file. A job then reads the file.
var Complete = op.New("imports.complete", op.Note, complete, op.By(op.Member|op.Operator))

func complete(ctx context.Context, c *op.Call, in CompleteInput) (Import, error) {
	return advance(ctx, c, in.Reference, func(r *row, _ *access.Actor) error {
		var n int64
		if err := c.Tx.QueryRow(ctx, countPieces, r.organization, r.id).Scan(&n); err != nil {
			return err
		}
		if n == 0 || n != in.Pieces {
			return fault.Invalid(fault.Field{
				Name: "pieces", Code: fault.ForbiddenCombination,
				Text: "The file did not arrive completely.",
			})
		}
		r.state = Reading
		return nil
	}, Receiving)
}

// advance changes the state of an import and starts a job. It fails unless the import is in one of
// the states from.
func advance(
	ctx context.Context, c *op.Call, in Reference, alter func(*row, *access.Actor) error, from ...State,
) (Import, error) {
	r, err := find(ctx, c, in)
	if err != nil {
		return Import{}, err
	}
	whose, err := person(ctx, c, r.organization, cmp.Or(in.Principal, r.principal))
	if err != nil {
		return Import{}, err
	}
	if !slices.Contains(from, r.state) || r.broken {
		return Import{}, r.unfit()
	}
	r.Delegation = process.DelegationOf(c, whose)
	if err := alter(r, whose); err != nil {
		return Import{}, err
	}
	if err := process.AsConflict(r.change(ctx, c.Tx)); err != nil {
		return Import{}, err
	}
	if r.state.Works() {
		err = process.Enqueue(ctx, c, r.organization, r.id, job.Spec{Kind: JobKind})
	}
	return r.public(), err
}

// MapInput is the input of Map.
type MapInput struct {
	Reference
	// Targets has the member for each column. It is empty for a column that is left out.
	Targets []string `json:"targets"`
	mapping.Options
}

// Map stores the targets of the columns and the options, and starts the dry run.
var Map = op.New("imports.map", op.Note, mapColumns, op.By(op.Member|op.Operator))

func mapColumns(ctx context.Context, c *op.Call, in MapInput) (Import, error) {
	return advance(ctx, c, in.Reference, func(r *row, whose *access.Actor) error {
		in.Tags = record.Unique(in.Tags)
		if wrong := mapping.Check(r.Columns, in.Targets, in.Options, whose.May); len(wrong) > 0 {
			return fault.Invalid(wrong...)
		}
		for i, target := range in.Targets {
			r.Columns[i].Target = target
		}
		r.Options, r.state, r.progress = in.Options, Checking, r.progress.begin()
		return nil
	}, Mapping, Checked)
}

// Run starts an import after its dry run, or resumes an import that stopped.
var Run = op.New("imports.run", op.Administer, run, op.By(op.Member|op.Operator), op.Audited("records.import"))

func run(ctx context.Context, c *op.Call, in Reference) (Import, error) {
	return advance(ctx, c, in, func(r *row, _ *access.Actor) error {
		if r.progress.Undo {
			return r.unfit()
		}
		if r.state == Checked {
			r.progress = r.progress.begin()
		}
		r.Reason, r.state = "", Running
		c.Tx.Queue(updateSamples, r.organization, r.id, "") // columns can no longer be mapped
		for i := range r.Columns {
			r.Columns[i].Samples = nil
		}
		c.Audit.About(r.organization, r.id)
		c.Audit.Changed("lines", nil, r.Lines)
		c.Audit.Changed("duplicates", nil, string(r.Options.Duplicates))
		return nil
	}, Checked, Stopped)
}

// Undo starts the undo of an import.
var Undo = op.New("imports.undo", op.Administer, undo, op.By(op.Member|op.Operator), op.Audited("records.importUndo"))

func undo(ctx context.Context, c *op.Call, in Reference) (Import, error) {
	return advance(ctx, c, in, func(r *row, _ *access.Actor) error {
		if r.forgotten != 0 || r.expires <= c.Now {
			return fault.Invalid(fault.Field{
				Name: "id", Code: fault.ForbiddenCombination,
				Text: "This import can no longer be undone: the seven days are over.",
			})
		}
		r.state, r.Reason, r.After, r.progress.Undo, r.ContactsDone = Undoing, "", r.Lines+1, true, false
		c.Audit.About(r.organization, r.id)
		return nil
	}, Finished, Stopped)
}

// Discard gives up an import before it runs, or deletes the data with which it could be undone.
var Discard = op.New("imports.discard", op.Note, discard, op.By(op.Member|op.Operator))

func discard(ctx context.Context, c *op.Call, in Reference) (op.Nothing, error) {
	r, err := find(ctx, c, in)
	if err != nil {
		return op.Nothing{}, err
	}
	if r.state.Works() {
		return op.Nothing{}, r.unfit()
	}
	if slices.Contains([]State{Receiving, Unreadable, Mapping, Checked}, r.state) {
		r.state = Discarded
	}
	r.expires = c.Now
	if err := process.AsConflict(r.change(ctx, c.Tx)); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, process.Enqueue(ctx, c, r.organization, r.id, job.Spec{Kind: ForgetKind, Due: c.Now, Soon: true})
}

// Get returns an import.
var Get = op.New("imports.get", op.Read, get, op.By(op.Member|op.Operator))

func get(ctx context.Context, c *op.Call, in Reference) (Import, error) {
	r, err := find(ctx, c, in)
	if err != nil {
		return Import{}, err
	}
	return r.public(), nil
}

// ListInput is the input of List.
type ListInput struct {
	// Organization is the id of the imports' organization. Only the operator sets it: for other
	// callers, empty means their own organization.
	Organization string `json:"organizationId,omitempty"`
	// After is the id of the last import of the previous page.
	After string `json:"after,omitempty"`
	// Limit is the page size from 1 to 1,000. Zero means 50.
	Limit int `json:"limit,omitempty"`
}

// List returns imports, the newest first: all of the organization for admins and the operator, and
// otherwise the caller's own.
var List = op.New("imports.list", op.Read, list, op.By(op.Member|op.Operator))

func list(ctx context.Context, c *op.Call, in ListInput) (op.Entries[Import], error) {
	limit, err := op.PageSize(in.Limit, 50)
	if err != nil {
		return op.Entries[Import]{}, err
	}
	organization, err := organizationOf(ctx, c, in.Organization)
	if err != nil {
		return op.Entries[Import]{}, err
	}
	statement := selectOwn
	if c.Administers() {
		statement = selectAll
	}
	list, err := db.List(ctx, c.Tx, func(from db.Row) (Import, error) {
		r, err := scan(from, Secrets.In(c))
		if r != nil && r.broken {
			err = nil
		}
		if err != nil {
			return Import{}, err
		}
		return r.public(), nil
	}, statement, organization, c.Actor.PrincipalID(), in.After, limit+1)
	return op.PageOf(list, limit), err
}

// Line is an entry of the file in the report.
type Line struct {
	Number int64 `json:"number"`
	// Line is the line of the file at which the entry begins, or the row of a sheet.
	Line int64 `json:"line"`
	// File is the name of the file, if the import has several files.
	File    string  `json:"file,omitempty"`
	Outcome Outcome `json:"outcome"`
	// RecordID is the id of the contact or company, or empty.
	RecordID string    `json:"recordId"`
	Problems []Problem `json:"problems"`
	// Cells are the cells of a refused entry, if the input has Refused.
	Cells []string `json:"cells,omitempty"`
}

// Problem is a problem of an entry.
type Problem struct {
	// Field is the name of the member. It is empty if the problem concerns the whole entry.
	Field   string          `json:"field"`
	Code    fault.FieldCode `json:"code"`
	Message string          `json:"message"`
	// Heading is the column of the value, or the property of a card. Value is the text in the file.
	// Both are empty if the problem concerns no single value.
	Heading string `json:"heading,omitempty"`
	Value   string `json:"value,omitempty"`
	// Fate says what happened to the value: note, leftOut or altered.
	Fate entry.Fate `json:"fate,omitempty"`
	// RecordID is the id of another record that the message is about, or empty.
	RecordID string `json:"recordId,omitempty"`
}

// LinesInput is the input of Lines.
type LinesInput struct {
	Reference
	// After is the number of the last entry of the previous page.
	After int64 `json:"after,omitempty"`
	// Limit is the page size from 1 to 1,000. Zero means 1,000.
	Limit int `json:"limit,omitempty"`
	// Wrong omits entries without a problem.
	Wrong bool `json:"wrong,omitempty"`
	// Refused omits entries that were not refused, and adds the cells of the others.
	Refused bool `json:"refused,omitempty"`
}

// Lines is a page of entries.
type Lines struct{ op.Entries[Line] }

// Records returns 0, because a report contains no records.
func (Lines) Records() int { return 0 }

const (
	selectReport  = `select number, line, file, state, record_id, problems, '' from import_lines where organization = $1 and import_id = $2 and number > $3 order by number limit $4`
	selectWrong   = `select number, line, file, state, record_id, problems, '' from import_lines where organization = $1 and import_id = $2 and problems <> '' and number > $3 order by number limit $4`
	selectRefused = `select number, line, file, state, record_id, problems, content from import_lines
		where organization = $1 and import_id = $2 and problems <> '' and state = 'refused' and number > $3 order by number limit $4`
)

// GetLines returns entries with their outcomes. After a dry run these are the expected ones.
var GetLines = op.New("imports.lines", op.Read, getLines, op.By(op.Member|op.Operator))

func getLines(ctx context.Context, c *op.Call, in LinesInput) (Lines, error) {
	r, err := find(ctx, c, in.Reference)
	if err != nil {
		return Lines{}, err
	}
	limit, err := op.PageSize(in.Limit, op.MaxPage)
	if err != nil {
		return Lines{}, err
	}
	statement := selectReport
	switch {
	case in.Refused:
		statement = selectRefused
	case in.Wrong:
		statement = selectWrong
	}
	list, err := db.List(ctx, c.Tx, func(from db.Row) (Line, error) {
		l, record, file, problems, sealed := Line{}, (*string)(nil), "", "", ""
		if err := from.Scan(&l.Number, &l.Line, &file, &l.Outcome, &record, &problems, &sealed); err != nil {
			return l, err
		}
		if sealed != "" && r.forgotten == 0 && !r.broken {
			var values []source.Value
			if err := r.unseal(sealed, linePart(l.Number), &values); err != nil {
				return l, err
			}
			l.Cells = r.cells(values)
		}
		if record != nil {
			l.RecordID = *record
		}
		if r.forgotten == 0 && !r.broken {
			var err error
			if l.File, err = r.openFile(l.Number, file); err != nil {
				return l, err
			}
		}
		if r.forgotten != 0 || r.broken {
			problems = ""
		}
		return l, r.readProblems(&l, problems, c.Language)
	}, statement, r.organization, r.id, in.After, limit+1)
	return Lines{op.PageOf(list, limit)}, err
}

// cells returns the values of an entry in the order of the columns.
func (r *row) cells(values []source.Value) []string {
	at := map[int]int{}
	for i, column := range r.Columns {
		at[column.At] = i
	}
	cells := make([]string, len(r.Columns))
	for _, v := range values {
		if i, known := at[v.Column]; known && cells[i] == "" {
			cells[i] = v.Text
		} else if known {
			cells[i] += "\n" + v.Text
		}
	}
	return cells
}

// readProblems decrypts stored problems, and sets the problems of a line in a language.
func (r *row) readProblems(l *Line, sealed string, in i18n.Language) error {
	l.Problems = []Problem{}
	if sealed == "" {
		return nil
	}
	var list []entry.Problem
	if err := r.unseal(sealed, problemsPart(l.Number), &list); err != nil {
		return fmt.Errorf("imports: the problems of line %d: %w", l.Number, err)
	}
	for _, p := range list {
		l.Problems = append(l.Problems, Problem{
			Field: p.Field, Code: p.Code, Message: p.In(in), Heading: p.Heading,
			Value: p.Value, Fate: p.Fate, RecordID: p.Record,
		})
	}
	return nil
}

// sealProblems returns the encrypted problems of an entry, or an empty string if there are none.
func (r *row) sealProblems(number int64, list []entry.Problem) string {
	if len(list) == 0 {
		return ""
	}
	return r.seal(list, problemsPart(number))
}

func problemsPart(number int64) string { return fmt.Sprintf("problems %d", number) }
