package lookup

import (
	"context"
	"slices"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/audit"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
)

const (
	// maxExported is how many records an export has at most. The pages of a list
	// count as outflow, of which a person has three times as much in an hour.
	maxExported = record.CountCap - 1
	// unconfirmed is how many records a person takes out within a day without a recent
	// sign-in.
	unconfirmed = 200
	// counted bounds the exports of a day that are counted. Beyond it each one asks.
	counted = 1000
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
	// Q and Filters are the list's, by the names of its parameters.
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
var BeginExport = op.New("exports.begin", op.Administer, beginExport, op.By(op.Member), op.Reads, op.Gives,
	op.Audited("records.export"))

func beginExport(ctx context.Context, c *op.Call, in ExportInput) (out Export, err error) {
	if in.Family != contact.Contacts.Plural && in.Family != company.Companies.Plural {
		return out, fault.Invalid(fault.Field{
			Name:  "family",
			Code:  fault.NotInEnum,
			Limit: []string{contact.Contacts.Plural, company.Companies.Plural},
		})
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
	o := c.Actor.Organization()
	if err := CheckSize(ctx, c, o.Number, o.ID, out.Count, tooMany); err != nil {
		return out, err
	}
	c.Audit.About(o.Number, o.ID)
	c.Audit.Changed("family", nil, in.Family)
	c.Audit.Changed("format", nil, in.Format)
	c.Audit.Changed("records", nil, out.Count)
	c.Audit.Hidden("filter", in.Q != "" || len(in.Filters) > 0)
	return out, nil
}

// exportWords are the words of the exports that count in a day.
var exportWords = []string{"records.export", "records.exportContact"}

// CheckSize refuses an export with too many records. If a person takes out many records within
// a day, the export gives access, and needs a recent sign-in. What is exported has the id that
// about names.
func CheckSize(
	ctx context.Context, c *op.Call, organization int64, about string, records int64, tooMany i18n.Text,
) error {
	by := c.Actor.Credential()
	if records > maxExported {
		return &fault.Fault{Code: fault.PayloadTooLarge, Detail: tooMany}
	}
	if by.Kind == access.Operator {
		return nil
	}
	today, err := exported(ctx, c, organization)
	if err != nil || today+records <= unconfirmed {
		return err
	}
	if c.Now >= by.FreshUntil {
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NotFresh), Detail: confirmFirst}
	}
	return c.Gives(ctx, op.Gain{
		Word: op.ListExported, ID: about, Organization: organization, Principal: c.Actor.PrincipalID(),
	})
}

// exported returns how many records the caller took out within the last 24 hours, by the audit
// log. Two exports at the same moment do not see each other.
func exported(ctx context.Context, c *op.Call, organization int64) (all int64, err error) {
	for _, word := range exportWords {
		lines, err := audit.Query(ctx, c.Tx, map[int64]string{organization: ""},
			audit.Filter{Who: c.Actor.PrincipalID(), Word: word, Since: c.Now.Add(-24 * time.Hour), Limit: counted})
		if err != nil {
			return 0, err
		}
		if len(lines) == counted {
			return unconfirmed, nil
		}
		for _, l := range lines {
			for _, change := range l.Changes {
				if n, is := change.To.(float64); is && change.Member == "records" {
					all += int64(n)
				}
			}
		}
	}
	return all, nil
}

// count counts the records of an export.
func (in *ExportInput) count(ctx context.Context, c *op.Call) (int64, error) {
	if in.Family == contact.Contacts.Plural {
		return countList(in, func(of record.CountInput, filters contact.Filters) (record.Count, error) {
			return contact.Contacts.Count(ctx, c, of, &filters)
		})
	}
	return countList(in, func(of record.CountInput, filters company.Filters) (record.Count, error) {
		return company.Companies.Count(ctx, c, of, &filters)
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

var tooMany = i18n.Text("Fewer than 10,000 entries can be exported at once. Please narrow the list, for example by a tag.")

var confirmFirst = i18n.Text("More than 200 entries a day leave the file only after a recent sign-in. Please sign in again.")
