package fault

import (
	"fmt"
	"time"
)

// advice says for each code what to do next, to an assistant that has called a tool. It
// has no browser, no header and no operator, only its tools and its person.
var advice = map[Code]Text{
	InvalidRequest: {
		"Korrigieren Sie die Angaben, und rufen Sie das Werkzeug erneut auf.",
		"Correct the arguments, and call the tool again.",
	},
	ValidationFailed: {
		"Korrigieren Sie die Angaben, und rufen Sie das Werkzeug erneut auf.",
		"Correct the arguments, and call the tool again.",
	},
	Unauthenticated: {
		"Die Verbindung ist nicht mehr gültig. Die Person muss sie erneuern.",
		"The connection is not valid any more. The person has to renew it.",
	},
	Forbidden: {
		"Der Verbindung fehlt dieses Recht. Sagen Sie der Person, welches fehlt.",
		"The connection does not have this right. Tell the person which one is missing.",
	},
	OrganizationMismatch: {
		"Rufen Sie ohne Organisation auf: Die Verbindung gilt für genau eine.",
		"Call without an organization: the connection is for exactly one.",
	},
	APIModuleDisabled: {
		"Die Organisation hat die API ausgeschaltet. Das kann nur ihre Administration ändern.",
		"The organization has switched the API off. Only its admins can change that.",
	},
	RiskFamilyBlocked: {
		"Diesen Bereich gibt es hier nicht. Die Person muss die Webanwendung benutzen.",
		"This area does not exist here. The person has to use the web application.",
	},
	NotFound: {
		"Prüfen Sie die Kennung, oder suchen Sie den Datensatz mit der Liste seiner Art und q.",
		"Check the id, or look for the record with the list tool of its kind and q.",
	},
	OperationNotInVersion: {
		"Dieses Werkzeug gibt es in der Version der Verbindung nicht.",
		"This tool does not exist in the version of the connection.",
	},
	IdempotencyInProgress: {
		"Derselbe Aufruf läuft noch. Warten Sie, und senden Sie ihn mit demselben idempotencyKey noch einmal.",
		"The same call is still running. Wait, and send it again with the same idempotencyKey.",
	},
	IdempotencyPayloadMismatch: {
		"Nehmen Sie für einen anderen Inhalt einen neuen idempotencyKey.",
		"Take a new idempotencyKey for other contents.",
	},
	VersionSunset: {
		"Die Version der Verbindung gibt es nicht mehr. Die Person braucht einen neuen Schlüssel.",
		"The version of the connection has ended. The person needs a new key.",
	},
	PreconditionFailed: {
		"Der Datensatz hat eine andere Revision als die genannte. Lesen Sie ihn neu, und entscheiden Sie, ob die Änderung noch passt.",
		"The record has another revision than the one that was named. Read it again, and decide whether the change still fits.",
	},
	PreconditionRequired: {
		"Nennen Sie mit revision die Revision des Datensatzes, die Sie gelesen haben.",
		"Name the revision of the record that you have read, as revision.",
	},
	CursorMismatch: {"Beginnen Sie die Liste neu, ohne cursor.", "Begin the list again, without cursor."},
	UnknownParameter: {
		"Verwenden Sie ein bekanntes Argument. Lassen Sie es nicht einfach weg: Das Ergebnis wäre ein anderes.",
		"Use an argument that is known. Do not just leave it out: the result would be another one.",
	},
	UploadIncomplete: {
		"Die Datei muss erst an die Adresse des Uploads gesendet werden.",
		"The file has to be sent to the address of the upload first.",
	},
	UploadChecksumMismatch: {
		"Beginnen Sie einen neuen Upload und senden Sie die Datei noch einmal.",
		"Begin a new upload, and send the file again.",
	},
	UploadRejected: {
		"Diese Datei wird nicht angenommen. Sagen Sie der Person den Grund.",
		"This file is not accepted. Tell the person the reason.",
	},
	BatchTooLarge:         {"Rufen Sie die Werkzeuge einzeln auf.", "Call the tools one by one."},
	BatchFamilyNotAllowed: {"Rufen Sie die Werkzeuge einzeln auf.", "Call the tools one by one."},
	WebhookURLInvalid: {
		"Der Empfänger braucht eine öffentliche https-Adresse.", "The receiver needs a public https address.",
	},
	WebhookEndpointLimit: {
		"Löschen Sie zuerst einen Endpunkt, den niemand mehr braucht. Fragen Sie die Person, welchen.",
		"Delete an endpoint first that nobody needs any more. Ask the person which one.",
	},
	RateLimited: {"Warten Sie, und rufen Sie dann noch einmal auf.", "Wait, and then call again."},
	Overloaded:  {"Warten Sie kurz, und rufen Sie dann noch einmal auf.", "Wait a little, and then call again."},
	QuotaExhausted: {
		"Für heute ist das Kontingent verbraucht. Sagen Sie das der Person.",
		"The quota is used up for today. Tell the person.",
	},
	APIPaused: {
		"Der Betrieb ist unterbrochen. Versuchen Sie es später noch einmal.",
		"The service is paused. Try again later.",
	},
	Upstream: {
		"Ein anderer Dienst antwortet nicht. Versuchen Sie es später noch einmal.",
		"Another service does not answer. Try again later.",
	},
	InstancePending: {
		"Der Dienst ist gerade nicht bereit. Warten Sie, und rufen Sie dann noch einmal auf.",
		"The service is not ready at the moment. Wait, and then call again.",
	},
	Internal: {
		"Das ist ein Fehler in Kartei. Nennen Sie der Person die requestId.",
		"This is an error of Kartei. Tell the person the requestId.",
	},
	MethodNotAllowed:     {"Dieses Werkzeug gibt es nicht.", "This tool does not exist."},
	NotAcceptable:        {"Dieses Werkzeug antwortet nur mit JSON.", "This tool answers with JSON only."},
	PayloadTooLarge:      {"Der Aufruf ist zu groß. Kürzen Sie ihn.", "The call is too large. Shorten it."},
	UnsupportedMediaType: {"Senden Sie JSON.", "Send JSON."},
	RangeNotSatisfiable:  {"Diesen Teil hat die Datei nicht.", "The file does not have this part."},
}

// Advice returns what an assistant does next, with the numbers that the fault has.
func (f *Fault) Advice(in Language) string {
	text := advice[f.Code].In(in)
	if revision, known := f.Extra["currentRevision"]; known {
		text += " " + Text{
			fmt.Sprintf("Die jetzige Revision ist %v.", revision),
			fmt.Sprintf("The present revision is %v.", revision),
		}.In(in)
	}
	if wait := f.Wait(); wait > 0 {
		seconds := int64((wait + time.Second - 1) / time.Second)
		text += " " + Text{
			fmt.Sprintf("Das ist in %d s möglich.", seconds), fmt.Sprintf("That is possible in %d s.", seconds),
		}.In(in)
	}
	return text
}
