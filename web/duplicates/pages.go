// Package duplicates owns the pages of possible duplicates and of their merging.
package duplicates

import (
	"kartei/api/op"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/transfer/merge"
	"kartei/web/records"
	"kartei/web/shell"
)

// The operations that the pages of a merge use, for each family.
var (
	ofContacts  = op.List{merge.Contacts, contact.Get}.And(ofMerges)
	ofCompanies = op.List{merge.Companies, company.Get, contact.Count}.And(ofMerges)
	ofMerges    = op.List{
		task.Count, document.Count, merge.Find, merge.List, lookup.History, lookup.Duplicates,
	}.And(records.FormOps)
)

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/contacts/{id}/merge", ofContacts, showMerge(&contacts)),
	shell.Inside("POST", "/contacts/{id}/merge", ofContacts, mergeRecords(&contacts)),
	shell.Inside("GET", "/companies/{id}/merge", ofCompanies, showMerge(&companies)),
	shell.Inside("POST", "/companies/{id}/merge", ofCompanies, mergeRecords(&companies)),

	shell.Inside("GET", shell.DuplicatesPath, op.List{lookup.Duplicates}.And(records.ListOps), showDuplicates),
	shell.Inside("POST", shell.DuplicatesPath+"/dismiss", op.List{lookup.Dismiss}, dismiss),

	shell.Inside("GET", shell.MergedPath, op.List{merge.List}.And(records.ListOps), showMerged),
	shell.Inside("POST", shell.MergedPath+"/{id}/undo", op.List{merge.Undo}, undoMerge),
}
