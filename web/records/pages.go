// Package records owns the description of families to pages, and their common lists, pages and forms.
package records

import (
	"kartei/api/op"
	"kartei/people/principal"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/web/shell"
)

// These are the operations of the pages about records of any family.
var (
	// ListOps resolve the names in a list.
	ListOps = op.List{principal.ResolveNames, lookup.Titles}
	// RecordOps are the operations of the page of a record.
	RecordOps = ListOps.And(op.List{lookup.History, task.List, document.List})
	// FormOps are the operations of forms, in which people type references.
	FormOps = ListOps.And(op.List{lookup.Find, principal.FindNames})
)

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/news/{id}", op.List{lookup.History, principal.ResolveNames}, showNews),
}
