// Package records owns the lists, pages and forms that all families of records have in common.
package records

import (
	"kartei/api/op"
	"kartei/people/principal"
	"kartei/record"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/web/shell"
)

// The operations of pages about records of any family.
var (
	// ListOps find the names that a list shows.
	ListOps = op.List{principal.ResolveNames, lookup.Titles}
	// RecordOps are for the page of a record.
	RecordOps = ListOps.And(op.List{record.History, task.List, document.List})
	// FormOps are for forms, in which references are typed.
	FormOps = ListOps.And(op.List{lookup.Find, principal.FindNames})
)

// Pages are the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/news/{id}", op.List{record.History, principal.ResolveNames}, showNews),
}
