// Package company owns the companies that an office deals with: their members, rules and operations.
package company

import (
	"context"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/search"
)

// Fields are the members of a company besides the envelope.
type Fields struct {
	Name           string          `json:"name" required:"true" min:"1" max:"200" example:"Brauhaus Morgenstern GmbH"`
	LegalForm      *string         `json:"legalForm" max:"200" example:"GmbH"`
	Email          *string         `json:"email" format:"email" max:"254" bare:"true" example:"kontakt@brauhaus.example"`
	Phone          *string         `json:"phone" max:"50" bare:"true" example:"+49 221 9876543" patch:"set"`
	Website        *string         `json:"website" format:"website" max:"2048" bare:"true" example:"https://brauhaus.example/"`
	VatID          *string         `json:"vatId" max:"200" bare:"true" example:"DE123456789"`
	RegisterNumber *string         `json:"registerNumber" max:"200" bare:"true" example:"Amtsgericht Köln HRB 12345"`
	Address        *record.Address `json:"address"`
	record.Additional
	Note *string `json:"note" max:"10000" multiline:"true" example:"Mandant seit 2019." patch:"clear"`
	record.CommonFields
}

// Company is a company as the API returns it.
type Company struct {
	record.Envelope
	Fields
}

// CreateInput is the input of companies.create.
type CreateInput struct {
	Fields Fields `body:"create"`
}

// Filters are the query parameters that filter lists and counts.
type Filters struct {
	ExternalID string `query:"externalId" min:"1" max:"200" example:"crm-4711"`
	Tag        string `query:"tag" min:"1" max:"50" each:"tags" example:"Mandant"`
	OwnerID    string `query:"ownerId" prefix:"usr_,svc_" example:"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
}

// ListInput is the input of companies.list.
type ListInput struct {
	record.ListInput
	Filters
}

// CountInput is the input of companies.count.
type CountInput struct {
	record.CountInput
	Filters
}

// Companies is the collection of all companies.
var Companies = record.NewCollection[Company, Fields](op.Family{
	Object: "company",
	Prefix: id.Company,
	Plural: "companies",
}, record.FilterBy[Filters]()).SortBy(record.Order[Fields]{Parameter: "name", Key: func(f *Fields) (string, bool) {
	return record.NameKey(&f.Name), true
}})

// The operations on companies.
var (
	List   = op.New("companies.list", op.Read, list, op.Scoped, op.Costs(2), op.InBatch)
	Create = op.New("companies.create", op.Create, create, op.Scoped, op.Costs(5), op.InBatch, op.Emits("company.created"))
	Count  = op.New("companies.count", op.Read, count, op.Scoped, op.Costs(2), op.InBatch)
	Get    = op.New("companies.get", op.Get, Companies.Get, op.Scoped, op.Costs(1), op.InBatch)
	Update = op.New("companies.update", op.Update, Companies.Update, op.Scoped, op.Costs(5), op.InBatch,
		op.Emits("company.updated"), op.Gives, op.Audited("records.give"))
	Delete = op.New("companies.delete", op.Delete, Companies.Delete, op.Scoped, op.Costs(10), op.InBatch,
		op.Emits("company.deleted"))
)

// list returns a page of the companies that the caller sees and that match the filters or q.
func list(ctx context.Context, c *op.Call, in ListInput) (record.Page[Company], error) {
	return Companies.List(ctx, c, in.ListInput, &in.Filters)
}

// count counts the companies that the caller sees, up to record.CountCap.
func count(ctx context.Context, c *op.Call, in CountInput) (record.Count, error) {
	return Companies.Count(ctx, c, in.CountInput, &in.Filters)
}

// create creates a company.
func create(ctx context.Context, c *op.Call, in CreateInput) (record.Creation[Company], error) {
	return Companies.Create(ctx, c, &in.Fields)
}

// Shared returns the members that all families have in common.
func (f *Fields) Shared() *record.CommonFields { return &f.CommonFields }

// Normalize drops empty addresses.
func (f *Fields) Normalize() {
	f.Address = f.Address.OrNil()
	f.Additional.Normalize()
}

// Wrong returns nil, because the schema has all rules of companies.
func (f *Fields) Wrong(*op.Services, op.RuleScope) []fault.Field { return nil }

// Words returns the search words of a company. The name has the lowest rank. Email, telephone,
// address, numbers and tags have the next rank, and the note has the last.
func (f *Fields) Words() *search.Document {
	d := new(search.Document)
	d.Add(search.Name, f.Name)
	d.AddAll(search.Detail, f.LegalForm, f.Email, f.VatID, f.RegisterNumber, f.ExternalID)
	d.AddWebsite(search.Detail, f.Website)
	if f.Phone != nil {
		d.AddPhone(search.Detail, *f.Phone)
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
