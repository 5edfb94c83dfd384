// Package exports owns the exports of lists, of everything about a person, and of a whole organization.
//
// A page writes the file of a list, after BeginList has allowed it. The file about a person or an
// organization is a ZIP archive that is not stored. One operation begins an export: it checks the
// rights, and writes the export to the audit log. Another operation then returns the parts, one
// response after the other. Each response checks the current rights, uses a short read
// transaction, and needs a limited amount of memory. The door packs the parts into the archive
// while they arrive, for a browser or for the command line. See docs/decisions/0050.
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
	"kartei/record/task"
	"kartei/store/db"
)

// subject says what an export is about.
type subject string

// The values of subject.
const (
	aContact       subject = "contact"
	aPrincipal     subject = "principal"
	anOrganization subject = "organization"
)

// BeginOutput is the output of the operations that begin an export.
type BeginOutput struct {
	// Cursor is the input of GetParts.
	Cursor string `json:"cursor"`
	// Name is the name of the contact, the person or the organization.
	Name string `json:"name"`
	// Size is the number of records in an export about a contact. It is zero for other exports.
	Size int64 `json:"records"`
}

// Input is the input of the operations that begin an export.
type Input struct {
	// Organization is the id of the contact's organization. Only the operator sets it.
	Organization string `json:"organizationId,omitempty"`
	// ID is the id of a contact, a person or service account, or an organization.
	ID string `json:"id"`
	// Language is the language of texts in the file, de or en. If it is empty, the language of
	// the caller is used.
	Language i18n.Language `json:"language,omitempty"`
}

// begin returns a new export of a subject. It fails with a fault if the language is unknown.
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

// seal returns the output of an operation that begins an export, with the encrypted cursor.
func (x *export) seal(c *op.Call, name string, size int64) (BeginOutput, error) {
	cursor, err := c.Services.Cursors.Seal(scope(c), c.Now, x)
	return BeginOutput{cursor, name, size}, err
}

// scope returns the scope of a cursor. It binds the cursor to the caller.
func scope(c *op.Call) string {
	return fmt.Sprintf("export|%s|%d|%s", c.Actor.Credential().Kind, c.Actor.Org(), c.Actor.PrincipalID())
}

// BeginContact begins the export of everything about a contact. The office needs it for the right
// of access (GDPR, article 15).
var BeginContact = op.New("exports.contact", op.Administer, beginContact, op.By(op.Member|op.Operator), op.Reads,
	op.Gives, op.Audited("records.exportContact"))

func beginContact(ctx context.Context, c *op.Call, in Input) (BeginOutput, error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return BeginOutput{}, err
	}
	if in.Organization == "" { // the environment of the caller
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
	if err := checkSize(ctx, c, o.Number, in.ID, n, tooMany); err != nil {
		return BeginOutput{}, err
	}
	if x.Last, err = db.LastTick(ctx, c.Tx, x.Organization); err != nil {
		return BeginOutput{}, err
	}
	c.Audit.About(o.Number, in.ID)
	c.Audit.Changed("records", nil, n)
	return x.seal(c, text(f.DisplayName), n)
}

// size returns the number of records: the contact, and its tasks and documents if the caller may
// read them.
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

// BeginPrincipal begins the export of the data about a person of the office or a service account.
// Only that person, admins and the operator may do so.
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

// BeginOrganization begins the export of all data of an organization.
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

// BeginAudit decides whether the caller may export the audit log, whatever its size. Afterwards,
// the caller reads the lines page by page with the usual operation.
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

// export is an export with its progress. It is the content of a cursor.
type export struct {
	Subject      subject `json:"s"`
	ID           string  `json:"i"`
	Organization int64   `json:"o"`
	// Live is the number of the organization that has the people. For a sandbox, it is the live
	// organization.
	Live     int64         `json:"l"`
	Language i18n.Language `json:"g"`
	Begun    clock.Micros  `json:"b"`
	// Last is the tick of the last change before an export about a contact. The export leaves out
	// later records and changes. Zero means no limit.
	Last clock.Micros `json:"t,omitempty"`
	// Stage is the number of the current stage. The position is the position within this stage.
	Stage int `json:"n,omitempty"`
	position
}

// position is a position within a stage.
type position struct {
	// After is the id of the last entry that the stage has processed.
	After string `json:"a,omitempty"`
	// Open is the id of the document whose file continues at Offset.
	Open   string `json:"d,omitempty"`
	Offset int64  `json:"p,omitempty"`
	// Path is the path of the open file in the archive. It stays the same if the document is
	// renamed.
	Path string `json:"f,omitempty"`
	// Ended is the time of the last call that the stage has processed, in the request log.
	Ended clock.Micros `json:"u,omitempty"`
}

// say returns a text in the language of the file.
func (x *export) say(t i18n.Text, values ...any) string {
	return x.Language.Say(t, values...)
}

// may reports whether the caller may read a family in the export.
func (x *export) may(c *op.Call, f op.Family) bool {
	return c.IsOperator() || x.Subject == anOrganization || c.Actor.May(f.ReadScope())
}

// reader returns the call with which the export reads records. For an export about a contact,
// this is usually the call of the caller. The operator, and an admin who exports the
// organization, may read all records.
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

// mayContinue returns a fault unless the caller may continue the export.
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

// isUser reports whether the export is about a person of the office. It returns false for a
// service account.
func (x *export) isUser() bool { return id.Valid(id.User, x.ID) }

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
