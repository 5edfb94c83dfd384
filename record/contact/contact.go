// Package contact owns the people in an office's address book: their members, rules and operations.
package contact

import (
	"context"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/search"

	"golang.org/x/text/language"
)

// Fields are the members of a contact besides the envelope. At least one of
// firstName, lastName and email must be set.
type Fields struct {
	DisplayName *string         `json:"displayName" read:"true" example:"Anna Berg"`
	Salutation  *string         `json:"salutation" enum:"mr,ms,mx" named:"Salutation" example:"ms"`
	Title       *string         `json:"title" max:"200" example:"Dr."`
	FirstName   *string         `json:"firstName" max:"200" example:"Anna"`
	LastName    *string         `json:"lastName" max:"200" example:"Berg"`
	NameSuffix  *string         `json:"nameSuffix" max:"200" example:"LL.M."`
	Email       *string         `json:"email" format:"email" max:"254" bare:"true" example:"anna.berg@example.com"`
	Phone       *string         `json:"phone" max:"50" bare:"true" example:"+49 221 9876543"`
	Mobile      *string         `json:"mobile" max:"50" bare:"true" example:"+49 171 1234567"`
	Website     *string         `json:"website" format:"website" max:"2048" bare:"true" example:"https://berg.example/"`
	JobTitle    *string         `json:"jobTitle" max:"200" example:"Steuerberaterin" patch:"set"`
	Department  *string         `json:"department" max:"200" example:"Einkauf"`
	CompanyID   *string         `json:"companyId" prefix:"cmp_" ref:"companies"`
	Address     *record.Address `json:"address"`
	record.Additional
	Language *string `json:"language" format:"language" max:"35" bare:"true" example:"de-DE"`
	Birthday *string `json:"birthday" format:"date" bare:"true" example:"1984-05-17"`
	Note     *string `json:"note" max:"10000" multiline:"true" example:"Bevorzugt Post an die Kanzlei." patch:"clear"`
	record.CommonFields
}

// Contact is a contact as the API returns it.
type Contact struct {
	record.Envelope
	Fields
}

// CreateInput is the input of contacts.create.
type CreateInput struct {
	Fields Fields `body:"create" rule:"true"`
}

// Filters are the query parameters that filter lists and counts. They are ordered by selectivity:
// the filter whose values the fewest records share comes first.
type Filters struct {
	ExternalID string `query:"externalId" min:"1" max:"200" example:"crm-4711"`
	Email      string `query:"email" min:"1" max:"254" few:"true" fold:"true" also:"additionalEmails" example:"anna.berg@example.com"`
	CompanyID  string `query:"companyId" prefix:"cmp_" example:"cmp_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Tag        string `query:"tag" min:"1" max:"50" each:"tags" example:"Mandant"`
	OwnerID    string `query:"ownerId" prefix:"usr_,svc_" example:"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
}

// ListInput is the input of contacts.list.
type ListInput struct {
	record.ListInput
	Filters
}

// CountInput is the input of contacts.count.
type CountInput struct {
	record.CountInput
	Filters
}

// Contacts is the collection of all contacts.
var Contacts = record.NewCollection[Contact, Fields](op.Family{
	Object: "contact",
	Prefix: id.Contact,
	Plural: "contacts",
}, record.FilterBy[Filters]()).SortBy(record.Order[Fields]{Parameter: "name", Key: func(f *Fields) (string, bool) {
	if f.FirstName == nil && f.LastName == nil {
		return record.NameKey(f.Email, nil), true
	}
	return record.NameKey(f.LastName, f.FirstName), true
}})

// EmailsInTags is the family of the rows in table tags that have additional emails of contacts.
var EmailsInTags = Contacts.Listed("email")

// The operations on contacts.
var (
	List   = op.New("contacts.list", op.Read, list, op.Scoped, op.Costs(2), op.InBatch)
	Create = op.New("contacts.create", op.Create, create, op.Scoped, op.Costs(5), op.InBatch, op.Emits("contact.created"))
	Count  = op.New("contacts.count", op.Read, count, op.Scoped, op.Costs(2), op.InBatch)
	Get    = op.New("contacts.get", op.Get, Contacts.Get, op.Scoped, op.Costs(1), op.InBatch)
	Update = op.New("contacts.update", op.Update, Contacts.Update, op.Scoped, op.Costs(5), op.InBatch,
		op.Emits("contact.updated"), op.Gives, op.Audited("records.give"))
	Delete = op.New("contacts.delete", op.Delete, Contacts.Delete, op.Scoped, op.Costs(10), op.InBatch,
		op.Emits("contact.deleted"))
)

// list returns a page of the contacts that the caller sees and that match the filters or q.
func list(ctx context.Context, c *op.Call, in ListInput) (record.Page[Contact], error) {
	return Contacts.List(ctx, c, in.ListInput, &in.Filters)
}

// count counts the contacts that the caller sees, up to record.CountCap.
func count(ctx context.Context, c *op.Call, in CountInput) (record.Count, error) {
	return Contacts.Count(ctx, c, in.CountInput, &in.Filters)
}

// create creates a contact.
func create(ctx context.Context, c *op.Call, in CreateInput) (record.Creation[Contact], error) {
	return Contacts.Create(ctx, c, &in.Fields)
}

// Shared returns the members that all families have in common.
func (f *Fields) Shared() *record.CommonFields { return &f.CommonFields }

// Normalize sets the display name, removes an empty address and brings the language into its
// usual form.
func (f *Fields) Normalize() {
	f.Address = f.Address.OrNil()
	f.Additional.Normalize()
	f.Language = canonicalLanguage(f.Language)
	f.DisplayName = displayName(f)
}

// Wrong returns violations for a contact without a name and without an email address.
func (f *Fields) Wrong(_ *op.Services, sent op.RuleScope) []fault.Field {
	switch {
	case !sent.Fit("firstName", "lastName", "email") || displayName(f) != nil:
		return nil
	case sent.New: // each of the three would suffice
		return []fault.Field{
			{Name: "firstName", Code: fault.Required, Text: nameMissing},
			{Name: "lastName", Code: fault.Required, Text: nameMissing},
			{Name: "email", Code: fault.Required, Text: nameMissing},
		}
	}
	return []fault.Field{{Name: "lastName", Code: fault.Required, Text: nameMissing}}
}

var nameMissing = i18n.Text("At least one of firstName, lastName and email is required.")

// displayName returns the first and the last name, or else the email address. It is nil if all
// three are missing.
func displayName(f *Fields) *string {
	var names []string
	for _, n := range []*string{f.FirstName, f.LastName} {
		if n != nil {
			names = append(names, *n)
		}
	}
	if len(names) == 0 {
		return f.Email
	}
	name := strings.Join(names, " ")
	return &name
}

// Words returns the search words of a contact. Names have the lowest rank. Title, name
// suffix, job title, department, website, email, telephone, address and tags have the next rank,
// and the note has the last. Street and region
// are left out, because hardly anyone searches for a client by them. A word that few records
// share costs one page of the write-ahead log for each contact.
func (f *Fields) Words() *search.Document {
	d := new(search.Document)
	d.AddAll(search.Name, f.FirstName, f.LastName)
	d.AddAll(search.Detail, f.Title, f.NameSuffix, f.JobTitle, f.Department, f.ExternalID, f.Email)
	d.AddWebsite(search.Detail, f.Website)
	for _, number := range []*string{f.Phone, f.Mobile} {
		if number != nil {
			d.AddPhone(search.Detail, *number)
		}
	}
	if a := f.Address; a != nil {
		d.AddAll(search.Detail, a.PostalCode, a.City)
	}
	f.Additional.Words(d)
	for _, tag := range f.Tags {
		d.Add(search.Detail, tag)
	}
	d.AddAll(search.Note, f.Note)
	return d
}

// canonicalLanguage returns a BCP 47 tag with the usual case, for example de-DE. An unregistered
// tag stays as it is.
func canonicalLanguage(tag *string) *string {
	if tag == nil {
		return nil
	}
	parsed, err := language.Raw.Parse(*tag)
	if err != nil {
		return tag
	}
	s := parsed.String()
	return &s
}
