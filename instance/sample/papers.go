package sample

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/task"
)

// paper is a file that the office has for a chore.
type paper struct {
	// chore is the beginning of the task's title.
	chore string
	name  string // of the file; the client's last name replaces %s
	write func(m *matter) (contentType string, file []byte)
}

// matter is the data with which a paper is filled.
type matter struct {
	task   *task.Fields
	client *contact.Fields
	// firm is the company of the task, or nil.
	firm *company.Fields
	day  time.Time
}

// papers are the available papers. Each is generated for the first task with its chore, open or
// done.
var papers = []paper{
	{"Nebenkostenabrechnung prüfen", "Nebenkostenabrechnung %s.pdf", serviceCharges},
	{"Kündigungsschutzklage einreichen", "Klageschrift %s.docx", dismissalClaim},
	{"Steuerbescheid prüfen", "Einspruch gegen den Steuerbescheid %s.docx", taxObjection},
	{"Nachlassverzeichnis anfordern", "Nachlassverzeichnis %s.csv", estate},
	{"Unterhaltsberechnung prüfen", "Unterhaltsberechnung %s.csv", maintenance},
	{"Schaden bei der Versicherung melden", "Schadensmeldung %s.eml", claim},
	{"Lohnabrechnung erstellen", "Lohnjournal %s.csv", payroll},
	{"Jahresabschluss vorbereiten", "Unterlagen zum Jahresabschluss %s.eml", annualAccounts},
	{"Vertragsentwurf prüfen", "Mietvertrag Lagerhalle %s.docx", lease},
	{"Vollmacht einholen", "Vollmacht %s.pdf", powerOfAttorney},
	{"Rückruf", "Gesprächsnotiz %s.txt", callNote},
	{"Rechnung stellen", "Kostenrechnung %s.pdf", invoice},
	{"Termin vereinbaren", "Terminbestätigung %s.eml", appointment},
}

func (m *matter) name() string {
	return strings.TrimSpace(value(m.client.FirstName) + " " + value(m.client.LastName))
}

// party returns the name of the client as a party in the heading of a paper.
func (m *matter) party() string {
	if m.firm != nil {
		return m.firm.Name + ", vertreten durch " + m.name()
	}
	return m.name()
}

func (m *matter) date() string { return m.day.Format("02.01.2006") }

func (m *matter) address() string {
	a := m.client.Address
	if a == nil {
		return "Anschrift liegt vor"
	}
	return strings.Trim(value(a.Street)+", "+value(a.PostalCode)+" "+value(a.City), ", ")
}

func (m *matter) email() string { return cmp.Or(value(m.client.Email), "post@mandant.example") }

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func serviceCharges(m *matter) (string, []byte) {
	return portable("Betriebskostenabrechnung", []string{
		"Abrechnungszeitraum: 1. Januar bis 31. Dezember " + fmt.Sprint(m.day.Year()-1),
		"Mietpartei: " + m.name() + ", " + m.address(),
		"",
		"Heizung und Warmwasser        1.284,60 EUR",
		"Grundsteuer                     312,40 EUR",
		"Müllabfuhr                      198,00 EUR",
		"Gebäudeversicherung             241,75 EUR",
		"Aufzug und Wartung              176,20 EUR",
		"Vorauszahlungen              -1.920,00 EUR",
		"",
		"Nachzahlung                     292,95 EUR",
		"",
		"Anmerkung der Kanzlei: Die Umlage der Verwaltungskosten ist unzulässig;",
		"Belegeinsicht nach § 259 BGB verlangen. Einwendungsfrist: zwölf Monate.",
	})
}

func dismissalClaim(m *matter) (string, []byte) {
	return wordProcessed(
		"An das Arbeitsgericht Köln",
		"Klage der Partei "+m.party()+", "+m.address()+",",
		"Prozessbevollmächtigte: "+Name,
		"wegen Kündigungsschutz",
		"Es wird beantragt festzustellen, dass das Arbeitsverhältnis durch die Kündigung vom "+
			m.day.AddDate(0, 0, -12).Format("02.01.2006")+" nicht aufgelöst worden ist.",
		"Begründung: Die Kündigung ist sozial ungerechtfertigt (§ 1 KSchG). Der Betriebsrat wurde nicht ordnungsgemäß angehört. Eine Abmahnung ist nicht vorausgegangen.",
		"Köln, den "+m.date(),
	)
}

func taxObjection(m *matter) (string, []byte) {
	return wordProcessed(
		"An das Finanzamt Köln-Süd",
		fmt.Sprintf("Einspruch gegen den Bescheid über Einkommensteuer %d, %s", m.day.Year()-1, m.name()),
		"Namens und im Auftrag unserer Mandantschaft legen wir Einspruch ein. Die Aufwendungen für das häusliche Arbeitszimmer und die Handwerkerleistungen (§ 35a EStG) wurden nicht berücksichtigt.",
		"Wir beantragen die Aussetzung der Vollziehung in Höhe von 1.146 Euro.",
		"Köln, den "+m.date(),
	)
}

func lease(m *matter) (string, []byte) {
	return wordProcessed(
		"Mietvertrag über eine Lagerhalle (Entwurf)",
		"zwischen der Domplatz Immobilien GmbH als Vermieterin und "+m.party()+" als Mieterin",
		"§ 1 Mietgegenstand: Halle 3 mit 640 m² Lagerfläche, zwei Rolltoren und sechs Stellplätzen.",
		"§ 4 Wertsicherung: Die Miete ändert sich mit dem Verbraucherpreisindex, sobald er um mehr als fünf Prozent steigt oder fällt.",
		"§ 9 Rückbau: Einbauten sind bei Vertragsende auf Kosten der Mieterin zu entfernen.",
		"Anmerkung der Kanzlei: Indexklausel an § 557b BGB messen; Konkurrenzschutz fehlt.",
	)
}

func estate(*matter) (string, []byte) {
	return "text/csv", []byte("Position;Art;Bezeichnung;Wert in Euro\n" +
		"1;Grundbesitz;Eigentumswohnung Köln-Sülz, 84 m²;412000\n2;Bankguthaben;Girokonto;8431,17\n3;Wertpapiere;Fondsdepot;36250\n" +
		"4;Hausrat;Möbel, Klavier, Münzsammlung;5800\n5;Verbindlichkeit;Bestattungskosten;-6120\n6;Verbindlichkeit;Restdarlehen;-48300\n")
}

func maintenance(*matter) (string, []byte) {
	return "text/csv", []byte("Position;Elternteil A;Elternteil B\nNettoeinkommen;3480;2150\nBerufsbedingte Aufwendungen;-150;-107,50\n" +
		"Bereinigtes Einkommen;3330;2042,50\nBedarf nach Düsseldorfer Tabelle;653;\nHälftiges Kindergeld;-127,50;\nZahlbetrag Kindesunterhalt;525,50;\n")
}

func payroll(*matter) (string, []byte) {
	return "text/csv", []byte("Personalnummer;Steuerklasse;Bruttolohn;Lohnsteuer;Sozialversicherung;Auszahlung\n" +
		"0017;1;3120,00;361,91;649,74;2108,35\n0021;3;4260,00;332,16;887,15;3040,69\n0024;5;1480,00;241,08;308,21;930,71\n" +
		"0029;1;538,00;0,00;0,00;538,00\nBemerkung;;Minijob und Kurzarbeitergeld gesondert gemeldet;;;\n")
}

func claim(m *matter) (string, []byte) {
	return mailed(m, m.email(), "Schaden vom "+m.day.AddDate(0, 0, -5).Format("02.01.2006"), `Guten Tag,

beim Ausparken am Rudolfplatz ist mir ein Lieferwagen in die linke Seite
gefahren. Kotflügel und Scheinwerfer sind beschädigt, die Polizei hat den
Unfall aufgenommen. Den Kostenvoranschlag der Werkstatt über 2.870 Euro
schicke ich nach. Bitte melden Sie den Schaden der Haftpflichtversicherung
und machen Sie auch die Wertminderung und einen Mietwagen geltend.

Freundliche Grüße
`+m.name())
}

func annualAccounts(m *matter) (string, []byte) {
	return mailed(m, m.email(), "Unterlagen zum Jahresabschluss", `Sehr geehrte Damen und Herren,

die Inventurliste und die Saldenbestätigungen der Bank liegen vor. Offen sind
noch die Rückstellungen für Urlaub und Gewährleistung sowie der Nachweis zur
Abschreibung der neuen Hebebühne. Können wir die Bilanz vor der
Gesellschafterversammlung besprechen?

Mit freundlichen Grüßen
`+m.name())
}

func appointment(m *matter) (string, []byte) {
	return mailed(m, AdminEmail, "Terminbestätigung", `Sehr geehrte Damen und Herren,

wir bestätigen den Besprechungstermin in unseren Räumen. Bitte bringen Sie
Ihren Personalausweis, den bisherigen Schriftwechsel und, soweit vorhanden,
die Deckungszusage der Rechtsschutzversicherung mit. Ein Parkplatz ist im Hof
reserviert.

Mit freundlichen Grüßen
`+Name)
}

func powerOfAttorney(m *matter) (string, []byte) {
	return portable("Vollmacht", []string{
		m.party() + ", " + m.address() + ",",
		"erteilt der " + Name + " Vollmacht zur außergerichtlichen und gerichtlichen",
		"Vertretung, zur Abgabe und Entgegennahme von Willenserklärungen, zur Akteneinsicht",
		"und zum Empfang von Geldern. Zustellungen sind nur an die Kanzlei zu richten.",
		"",
		"Köln, den " + m.date(),
	})
}

func invoice(m *matter) (string, []byte) {
	return portable("Kostenrechnung", []string{
		"An " + m.party(),
		m.address(),
		"",
		"1,3 Geschäftsgebühr, Nr. 2300 VV RVG       725,40 EUR",
		"Auslagenpauschale, Nr. 7002 VV RVG          20,00 EUR",
		"19 % Umsatzsteuer, Nr. 7008 VV RVG         141,63 EUR",
		"Rechnungsbetrag                            887,03 EUR",
		"",
		"Bitte überweisen Sie den Betrag innerhalb von 14 Tagen auf unser Kanzleikonto.",
		"Köln, den " + m.date(),
	})
}

func callNote(m *matter) (string, []byte) {
	return "text/plain", []byte("Gesprächsnotiz vom " + m.date() + "\n\nMit " + m.name() +
		` telefoniert. Die Gegenseite bietet einen Vergleich
an: Zahlung in drei Raten gegen Rücknahme der Klage. Mandantschaft möchte bis
Freitag überlegen. Wiedervorlage notiert, Kostenrisiko wurde erläutert.
`)
}
