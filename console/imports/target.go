package imports

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// target is a member of contacts that a column can become.
type target struct {
	name string
	// several columns may have it. Their first value counts, or all of them together.
	several bool
	// names says that it gives an entry a name.
	names bool
	// headings are the headings of columns that mean it, in folded form: those of
	// German and English offices, of Outlook and of Google.
	headings []string
}

// The targets that are no members of contacts as such.
const (
	// targetName is a whole name, which is divided.
	targetName = "name"
	// targetCompany is the name of a company.
	targetCompany = "company"
	// targetID is the id of a contact, as exports of Kartei have it.
	targetID = "id"
)

// targets are all of them, in the order of a form.
var targets = []target{
	{name: "lastName", names: true, headings: words("nachname familienname zuname lastname surname familyname")},
	{name: "firstName", names: true, headings: words("vorname vornamen rufname firstname givenname forename")},
	{name: targetName, names: true, headings: words("name vollstaendigername namevollstaendig fullname displayname anzeigename ansprechpartner kontakt contactname fileas")},
	{name: "salutation", headings: words("anrede salutation")},
	{name: "title", headings: words("titel akademischertitel akadtitel title nameprefix namenspraefix")},
	{name: targetCompany, headings: words("firma firmenname unternehmen organisation arbeitgeber company companyname organization organizationname organization1name organisationname organisation1name")},
	{name: "jobTitle", headings: words("funktion position beruf stellung jobtitle organizationtitle organization1title organisation1titel organisationstitel")},
	{name: "email", several: true, names: true, headings: words("email emailadresse mail mailadresse emailaddress email1address email1value email1wert emailgeschaeftlich emailprivat email2value email2wert email2adresse email2address emailadresse2")},
	{name: "phone", several: true, headings: words("telefon tel telefonnr telefonnummer festnetz rufnummer phone telephone phonenumber telefongeschaeftlich businessphone telefonfirma companymainphone phone1value telefon1wert primaryphone haupttelefon telefonprivat homephone telefongeschaeftlich2 businessphone2 telefonprivat2 homephone2 phone2value telefon2wert")},
	{name: "mobile", several: true, headings: words("mobil mobiltelefon handy mobilnummer mobilfunk handynummer mobile mobilephone cell cellphone")},
	{name: "address.street", headings: words("strasse strasseundhausnummer strassehausnummer strassehausnr strassenr anschrift adresse street streetaddress address address1street adresse1strasse strassegeschaeftlich businessstreet strasseprivat homestreet")},
	{name: "address.postalCode", headings: words("plz postleitzahl zip zipcode postcode postalcode address1postalcode adresse1postleitzahl postleitzahlgeschaeftlich businesspostalcode postleitzahlprivat homepostalcode")},
	{name: "address.city", headings: words("ort stadt wohnort city town address1city adresse1ort adresse1stadt ortgeschaeftlich businesscity ortprivat homecity")},
	{name: "address.region", headings: words("region bundesland kanton state province address1region adresse1region regiongeschaeftlich bundeslandkantongeschaeftlich businessstate regionprivat homestate")},
	{name: "address.country", headings: words("land staat country countryregion address1country adresse1land landregiongeschaeftlich businesscountryregion businesscountry landregionprivat homecountryregion homecountry")},
	{name: "birthday", headings: words("geburtstag geburtsdatum gebdatum geboren geborenam birthday birthdate dateofbirth")},
	{name: "language", headings: words("sprache language")},
	{name: "note", several: true, headings: words("notiz notizen bemerkung bemerkungen anmerkung anmerkungen kommentar note notes comment comments")},
	{name: "tags", several: true, headings: words("schlagworte schlagwort schlagwoerter kategorie kategorien gruppe gruppen tags tag categories category labels groupmembership gruppenmitgliedschaft")},
	{name: "externalId", headings: words("externekennung externalid mandantennummer mandantennr mandantnr kundennummer kundennr adressnummer adressnr kundenid mandantenid customerid customernumber uid")},
	{name: targetID, headings: words("kennung id karteikennung karteiid")},
}

func words(text string) []string { return strings.Fields(text) }

// Targets returns the names of all members that a column can become.
func Targets() (names []string) {
	for _, t := range targets {
		names = append(names, t.name)
	}
	return names
}

// targetOf returns a target by its name, or nil.
func targetOf(name string) *target {
	if i := slices.IndexFunc(targets, func(t target) bool { return t.name == name }); i >= 0 {
		return &targets[i]
	}
	return nil
}

// umlauts are written out in the headings above.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")

// foldHeading returns a heading in the form that the targets have: small letters and
// digits.
func foldHeading(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, umlauts.Replace(strings.ToLower(norm.NFC.String(text))))
}

// meant returns the target of a heading, and how well it fits: 0 is best.
func meant(heading string) (*target, int) {
	folded := foldHeading(heading)
	for i := range targets {
		if at := slices.Index(targets[i].headings, folded); at >= 0 {
			return &targets[i], at
		}
	}
	return nil, 0
}

// guess returns the target of each column, by its heading. Of several columns for one
// member the usual one counts: the business address before the private one.
func guess(headings []string) []string {
	list := make([]string, len(headings))
	best, at := map[string]int{}, map[string]int{}
	for i, heading := range headings {
		t, rank := meant(heading)
		switch {
		case t == nil:
			continue
		case t.several:
			list[i] = t.name
			continue
		}
		if before, taken := best[t.name]; taken {
			if before <= rank {
				continue
			}
			list[at[t.name]] = ""
		}
		list[i], best[t.name], at[t.name] = t.name, rank, i
	}
	first, last, whole := slices.Index(list, "firstName"), slices.Index(list, "lastName"), slices.Index(list, targetName)
	switch {
	case whole >= 0 && last >= 0: // the whole name says it again
		list[whole] = ""
	case whole >= 0 && first >= 0: // Name beside Vorname is the last name
		list[whole] = "lastName"
	}
	return list
}

// isHeading reports whether the first row of a table has headings: one of them is
// known, or none of its cells could be a value.
func isHeading(cells []string) bool {
	known, value := false, false
	for _, cell := range cells {
		t, _ := meant(cell)
		known = known || t != nil
		value = value || strings.ContainsAny(cell, "@0123456789\n")
	}
	return known || !value
}
