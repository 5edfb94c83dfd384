// Package data owns the pages of imports, of exports of personal data, and of changes of whole lists.
package data

import (
	"kartei/api/op"
	"kartei/people/account"
	"kartei/people/principal"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/transfer/bulk"
	"kartei/transfer/exports"
	"kartei/transfer/imports"
	"kartei/transfer/merge"
	"kartei/web/records"
	"kartei/web/shell"
)

// Pages are the pages of this package. Each has its method, its path, the operations that it may
// call, and its handler.
var Pages = []shell.Page{
	// The pages of imports need the right to create contacts. Every person may export their own
	// personal data.
	shell.Private("GET", "/settings/data", op.List{account.GetSession, imports.List, principal.ResolveNames, principal.ListUsers, principal.ListServiceAccounts}, showData),
	shell.Private("POST", "/settings/data/person", op.List{exports.BeginPrincipal, exports.GetParts}, takeOutPerson),
	shell.Private("POST", "/settings/data/organization", op.List{exports.BeginOrganization, exports.GetParts}, takeOutOrganization),
	shell.Private("GET", "/settings/data/new", op.List{contact.Create}, showNewImport),
	shell.Private("POST", "/settings/data/new", op.List{contact.Create, imports.Create, imports.Append, imports.Complete, imports.Get}, createImport, shell.TakesFiles),
	shell.Private("GET", "/settings/data/{id}", op.List{contact.Create, imports.Get, imports.GetLines, principal.ResolveNames, lookup.Titles}, showImport),
	shell.Private("POST", "/settings/data/{id}/columns", op.List{contact.Create, imports.Map, imports.Get, imports.GetLines, principal.ResolveNames, lookup.Titles}, mapImport),
	shell.Private("POST", "/settings/data/{id}/run", op.List{contact.Create, imports.Run}, actOnImport(imports.Run)),
	shell.Private("GET", "/settings/data/{id}/undo", op.List{contact.Create, imports.Get}, askToUndo),
	shell.Private("POST", "/settings/data/{id}/undo", op.List{contact.Create, imports.Undo}, actOnImport(imports.Undo)),
	shell.Private("POST", "/settings/data/{id}/discard", op.List{contact.Create, imports.Discard}, discardImport),
	shell.Private("GET", "/settings/data/{id}/report", op.List{contact.Create, imports.Get, imports.GetLines}, showReport),
	shell.Private("GET", "/settings/data/{id}/refused", op.List{contact.Create, imports.Get, imports.GetLines}, showRefused),

	shell.Inside("GET", "/contacts/{id}/access", op.List{contact.Get, merge.Find}, askToTakeOut),
	shell.Inside("POST", "/contacts/{id}/access", op.List{exports.BeginContact, exports.GetParts, contact.Get}, takeOutContact),

	shell.Inside("GET", shell.ChangesPath, op.List{bulk.List, principal.ResolveNames}, showChanges),
	shell.Inside("GET", shell.ChangesPath+"/{id}", op.List{bulk.Get, bulk.GetReport}.And(records.ListOps), showChange),
	shell.Inside("POST", shell.ChangesPath+"/{id}/stop", op.List{bulk.Stop}, actOnChange(bulk.Stop)),
	shell.Inside("POST", shell.ChangesPath+"/{id}/resume", op.List{bulk.Resume}, actOnChange(bulk.Resume)),
	shell.Inside("POST", shell.ChangesPath+"/{id}/undo", op.List{bulk.Undo}, actOnChange(bulk.Undo)),
}
