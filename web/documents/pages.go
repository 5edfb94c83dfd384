// Package documents owns the pages of documents: their viewer and the upload of files.
package documents

import (
	"kartei/api/op"
	"kartei/people/principal"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/operation"
	"kartei/record/upload"
	"kartei/web/records"
	"kartei/web/shell"
)

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/documents", op.List{document.List, document.Count, document.ListUnderway, upload.GetTerms, lookup.Find, principal.FindNames}.And(records.ListOps), showDocuments),
	shell.Inside("GET", "/documents/new", op.List{document.Create, upload.GetTerms}.And(records.ListOps), showUpload),
	shell.Inside("POST", "/documents/new", op.List{document.Create, upload.Create, upload.GetTerms}.And(records.ListOps), createDocument, shell.TakesFiles),
	shell.Inside("POST", "/documents/upload", op.List{upload.Create, upload.GetTerms}, beginUpload, shell.TakesFiles),
	shell.Inside("PUT", "/documents/upload/{upload}", op.List{upload.Create, upload.GetTerms}, receiveUpload, shell.TakesFiles),
	shell.Inside("GET", "/operations/{id}", op.List{operation.Get, document.Get}.And(records.ListOps), showOperation),
	shell.Inside("GET", "/documents/{id}/content", op.List{document.Content}, download),
	shell.Inside("GET", "/documents/{id}/sheets/{page}", op.List{document.Get, document.GetPage}, showSheet),
	shell.Inside("GET", "/documents/{id}/pictures/{page}", op.List{document.Get, document.GetPage}, showPicture),
	shell.Inside("GET", "/documents/{id}", op.List{document.Get, document.Count, document.GetPage, document.GetText}.And(records.RecordOps), records.Show(&records.Documents, records.PageView, openViewer)),
	shell.Inside("GET", "/documents/{id}/edit", op.List{document.Update, document.Get}.And(records.ListOps), records.ShowForm(&records.Documents)),
	shell.Inside("POST", "/documents/{id}", op.List{document.Update, document.Get, lookup.History}.And(records.FormOps), records.SaveRecord(&records.Documents)),
	shell.Inside("POST", "/documents/{id}/delete", op.List{document.Delete}, records.DeleteRecord(&records.Documents)),
}
