package office

import (
	"io"
	"net/http"

	"kartei/kit/fault"
	"kartei/kit/vcard"
	"kartei/web/i18n"
)

// card returns an entry as vCard 4.0. company is the name of a contact's firm.
func (f *family) card(w i18n.Words, v values, company string, whole bool) string {
	return f.writeCard(vcard.New(f.cardKind()), w, v, company, whole)
}

// oldCard returns an entry as vCard 3.0, which Outlook and Apple read.
func (f *family) oldCard(w i18n.Words, v values, company string) string {
	return f.writeCard(vcard.NewOld(f.cardKind()), w, v, company, true)
}

// Card returns a contact or a company, as the API returns it, as a vCard: of version 4.0, or
// an old one of version 3.0. The command line writes cards as the pages do.
func Card(record []byte, company string, old bool) (string, error) {
	v, err := flatten(record)
	if err != nil {
		return "", err
	}
	f, w := &contacts, i18n.Words{Language: fault.German}
	if v["object"] == "company" {
		f = &companies
	}
	if old {
		return f.oldCard(w, v, company), nil
	}
	return f.card(w, v, company, true), nil
}

// cardKind is the kind of the cards of a family.
func (f *family) cardKind() string {
	if f == &companies {
		return "org"
	}
	return "individual"
}

func (f *family) writeCard(c *vcard.Card, w i18n.Words, v values, company string, whole bool) string {
	c.Add("FN", first(f.heading(v), v["email"], v["phone"], v["id"]))
	c.Parts("N", v["lastName"], v["firstName"], "", v["title"], "")
	if f == &companies {
		company = v["name"]
	}
	c.Parts("ORG", company)
	c.Add("TITLE", v["jobTitle"])
	addNumbers(c, w, "TEL;TYPE=cell", v["mobile"], v, whole)
	addNumbers(c, w, "TEL;TYPE=work", v["phone"], v, whole)
	c.Add("EMAIL", v["email"])
	a := addressOf(v)
	country := ""
	if a.Country != "" {
		country = i18n.Words{Language: "en"}.Country(a.Country)
	}
	c.Parts("ADR;TYPE=work", "", "", a.Street, a.City, a.Region, a.PostalCode, country)
	c.Add("URL", v["website"])
	c.Day("BDAY", v["birthday"])
	if whole {
		c.Add("LANG", v["language"])
		c.Add("NOTE", v["note"])
		c.List("CATEGORIES", lines(v["tags"])...)
		c.Add("UID", v["id"])
		f.addOwn(c, v)
		if t, ok := timeOf(v["updatedAt"]); ok {
			c.Add("REV", t.UTC().Format("20060102T150405Z"))
		}
	}
	return c.String()
}

// ownMembers are the members that no property of cards has. They have one of Kartei's own,
// so that an export comes back as it was.
var ownMembers = []struct{ member, property string }{
	{"salutation", "X-KARTEI-SALUTATION"}, {"externalId", "X-KARTEI-EXTERNAL-ID"}, {"companyId", "X-KARTEI-COMPANY-ID"}, {"legalForm", "X-KARTEI-LEGAL-FORM"},
	{"vatId", "X-KARTEI-VAT-ID"}, {"registerNumber", "X-KARTEI-REGISTER-NUMBER"},
}

// addOwn adds the members that no property of cards has.
func (f *family) addOwn(c *vcard.Card, v values) {
	for _, own := range ownMembers {
		c.Add(own.property, v[own.member])
	}
	if v["visibility"] == "private" {
		c.Add("X-KARTEI-VISIBILITY", v["visibility"])
	}
}

// addNumbers adds the telephone numbers in a member of an entry, each as a telephone dials
// it, and the text itself if it has none that is sure. A file keeps beside the first
// number what was typed, if that is more than the number.
func addNumbers(c *vcard.Card, w i18n.Words, name, typed string, entry values, whole bool) {
	numbers := w.Numbers(typed, entry["address.country"])
	if len(numbers) == 0 {
		c.Add(name, typed)
		return
	}
	for i, n := range numbers {
		parameter := ";VALUE=uri"
		if whole && i == 0 && typed != n.E164 {
			parameter += vcard.Typed(typed)
		}
		c.URI(name+parameter, n.URI())
	}
}

// entryWithCompany reads an entry of the address book and the name of its company.
func (v *request) entryWithCompany(f *family) (entry values, company string, err error) {
	if entry, err = v.get(f, v.PathValue("id")); err != nil || entry["companyId"] == "" {
		return entry, "", err
	}
	names := map[string]string{}
	err = v.titlesOf([]string{entry["companyId"]}, names)
	return entry, names[entry["companyId"]], err
}

// showCard serves an entry as a file for other address books. With version=3 its card is one
// of version 3.0.
func showCard(f *family) func(*request) view {
	return func(v *request) view {
		entry, company, err := v.entryWithCompany(f)
		if err != nil {
			return v.failed(err)
		}
		return view{status: http.StatusOK, written: &written{
			name: nameOfFile(f.heading(entry), "vcf"), mediaType: vcard.MediaType, write: func(w http.ResponseWriter) error {
				card := f.card(v.words, entry, company, true)
				if v.URL.Query().Get("version") == "3" {
					card = f.oldCard(v.words, entry, company)
				}
				_, err := io.WriteString(w, card)
				return err
			},
		}}
	}
}

// showQR serves the picture that a telephone reads an entry from.
func showQR(f *family) func(*request) view {
	return func(v *request) view {
		entry, company, err := v.entryWithCompany(f)
		if err != nil {
			return v.failed(err)
		}
		return v.inDialog(f.heading(entry), f.name, qrView(v, f.card(v.words, entry, company, false)))
	}
}
