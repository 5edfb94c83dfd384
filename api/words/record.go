package words

// recordWords are the texts about the members that all families of records share.
var recordWords = map[string]text{
	"record.ListInput.limit": {"Wie viele Datensätze eine Seite höchstens hat", "How many records a page has at most"},
	"record.ListInput.cursor": {
		"nextCursor der vorigen Seite; gilt 24 Stunden und nur für dieselbe Liste",
		"nextCursor of the previous page; valid for 24 hours and for the same list only"},
	"record.ListInput.updatedSince": {
		"Nur Datensätze, die sich nach diesem Zeitpunkt geändert haben; auch eine Löschung ist eine Änderung",
		"Only records changed after this time; a deletion is a change too"},
	"record.ListInput.includeDeleted": {
		"true liefert auch Löschmarken, für gelöschte Datensätze und für solche, die Sie nicht mehr sehen; nur zusammen mit updatedSince",
		"true returns deletion markers too, for deleted records and for those that you see no more; only together with updatedSince"},
	"record.ListInput.q": {
		"Volltextsuche, nach Relevanz geordnet; nicht zusammen mit updatedSince, sort oder includeDeleted; kostet 5 Punkte mehr",
		"Full-text search, in order of relevance; not together with updatedSince, sort or includeDeleted; costs 5 points more"},
	"record.ListInput.sort": {
		"Reihenfolge: jüngste oder älteste Änderung zuerst", "Order: the latest or the oldest change first",
	},

	"record.Envelope.object": {"Art des Datensatzes", "Kind of record"},
	"record.Envelope.id": {
		"Kennung, undurchsichtig, mit Präfix der Art", "Identifier, opaque, with the prefix of its kind",
	},
	"record.Envelope.revision": {
		"Revision, ab 1; der ETag ist r und diese Zahl in Anführungszeichen",
		"Revision, from 1; the ETag is r and this number in double quotes"},
	"record.Envelope.createdAt": {"Zeitpunkt der Anlage", "When the record was created"},
	"record.Envelope.updatedAt": {
		"Zeitpunkt der letzten Änderung; je Organisation streng steigend",
		"When the record was last changed; strictly increasing within an organization"},

	"record.Address":            {"Postanschrift", "Postal address"},
	"record.Address.street":     {"Straße und Hausnummer", "Street and number"},
	"record.Address.postalCode": {"Postleitzahl", "Postal code"},
	"record.Address.city":       {"Ort", "Place"},
	"record.Address.region":     {"Land, Kanton oder Region", "State, canton or region"},
	"record.Address.country":    {"Staat, ISO 3166-1 alpha-2", "Country, ISO 3166-1 alpha-2"},

	"record.Additional.additionalEmails": {
		"Weitere E-Mail-Adressen, höchstens 20, mit einem label wie work oder home; eine Änderung ersetzt die ganze Liste",
		"Further email addresses, at most 20, with a label such as work or home; a change replaces the whole list"},
	"record.Additional.additionalPhones": {
		"Weitere Telefon- und Faxnummern, höchstens 20, mit einem label wie work, mobile oder fax; eine Änderung ersetzt die ganze Liste",
		"Further telephone and fax numbers, at most 20, with a label such as work, mobile or fax; a change replaces the whole list"},
	"record.Additional.additionalAddresses": {
		"Weitere Anschriften, höchstens 10, mit einem label wie work oder home; eine Änderung ersetzt die ganze Liste",
		"Further postal addresses, at most 10, with a label such as work or home; a change replaces the whole list"},
	"record.AdditionalEmail":       {"Weitere E-Mail-Adresse", "Further email address"},
	"record.AdditionalEmail.email": {"E-Mail-Adresse", "Email address"},
	"record.AdditionalEmail.label": {
		"Wofür: work, home, mobile, fax, other oder ein eigener Text",
		"What for: work, home, mobile, fax, other or a text of your own"},
	"record.AdditionalPhone":       {"Weitere Telefon- oder Faxnummer", "Further telephone or fax number"},
	"record.AdditionalPhone.phone": {"Telefon- oder Faxnummer", "Telephone or fax number"},
	"record.AdditionalPhone.label": {
		"Wofür: work, home, mobile, fax, other oder ein eigener Text",
		"What for: work, home, mobile, fax, other or a text of your own"},
	"record.AdditionalAddress": {"Weitere Postanschrift", "Further postal address"},
	"record.AdditionalAddress.label": {
		"Wofür: work, home, mobile, fax, other oder ein eigener Text",
		"What for: work, home, mobile, fax, other or a text of your own"},

	"record.CommonFields.attributes": {
		"Texte für Programme, höchstens 20, mit eigenen Namen; eine Änderung ersetzt nur die genannten, null entfernt einen",
		"Texts for programs, at most 20, with names of your own; a change replaces only the named ones, null removes one"},
	"record.CommonFields.tags": {"Schlagwörter, höchstens 20", "Tags, at most 20"},
	"record.CommonFields.externalId": {
		"Kennung im eigenen System, je Organisation und Art eindeutig",
		"Identifier in a system of your own, unique within organization and family"},
	"record.CommonFields.ownerId": {
		"Wem der Datensatz gehört; ohne Angabe dem, der ihn anlegt; ändern dürfen es der Eigentümer und Administratoren. Kennungen von Personen und Dienstkonten nennt der Betreiber, die eigene GET /me",
		"Whose record it is; if not given, of who creates it; changed by the owner and by admins. Ids of people and service accounts come from whoever runs the instance, one's own from GET /me"},
	"record.CommonFields.visibility": {
		"organization: alle der Organisation; private: nur der Eigentümer und Administratoren, die es auch ändern dürfen; wer sonst genannt ist, sieht den Datensatz nicht",
		"organization: everybody of the organization; private: only the owner and admins, who may also change it; others who are named in the record do not see it"},

	"record.Marker": {
		"Steht beim Abgleich für einen gelöschten Datensatz; deleted ist immer true",
		"Stands for a deleted record in synchronization; deleted is always true"},
	"record.Marker.object": {"Art des gelöschten Datensatzes", "Kind of the deleted record"},
	"record.Marker.id": {
		"Kennung des Datensatzes, der gelöscht wurde oder nicht mehr sichtbar ist",
		"Id of the record that was deleted or is visible no more"},
	"record.Marker.deleted": {"Immer true", "Always true"},
	"record.Marker.deletedAt": {
		"Zeitpunkt, seit dem er fehlt; zählt beim Abgleich wie updatedAt",
		"Since when it is gone; counts like updatedAt for mirrors"},

	"record.CountInput.updatedSince": {
		"Nur Datensätze, die sich nach diesem Zeitpunkt geändert haben",
		"Only records changed after this time"},
	"record.CountInput.q": {
		"Volltextsuche; nicht zusammen mit updatedSince; kostet 5 Punkte mehr",
		"Full-text search; not together with updatedSince; costs 5 points more"},

	"record.Count": {"Ergebnis einer Zählung", "Result of a count"},
	"record.Count.count": {
		"Anzahl der sichtbaren Datensätze, höchstens 10 000", "Number of visible records, at most 10,000",
	},
	"record.Count.capped": {"true: es sind mindestens so viele", "true: there are at least as many"},
}
