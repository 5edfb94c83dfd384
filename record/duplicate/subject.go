// Package duplicate owns which contacts and companies are probably the same: comparison, keys and pairs.
//
// Compare says how two records are alike. A Finder follows the change clock in the background, stores
// a few keys for each record, and compares records with a common key. So no create or update waits
// for it. docs/decisions/0108 has the reasons.
package duplicate

import (
	"slices"
	"strings"

	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/search"
)

// Subject has the values by which two records are compared.
type Subject struct {
	// Family is contacts or companies.
	Family string
	// first and last are the words of a person's names, folded and without titles. words are the words
	// of a company's name, without its legal form.
	first, last, words []string
	// form is the legal form of a company. generation distinguishes parents and children.
	form, generation string
	salutation       string
	emails           []string
	numbers          []number
	external         []string
	// registered are the VAT id and the number in a register.
	registered []string
	vat        string
	// cities and postal codes are folded.
	cities, postals []string
	// birthday has the form 1984-05-17.
	birthday string
}

// OfContact returns the subject of a contact.
func OfContact(f *contact.Fields) *Subject {
	s := &Subject{Family: contact.Contacts.Plural, salutation: text(f.Salutation), birthday: text(f.Birthday)}
	s.named(text(f.FirstName), text(f.LastName), text(f.NameSuffix))
	s.add(f.Email, []*string{f.Mobile, f.Phone}, f.Address, &f.Additional, &f.CommonFields)
	return s
}

// OfCompany returns the subject of a company.
func OfCompany(f *company.Fields) *Subject {
	s := &Subject{Family: company.Companies.Plural}
	s.words, s.form = companyName(f.Name)
	if _, form := companyName("x " + text(f.LegalForm)); s.form == "" {
		s.form = form
	}
	s.vat = compact(text(f.VatID))
	for _, t := range []*string{f.VatID, f.RegisterNumber} {
		if key := compact(text(t)); len(key) > 4 {
			s.registered = append(s.registered, key)
		}
	}
	s.add(f.Email, []*string{f.Phone}, f.Address, &f.Additional, &f.CommonFields)
	return s
}

// Form has the values that a person types into a form.
type Form struct {
	Family, FirstName, LastName, Name string
	Emails, Numbers                   []string
}

// OfForm returns the subject of a form.
func OfForm(t Form) *Subject {
	s := &Subject{Family: t.Family}
	if t.Family == company.Companies.Plural {
		s.words, s.form = companyName(t.Name)
	} else {
		s.named(t.FirstName, t.LastName, "")
	}
	for _, e := range t.Emails {
		s.addEmail(e)
	}
	for _, n := range t.Numbers {
		s.addNumber(n, "DE")
	}
	return s
}

// named sets the names of a person.
func (s *Subject) named(first, last, suffix string) {
	switch {
	case strings.TrimSpace(first) == "":
		first, last = divide(last)
	case strings.TrimSpace(last) == "":
		first, last = divide(first)
		if first == "" {
			first, last = last, ""
		}
	}
	var generation [3]string
	s.first, generation[0] = personName(first)
	s.last, generation[1] = personName(last)
	_, generation[2] = personName(suffix)
	for _, g := range generation {
		if g != "" {
			s.generation = g
		}
	}
}

// add adds the members that contacts and companies have in common. A fax recognizes nobody.
func (s *Subject) add(
	email *string, numbers []*string, at *record.Address, more *record.Additional, common *record.CommonFields,
) {
	country := "DE"
	if at != nil && at.Country != nil {
		country = *at.Country
	}
	s.addEmail(text(email))
	for _, e := range more.AdditionalEmails {
		s.addEmail(e.Email)
	}
	for _, n := range numbers {
		s.addNumber(text(n), country)
	}
	for _, p := range more.AdditionalPhones {
		if text(p.Label) != "fax" {
			s.addNumber(p.Phone, country)
		}
	}
	s.addPlace(at)
	for _, a := range more.AdditionalAddresses {
		s.addPlace(&a.Address)
	}
	for _, id := range []string{text(common.ExternalID), common.Attributes[record.MergedExternalID]} {
		s.external = appendNew(s.external, compact(id))
	}
}

// addEmail adds an email address with its letters in lower case. Umlauts are not folded, because
// muller@ and mueller@ are two addresses.
func (s *Subject) addEmail(address string) {
	if address = strings.ToLower(strings.TrimSpace(address)); strings.Contains(address, "@") {
		s.emails = appendNew(s.emails, address)
	}
}

func (s *Subject) addPlace(at *record.Address) {
	if at == nil {
		return
	}
	s.cities = appendNew(s.cities, cityKey(text(at.City)))
	s.postals = appendNew(s.postals, compact(text(at.PostalCode)))
}

// beginnings are the first words of cities with which many cities begin.
var beginnings = map[string]bool{"bad": true, "sankt": true, "st": true, "markt": true, "neu": true, "gross": true,
	"klein": true, "burg": true}

// cityKey returns the first word of a city that tells it from others. So Frankfurt, Frankfurt a. M. and
// Frankfurt am Main are the same.
func cityKey(city string) string {
	words := wordsOf(search.Fold(city))
	if len(words) > 1 && beginnings[words[0]] {
		return words[0] + words[1]
	}
	if len(words) > 0 {
		return words[0]
	}
	return ""
}

// compact returns the letters and digits of a folded text.
func compact(s string) string { return strings.Join(wordsOf(search.Fold(s)), "") }

// appendNew appends a text unless it is empty or in the list.
func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
