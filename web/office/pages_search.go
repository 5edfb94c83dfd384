package office

import (
	"kartei/api/op"
	"kartei/people/settings"
	"kartei/record/document"
	"kartei/record/lookup"
)

// searchPages are the pages of this room.
var searchPages = []Page{
	inside("GET", "/search", op.List{lookup.Find, lookup.Recent}, showSearch),
	inside("GET", "/search/text/{id}", op.List{document.GetText}, showWords),
	inside("POST", "/opened", op.List{lookup.Opened}, noteOpened),
	inside("GET", "/go/{id}", op.List{lookup.Find}, showAny),
	inside("GET", "/choices/{of}", op.List{lookup.Find, settings.FindNames}, showChoices),
}
