package office

import (
	"kartei/api"
	"kartei/api/op"
	"kartei/people/settings"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/transfer/bulk"
)

// bookPages are the pages of this room.
var bookPages = []Page{
	inside("GET", "/call", op.List{lookup.Find}, showCall),
	inside("GET", "/choices/tags", op.List{lookup.Tags}, showTags),

	inside("GET", "/contacts", op.List{contact.List, contact.Count, lookup.Find, settings.FindNames}.And(listOps), showBook(&contacts)),
	inside("GET", "/contacts/new", op.List{contact.Create}.And(listOps), showForm(&contacts)),
	inside("POST", "/contacts/new", op.List{contact.Create, company.Create, lookup.FindSimilar}.And(formOps), createRecord(&contacts)),
	inside("POST", "/contacts/similar", op.List{contact.Create, lookup.FindSimilar}, showSimilar(&contacts)),
	inside("GET", "/contacts/{id}", op.List{contact.Get, contact.List, contact.Count}.And(recordOps), showRecord(&contacts, bookView, nil)),
	inside("GET", "/contacts/{id}/edit", op.List{contact.Update, contact.Get}.And(listOps), showForm(&contacts)),
	inside("POST", "/contacts/labels", op.List{contact.List, lookup.BeginExport, api.RunBatch}.And(listOps), showLabels(&contacts)),
	inside("POST", "/contacts/export", op.List{contact.List, lookup.BeginExport, api.RunBatch}.And(listOps), exportList(&contacts)),
	inside("POST", "/bulk/contacts/{act}", op.List{contact.Update, api.RunBatch, bulk.Start, settings.FindNames}.And(listOps), beginBulk(&contacts)),
	inside("POST", "/contacts/{id}", op.List{contact.Update, company.Create, contact.Get, record.History}.And(formOps), saveRecord(&contacts)),
	inside("GET", "/contacts/{id}/vcard", op.List{contact.Get, lookup.Titles}, showCard(&contacts)),
	inside("GET", "/contacts/{id}/qr", op.List{contact.Get, lookup.Titles}, showQR(&contacts)),
	inside("GET", "/contacts/{id}/delete", op.List{contact.Delete, contact.Get, task.Count, document.Count}, askToDelete(&contacts)),
	inside("POST", "/contacts/{id}/delete", op.List{contact.Delete}, deleteRecord(&contacts)),

	inside("GET", "/companies", op.List{company.List, company.Count, lookup.Find, settings.FindNames}.And(listOps), showBook(&companies)),
	inside("GET", "/companies/new", op.List{company.Create}.And(listOps), showForm(&companies)),
	inside("POST", "/companies/new", op.List{company.Create, lookup.FindSimilar}.And(formOps), createRecord(&companies)),
	inside("POST", "/companies/similar", op.List{company.Create, lookup.FindSimilar}, showSimilar(&companies)),
	inside("GET", "/companies/{id}", op.List{company.Get, company.List, company.Count, contact.List}.And(recordOps), showRecord(&companies, bookView, nil)),
	inside("GET", "/companies/{id}/edit", op.List{company.Update, company.Get}.And(listOps), showForm(&companies)),
	inside("POST", "/companies/labels", op.List{company.List, lookup.BeginExport, api.RunBatch}.And(listOps), showLabels(&companies)),
	inside("POST", "/companies/export", op.List{company.List, lookup.BeginExport, api.RunBatch}.And(listOps), exportList(&companies)),
	inside("POST", "/bulk/companies/{act}", op.List{company.Update, api.RunBatch, bulk.Start, settings.FindNames}.And(listOps), beginBulk(&companies)),
	inside("POST", "/companies/{id}", op.List{company.Update, company.Get, record.History}.And(formOps), saveRecord(&companies)),
	inside("GET", "/companies/{id}/vcard", op.List{company.Get, lookup.Titles}, showCard(&companies)),
	inside("GET", "/companies/{id}/qr", op.List{company.Get, lookup.Titles}, showQR(&companies)),
	inside("GET", "/companies/{id}/delete", op.List{company.Delete, company.Get, contact.Count, task.Count, document.Count}, askToDelete(&companies)),
	inside("POST", "/companies/{id}/delete", op.List{company.Delete}, deleteRecord(&companies)),
}
