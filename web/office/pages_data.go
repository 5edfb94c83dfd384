package office

import (
	"kartei/api/op"
	"kartei/people/account"
	"kartei/people/settings"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/transfer/bulk"
	"kartei/transfer/exports"
	"kartei/transfer/imports"
)

// dataPages are the pages of this room.
var dataPages = []Page{
	// Contacts are imported with the right to create them. Everybody may have what is
	// kept about themselves.
	private("GET", "/settings/data", op.List{account.GetSession, imports.List, settings.ResolveNames, settings.ListUsers, settings.ListServiceAccounts}, showData),
	private("POST", "/settings/data/person", op.List{exports.BeginPrincipal, exports.GetParts}, takeOutPerson),
	private("POST", "/settings/data/organization", op.List{exports.BeginOrganization, exports.GetParts}, takeOutOrganization),
	private("GET", "/settings/data/new", op.List{contact.Create}, showNewImport),
	private("POST", "/settings/data/new", op.List{contact.Create, imports.Create, imports.Append, imports.Complete, imports.Get}, createImport, takesFiles),
	private("GET", "/settings/data/{id}", op.List{contact.Create, imports.Get, imports.GetLines, settings.ResolveNames, lookup.Titles}, showImport),
	private("POST", "/settings/data/{id}/columns", op.List{contact.Create, imports.Map, imports.Get, imports.GetLines, settings.ResolveNames, lookup.Titles}, mapImport),
	private("POST", "/settings/data/{id}/run", op.List{contact.Create, imports.Run}, actOnImport(imports.Run)),
	private("GET", "/settings/data/{id}/undo", op.List{contact.Create, imports.Get}, askToUndo),
	private("POST", "/settings/data/{id}/undo", op.List{contact.Create, imports.Undo}, actOnImport(imports.Undo)),
	private("POST", "/settings/data/{id}/discard", op.List{contact.Create, imports.Discard}, discardImport),
	private("GET", "/settings/data/{id}/report", op.List{contact.Create, imports.Get, imports.GetLines}, showReport),
	private("GET", "/settings/data/{id}/refused", op.List{contact.Create, imports.Get, imports.GetLines}, showRefused),

	inside("GET", "/contacts/{id}/access", op.List{contact.Get}, askToTakeOut),
	inside("POST", "/contacts/{id}/access", op.List{exports.BeginContact, exports.GetParts, contact.Get}, takeOutContact),

	inside("GET", changesPath, op.List{bulk.List, settings.ResolveNames}, showChanges),
	inside("GET", changesPath+"/{id}", op.List{bulk.Get, bulk.GetReport}.And(listOps), showChange),
	inside("POST", changesPath+"/{id}/stop", op.List{bulk.Stop}, actOnChange(bulk.Stop)),
	inside("POST", changesPath+"/{id}/resume", op.List{bulk.Resume}, actOnChange(bulk.Resume)),
	inside("POST", changesPath+"/{id}/undo", op.List{bulk.Undo}, actOnChange(bulk.Undo)),
}
