package sample

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
)

// filedPaper is a generated paper and the document that is made of it.
type filedPaper struct {
	upload upload.New
	file   []byte
	staged blob.Info
	document.New
}

// File adds papers to an organization or its sandbox, unless the organization had a document
// before. It acts like a client: it opens upload sessions, uploads the files and starts operations
// that create documents. The operations may still run when File returns.
func (o *Office) File(ctx context.Context, d db.DB, c clock.Clock, files upload.Files, organization string) error {
	write := func(f func(*op.Call) error) error {
		return o.write(ctx, d, c, *op.Services{Families: families}.With(upload.Service.Is(files)), organization, f)
	}
	var all []filedPaper
	var number int64
	err := write(func(call *op.Call) (err error) {
		number = call.Actor.Org()
		if all, err = writePapers(ctx, call); err != nil {
			return err
		}
		for i := range all {
			if err := all[i].open(ctx, call); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return err
	}
	for i := range all {
		m := &all[i]
		m.staged, err = files.Store.Put(ctx, upload.Staged(number, m.UploadID), bytes.NewReader(m.file),
			blob.Expectation{Size: m.upload.Size, SHA256: *m.upload.SHA256})
		if err != nil {
			return err
		}
	}
	return write(func(call *op.Call) error {
		for i := range all {
			if _, err := document.Store(ctx, call, document.CreateInput{Fields: all[i].New}, all[i].staged); err != nil {
				return err
			}
		}
		return nil
	})
}

// open opens the upload session of a paper.
func (m *filedPaper) open(ctx context.Context, call *op.Call) error {
	in := upload.CreateInput{Fields: m.upload}
	opened, err := upload.Open(ctx, call, in)
	if err != nil {
		return err
	}
	m.UploadID = opened.ID
	_, err = upload.Store(ctx, call, in, opened)
	return err
}

// writePapers generates the papers for the existing tasks. It generates none if the organization
// has or had documents.
func writePapers(ctx context.Context, call *op.Call) (all []filedPaper, err error) {
	var one int64
	err = call.Tx.QueryRow(ctx, `select 1 from documents where organization = $1 limit 1`, call.Actor.Org()).Scan(&one)
	if !errors.Is(err, db.ErrNoRows) {
		return nil, err
	}
	tasks, err := db.Values[string](ctx, call.Tx,
		`select id from tasks where organization = $1 and deleted = false order by updated_at limit 500`, call.Actor.Org())
	if err != nil {
		return nil, err
	}
	written := map[string]bool{}
	for _, id := range tasks {
		t, _, err := task.Tasks.Members(ctx, call, id)
		if err != nil {
			return nil, err
		}
		p := paperFor(t)
		if p == nil || written[p.chore] {
			continue
		}
		written[p.chore] = true
		m, err := p.fill(ctx, call, id, t)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	// Reading the first PDF takes some seconds. So the PDF comes last.
	slices.SortStableFunc(all, func(a, b filedPaper) int { return cmp.Compare(slow(a), slow(b)) })
	return all, nil
}

func slow(m filedPaper) int { return strings.Count(m.upload.ContentType, "pdf") }

// paperFor returns the paper that fits a task, or nil. Only tasks that are visible to all people
// have a paper.
func paperFor(t *task.Fields) *paper {
	chore, _, _ := strings.Cut(t.Title, ":")
	for i := range papers {
		if papers[i].chore == chore && t.ContactID != nil && t.Visibility == record.Organization {
			return &papers[i]
		}
	}
	return nil
}

// fill generates a paper for a task.
func (p *paper) fill(ctx context.Context, call *op.Call, id string, t *task.Fields) (filedPaper, error) {
	m := matter{task: t, day: call.Now.Time()}
	var err error
	if m.client, _, err = contact.Contacts.Members(ctx, call, *t.ContactID); err != nil {
		return filedPaper{}, err
	}
	if t.CompanyID != nil {
		if m.firm, _, err = company.Companies.Members(ctx, call, *t.CompanyID); err != nil {
			return filedPaper{}, err
		}
	}
	kind, file := p.write(&m)
	sum := sha256.Sum256(file)
	hash := hex.EncodeToString(sum[:])
	w := filedPaper{
		file: file,
		upload: upload.New{
			FileName: fmt.Sprintf(p.name, value(m.client.LastName)), ContentType: kind, Size: int64(len(file)),
			SHA256: &hash,
		},
	}
	w.ContactID, w.CompanyID, w.TaskID = t.ContactID, t.CompanyID, &id
	w.OwnerID, w.Tags, w.Reference = t.OwnerID, t.Tags, t.Reference
	return w, nil
}
