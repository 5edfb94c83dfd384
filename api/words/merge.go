package words

// mergeWords are the texts about the orders to merge two records. The operations are in the files of
// their families.
var mergeWords = map[string]text{
	"merge.ContactInput.body": {"Der andere Kontakt und was von ihm bleibt", "The other contact and what stays of it"},
	"merge.ContactOrder":      {"Auftrag, zwei Kontakte zusammenzuführen", "Order to merge two contacts"},
	"merge.ContactOrder.from": {"Der Kontakt, der gelöscht wird", "The contact that is deleted"},
	"merge.ContactOrder.fromRevision": {
		"Die Revision dieses Kontakts, die gelesen wurde. Hat er eine andere, wird nichts geändert",
		"The revision of that contact that was read. Where it has another one, nothing is changed"},
	"merge.ContactOrder.values": {
		"Felder, deren Wert vom gelöschten Kontakt kommt, sofern er einen hat. Von allen anderen kommt er nur, wenn der bleibende Kontakt keinen hat",
		"Members whose value comes from the deleted contact, if it has one. For all others it comes from there only where the contact that stays has none"},

	"merge.CompanyInput.body": {"Die andere Firma und was von ihr bleibt", "The other company and what stays of it"},
	"merge.CompanyOrder":      {"Auftrag, zwei Firmen zusammenzuführen", "Order to merge two companies"},
	"merge.CompanyOrder.from": {"Die Firma, die gelöscht wird", "The company that is deleted"},
	"merge.CompanyOrder.fromRevision": {
		"Die Revision dieser Firma, die gelesen wurde. Hat sie eine andere, wird nichts geändert",
		"The revision of that company that was read. Where it has another one, nothing is changed"},
	"merge.CompanyOrder.values": {
		"Felder, deren Wert von der gelöschten Firma kommt, sofern sie einen hat. Von allen anderen kommt er nur, wenn die bleibende Firma keinen hat",
		"Members whose value comes from the deleted company, if it has one. For all others it comes from there only where the company that stays has none"},
}
