// Package conflicts owns the pages of the conflict check.
package conflicts

import (
	"kartei/api/op"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/upload"
	"kartei/web/shell"
)

// keepPath is the path of the form that keeps a check as a document.
const keepPath = shell.ConflictsPath + "/keep"

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", shell.ConflictsPath, op.List{lookup.Conflicts, contact.Get, company.Get, lookup.Titles}, showForm),
	shell.Inside("POST", shell.ConflictsPath, op.List{lookup.Conflicts}, checkNames),
	shell.Inside("POST", keepPath, op.List{document.Create, upload.Create, upload.GetTerms, lookup.Conflicts}, keepCheck),
}
