package lookup

import (
	"context"
	"slices"

	"kartei/access"
	"kartei/app"
	"kartei/company"
	"kartei/contact"
	"kartei/kit/fault"
	"kartei/record"
)

const (
	// mostExported is how many records an export has at most. The pages of a list
	// count as outflow, of which a person has three times as much in an hour.
	mostExported = record.CountCap - 1
	// unconfirmed is how many records leave without a recent sign-in.
	unconfirmed = 1000
)

// ExportInput is the input of BeginExport: which records of a list, and as what.
type ExportInput struct {
	// Family is contacts or companies.
	Family string `json:"family"`
	// Format is the kind of file, for the audit log.
	Format string `json:"format"`
	// Chosen is the number of records that were chosen one by one. Without it all
	// records count that fit.
	Chosen int64 `json:"chosen,omitempty"`
	// Q and Filters are those of the list, by the names of its parameters.
	Q       string            `json:"q,omitempty"`
	Filters map[string]string `json:"filters,omitempty"`
}

// formats are the kinds of files, and labels on paper.
var formats = []string{"csv", "vcard", "labels"}

// Export is an export that may begin.
type Export struct {
	Count int64 `json:"count"`
}

// BeginExport decides whether a list may leave as a file, and notes it in the audit
// log. The records are read page by page afterwards, with the rights of the lists.
func BeginExport(ctx context.Context, c *app.Call, in ExportInput) (out Export, err error) {
	if in.Family != contact.Contacts.Plural && in.Family != company.Companies.Plural {
		return out, fault.Invalid(fault.Field{Name: "family", Code: fault.NotInEnum, Limit: []string{contact.Contacts.Plural, company.Companies.Plural}})
	}
	if !slices.Contains(formats, in.Format) {
		return out, fault.Invalid(fault.Field{Name: "format", Code: fault.NotInEnum, Limit: formats})
	}
	if scope := in.Family + ":read"; !c.Actor.May(scope) {
		return out, access.Lacking(scope)
	}
	if out.Count, err = in.count(ctx, c); err != nil {
		return out, err
	}
	if err := CheckSize(c, out.Count, &tooMany); err != nil {
		return out, err
	}
	o := c.Actor.Organization()
	c.Audit.About(o.Number, o.ID)
	c.Audit.Changed("family", nil, in.Family)
	c.Audit.Changed("format", nil, in.Format)
	c.Audit.Changed("records", nil, out.Count)
	c.Audit.Hidden("filter", in.Q != "" || len(in.Filters) > 0)
	return out, nil
}

// CheckSize refuses an export with too many records, or with many records that the caller
// did not confirm by a recent sign-in.
func CheckSize(c *app.Call, records int64, tooMany *fault.Text) error {
	by := c.Actor.Credential()
	switch {
	case records > mostExported:
		return &fault.Fault{Code: fault.PayloadTooLarge, Detail: tooMany}
	case records > unconfirmed && by.Kind != access.Operator && c.Now >= by.FreshUntil:
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NotFresh), Detail: &confirmFirst}
	}
	return nil
}

// count counts the records of an export.
func (in *ExportInput) count(ctx context.Context, c *app.Call) (int64, error) {
	if in.Family == contact.Contacts.Plural {
		return countList(in, func(of record.CountInput, filters contact.Filters) (record.Count, error) {
			return contact.Count(ctx, c, contact.CountInput{CountInput: of, Filters: filters})
		})
	}
	return countList(in, func(of record.CountInput, filters company.Filters) (record.Count, error) {
		return company.Count(ctx, c, company.CountInput{CountInput: of, Filters: filters})
	})
}

// countList counts the records of an export with the filters of its list.
func countList[X any](in *ExportInput, count func(record.CountInput, X) (record.Count, error)) (int64, error) {
	filters, err := record.ReadFilters[X](in.Filters)
	if err != nil || in.Chosen > 0 {
		return in.Chosen, err
	}
	n, err := count(record.CountInput{Q: in.Q}, filters)
	return n.Count, err
}

var tooMany = fault.Text{
	DE: "Auf einmal lassen sich weniger als 10.000 Einträge exportieren. Bitte grenzen Sie die Liste ein, zum Beispiel mit einem Schlagwort.",
	EN: "Fewer than 10,000 entries can be exported at once. Please narrow the list, for example by a tag.",
}

var confirmFirst = fault.Text{
	DE: "Mehr als 1.000 Einträge verlassen die Kartei nur nach einer neuen Anmeldung. Bitte melden Sie sich noch einmal an.",
	EN: "More than 1,000 entries leave the file only after a recent sign-in. Please sign in again.",
}
