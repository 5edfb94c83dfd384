package office

import (
	"kartei/api/op"
	"kartei/people/settings"
	"kartei/record"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
)

// The operations of pages about records of any family.
var (
	// listOps find the names that a list shows.
	listOps = op.List{settings.ResolveNames, lookup.Titles}
	// recordOps are for the page of a record.
	recordOps = listOps.And(op.List{record.History, task.List, document.List})
	// formOps are for forms, in which references are typed.
	formOps = listOps.And(op.List{lookup.Find, settings.FindNames})
)

// recordsPages are the pages of this room.
var recordsPages = []Page{
	inside("GET", "/news/{id}", op.List{record.History, settings.ResolveNames}, showNews),
}
