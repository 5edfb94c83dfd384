// Writes the messages of Outlook; see README.md.
import {writeFileSync} from "node:fs"
import {Attachment, Email} from "@tutao/oxmsg"

const page = "<html><body><p>Sehr geehrter Herr Wei&szlig;,</p><table><tr><td>Kaltmiete</td><td>950,00 €</td></tr></table></body></html>"
const write = (name, draft, text, html) => {
	const e = new Email(draft, false)
		.sender("anna.berg@example.com", "Anna Berg")
		.to("weiss@example.com", "Jürgen Weiß")
		.cc("kanzlei@example.com", "Kanzlei Größenstraße")
		.subject("Kündigung Mietvertrag")
		.sentOn(new Date("2026-11-02T09:00:00Z"))
		.receivedOn(new Date("2026-11-02T09:00:05Z"))
		.bodyText(text)
		.bodyHtml(html)
	if (text) e.attach(new Attachment(new TextEncoder().encode("%PDF-1.7\n"), "Bescheid Müller.pdf"))
	writeFileSync(name, e.msg())
}
write("letter.msg", false, "Sehr geehrter Herr Weiß,\r\n\r\ndie Kaltmiete von 950,00 € ist „pauschal“. Договор\r\n", page)
write("page.msg", false, "", page)
write("draft.msg", true, "", page)
