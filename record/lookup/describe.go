package lookup

import (
	"strconv"
	"strings"

	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/duplicate"
	"kartei/record/task"
)

// The functions below choose the members that a result line shows for a record. A line shows the
// members that matter on the telephone, and any other member if it matches the query. Members
// that the search index does not have are left out.

func describeContact(d *draft, f *contact.Fields) {
	d.title(f.DisplayName)
	d.subject = func() *duplicate.Subject { return duplicate.OfContact(f) }
	d.add(names, "companyId", f.CompanyID)
	d.add(phone, "mobile", f.Mobile)
	d.add(phone, "phone", f.Phone)
	d.add(email, "email", f.Email)
	d.add(always, "address", place(f.Address))
	d.add(found, "title", f.Title)
	d.add(found, "nameSuffix", f.NameSuffix)
	d.add(found, "jobTitle", f.JobTitle)
	d.add(found, "department", f.Department)
	d.add(found, "website", f.Website)
	d.sharing(&f.CommonFields)
	d.add(excerpt, "note", f.Note)
	d.in(f.Address)
	d.identify(phone, f.Mobile)
	d.identify(phone, f.Phone)
	d.identify(email, f.Email)
	d.additional(&f.Additional)
}

func describeCompany(d *draft, f *company.Fields) {
	d.title(&f.Name)
	d.subject = func() *duplicate.Subject { return duplicate.OfCompany(f) }
	d.add(phone, "phone", f.Phone)
	d.add(email, "email", f.Email)
	d.add(always, "address", place(f.Address))
	d.add(found, "legalForm", f.LegalForm)
	d.add(found, "website", f.Website)
	d.add(found, "vatId", f.VatID)
	d.add(found, "registerNumber", f.RegisterNumber)
	d.sharing(&f.CommonFields)
	d.add(excerpt, "note", f.Note)
	d.in(f.Address)
	d.identify(phone, f.Phone)
	d.identify(email, f.Email)
	d.identify(always, f.VatID)
	d.identify(always, f.RegisterNumber)
	d.additional(&f.Additional)
}

func describeTask(d *draft, f *task.Fields) {
	d.title(&f.Title)
	d.add(state, "status", (*string)(&f.Status))
	d.add(state, "priority", (*string)(&f.Priority))
	if f.DueAt != nil {
		due := strings.Trim(string(f.DueAt.AppendJSON(nil)), `"`)
		d.add(state, "dueAt", &due)
	}
	d.add(always, "reference", f.Reference)
	d.add(names, "contactId", f.ContactID)
	d.add(names, "companyId", f.CompanyID)
	d.add(names, "documentId", f.DocumentID)
	d.sharing(&f.CommonFields)
	d.add(excerpt, "description", f.Description)
}

func describeDocument(d *draft, f *document.Fields) {
	d.title(&f.Name)
	size := strconv.FormatInt(f.Size, 10)
	d.add(state, "contentType", &f.ContentType)
	d.add(state, "size", &size)
	d.add(always, "reference", f.Reference)
	d.add(names, "contactId", f.ContactID)
	d.add(names, "companyId", f.CompanyID)
	d.add(names, "taskId", f.TaskID)
	d.keptCheck = f.Attributes[KeptCheck] != ""
	d.sharing(&f.CommonFields)
}

func (d *draft) title(text *string) {
	if text != nil {
		d.Title = *text
	}
}

// in sets the country of the record's telephone numbers. The default is Germany. With a wrong
// country, only the length of the area code would be wrong.
func (d *draft) in(a *record.Address) {
	if d.country = "DE"; a != nil && a.Country != nil {
		d.country = *a.Country
	}
	d.street(a)
}

// street adds the street of an address.
func (d *draft) street(a *record.Address) {
	if a != nil && a.Street != nil {
		d.streets = append(d.streets, streetKey(*a.Street))
	}
}

// additional adds the emails, numbers and addresses besides the first ones. A line shows those that
// match the query.
func (d *draft) additional(a *record.Additional) {
	for _, p := range a.AdditionalPhones {
		d.add(foundPhone, "additionalPhones", &p.Phone)
		d.identify(phone, &p.Phone)
	}
	for _, e := range a.AdditionalEmails {
		d.add(found, "additionalEmails", &e.Email)
		d.identify(email, &e.Email)
	}
	for _, at := range a.AdditionalAddresses {
		d.add(found, "additionalAddresses", place(&at.Address))
		d.street(&at.Address)
	}
}

// sharing adds the members that all families have in common.
func (d *draft) sharing(s *record.CommonFields) {
	for _, tag := range s.Tags {
		d.add(found, "tags", &tag)
	}
	d.add(found, "externalId", s.ExternalID)
	d.identify(always, s.ExternalID)
}

// place returns the postal code and the city, which are in the search index. It returns nil
// without an address.
func place(a *record.Address) *string {
	if a == nil {
		return nil
	}
	var words []string
	for _, w := range []*string{a.PostalCode, a.City} {
		if w != nil {
			words = append(words, *w)
		}
	}
	text := strings.Join(words, " ")
	return &text
}
