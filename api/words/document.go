package words

// documentWords are the texts about documents and uploads.
var documentWords = map[string]text{
	"documents.list.summary": {"Dokumente auflisten", "List documents"},
	"documents.list.description": {
		"Liefert sichtbare Dokumente seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Name, Aktenzeichen, Schlagwörtern, externalId und Text der Datei.",
		"Returns visible documents page by page, the latest change first. With updatedSince a client follows all changes, with q it searches name, file number, tags, externalId and text of the file."},

	"documents.create.summary": {"Dokument aus einem Upload anlegen", "Create a document from an upload"},
	"documents.create.description": {
		"Macht aus einem fertigen Upload ein Dokument. Antwortet 202 mit einem Vorgang, der die Datei prüft und ihren Text liest; an seinem Ende nennt er das Dokument, oder woran es scheiterte.",
		"Makes a document of a finished upload. Answers 202 with an operation, which checks the file and reads its text; at its end it names the document, or what it failed for."},

	"documents.count.summary": {"Dokumente zählen", "Count documents"},
	"documents.count.description": {
		"Zählt die sichtbaren Dokumente, höchstens bis 10 000.",
		"Counts the visible documents, up to 10,000 at most."},

	"documents.get.summary": {"Dokument lesen", "Read a document"},
	"documents.get.description": {
		"Liefert die Angaben zu einem Dokument; seine Datei liefert content. Unbekannte, fremde und unsichtbare Dokumente sind gleichermaßen 404.",
		"Returns what is known of a document; content returns its file. Unknown, foreign and invisible documents are all 404."},

	"documents.update.summary": {"Dokument umbenennen", "Rename a document"},
	"documents.update.description": {
		"Ändert einzelne Felder (JSON Merge Patch, RFC 7396): fehlende bleiben, null leert; die Datei selbst ändert sich nie. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision.",
		"Changes single fields (JSON Merge Patch, RFC 7396): absent ones stay, null clears; the file itself never changes. Requires If-Match. Where nothing changes there is no new revision."},

	"documents.delete.summary": {"Dokument löschen", "Delete a document"},
	"documents.delete.description": {
		"Löscht das Dokument und seine Datei sofort; für den Abgleich bleibt eine Löschmarke. Verlangt If-Match.",
		"Deletes the document and its file at once; a deletion marker stays for synchronization. Requires If-Match."},

	"documents.content.summary": {"Datei herunterladen", "Download the file"},
	"documents.content.description": {
		"Liefert die Datei eines Dokuments, mit Range nur einen Teil. ETag und Repr-Digest stehen für die ganze Datei, die sich nie ändert.",
		"Returns the file of a document, with Range only a part. ETag and Repr-Digest stand for the whole file, which never changes."},

	"uploads.create.summary": {"Upload beginnen", "Begin an upload"},
	"uploads.create.description": {
		"Eröffnet einen Upload und nennt Methode, Adresse und Header, mit denen die Datei binnen 24 Stunden gesendet wird, ohne Schlüssel. Typen und Größe, die die Instanz annimmt, nennt sie, wo eine Angabe nicht dazu passt.",
		"Opens an upload and names the method, address and headers with which the file is sent within 24 hours, without the key. The types and the size that the instance takes it names where a value does not match them."},

	"document.Fields":             {"Die Felder, die sich setzen lassen", "The members that can be set"},
	"document.Fields.name":        {"Dateiname, ohne Pfad", "File name, without a path"},
	"document.Fields.reference":   {"Aktenzeichen des Büros, nach dem sich suchen lässt", "File number of the office, which the search finds"},
	"document.Fields.contentType": {"Medientyp der Datei", "Media type of the file"},
	"document.Fields.size":        {"Größe der Datei in Bytes", "Size of the file in bytes"},
	"document.Fields.sha256":      {"SHA-256 der Datei, hexadezimal", "SHA-256 of the file, hexadecimal"},
	"document.Fields.textStatus": {
		"Wie viel vom Text der Datei gelesen wurde, als das Dokument entstand; so viel findet die Suche. complete: der ganze, partial: ein Teil, none: die Datei hat keinen, wie ein Scan oder ein Bild, unread: keiner",
		"How much of the file's text was read when the document was made; the search finds that much. complete: all of it, partial: a part, none: the file has none, like a scan or a picture, unread: nothing"},
	"document.Fields.textReason": {
		"Warum Text fehlt, bei partial und unread. encrypted: Kennwort oder Verschlüsselung, damaged: beschädigt, too_long: länger als gelesen wird, too_complex: zu aufwendig, unsupported: eine Form, die hier nicht gelesen wird, overdrawn: die Lesezeit der Organisation war verbraucht, unavailable: dieser Server liest keine Texte, scanned: einige Seiten sind Bilder, contained: Dateien in der Datei werden nicht gelesen, wie die Anhänge einer E-Mail",
		"Why text is missing, with partial and unread. encrypted: a password or encryption, damaged: damaged, too_long: longer than is read, too_complex: it takes too much time or memory, unsupported: a form that is not read here, overdrawn: the organization had used up its reading time, unavailable: this server reads no texts, scanned: some pages are pictures, contained: files inside of the file are not read, such as the attachments of an email"},
	"document.Fields.contactId": {
		"Kontakt, zu dem das Dokument gehört; er muss sichtbar sein. null auch, solange er für Sie nicht sichtbar ist",
		"Contact that the document belongs to; it must be visible. null also while you cannot see it"},
	"document.Fields.companyId": {
		"Firma, zu der das Dokument gehört; sie muss sichtbar sein. null auch, solange sie für Sie nicht sichtbar ist",
		"Company that the document belongs to; it must be visible. null also while you cannot see it"},
	"document.Fields.taskId": {
		"Aufgabe, zu der das Dokument gehört; sie muss sichtbar sein. null auch, solange sie für Sie nicht sichtbar ist",
		"Task that the document belongs to; it must be visible. null also while you cannot see it"},
	"document.Fields.uploadId": {"Upload, aus dem das Dokument entstand", "Upload that the document was made of"},

	"document.Document": {"Ein Dokument: was über eine Datei bekannt ist", "A document: what is known of a file"},

	"document.New":          {"Die Angaben, mit denen etwas Neues beginnt", "The members with which something new begins"},
	"document.New.uploadId": {"Upload mit der fertig gesendeten Datei", "Upload whose file has been sent"},
	"document.New.name": {
		"Dateiname, ohne Pfad; ohne Angabe der des Uploads",
		"File name, without a path; that of the upload where none is given"},
	"document.New.reference": {"Aktenzeichen des Büros, nach dem sich suchen lässt", "File number of the office, which the search finds"},
	"document.New.contactId": {
		"Kontakt, zu dem das Dokument gehört; er muss sichtbar sein",
		"Contact that the document belongs to; it must be visible"},
	"document.New.companyId": {
		"Firma, zu der das Dokument gehört; sie muss sichtbar sein",
		"Company that the document belongs to; it must be visible"},
	"document.New.taskId": {
		"Aufgabe, zu der das Dokument gehört; sie muss sichtbar sein",
		"Task that the document belongs to; it must be visible"},

	"upload.New": {
		"Die Angaben, mit denen etwas Neues beginnt", "The members with which something new begins",
	},
	"upload.New.fileName": {"Name der Datei, ohne Pfad", "Name of the file, without a path"},
	"upload.New.contentType": {
		"Medientyp der Datei; ihr Inhalt muss dazu passen", "Media type of the file; its content must match",
	},
	"upload.New.size": {
		"Größe in Bytes; die Instanz nennt ihre Grenze, wenn sie überschritten ist",
		"Size in bytes; the instance names its limit where it is exceeded"},
	"upload.New.sha256": {
		"SHA-256 der Datei, hexadezimal; empfohlen, dann fällt jeder Übertragungsfehler auf",
		"SHA-256 of the file, hexadecimal; recommended, since every transmission error is then found"},

	"upload.Upload":        {"Ein Upload: wohin eine Datei gesendet wird", "An upload: where a file is sent"},
	"upload.Upload.object": {"Immer upload", "Always upload"},
	"upload.Upload.id":     {"Kennung des Uploads", "Identifier of the upload"},
	"upload.Upload.status": {
		"pending: die Datei wird erwartet; received: sie ist da; consumed: aus ihr wurde ein Dokument; expired: zu spät",
		"pending: the file is awaited; received: it is there; consumed: a document was made of it; expired: too late"},
	"upload.Upload.method": {"Methode, mit der die Datei gesendet wird", "Method with which the file is sent"},
	"upload.Upload.url": {
		"Adresse, an die die Datei gesendet wird; wer sie kennt, darf senden: behandeln Sie sie wie ein Geheimnis",
		"Address that the file is sent to; whoever knows it may send: treat it like a secret"},
	"upload.Upload.headers": {
		"Header, die genau so mitgesendet werden müssen",
		"Headers that must be set when sending, exactly like this",
	},
	"upload.Upload.expiresAt": {
		"Bis wann die Datei gesendet und das Dokument angelegt sein muss",
		"By when the file must be sent and the document created"},
	"upload.Upload.createdAt": {"Zeitpunkt der Anlage", "When the record was created"},

	"document.Filters.contactId": {
		"Nur Dokumente zu diesem Kontakt; nicht zusammen mit q oder includeDeleted",
		"Only documents of this contact; not together with q or includeDeleted"},
	"document.Filters.taskId": {
		"Nur Dokumente zu dieser Aufgabe; nicht zusammen mit q oder includeDeleted",
		"Only documents of this task; not together with q or includeDeleted"},
	"document.Filters.reference": {
		"Nur Dokumente mit genau diesem Aktenzeichen, ohne Rücksicht auf Groß- und Kleinschreibung; nicht zusammen mit q oder includeDeleted",
		"Only documents with exactly this file number, regardless of case; not together with q or includeDeleted"},
	"document.Filters.companyId": {
		"Nur Dokumente zu dieser Firma; nicht zusammen mit q oder includeDeleted",
		"Only documents of this company; not together with q or includeDeleted"},

	"document.created.summary": {"Dokument angelegt", "Document created"},
	"document.created.description": {
		"Eine Datei wurde hochgeladen und geprüft, das Dokument ist da.",
		"A file was uploaded and checked, the document is there."},

	"document.deleted.summary": {"Dokument gelöscht", "Document deleted"},
	"document.deleted.description": {
		"Ein Dokument wurde mit seiner Datei gelöscht; zu lesen ist es nicht mehr.",
		"A document was deleted with its file; it can not be read any more."},
}
