package sample

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"kartei/record"
	"kartei/record/company"
)

// firm is a company that employs contacts.
type firm struct {
	// domain is the domain of the employees' email addresses, without .example.
	domain, name, form, court string
	tags                      []string
}

// firms are the employers whose domains occur in words.go.
var firms = []firm{
	{"schreinerei-brandt", "Schreinerei Brandt", "e. K.", "Amtsgericht Köln HRA", []string{"Mandant", "Handwerk"}},
	{"rheinbau", "Rheinbau Hoch- und Tiefbau", "GmbH & Co. KG", "Amtsgericht Köln HRA", []string{"Mandant", "Bau"}},
	{"baeckerei-suess", "Bäckerei Süß", "OHG", "Amtsgericht Köln HRA", []string{"Mandant", "Handwerk"}},
	{"domplatz-immobilien", "Domplatz Immobilien", "GmbH", "Amtsgericht Köln HRB", []string{"Mandant", "Immobilien"}},
	{"colonia-druck", "Colonia Druck und Medien", "GmbH", "Amtsgericht Köln HRB", []string{"Mandant", "Handel"}},
	{"fuchs-logistik", "Fuchs Logistik", "GmbH", "Amtsgericht Bonn HRB", []string{"Mandant", "Verkehr"}},
	{"weingut-haas", "Weingut Haas", "GbR", "", []string{"Mandant", "Landwirtschaft"}},
	{
		"nordlicht-software",
		"Nordlicht Software",
		"UG (haftungsbeschränkt)",
		"Amtsgericht Hamburg HRB",
		[]string{"Mandant", "IT"},
	},
	{
		"praxis-am-ring",
		"Gemeinschaftspraxis am Ring",
		"Partnerschaft",
		"Amtsgericht Essen PR",
		[]string{"Mandant", "Gesundheit"},
	},
	{"metallbau-kroeger", "Metallbau Kröger", "GmbH", "Amtsgericht Köln HRB", []string{"Mandant", "Handwerk"}},
	{"kaffeekontor-ehrenfeld", "Kaffeekontor Ehrenfeld", "GmbH", "Amtsgericht Köln HRB", []string{"Mandant", "Handel"}},
	{"blumen-lorenz", "Blumen Lorenz", "e. K.", "Amtsgericht Köln HRA", []string{"Mandant", "Handel"}},
	{"kanzlei-am-dom", "Kanzlei am Dom Rechtsanwälte", "PartG mbB", "Amtsgericht Essen PR", []string{"Gegenseite"}},
	{"recht-und-rat", "Recht und Rat Rechtsanwaltsgesellschaft", "mbH", "Amtsgericht Köln HRB", []string{"Gegenseite"}},
	{"anwaelte-nordstadt", "Anwälte Nordstadt", "GbR", "", []string{"Gegenseite"}},
	{"justiz-koeln", "Justizzentrum Köln", "", "", []string{"Gericht"}},
	{"finanzverwaltung", "Finanzamt Köln-Süd", "", "", []string{"Behörde"}},
	{"gutachten-west", "Gutachten West Sachverständige", "GmbH", "Amtsgericht Köln HRB", []string{"Dienstleister"}},
	{"sprachbuero-rhein", "Sprachbüro Rhein", "GbR", "", []string{"Dienstleister"}},
	{"buerotechnik-pohl", "Bürotechnik Pohl", "GmbH", "Amtsgericht Köln HRB", []string{"Dienstleister"}},
}

// trades are the beginnings of names of further companies. A family name completes each name.
var trades = []struct{ trade, tag string }{
	{"Autohaus", "Handel"}, {"Dachdeckerei", "Handwerk"}, {"Elektro", "Handwerk"}, {"Fahrschule", "Verkehr"},
	{"Gartenbau", "Landwirtschaft"},
	{"Hausverwaltung", "Immobilien"}, {"Malerbetrieb", "Handwerk"}, {"Optik", "Handel"},
	{"Pflegedienst", "Gesundheit"}, {"Spedition", "Verkehr"},
}

var companyNotes = []string{
	"Jahresabschluss bis Ende Mai abgestimmt, danach Gesellschafterversammlung.",
	"Rechnungen nur noch elektronisch.",
	"Ansprechperson im Urlaub bis Monatsmitte.",
	"Gesellschaftsvertrag von 2014, Änderung ist geplant.",
}

// Companies returns the invented companies of the office's address book, in each call the same.
// Half of them are the employers of the contacts.
func Companies(owners []string) []company.Fields {
	d := &draw{Rand: rand.New(rand.NewPCG(seed2, seed1)), number: 50_000}
	list := make([]company.Fields, 0, 2*len(firms))
	for _, f := range firms {
		c := company.Fields{
			Name: strings.TrimSpace(f.name + " " + f.form), LegalForm: text(f.form),
			Email: text("kontakt@" + f.domain + ".example"), Website: text("https://www." + f.domain + ".example/"),
		}
		c.Tags = f.tags
		c.AdditionalEmails = []record.AdditionalEmail{{Email: "rechnung@" + f.domain + ".example", Label: text("Rechnungen")}}
		list = append(list, d.firm(c, f.court, owners))
	}
	for i := range firms {
		t := trades[i%len(trades)]
		name := fmt.Sprintf("%s %s", t.trade, secondNames[(7*i)%len(secondNames)])
		c := company.Fields{
			Name: name + " GmbH", LegalForm: text("GmbH"),
			Email: text("info@" + strings.ReplaceAll(plain(name), " ", "-") + ".example"),
		}
		c.Tags = []string{"Mandant", t.tag}
		list = append(list, d.firm(c, "Amtsgericht Köln HRB", owners))
	}
	return list
}

// firm fills the remaining members of a company with random values.
func (d *draw) firm(c company.Fields, court string, owners []string) company.Fields {
	t := &towns[0]
	c.Address = &record.Address{
		Street: text(fmt.Sprintf("%s %d", pick(d, cologne), 1+d.IntN(140))), PostalCode: text(pick(d, t.codes)),
		City: text(t.name), Region: text(t.region), Country: text("DE"),
	}
	c.Phone = text(fmt.Sprintf("%s%03d", t.phone, d.IntN(1000)))
	if court != "" {
		c.RegisterNumber = text(fmt.Sprintf("%s %d", court, 10_000+d.IntN(80_000)))
		c.VatID = text(fmt.Sprintf("DE%09d", 100_000_000+d.IntN(900_000_000)))
	}
	c.AdditionalPhones = []record.AdditionalPhone{{Phone: after(*c.Phone), Label: text("fax")}}
	if c.Tags[0] == "Mandant" {
		d.number += 1 + d.IntN(7)
		c.Attributes = record.Attributes{"debtorNumber": strconv.Itoa(d.number)}
		c.ExternalID = text(fmt.Sprintf("F-%d", d.number))
	}
	if d.percent(40) {
		c.Note = text(pick(d, companyNotes))
	}
	c.OwnerID, c.Visibility = owners[d.IntN(len(owners))], record.Organization
	return c
}

// employer returns the index of the firm with the domain of an email address, or -1.
func employer(email *string) int {
	if email == nil {
		return -1
	}
	_, domain, _ := strings.Cut(*email, "@")
	for i := range firms {
		if domain == firms[i].domain+".example" {
			return i
		}
	}
	return -1
}
