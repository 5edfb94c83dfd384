// Package search owns the page of search results, and the suggestions while a person types.
package search

import (
	"kartei/api/op"
	"kartei/people/principal"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/web/shell"
)

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/search", op.List{lookup.Find, lookup.Recent}, showSearch),
	shell.Inside("GET", "/search/text/{id}", op.List{document.GetText}, showWords),
	shell.Inside("POST", "/opened", op.List{lookup.Opened}, noteOpened),
	shell.Inside("GET", "/go/{id}", op.List{lookup.Find}, showAny),
	shell.Inside("GET", "/choices/{of}", op.List{lookup.Find, principal.FindNames}, showChoices),
}
