// Package exports owns what leaves as one file: everything about a person, and everything of an organization.
//
// A file is a ZIP archive that nobody stores. A row begins an export: it checks the
// rights, and notes the act in the audit log. Another row then reads part after part,
// each with the rights of its moment, in a short read of its own and in a bounded part
// of the memory. The door packs the parts while they arrive, for a browser or for a
// file of the command line. See docs/decisions/0050.
package exports

import (
	"cmp"
	"context"
	"fmt"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/record"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/store/db"
)

// subject is what an export is about.
type subject string

// The subjects.
const (
	aContact       subject = "contact"
	aPrincipal     subject = "principal"
	anOrganization subject = "organization"
)

// BeginOutput is an export that may be read.
type BeginOutput struct {
	// Cursor is the input of GetParts.
	Cursor string `json:"cursor"`
	// Name is what the file is about: a contact, a person, an organization.
	Name string `json:"name"`
	// Size counts the records, if the export is about a contact.
	Size int64 `json:"records"`
}

// Input is the input of the operations that begin an export.
type Input struct {
	// Organization is the contact's organization. The operator must name it.
	Organization string `json:"organizationId,omitempty"`
	// ID is a contact, a person or service account, or an organization.
	ID string `json:"id"`
	// Language is the language of the words in the file, de or en. Empty is the caller's.
	Language i18n.Language `json:"language,omitempty"`
}

// begin returns an export of a subject at its beginning.
func (in *Input) begin(c *op.Call, of subject, organization, live int64) (*export, error) {
	x := &export{
		Subject: of, ID: in.ID, Organization: organization, Live: live,
		Language: cmp.Or(in.Language, c.Language, i18n.German), Begun: c.Now,
	}
	if !x.Language.Known() {
		return nil, fault.Invalid(fault.Field{
			Name:  "language",
			Code:  fault.NotInEnum,
			Limit: i18n.Tags(),
		})
	}
	return x, nil
}

// seal returns the beginning as the answer of a row.
func (x *export) seal(c *op.Call, name string, size int64) (BeginOutput, error) {
	cursor, err := c.Services.Cursors.Seal(scope(c), c.Now, x)
	return BeginOutput{cursor, name, size}, err
}

// scope is what a cursor is bound to: nobody else can go on with an export.
func scope(c *op.Call) string {
	return fmt.Sprintf("export|%s|%d|%s", c.Actor.Credential().Kind, c.Actor.Org(), c.Actor.PrincipalID())
}

// BeginContact begins the export of everything about a contact: what the office has to
// tell somebody who asks for it (GDPR, article 15).
var BeginContact = op.New("exports.contact", op.Administer, beginContact, op.By(op.Member|op.Operator), op.Reads,
	op.Gives, op.Audited("records.exportContact"))

func beginContact(ctx context.Context, c *op.Call, in Input) (BeginOutput, error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return BeginOutput{}, err
	}
	if in.Organization == "" { // the environment that the caller is in
		o.Number = c.Actor.Org()
	}
	x, err := in.begin(c, aContact, o.Number, o.Live)
	if err != nil {
		return BeginOutput{}, err
	}
	of, err := x.reader(ctx, c, c.Tx)
	if err != nil {
		return BeginOutput{}, err
	}
	if !x.may(c, contact.Contacts.Family) {
		return BeginOutput{}, access.Lacking(contact.Contacts.ReadScope())
	}
	f, _, err := contact.Contacts.Members(ctx, of, in.ID)
	if err != nil {
		return BeginOutput{}, err
	}
	n, err := x.size(ctx, c, of)
	if err != nil {
		return BeginOutput{}, err
	}
	if err := lookup.CheckSize(ctx, c, o.Number, in.ID, n, tooMany); err != nil {
		return BeginOutput{}, err
	}
	if x.Last, err = db.LastTick(ctx, c.Tx, x.Organization); err != nil {
		return BeginOutput{}, err
	}
	c.Audit.About(o.Number, in.ID)
	c.Audit.Changed("records", nil, n)
	return x.seal(c, text(f.DisplayName), n)
}

// size counts the contact with its tasks and documents, as far as the caller reads
// them.
func (x *export) size(ctx context.Context, c, of *op.Call) (int64, error) {
	all := int64(1)
	if x.may(c, task.Tasks.Family) {
		n, err := task.Tasks.Count(ctx, of, record.CountInput{}, &task.Filters{ContactID: x.ID})
		if err != nil {
			return 0, err
		}
		all += n.Count
	}
	if x.may(c, document.Documents.Family) {
		n, err := document.Documents.Count(ctx, of, record.CountInput{}, &document.Filters{ContactID: x.ID})
		if err != nil {
			return 0, err
		}
		all += n.Count
	}
	return all, nil
}

var tooMany = i18n.Text("10,000 records or more belong to this contact. Only the operator can compile this file, from the export of the whole organization.")

// BeginPrincipal begins the export of what is kept about a person of the office, or
// about a service account: for themselves, and for admins.
var BeginPrincipal = op.New("exports.person", op.Administer, beginPrincipal, op.By(op.Self|op.Operator), op.Reads,
	op.Fresh, op.Gives, op.Audited("records.exportPerson"))

func beginPrincipal(ctx context.Context, c *op.Call, in Input) (BeginOutput, error) {
	p, err := principal.FindOwn(ctx, c, in.ID)
	if err != nil {
		return BeginOutput{}, err
	}
	x, err := in.begin(c, aPrincipal, p.Home, p.Home)
	if err != nil {
		return BeginOutput{}, err
	}
	c.Audit.About(p.Home, p.ID)
	if err := c.Gives(ctx, op.Gain{Word: op.PersonExported, ID: p.ID, Organization: p.Home, Principal: p.ID}); err != nil {
		return BeginOutput{}, err
	}
	return x.seal(c, p.Name, 0)
}

// BeginOrganization begins the export of everything of an organization.
var BeginOrganization = op.New("exports.organization", op.Administer, beginOrganization,
	op.By(op.Admin|op.Operator), op.Reads, op.Fresh, op.Gives, op.Audited("records.exportOrganization"))

func beginOrganization(ctx context.Context, c *op.Call, in Input) (BeginOutput, error) {
	if in.ID == "" && !c.IsOperator() {
		in.ID = c.Actor.Organization().ID
	}
	o, err := c.FindOrganization(ctx, in.ID)
	if err != nil {
		return BeginOutput{}, err
	}
	x, err := in.begin(c, anOrganization, o.Number, o.Live)
	if err != nil {
		return BeginOutput{}, err
	}
	c.Audit.About(o.Number, o.ID)
	if err := c.Gives(ctx, op.Gain{Word: op.AllExported, ID: o.ID, Organization: o.Number}); err != nil {
		return BeginOutput{}, err
	}
	return x.seal(c, o.Name, 0)
}

// AuditInput is the input of BeginAudit.
type AuditInput struct {
	Organization string `json:"organizationId,omitempty"`
}

// BeginAudit decides whether the audit log may leave as a file, whatever its size. Its lines
// are read page by page afterwards, like those on the screen.
var BeginAudit = op.New("exports.audit", op.Administer, beginAudit, op.By(op.Admin), op.Reads, op.Fresh, op.Gives,
	op.Audited("audit.export"))

func beginAudit(ctx context.Context, c *op.Call, in AuditInput) (op.Nothing, error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(o.Number, o.ID)
	return op.Nothing{}, c.Gives(ctx, op.Gain{Word: op.AuditExported, ID: o.ID, Organization: o.Number})
}

// export is an export, and how far it came: the content of its cursor.
type export struct {
	Subject      subject `json:"s"`
	ID           string  `json:"i"`
	Organization int64   `json:"o"`
	// Live is the organization that has the people: of a sandbox the live one.
	Live     int64         `json:"l"`
	Language i18n.Language `json:"g"`
	Begun    clock.Micros  `json:"b"`
	// Last is the tick of the last change before an export about a contact: what was
	// made later is left out.
	Last clock.Micros `json:"t,omitempty"`
	// Stage is the number of the stage to go on with, and the rest is its position.
	Stage int `json:"n,omitempty"`
	position
}

// position is a position within a stage.
type position struct {
	// After is the last id that the stage is done with.
	After string `json:"a,omitempty"`
	// Open is the document whose file goes on, at Offset.
	Open   string `json:"d,omitempty"`
	Offset int64  `json:"p,omitempty"`
	// Path is the file's path in the archive. It stays if the document is renamed.
	Path string `json:"f,omitempty"`
	// Ended is the time of the call After, in the request log.
	Ended clock.Micros `json:"u,omitempty"`
}

// say returns a text in the language of the file.
func (x *export) say(t i18n.Text, values ...any) string {
	return x.Language.Say(t, values...)
}

// may reports whether the caller reads a family in the export.
func (x *export) may(c *op.Call, f op.Family) bool {
	return c.IsOperator() || x.Subject == anOrganization || c.Actor.May(f.ReadScope())
}

// reader returns the call that reads records: the caller's own. The operator, and an
// admin who exports the organization, read all of them.
func (x *export) reader(ctx context.Context, c *op.Call, tx db.Tx) (*op.Call, error) {
	of := *c
	of.Tx = tx
	if !c.IsOperator() && c.Actor.Org() == x.Organization && x.Subject == aContact {
		return &of, nil
	}
	if !c.Administers() {
		return nil, fault.New(fault.NotFound)
	}
	var err error
	of.Actor, err = access.CaretakerOf(ctx, tx, x.Organization)
	return &of, err
}

// mayContinue checks that the caller may go on with the export.
func (x *export) mayContinue(ctx context.Context, c *op.Call) error {
	var err error
	switch x.Subject {
	case anOrganization:
		if !c.Administers() {
			err = &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope)}
		}
	case aPrincipal:
		_, err = principal.FindOwn(ctx, c, x.ID)
	case aContact:
		if !x.may(c, contact.Contacts.Family) {
			err = access.Lacking(contact.Contacts.ReadScope())
		}
	}
	return err
}

// own reports whether the export is about the caller.
func (x *export) own(c *op.Call) bool { return x.ID == c.Actor.PrincipalID() }

// isUser reports whether the export is about a person of the office, and not about a
// service account.
func (x *export) isUser() bool { return id.Valid(id.User, x.ID) }

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
