package exports

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
	// maxExported is the maximum number of records in an export. An export reads pages of a list,
	// which count towards the caller's outflow limit. This limit allows a person three times as
	// many records in an hour.
	maxExported = record.CountCap - 1
	// unconfirmed is the number of records that a person may export within a day without a recent
	// sign-in.
	unconfirmed = 200
	// counted is the maximum number of exports of a day that are counted. If a day has as many,
	// each further export requires a recent sign-in.
	counted = 1000
)

// ListInput is the input of BeginList. It describes the records and the format of the export.
type ListInput struct {
	// Family is contacts or companies.
	Family string `json:"family"`
	// Format is one of formats. The audit log has it.
	Format string `json:"format"`
	// Chosen is the number of records that the person selected one by one. Zero means all records
	// that match Q and Filters.
	Chosen int64 `json:"chosen,omitempty"`
	// Q and Filters are the search text and the filters of the list. The keys of Filters are the
	// names of query parameters.
	Q       string            `json:"q,omitempty"`
	Filters map[string]string `json:"filters,omitempty"`
}

// formats are the file formats of exports. labels stands for printed labels.
var formats = []string{"csv", "vcard", "labels"}

// ListOutput is the output of BeginList. Count is the number of records in the export.
type ListOutput struct {
	Count int64 `json:"count"`
}

// BeginList decides whether the caller may export a list, and writes the export to the audit
// log. Afterwards, the caller reads the records page by page with the operations of the lists.
var BeginList = op.New("exports.begin", op.Administer, beginList, op.By(op.Member), op.Reads, op.Gives,
	op.Audited("records.export"))

func beginList(ctx context.Context, c *op.Call, in ListInput) (out ListOutput, err error) {
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
	if err := checkSize(ctx, c, o.Number, o.ID, out.Count, tooManyEntries); err != nil {
		return out, err
	}
	c.Audit.About(o.Number, o.ID)
	c.Audit.Changed("family", nil, in.Family)
	c.Audit.Changed("format", nil, in.Format)
	c.Audit.Changed("records", nil, out.Count)
	c.Audit.Hidden("filter", in.Q != "" || len(in.Filters) > 0)
	return out, nil
}

// exportWords are the audit words of the exports that exported counts.
var exportWords = []string{"records.export", "records.exportContact"}

// checkSize returns a fault if an export has too many records. If the caller exports many records
// within a day, checkSize requires a recent sign-in and sends a notice. about is the id of the
// exported organization or record, for the notice.
func checkSize(
	ctx context.Context, c *op.Call, organization int64, about string, records int64, tooManyEntries i18n.Text,
) error {
	by := c.Actor.Credential()
	if records > maxExported {
		return &fault.Fault{Code: fault.PayloadTooLarge, Detail: tooManyEntries}
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

// exported returns the number of records that the caller exported within the last 24 hours,
// according to the audit log. Two simultaneous exports do not count each other.
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

// count returns the number of records in an export.
func (in *ListInput) count(ctx context.Context, c *op.Call) (int64, error) {
	if in.Family == contact.Contacts.Plural {
		return countList(in, func(of record.CountInput, filters contact.Filters) (record.Count, error) {
			return contact.Contacts.Count(ctx, c, of, &filters)
		})
	}
	return countList(in, func(of record.CountInput, filters company.Filters) (record.Count, error) {
		return company.Companies.Count(ctx, c, of, &filters)
	})
}

// countList returns the number of records in an export of a family with filters of type X.
func countList[X any](in *ListInput, count func(record.CountInput, X) (record.Count, error)) (int64, error) {
	filters, err := record.ReadFilters[X](in.Filters)
	if err != nil || in.Chosen > 0 {
		return in.Chosen, err
	}
	n, err := count(record.CountInput{Q: in.Q}, filters)
	return n.Count, err
}

var tooManyEntries = i18n.Text("Fewer than 10,000 entries can be exported at once. Please narrow the list, for example by a tag.")

var confirmFirst = i18n.Text("More than 200 entries a day leave the file only after a recent sign-in. Please sign in again.")
