package words

// companyWords are the texts about companies.
var companyWords = map[string]text{
	"companies.list.summary": {"Firmen auflisten", "List companies"},
	"companies.list.description": {
		"Liefert sichtbare Firmen seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Name, Rechtsform, E-Mail-Adressen, Telefonnummern, Website, Umsatzsteuer- und Registernummer, Postleitzahlen, Orten, Schlagwörtern, externalId und Notiz.",
		"Returns the visible companies page by page, the latest change first. With updatedSince a client follows all changes, with q it searches name, legal form, email addresses, telephone numbers, website, tax and register numbers, postal codes, places, tags, externalId and note."},

	"companies.create.summary": {"Firma anlegen", "Create a company"},
	"companies.create.description": {
		"Legt eine Firma oder andere Organisation an. name ist nötig.",
		"Creates a company or another organization. name is required."},

	"companies.count.summary": {"Firmen zählen", "Count companies"},
	"companies.count.description": {
		"Zählt die sichtbaren Firmen, höchstens bis 10 000; capped sagt, ob es mindestens so viele sind.",
		"Counts the visible companies, up to 10,000; capped says whether there are at least as many."},

	"companies.get.summary": {"Firma lesen", "Read a company"},
	"companies.get.description": {
		"Liefert eine Firma mit allen Feldern. Unbekannte, fremde und unsichtbare Firmen sind gleichermaßen 404.",
		"Returns a company with all its members. Unknown, foreign and invisible companies are 404 alike."},

	"companies.update.summary": {"Firma ändern", "Change a company"},
	"companies.update.description": {
		"Ändert einzelne Felder (JSON Merge Patch, RFC 7396): fehlende bleiben, null leert. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision.",
		"Changes single members (JSON Merge Patch, RFC 7396): absent ones stay, null clears. Requires If-Match. Where nothing changes there is no new revision."},

	"companies.delete.summary": {"Firma löschen", "Delete a company"},
	"companies.delete.description": {
		"Löscht die Firma und ihren Inhalt sofort; für den Abgleich bleibt eine Löschmarke. Verweise auf sie werden zu null. Verlangt If-Match.",
		"Deletes the company and its content at once; a deletion marker stays for mirrors. References to it become null. Requires If-Match."},

	"companies.merge.summary": {"Firmen zusammenführen", "Merge companies"},
	"companies.merge.description": {
		"Übernimmt eine andere Firma (from) in diese und löscht sie. Ein Feld behält seinen Wert, außer es steht in values oder ist leer. E-Mail-Adressen, Nummern, Anschriften, Schlagwörter und attributes werden vereint, Notizen aneinandergehängt. Haben beide eine externalId, bleibt die andere in attributes.mergedExternalId. Verweise von Kontakten, Aufgaben und Dokumenten folgen in einem Vorgang, den die Antwort nennt; bis dahin sind sie null. Verlangt If-Match. Zählt als Löschen. Rückgängig machen lässt es sich sieben Tage lang in der Web-Anwendung.",
		"Takes another company (from) over into this one and deletes it. A member keeps its value, unless it is in values or empty. Email addresses, numbers, addresses, tags and attributes are united, notes are joined. Where both have an externalId, the other one stays in attributes.mergedExternalId. References of contacts, tasks and documents follow in an operation that the answer names; until then they are null. Requires If-Match. Counts as a deletion. It can be undone for seven days in the web application."},

	"company.Fields":           {"Die Felder, die sich setzen lassen", "The members that can be set"},
	"company.Fields.name":      {"Name oder Firma", "Name of the company"},
	"company.Fields.legalForm": {"Rechtsform", "Legal form"},
	"company.Fields.email":     {"E-Mail-Adresse", "Email address"},
	"company.Fields.phone":     {"Telefon", "Telephone"},
	"company.Fields.website": {
		"Adresse im Web, mit http:// oder https://, ohne Anmeldedaten",
		"Web address, with http:// or https://, without credentials"},
	"company.Fields.vatId": {"Umsatzsteuer-Identifikationsnummer", "VAT identification number"},
	"company.Fields.registerNumber": {
		"Nummer im Handels- oder einem anderen Register, mit dem Gericht",
		"Number in the commercial or another register, with the court"},
	"company.Fields.address": {"Postanschrift", "Postal address"},
	"company.Fields.note":    {"Notiz; darf Zeilenumbrüche enthalten", "Note; may hold line breaks"},

	"company.Company": {"Eine Firma oder andere Organisation", "A company or another organization"},

	"company.Filters.externalId": {
		"Nur die Firma mit dieser externalId; nicht zusammen mit q oder includeDeleted",
		"Only the company with this externalId; not together with q or includeDeleted"},

	"company.created.summary":     {"Firma angelegt", "Company created"},
	"company.created.description": {"Eine Firma wurde angelegt.", "A company was created."},

	"company.updated.summary":     {"Firma geändert", "Company updated"},
	"company.updated.description": {"Eine Firma wurde geändert.", "A company was updated."},

	"company.deleted.summary": {"Firma gelöscht", "Company deleted"},
	"company.deleted.description": {
		"Eine Firma wurde gelöscht; zu lesen ist sie nicht mehr.",
		"A company was deleted; it can not be read any more."},
}
