package exports

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"kartei/api/op"
	"kartei/integration/usage"
	"kartei/kit/archive"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
)

const (
	// page is the number of records that are read at once.
	page = 100
	// filesAtOnce is the maximum number of documents whose files are read for one response.
	filesAtOnce = 25
)

// The bounds of one response are variables only because tests change them.
var (
	// bound is the maximum size of the contents of files in one response, in bytes.
	bound int64 = 2 << 20
	// logPage is the maximum number of lines of a log in one response.
	logPage = 500
)

// PartsInput is the input of GetParts.
type PartsInput struct {
	Cursor string `json:"cursor"`
}

// Parts are the next parts of an export.
type Parts struct {
	Parts []archive.Part `json:"parts"`
	// Cursor is the input for the next parts. It is empty at the end.
	Cursor string `json:"cursor"`
	// records is the number of records about a contact, for the outflow limit. It is zero for an
	// organization, because its admin has confirmed their identity and exports the organization's
	// own data.
	records int
}

// Records implements op.RecordCounter.
func (p Parts) Records() int { return p.records }

// GetParts is the operation that returns the next parts of an export.
var GetParts = op.NewPrefetched("exports.parts", op.Read, readParts, getParts, op.By(op.Member|op.Operator))

func getParts(_ context.Context, _ *op.Call, _ PartsInput, p Parts) (Parts, error) { return p, nil }

// readParts reads the next parts. It runs before the transaction of the operation, because
// contents of files come from a disk or a bucket.
func readParts(ctx context.Context, c *op.Call, in PartsInput) (p Parts, err error) {
	p.Parts = []archive.Part{}
	x := new(export)
	if in.Cursor == "" || c.Services.Cursors.Open(scope(c), in.Cursor, c.Now, x) != nil {
		return p, &fault.Fault{Code: fault.NotFound, Detail: unknown}
	}
	if flush := usage.Flush.In(c); x.Stage == 0 && flush != nil { // so that calls before the export are included
		if err := flush(ctx); err != nil {
			return p, err
		}
	}
	stages := x.stages()
	r := &partsReader{export: x, Parts: &p}
	var files []document.File
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		if err := r.enter(ctx, c, tx); err != nil {
			return err
		}
		files, err = stages[x.Stage](ctx, r)
		return err
	})
	if err != nil {
		return p, err
	}
	err = r.readFiles(ctx, files)
	if err != nil {
		return p, err
	}
	if !r.more {
		x.Stage++
		x.position = position{}
	}
	if x.Stage < len(stages) {
		p.Cursor, err = c.Services.Cursors.Seal(scope(c), c.Now, x)
	}
	return p, err
}

var unknown = i18n.Text("This export does not exist any more. Please begin another one.")

// stage is a function that adds the next parts of one file of the archive. The stage for the
// files of documents returns these files, whose contents are read later.
type stage func(ctx context.Context, r *partsReader) ([]document.File, error)

// stages returns the stages of an export, in the order of the archive.
func (x *export) stages() []stage {
	switch x.Subject {
	case aContact:
		return contactStages
	case aPrincipal:
		return principalStages
	}
	return organizationStages
}

// partsReader reads the parts of one response.
type partsReader struct {
	*export
	*Parts
	// Call is the caller's call. of is the call that reads records.
	op.Call
	of *op.Call
	// more says that the stage has more entries.
	more bool
}

// enter returns a fault unless the caller may continue the export and still sees the contact.
func (r *partsReader) enter(ctx context.Context, c *op.Call, tx db.Tx) (err error) {
	r.Call = *c
	r.Tx = tx
	if err := r.mayContinue(ctx, &r.Call); err != nil || r.Subject == aPrincipal {
		return err
	}
	if r.of, err = r.reader(ctx, &r.Call, tx); err != nil || r.Subject != aContact {
		return err
	}
	seen, err := record.Seen(ctx, r.of, contact.Contacts.Plural, r.ID)
	if err != nil {
		return err
	}
	if !seen {
		return fault.New(fault.NotFound)
	}
	return err
}

// add adds a part.
func (r *partsReader) add(name string, content []byte) {
	r.Parts.Parts = append(r.Parts.Parts, archive.Part{Name: name, Content: content})
}

// addJSON adds a file with one JSON value.
func (r *partsReader) addJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	r.add(name, append(b, '\n'))
	return err
}

// addLines adds lines of JSON to a file.
func addLines[T any](r *partsReader, name string, list []T) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for i := range list {
		if err := encoder.Encode(list[i]); err != nil {
			return err
		}
	}
	r.add(name, out.Bytes())
	return nil
}

// addPage adds a page of lines to a file, and stores the position of the stage. It does not add
// an empty file.
func addPage[T any](r *partsReader, name string, list []T, id func(T) string) error {
	if len(list) == logPage {
		r.more, r.After = true, id(list[logPage-1])
	}
	if len(list) == 0 {
		return nil
	}
	return addLines(r, name, list)
}

// addEach adds the next rows of each organization, in the order of their ids. The parameters of
// the statement are the organization, the principal, the last id and the limit.
func addEach[T any](
	ctx context.Context, r *partsReader, name string, id func(T) string, scan func(db.Row) (T, error), statement string,
) error {
	organizations, err := r.organizations(ctx)
	if err != nil {
		return err
	}
	principal := ""
	if r.Subject == aPrincipal {
		principal = r.ID
	}
	var list []T
	for number := range organizations {
		some, err := db.List(ctx, r.Tx, scan, statement, number, principal, r.After, logPage)
		if err != nil {
			return err
		}
		list = append(list, some...)
	}
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	return addPage(r, name, list[:min(len(list), logPage)], id)
}

const selectOrganizations = `select number, id from organizations where number = $1 or sandbox_of = $2`

// organizations returns the ids of the organizations that an export reads, by their numbers. An
// export about a principal also reads the sandbox.
func (r *partsReader) organizations(ctx context.Context) (map[int64]string, error) {
	withSandbox := int64(0)
	if r.Subject == aPrincipal {
		withSandbox = r.Organization
	}
	ids := map[int64]string{}
	_, err := db.List(ctx, r.Tx, func(row db.Row) (none struct{}, err error) {
		var number int64
		var id string
		err = row.Scan(&number, &id)
		ids[number] = id
		return none, err
	}, selectOrganizations, r.Organization, withSandbox)
	return ids, err
}

// family is a family of records in an export.
type family struct {
	op.Family
	walk func(context.Context, *op.Call, record.Walk) ([]record.WalkRecord, error)
}

// records returns the stage that writes the records of a family. In an export about a contact,
// these are the records of the contact.
func (f family) records(name string) stage {
	return func(ctx context.Context, r *partsReader) ([]document.File, error) {
		list, err := f.next(ctx, r, page)
		if err != nil || list == nil {
			return nil, err
		}
		lines := make([]json.RawMessage, len(list))
		for i, w := range list {
			lines[i] = w.JSON
		}
		if r.Subject == aContact {
			r.Parts.records += len(list)
		}
		return nil, addLines(r, name, lines)
	}
}

// next returns the next records, and stores the position of the stage. It returns nil if the
// caller may not read the family.
func (f family) next(ctx context.Context, r *partsReader, limit int) ([]record.WalkRecord, error) {
	if !r.may(&r.Call, f.Family) {
		return nil, nil
	}
	w := record.Walk{After: r.After, Until: r.Last, Limit: limit}
	if r.Subject == aContact {
		w.Reference, w.To = "contactId", r.ID
	}
	list, err := f.walk(ctx, r.of, w)
	if err == nil && len(list) == limit {
		r.more, r.After = true, list[limit-1].ID
	}
	if list == nil {
		list = []record.WalkRecord{}
	}
	return list, err
}

// change is a line of the history of a record, with the name of the principal.
type change struct {
	RecordID string `json:"recordId"`
	record.Change
	PrincipalName string `json:"principalName"`
}

// histories returns the stage that writes the histories of a family's records.
func (f family) histories(name string) stage {
	return func(ctx context.Context, r *partsReader) ([]document.File, error) {
		list, err := f.next(ctx, r, page)
		if err != nil || list == nil {
			return nil, err
		}
		ids := make([]string, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		return nil, r.addHistories(ctx, name, f.Family, ids)
	}
}

// addHistories adds the histories of records.
func (r *partsReader) addHistories(ctx context.Context, name string, f op.Family, ids []string) error {
	all, err := r.historiesOf(ctx, f, ids)
	if err != nil {
		return err
	}
	var lines []change
	var people []string
	for _, name := range ids {
		for _, c := range all[name] {
			lines = append(lines, change{RecordID: name, Change: c})
			people = append(people, c.Principal)
		}
	}
	names, err := r.names(ctx, people)
	for i := range lines {
		lines[i].PrincipalName = names[lines[i].Principal]
	}
	if err != nil {
		return err
	}
	return addLines(r, name, lines)
}

// historiesOf returns the histories of records. In an export about a contact, it leaves out
// changes after the beginning of the export.
func (r *partsReader) historiesOf(ctx context.Context, f op.Family, ids []string) (map[string][]record.Change, error) {
	all, err := record.Histories(ctx, r.Tx, r.Organization, f, ids)
	for id, list := range all {
		all[id] = slices.DeleteFunc(list, func(c record.Change) bool { return r.Last != 0 && c.ChangedAt > r.Last })
	}
	return all, err
}

const selectNames = `select id, name, erased_at > 0 from principals where organization = $1 and id `

// names returns the names of people and service accounts, by id.
func (r *partsReader) names(ctx context.Context, ids []string) (map[string]string, error) {
	names := map[string]string{}
	_, err := db.List(ctx, r.Tx, func(row db.Row) (none struct{}, err error) {
		var name, called string
		var erased bool
		err = row.Scan(&name, &called, &erased)
		names[name] = called
		return none, err
	}, selectNames+r.Tx.Dialect().In("$2"), r.Live, db.Texts(record.Unique(ids)))
	return names, err
}

// files returns the next files of documents: the open file and some after it.
func files(ctx context.Context, r *partsReader) ([]document.File, error) {
	if !r.may(&r.Call, document.Documents.Family) {
		return nil, nil
	}
	var open []document.File
	if r.Open != "" {
		f, err := document.FileOf(ctx, r.of, r.Open)
		switch {
		case err == nil:
			open = append(open, f)
		case fault.Is(err, fault.NotFound):
			r.deleted(r.Open)
		default:
			return nil, err
		}
	}
	before := r.position
	r.After = cmp.Or(r.Open, r.After)
	list, err := documents.next(ctx, r, filesAtOnce)
	r.position = before
	if err != nil {
		return nil, err
	}
	others, err := document.FilesOf(r.of, list)
	return append(open, others...), err
}

// readFiles reads the contents of files until the response is full.
func (r *partsReader) readFiles(ctx context.Context, list []document.File) error {
	left := bound
	for i := range list {
		n, err := r.file(ctx, &list[i], left)
		if err != nil {
			return fmt.Errorf("exports: the file of %s: %w", list[i].ID, err)
		}
		if left -= n; left == 0 {
			r.more = r.more || r.Open != "" || i < len(list)-1
			return nil
		}
	}
	return nil
}

// file reads the next bytes of a document's file, and returns their number.
func (r *partsReader) file(ctx context.Context, f *document.File, left int64) (int64, error) {
	in, err := upload.Service.Of(r.Services).Store.Open(ctx, f.Stored)
	if errors.Is(err, blob.ErrNotExist) {
		return 0, r.missing(ctx, f)
	}
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if r.Open != f.ID {
		r.position = position{After: r.After, Open: f.ID, Path: "files/" + f.ID + "/" + archive.SafeName(f.Name)}
	}
	piece, err := next(in, r.Offset, left)
	if err != nil {
		return 0, err
	}
	r.Parts.Parts = append(r.Parts.Parts, archive.Part{Name: r.Path, Content: piece, Packed: true})
	if r.Offset += int64(len(piece)); r.Offset == in.Size() {
		r.position = position{After: f.ID}
	}
	return int64(len(piece)), nil
}

// next returns the next bytes of a file. It returns at least one, because no file is empty.
func next(in blob.Reader, offset, left int64) ([]byte, error) {
	piece := make([]byte, max(1, min(left, in.Size()-offset)))
	n, err := in.ReadAt(piece, offset)
	switch {
	case n == len(piece):
		return piece, nil
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	}
	return nil, err
}

// missing skips a document whose file is not in the store. Either the document was deleted
// meanwhile, or the file is lost.
func (r *partsReader) missing(ctx context.Context, f *document.File) error {
	err := r.Services.Read(ctx, func(tx db.Tx) error {
		of := *r.of
		of.Tx = tx
		_, err := document.FileOf(ctx, &of, f.ID)
		return err
	})
	switch {
	case err == nil:
		r.Services.Logger.Error("an export lacks the file of a document, which is not in the store", "organization",
			r.Organization, "document", f.ID)
		r.note(f.ID, r.say("missing.txt"),
			r.say("The file of this document is missing from the store. Please ask the operator."))
	case !fault.Is(err, fault.NotFound):
		return err
	case r.Open == f.ID:
		r.deleted(f.ID)
	}
	r.position = position{After: f.ID}
	return nil
}

// deleted adds a note about a document that was deleted while its file was read, and skips the
// document.
func (r *partsReader) deleted(id string) {
	r.note(id, r.say("deleted.txt"),
		r.say("This document was deleted during the export. Its file is incomplete."))
	r.position = position{After: id}
}

// note adds a file that says why the file of a document is incomplete.
func (r *partsReader) note(id, name, text string) { r.add("files/"+id+"/"+name, []byte(text+"\n")) }

var (
	contacts  = family{contact.Contacts.Family, contact.Contacts.Walk}
	documents = family{document.Documents.Family, document.Documents.Walk}
)
