package words

// contactWords are the texts about contacts.
var contactWords = map[string]text{
	"contacts.list.summary": {"Kontakte auflisten", "List contacts"},
	"contacts.list.description": {
		"Liefert sichtbare Kontakte seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Namen, E-Mail-Adressen, Telefonnummern, Titel, Namenszusatz, Funktion, Abteilung, Website, Postleitzahlen, Orten, Schlagwörtern, externalId und Notiz.",
		"Returns the visible contacts page by page, the latest change first. With updatedSince a client follows all changes, with q it searches names, email addresses, telephone numbers, title, suffix, job title, department, website, postal codes, places, tags, externalId and note."},

	"contacts.create.summary": {"Kontakt anlegen", "Create a contact"},
	"contacts.create.description": {
		"Legt eine Person an. Mindestens eines von firstName, lastName und email ist nötig.",
		"Creates a person. At least one of firstName, lastName and email is required."},

	"contacts.count.summary": {"Kontakte zählen", "Count contacts"},
	"contacts.count.description": {
		"Zählt die sichtbaren Kontakte, höchstens bis 10 000; capped sagt, ob es mindestens so viele sind.",
		"Counts the visible contacts, up to 10,000; capped says whether there are at least as many."},

	"contacts.get.summary": {"Kontakt lesen", "Read a contact"},
	"contacts.get.description": {
		"Liefert einen Kontakt mit allen Feldern. Unbekannte, fremde und unsichtbare Kontakte sind gleichermaßen 404.",
		"Returns a contact with all its members. Unknown, foreign and invisible contacts are 404 alike."},

	"contacts.update.summary": {"Kontakt ändern", "Change a contact"},
	"contacts.update.description": {
		"Ändert einzelne Felder (JSON Merge Patch, RFC 7396): fehlende bleiben, null leert. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision.",
		"Changes single members (JSON Merge Patch, RFC 7396): absent ones stay, null clears. Requires If-Match. Where nothing changes there is no new revision."},

	"contacts.delete.summary": {"Kontakt löschen", "Delete a contact"},
	"contacts.delete.description": {
		"Löscht den Kontakt und seinen Inhalt sofort; für den Abgleich bleibt eine Löschmarke. Verlangt If-Match.",
		"Deletes the contact and its content at once; a deletion marker stays for mirrors. Requires If-Match."},

	"contacts.merge.summary": {"Kontakte zusammenführen", "Merge contacts"},
	"contacts.merge.description": {
		"Übernimmt einen anderen Kontakt (from) in diesen und löscht ihn. Ein Feld behält seinen Wert, außer es steht in values oder ist leer. E-Mail-Adressen, Nummern, Anschriften, Schlagwörter und attributes werden vereint, Notizen aneinandergehängt. Haben beide eine externalId, bleibt die andere in attributes.mergedExternalId. Verweise von Aufgaben und Dokumenten folgen in einem Vorgang, den die Antwort nennt; bis dahin sind sie null. Verlangt If-Match. Zählt als Löschen. Rückgängig machen lässt es sich sieben Tage lang in der Web-Anwendung.",
		"Takes another contact (from) over into this one and deletes it. A member keeps its value, unless it is in values or empty. Email addresses, numbers, addresses, tags and attributes are united, notes are joined. Where both have an externalId, the other one stays in attributes.mergedExternalId. References of tasks and documents follow in an operation that the answer names; until then they are null. Requires If-Match. Counts as a deletion. It can be undone for seven days in the web application."},

	"contact.Fields": {"Die Felder, die sich setzen lassen", "The members that can be set"},
	"contact.Fields.displayName": {
		"Vor- und Nachname, sonst die E-Mail-Adresse", "First and last name, else the email address",
	},
	"contact.Fields.salutation": {"Anrede", "Form of address"},
	"contact.Fields.title":      {"Titel, der dem Namen vorangeht", "Title before the name"},
	"contact.Fields.firstName":  {"Vorname", "First name"},
	"contact.Fields.lastName":   {"Nachname", "Last name"},
	"contact.Fields.nameSuffix": {"Zusatz, der dem Namen folgt: ein Grad wie LL.M., oder jun.", "Suffix after the name: a degree such as LL.M., or Jr."},
	"contact.Fields.email":      {"E-Mail-Adresse", "Email address"},
	"contact.Fields.phone":      {"Telefon", "Telephone"},
	"contact.Fields.mobile":     {"Mobiltelefon", "Mobile telephone"},
	"contact.Fields.website": {
		"Adresse im Web, mit http:// oder https://, ohne Anmeldedaten",
		"Web address, with http:// or https://, without credentials"},
	"contact.Fields.jobTitle":   {"Funktion im Unternehmen", "Job title"},
	"contact.Fields.department": {"Abteilung im Unternehmen", "Department within the company"},
	"contact.Fields.companyId": {
		"Firma, zu der der Kontakt gehört; sie muss sichtbar sein. null auch, solange sie für Sie nicht sichtbar ist",
		"The company that the contact belongs to; it must be visible. null also while you do not see it"},
	"contact.Fields.address":  {"Postanschrift", "Postal address"},
	"contact.Fields.language": {"Sprache für den Schriftverkehr, BCP 47", "Language for correspondence, BCP 47"},
	"contact.Fields.birthday": {"Geburtstag", "Birthday"},
	"contact.Fields.note":     {"Notiz; darf Zeilenumbrüche enthalten", "Note; may hold line breaks"},

	"contact.Contact": {"Ein Kontakt: eine Person", "A contact: a person"},

	"contact.CreateInput.body.rule": {
		"Mindestens eines von firstName, lastName und email ist nötig.",
		"At least one of firstName, lastName and email is required."},

	"contact.Filters.externalId": {
		"Nur den Kontakt mit dieser externalId; nicht zusammen mit q oder includeDeleted",
		"Only the contact with this externalId; not together with q or includeDeleted"},
	"contact.Filters.email": {
		"Nur Kontakte mit genau dieser E-Mail-Adresse, ohne Rücksicht auf Groß- und Kleinschreibung; nicht zusammen mit q oder includeDeleted",
		"Only contacts with exactly this email address, regardless of case; not together with q or includeDeleted"},
	"contact.Filters.companyId": {
		"Nur Kontakte dieser Firma; nicht zusammen mit q oder includeDeleted",
		"Only contacts of this company; not together with q or includeDeleted"},

	"contact.created.summary":     {"Kontakt angelegt", "Contact created"},
	"contact.created.description": {"Ein Kontakt wurde angelegt.", "A contact was created."},

	"contact.updated.summary":     {"Kontakt geändert", "Contact updated"},
	"contact.updated.description": {"Ein Kontakt wurde geändert.", "A contact was updated."},

	"contact.deleted.summary": {"Kontakt gelöscht", "Contact deleted"},
	"contact.deleted.description": {
		"Ein Kontakt wurde gelöscht; zu lesen ist er nicht mehr.",
		"A contact was deleted; it can not be read any more."},
}
