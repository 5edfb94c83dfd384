// Package book owns the pages of the address book: contacts, companies, vCards, address labels and bulk actions.
package book

import (
	"kartei/api"
	"kartei/api/op"
	"kartei/people/principal"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/transfer/bulk"
	"kartei/transfer/exports"
	"kartei/transfer/merge"
	"kartei/web/records"
	"kartei/web/shell"
)

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/call", op.List{lookup.Find}, showCall),
	shell.Inside("GET", "/choices/tags", op.List{lookup.Tags}, showTags),

	shell.Inside("GET", "/contacts", op.List{contact.List, contact.Count, lookup.Find, principal.FindNames}.And(records.ListOps), showBook(&records.Contacts)),
	shell.Inside("GET", "/contacts/new", op.List{contact.Create}.And(records.ListOps), records.ShowForm(&records.Contacts)),
	shell.Inside("POST", "/contacts/new", op.List{contact.Create, company.Create, lookup.FindSimilar}.And(records.FormOps), records.CreateRecord(&records.Contacts)),
	shell.Inside("POST", "/contacts/similar", op.List{contact.Create, lookup.FindSimilar}, records.ShowSimilar(&records.Contacts)),
	shell.Inside("GET", "/contacts/{id}", op.List{contact.Get, contact.List, contact.Count, merge.Find, merge.Get, lookup.Duplicates}.And(records.RecordOps), records.Show(&records.Contacts, bookView, nil)),
	shell.Inside("GET", "/contacts/{id}/edit", op.List{contact.Update, contact.Get, merge.Find}.And(records.ListOps), records.ShowForm(&records.Contacts)),
	shell.Inside("POST", "/contacts/labels", op.List{contact.List, exports.BeginList, api.RunBatch}.And(records.ListOps), showLabels(&records.Contacts)),
	shell.Inside("POST", "/contacts/export", op.List{contact.List, exports.BeginList, api.RunBatch}.And(records.ListOps), exportList(&records.Contacts)),
	shell.Inside("POST", "/bulk/contacts/{act}", op.List{contact.Update, api.RunBatch, bulk.Start, principal.FindNames}.And(records.ListOps), beginBulk(&records.Contacts)),
	shell.Inside("POST", "/contacts/{id}", op.List{contact.Update, company.Create, contact.Get, lookup.History}.And(records.FormOps), records.SaveRecord(&records.Contacts)),
	shell.Inside("GET", "/contacts/{id}/vcard", op.List{contact.Get, lookup.Titles, merge.Find}, showCard(&records.Contacts)),
	shell.Inside("GET", "/contacts/{id}/qr", op.List{contact.Get, lookup.Titles, merge.Find}, showQR(&records.Contacts)),
	shell.Inside("GET", "/contacts/{id}/delete", op.List{contact.Delete, contact.Get, task.Count, document.Count, merge.Find}, askToDelete(&records.Contacts)),
	shell.Inside("POST", "/contacts/{id}/delete", op.List{contact.Delete}, records.DeleteRecord(&records.Contacts)),

	shell.Inside("GET", "/companies", op.List{company.List, company.Count, lookup.Find, principal.FindNames}.And(records.ListOps), showBook(&records.Companies)),
	shell.Inside("GET", "/companies/new", op.List{company.Create}.And(records.ListOps), records.ShowForm(&records.Companies)),
	shell.Inside("POST", "/companies/new", op.List{company.Create, lookup.FindSimilar}.And(records.FormOps), records.CreateRecord(&records.Companies)),
	shell.Inside("POST", "/companies/similar", op.List{company.Create, lookup.FindSimilar}, records.ShowSimilar(&records.Companies)),
	shell.Inside("GET", "/companies/{id}", op.List{company.Get, company.List, company.Count, contact.List, merge.Find, merge.Get, lookup.Duplicates}.And(records.RecordOps), records.Show(&records.Companies, bookView, nil)),
	shell.Inside("GET", "/companies/{id}/edit", op.List{company.Update, company.Get, merge.Find}.And(records.ListOps), records.ShowForm(&records.Companies)),
	shell.Inside("POST", "/companies/labels", op.List{company.List, exports.BeginList, api.RunBatch}.And(records.ListOps), showLabels(&records.Companies)),
	shell.Inside("POST", "/companies/export", op.List{company.List, exports.BeginList, api.RunBatch}.And(records.ListOps), exportList(&records.Companies)),
	shell.Inside("POST", "/bulk/companies/{act}", op.List{company.Update, api.RunBatch, bulk.Start, principal.FindNames}.And(records.ListOps), beginBulk(&records.Companies)),
	shell.Inside("POST", "/companies/{id}", op.List{company.Update, company.Get, lookup.History}.And(records.FormOps), records.SaveRecord(&records.Companies)),
	shell.Inside("GET", "/companies/{id}/vcard", op.List{company.Get, lookup.Titles, merge.Find}, showCard(&records.Companies)),
	shell.Inside("GET", "/companies/{id}/qr", op.List{company.Get, lookup.Titles, merge.Find}, showQR(&records.Companies)),
	shell.Inside("GET", "/companies/{id}/delete", op.List{company.Delete, company.Get, contact.Count, task.Count, document.Count, merge.Find}, askToDelete(&records.Companies)),
	shell.Inside("POST", "/companies/{id}/delete", op.List{company.Delete}, records.DeleteRecord(&records.Companies)),
}
