package sample

// part is the role of a contact for the office, with words that fit the role.
type part struct {
	weight int
	tags   []string
	// areas are fields of law or service. One or two of them become tags.
	areas []string
	// jobs are occupations in the feminine and the masculine form.
	jobs [][2]string
	// notes are notes that fit this role. A note that begins with a field and ": " fits only that
	// field.
	notes []string
	// work are names of employers' domains without .example. If it is empty, contacts have a
	// private email address.
	work []string
	// guests says that contacts with this role may have a tag in habits.
	guests bool
	// number says that contacts with this role have a client number as externalId.
	number bool
}

var parts = []part{
	{
		weight: 62, tags: []string{"Mandant"}, number: true, guests: true,
		areas: []string{
			"Erbrecht", "Familienrecht", "Mietrecht", "Arbeitsrecht", "Verkehrsrecht", "Einkommensteuer",
			"Immobilien", "Vorsorge",
		},
		jobs: [][2]string{
			{"Lehrerin", "Lehrer"}, {"Ärztin", "Arzt"}, {"Architektin", "Architekt"}, {"Tischlermeisterin", "Tischlermeister"},
			{"Pflegedienstleiterin", "Pflegedienstleiter"}, {"Softwareentwicklerin", "Softwareentwickler"},
			{"Rentnerin", "Rentner"},
			{"Bäckermeisterin", "Bäckermeister"}, {"Apothekerin", "Apotheker"}, {"Erzieherin", "Erzieher"},
			{"Bauingenieurin", "Bauingenieur"},
			{"Journalistin", "Journalist"}, {"Studentin", "Student"}, {"Polizeibeamtin", "Polizeibeamter"},
			{"Landwirtin", "Landwirt"},
			{"", ""}, {"", ""}, {"", ""},
		},
		notes: []string{
			"Bittet um Post ausschließlich an die Privatanschrift.",
			"Rückruf am besten nach 16 Uhr.",
			"Vollmacht liegt im Original vor.",
			"Möchte Schriftsätze vorab per E-Mail sehen.",
			"Verkehrsrecht: Rechtsschutzversicherung vorhanden; Deckungszusage ist angefragt.",
			"Einkommensteuer: Unterlagen für die Einkommensteuererklärung 2025 fehlen noch: Spendenbescheinigungen und Handwerkerrechnungen.",
			"Vorsorge: Testament hinterlegt, Abschrift im Tresor.",
			"Schwerhörig, bitte langsam und deutlich sprechen.",
			"Rechnung in zwei Raten vereinbart.\nErste Rate ist eingegangen.",
			"Kommt auf Empfehlung von Frau Dr. Morgenstern.",
			"Familienrecht: Scheidungsfolgenvereinbarung im Entwurf; die Gegenseite hat um Fristverlängerung gebeten.",
			"Mietrecht: Nebenkostenabrechnung 2024 prüfen, Belegeinsicht ist beantragt.",
			"Erbrecht: Erbschein erteilt; Grundbuchberichtigung steht noch aus.",
			"Bevorzugt Termine am Vormittag. Parkplatz im Hof reservieren.",
			"Vorsorge: Vorsorgevollmacht und Patientenverfügung am selben Tag beurkundet.",
			"Arbeitsrecht: Kündigungsschutzklage fristgerecht eingereicht. Gütetermin abwarten, danach Vergleich besprechen.",
			"Nutzt einen Rollstuhl: Besprechungen bitte im Erdgeschoss.",
			"Familienrecht: Hat zwei minderjährige Kinder; Unterhalt wird jährlich angepasst.",
		},
	},
	{
		weight: 22, tags: []string{"Mandant", "Unternehmen"}, number: true, guests: true,
		areas: []string{
			"Lohnbuchhaltung", "Jahresabschluss", "Gesellschaftsrecht", "Umsatzsteuer", "Vertragsrecht",
			"Betriebsprüfung",
		},
		jobs: [][2]string{
			{"Geschäftsführerin", "Geschäftsführer"}, {"Prokuristin", "Prokurist"},
			{"Leiterin Rechnungswesen", "Leiter Rechnungswesen"},
			{"Inhaberin", "Inhaber"}, {"Personalleiterin", "Personalleiter"}, {"Gesellschafterin", "Gesellschafter"},
			{"Kaufmännische Leiterin", "Kaufmännischer Leiter"},
		},
		notes: []string{
			"Belege kommen monatlich bis zum 5. als PDF.",
			"Lohnbuchhaltung: Lohnabrechnung für zwölf Beschäftigte; Änderungen bitte bis zum 20.",
			"Jahresabschluss: Jahresabschluss 2025 in Arbeit, Inventurliste fehlt.",
			"Umsatzsteuer: Dauerfristverlängerung für die Umsatzsteuer beantragt.",
			"SEPA-Lastschrift für das Honorar erteilt.",
			"Gesellschaftsrecht: Gesellschafterbeschluss zur Kapitalerhöhung vorbereiten.\nNotartermin mit dem Sekretariat abstimmen.",
			"Betriebsprüfung: Betriebsprüfung für 2021 bis 2023 angekündigt; Prüfungsanordnung liegt vor.",
			"Vertragsrecht: Ansprechperson für alle Fragen zum Mietvertrag der Halle.",
			"Möchte Auswertungen quartalsweise besprechen.",
			"Umsatzsteuer: Verfahrensdokumentation zur Kasse nachreichen lassen.",
		},
		work: []string{
			"schreinerei-brandt", "rheinbau", "baeckerei-suess", "domplatz-immobilien", "colonia-druck",
			"fuchs-logistik", "weingut-haas", "nordlicht-software", "praxis-am-ring", "metallbau-kroeger",
			"kaffeekontor-ehrenfeld", "blumen-lorenz",
		},
	},
	{
		weight: 7, tags: []string{"Interessent"},
		areas: []string{"Erbrecht", "Familienrecht", "Mietrecht", "Gründung"},
		jobs:  [][2]string{{"", ""}},
		notes: []string{
			"Erstberatung angefragt, Rückruf vereinbart.",
			"Über das Kontaktformular gemeldet; hat noch keinen Auftrag erteilt.",
			"Kostenvoranschlag geschickt, Antwort steht aus.",
			"Fragt nach einem Termin außerhalb der Bürozeiten.",
		},
	},
	{
		weight: 6, tags: []string{"Gegenseite"},
		areas: []string{"Mietrecht", "Familienrecht", "Arbeitsrecht"},
		jobs: [][2]string{
			{"Rechtsanwältin", "Rechtsanwalt"},
			{"Fachanwältin für Arbeitsrecht", "Fachanwalt für Arbeitsrecht"},
		},
		notes: []string{
			"Vertritt die Gegenseite. Schriftverkehr nur über das besondere elektronische Anwaltspostfach.",
			"Vergleichsbereit; zuletzt im Termin gesprochen.",
			"Bitte keine Auskünfte am Telefon.",
		},
		work: []string{"kanzlei-am-dom", "recht-und-rat", "anwaelte-nordstadt"},
	},
	{
		weight: 4, tags: []string{"Gericht"},
		jobs: [][2]string{
			{"Richterin am Amtsgericht", "Richter am Amtsgericht"}, {"Rechtspflegerin", "Rechtspfleger"},
			{"Urkundsbeamtin der Geschäftsstelle", "Urkundsbeamter der Geschäftsstelle"},
		},
		notes: []string{
			"Erreichbar montags bis donnerstags von 9 bis 12 Uhr.",
			"Aktenzeichen bitte immer im Betreff nennen.",
		},
		work: []string{"justiz-koeln"},
	},
	{
		weight: 3, tags: []string{"Behörde"},
		jobs: [][2]string{
			{"Sachbearbeiterin im Finanzamt", "Sachbearbeiter im Finanzamt"},
			{"Betriebsprüferin", "Betriebsprüfer"},
		},
		notes: []string{
			"Zuständig für die Buchstaben K bis M.",
			"Steuernummer bitte immer im Betreff nennen.",
			"Telefonisch nur vormittags erreichbar.",
		},
		work: []string{"finanzverwaltung"},
	},
	{
		weight: 6, tags: []string{"Dienstleister"}, guests: true,
		jobs: [][2]string{
			{"Sachverständige für Immobilienbewertung", "Sachverständiger für Immobilienbewertung"},
			{"Dolmetscherin für Polnisch", "Dolmetscher für Polnisch"},
			{"IT-Betreuerin", "IT-Betreuer"}, {"Gerichtsvollzieherin", "Gerichtsvollzieher"},
			{"Kundenberaterin", "Kundenberater"}, {"Hausmeisterin", "Hausmeister"},
		},
		notes: []string{
			"Stundensatz 2026 vereinbart, Rechnung jeweils zum Monatsende.",
			"Beeidigt beim Landgericht.",
			"Hat einen Schlüssel für den Serverraum.",
			"Gutachten in der Regel innerhalb von sechs Wochen.",
		},
		work: []string{"gutachten-west", "sprachbuero-rhein", "buerotechnik-pohl"},
	},
}

// habits are tags for cards and invitations.
var habits = []string{"Weihnachtskarte", "Newsletter", "Rundschreiben", "Sommerfest"}

var privateNotes = []string{
	"Vertraulich: Gespräch über eine mögliche Partnerschaft in der Kanzlei.",
	"Persönlicher Kontakt, nicht für den Verteiler.",
	"Bewerbung liegt vor; Unterlagen nach Abschluss des Verfahrens löschen.",
	"Vertraulich: Mandatsanfrage, Interessenkonflikt wird noch geprüft.",
}
