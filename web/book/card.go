package book

import (
	"cmp"
	"io"
	"net/http"

	"kartei/kit/i18n"
	"kartei/kit/vcard"
	"kartei/web/records"
	"kartei/web/shell"
)

// card returns an entry as vCard 4.0. company is the name of a contact's company. whole adds
// members that a QR code has no room for, such as the note.
func card(f *records.Family, w i18n.Words, v shell.Values, company string, whole bool) string {
	return writeCard(f, vcard.New(cardKind(f)), w, v, company, whole)
}

// oldCard returns an entry as vCard 3.0, which Outlook, Apple and Evolution can read.
func oldCard(f *records.Family, w i18n.Words, v shell.Values, company string) string {
	return writeCard(f, vcard.NewOld(cardKind(f)), w, v, company, true)
}

// Card returns a contact or a company as vCard 4.0, or as vCard 3.0 if old is true. record is its
// JSON in the API. The command line uses Card, so its vCards are the same as on the pages.
func Card(record []byte, company string, old bool) (string, error) {
	v, err := shell.Flatten(record)
	if err != nil {
		return "", err
	}
	f, w := &records.Contacts, i18n.Words{Language: i18n.German}
	if v["object"] == "company" {
		f = &records.Companies
	}
	if old {
		return oldCard(f, w, v, company), nil
	}
	return card(f, w, v, company, true), nil
}

// cardKind returns the KIND of a family's vCards.
func cardKind(f *records.Family) string {
	if f.Organizations {
		return "org"
	}
	return "individual"
}

func writeCard(f *records.Family, c *vcard.Card, w i18n.Words, v shell.Values, company string, whole bool) string {
	c.Add("FN", cmp.Or(f.Heading(v), v["email"], v["phone"], v["id"]))
	c.Parts("N", v["lastName"], v["firstName"], "", v["title"], v["nameSuffix"])
	if f.Organizations {
		company = v["name"]
	}
	unit := []string{company}
	if v["department"] != "" {
		unit = append(unit, v["department"])
	}
	c.Parts("ORG", unit...)
	c.Add("TITLE", v["jobTitle"])
	more := additional{c: c}
	if whole {
		more.emails, more.phones = shell.Entries(v["additionalEmails"]), shell.Entries(v["additionalPhones"])
		more.addresses = shell.Entries(v["additionalAddresses"])
	}
	addNumbers(c, w, more.first("TEL", "cell", more.phones), v["mobile"], v["address.country"], whole)
	addNumbers(c, w, more.first("TEL", "work", more.phones), v["phone"], v["address.country"], whole)
	more.addPhones(w, v["address.country"])
	c.Add(more.first("EMAIL", "", more.emails), v["email"])
	more.addEmails()
	a := shell.AddressOf(v)
	c.Parts(more.first("ADR", "work", more.addresses),
		"", "", a.Street, a.City, a.Region, a.PostalCode, countryOf(a.Country))
	more.addAddresses()
	c.Link("URL", v["website"])
	c.Day("BDAY", v["birthday"])
	if whole {
		c.Add("LANG", v["language"])
		c.Add("NOTE", v["note"])
		c.List("CATEGORIES", shell.Lines(v["tags"])...)
		c.Add("UID", v["id"])
		addOwn(f, c, v)
		if t, ok := shell.TimeOf(v["updatedAt"]); ok {
			c.Add("REV", t.UTC().Format("20060102T150405Z"))
		}
	}
	return c.String()
}

// ownMembers are the members without a standard vCard property. They have extension properties. An
// import can then restore them from an export.
var ownMembers = []struct{ member, property string }{
	{"salutation", "X-KARTEI-SALUTATION"}, {"externalId", "X-KARTEI-EXTERNAL-ID"}, {"companyId", "X-KARTEI-COMPANY-ID"}, {"legalForm", "X-KARTEI-LEGAL-FORM"},
	{"vatId", "X-KARTEI-VAT-ID"}, {"registerNumber", "X-KARTEI-REGISTER-NUMBER"},
}

// addOwn adds the extension properties of an entry. Each attribute is a property with a JSON object, so
// that any character is kept.
func addOwn(f *records.Family, c *vcard.Card, v shell.Values) {
	for _, own := range ownMembers {
		c.Add(own.property, v[own.member])
	}
	if v["visibility"] == "private" {
		c.Add("X-KARTEI-VISIBILITY", v["visibility"])
	}
	for _, a := range shell.Attributes(v) {
		c.Add("X-KARTEI-ATTRIBUTE", attributesJSON(a))
	}
}

// addNumbers adds each telephone number in a member of an entry as a tel: URI. If the text contains
// no unambiguous number, it adds the text itself. If whole is true, the first number also has the
// typed text as a parameter, unless the text is the number. Further numbers of the text have an empty
// one. country is the country of the entry.
func addNumbers(c *vcard.Card, w i18n.Words, name, typed, country string, whole bool) {
	numbers := w.Numbers(typed, country)
	if len(numbers) == 0 {
		c.Add(name, typed)
		return
	}
	for i, n := range numbers {
		parameter := ";VALUE=uri"
		switch {
		case whole && i > 0:
			parameter += vcard.Typed("")
		case whole && typed != n.E164:
			parameter += vcard.Typed(typed)
		}
		c.URI(name+parameter, n.URI())
	}
}

// entryWithCompany reads the entry in the path, and the name of its company.
func entryWithCompany(v *shell.Request, f *records.Family) (entry shell.Values, company string, err error) {
	if entry, err = records.Get(v, f, v.PathValue("id")); err != nil || entry["companyId"] == "" {
		return entry, "", err
	}
	names := map[string]string{}
	err = v.TitlesOf([]string{entry["companyId"]}, names)
	return entry, names[entry["companyId"]], err
}

// showCard returns the handler that serves an entry as a vCard file. With version=3 in the query,
// it is vCard 3.0.
func showCard(f *records.Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		entry, company, err := entryWithCompany(v, f)
		if err != nil {
			return records.Missing(v, err)
		}
		return shell.Download{
			Name: shell.NameOfFile(f.Heading(entry), "vcf"), MediaType: vcard.MediaType, Write: func(w http.ResponseWriter) error {
				card := card(f, v.Words, entry, company, true)
				if v.URL.Query().Get("version") == "3" {
					card = oldCard(f, v.Words, entry, company)
				}
				_, err := io.WriteString(w, card)
				return err
			},
		}
	}
}

// showQR returns the handler of the page with an entry's QR code.
func showQR(f *records.Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		entry, company, err := entryWithCompany(v, f)
		if err != nil {
			return records.Missing(v, err)
		}
		return v.InDialog(f.Heading(entry), f.Name, qrView(v, card(f, v.Words, entry, company, false)))
	}
}
