package imports

import (
	"context"
	"encoding/json"
	"fmt"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/process"
)

const (
	undoLine = `update import_lines set state = $4, before = '' where organization = $1 and import_id = $2 and number = $3`
	// updateExpected updates the expected revision of earlier entries about a contact. Entries
	// before a change by others have another revision, and so do not match.
	updateExpected = `update import_lines set revision = $6 where organization = $1 and record_id = $4 and revision = $5 and import_id = $2 and number < $3`
	// usedContacts finds contacts that tasks or documents refer to.
	usedContacts = `select distinct contact_id from %s where organization = $1 and contact_id %s and contact_id is not null and deleted = false`
	// usedCompany counts records that refer to a company.
	usedCompany = `select (select count(*) from (select 1 from contacts where organization = $1 and company_id = $2 and company_id is not null and deleted = false limit 1) as c)
		+ (select count(*) from (select 1 from tasks where organization = $1 and company_id = $2 and company_id is not null and deleted = false limit 1) as t)
		+ (select count(*) from (select 1 from documents where organization = $1 and company_id = $2 and company_id is not null and deleted = false limit 1) as d)`
)

// undoAll undoes the import from the last entry to the first. It first handles all contacts, and
// then the companies that no record refers to. Records that others have changed stay as they are.
func (x *work) undoAll(ctx context.Context) error {
	if !x.ContactsDone {
		if err := x.undoEach(ctx, (*batch).undoContacts); err != nil {
			return err
		}
		x.ContactsDone, x.After = true, x.Lines+1
	}
	if err := x.undoEach(ctx, (*batch).undoCompanies); err != nil {
		return err
	}
	x.After = 0
	return x.end(ctx, Undone, UndoneWord)
}

// undoEach calls undo with all entries, with some entries in each transaction.
func (x *work) undoEach(ctx context.Context, undo func(b *batch, ctx context.Context, list []*line) error) error {
	return process.Each(ctx, &x.Run, job.Portion{Most: process.Piece}, func(tx db.Tx, limit int) ([]*line, error) {
		return x.lines(ctx, tx, selectLinesDown, x.After, limit)
	}, func(c *op.Call, list []*line) error {
		x.After = list[len(list)-1].number
		return undo(&batch{work: x, Call: c}, ctx, list)
	})
}

// undoContacts undoes the changes of contacts by some entries.
func (b *batch) undoContacts(ctx context.Context, list []*line) error {
	if err := b.readUsed(ctx, list); err != nil {
		return err
	}
	now := map[string]revisionChange{}
	for _, l := range list {
		if err := b.undoContact(ctx, l, now); err != nil {
			return err
		}
	}
	return nil
}

// undoCompanies deletes the companies that some entries created.
func (b *batch) undoCompanies(ctx context.Context, list []*line) error {
	for _, l := range list {
		if err := b.undoCompany(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// readUsed finds the contacts of entries that tasks and documents refer to.
func (b *batch) readUsed(ctx context.Context, list []*line) error {
	b.used = map[string]bool{}
	var names []string
	for _, l := range list {
		if l.record != nil && l.state == Created {
			names = append(names, *l.record)
		}
	}
	if len(names) == 0 {
		return nil
	}
	for _, family := range []string{"tasks", "documents"} {
		found, err := db.Values[string](ctx, b.Tx, fmt.Sprintf(usedContacts, family, b.Tx.Dialect().In("$2")),
			b.organization, db.Texts(names))
		if err != nil {
			return err
		}
		for _, name := range found {
			b.used[name] = true
		}
	}
	return nil
}

// revisionChange is a change of a contact's revision by the undo of a later entry. from is the
// revision after an earlier entry. to is the present revision.
type revisionChange struct{ from, to int64 }

// undoContact undoes the change of a contact by an entry. now has the revision changes of contacts
// for which later entries were undone.
func (b *batch) undoContact(ctx context.Context, l *line, now map[string]revisionChange) error {
	if l.record == nil || l.state != Created && l.state != Updated || l.state == Created && l.isFirm() {
		return nil
	}
	if m := now[*l.record]; m.from != 0 && m.from == l.revision {
		l.revision = m.to
	}
	outcome, next, err := b.takeBack(ctx, l)
	if err != nil {
		return err
	}
	if outcome == Restored {
		now[*l.record] = revisionChange{l.former, next}
		b.Tx.Queue(updateExpected, b.organization, b.id, l.number, *l.record, l.former, next)
	}
	b.Counts[outcome]++
	b.Tx.Queue(undoLine, b.organization, b.id, l.number, outcome)
	return nil
}

// takeBack deletes a contact that an entry created, or restores the former members of a changed
// one. It does so only if the contact still has the revision after the import. next is the new
// revision of a restored contact.
func (b *batch) takeBack(ctx context.Context, l *line) (outcome Outcome, next int64, err error) {
	c := *b.Call
	c.IfMatch = op.Precondition{Sent: true, Tags: []string{op.Tag(l.revision)}}
	if l.state == Updated {
		update := updateContact
		if l.isFirm() {
			update = updateCompany
		}
		next, err = b.restore(ctx, &c, update, l)
		outcome, err = outcomeOf(Restored, err)
		return outcome, next, err
	}
	if b.used[*l.record] {
		seen, err := record.Seen(ctx, b.Call, contact.Contacts.Plural, *l.record)
		if err == nil && !seen {
			return Gone, 0, nil
		}
		return Kept, 0, err
	}
	_, err = contact.Contacts.Delete(ctx, &c, op.ByID{ID: *l.record})
	outcome, err = outcomeOf(Deleted, err)
	return outcome, 0, err
}

// restore sets the members of a record to their values before the import, and returns its new
// revision.
func (b *batch) restore(ctx context.Context, c *op.Call, update updater, l *line) (int64, error) {
	if l.before == "" { // erased with the contact
		return 0, fault.New(fault.NotFound)
	}
	var members json.RawMessage
	if err := b.unseal(l.before, beforePart(l.number), &members); err != nil {
		return 0, err
	}
	tag, err := update(ctx, c, *l.record, members)
	if err != nil || tag == op.Tag(l.revision) {
		return l.revision, err
	}
	return l.revision + 1, nil
}

// outcomeOf returns the outcome of an undone entry. done is the outcome if err is nil.
func outcomeOf(done Outcome, err error) (Outcome, error) {
	switch {
	case err == nil:
		return done, nil
	case fault.Is(err, fault.NotFound):
		return Gone, nil
	case fault.Is(err, fault.PreconditionFailed), fault.Is(err, fault.ValidationFailed), fault.Is(err, fault.Forbidden):
		return Kept, nil // others changed the record, or deleted a record that it refers to
	}
	return "", err
}

// undoCompany deletes a company that an entry created, unless others changed it or a record refers
// to it.
func (b *batch) undoCompany(ctx context.Context, l *line) error {
	if l.made == nil || !b.Actor.May("companies:write") {
		return nil
	}
	outcome, err := b.takeBackCompany(ctx, l)
	if outcome == Deleted {
		b.Companies--
	}
	if err == nil && l.isFirm() && l.state == Created { // the company is the entry itself
		b.Counts[outcome]++
		b.Tx.Queue(undoLine, b.organization, b.id, l.number, outcome)
	}
	return err
}

// takeBackCompany deletes a company, unless a record refers to it.
func (b *batch) takeBackCompany(ctx context.Context, l *line) (Outcome, error) {
	var used int64
	if err := b.Tx.QueryRow(ctx, usedCompany, b.organization, *l.made).Scan(&used); err != nil || used > 0 {
		return Kept, err
	}
	c, revision := *b.Call, int64(1)
	if l.isFirm() { // later entries may have changed it and were undone
		revision = l.revision
	}
	c.IfMatch = op.Precondition{Sent: true, Tags: []string{op.Tag(revision)}}
	_, err := company.Companies.Delete(ctx, &c, op.ByID{ID: *l.made})
	return outcomeOf(Deleted, err)
}

const (
	eraseOfRecord  = `update import_lines set content = '', file = '', before = '', problems = '' where organization = $1 and record_id = $2 and record_id is not null`
	eraseOfCompany = `update import_lines set content = '', file = '', problems = '' where organization = $1 and company_id = $2 and company_id is not null`
	// eraseSamples deletes the samples of imports whose file has the record.
	eraseSamples = `update imports set samples = '' where organization = $1 and samples <> ''
		and id in (select import_id from import_lines where organization = $1 and record_id = $2 and record_id is not null)`
)

// erase deletes the data of imports about a record.
func erase(c *op.Call, id string) {
	c.Tx.Queue(eraseSamples, c.Actor.Org(), id)
	c.Tx.Queue(eraseOfRecord, c.Actor.Org(), id)
}

// init registers the erasure of import data with contacts and companies.
func init() {
	contact.Contacts.OnErase(erase)
	company.Companies.OnErase(func(c *op.Call, id string) {
		erase(c, id)
		c.Tx.Queue(eraseOfCompany, c.Actor.Org(), id)
	})
}
