package office

import (
	"kartei/api/op"
	"kartei/people/settings"
	"kartei/record"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/operation"
	"kartei/record/upload"
)

// documentsPages are the pages of this room.
var documentsPages = []Page{
	inside("GET", "/documents", op.List{document.List, document.Count, document.ListUnderway, upload.GetTerms, lookup.Find, settings.FindNames}.And(listOps), showDocuments),
	inside("GET", "/documents/new", op.List{document.Create, upload.GetTerms}.And(listOps), showUpload),
	inside("POST", "/documents/new", op.List{document.Create, upload.Create, upload.GetTerms}.And(listOps), createDocument, takesFiles),
	inside("POST", "/documents/upload", op.List{upload.Create, upload.GetTerms}, beginUpload, takesFiles),
	inside("PUT", "/documents/upload/{upload}", op.List{upload.Create, upload.GetTerms}, receiveUpload, takesFiles),
	inside("GET", "/operations/{id}", op.List{operation.Get, document.Get}.And(listOps), showOperation),
	inside("GET", "/documents/{id}/content", op.List{document.Content}, download),
	inside("GET", "/documents/{id}/sheets/{page}", op.List{document.Get, document.GetPage}, showSheet),
	inside("GET", "/documents/{id}/pictures/{page}", op.List{document.Get, document.GetPage}, showPicture),
	inside("GET", "/documents/{id}", op.List{document.Get, document.Count, document.GetPage, document.GetText}.And(recordOps), showRecord(&documents, recordView, openViewer)),
	inside("GET", "/documents/{id}/edit", op.List{document.Update, document.Get}.And(listOps), showForm(&documents)),
	inside("POST", "/documents/{id}", op.List{document.Update, document.Get, record.History}.And(formOps), saveRecord(&documents)),
	inside("POST", "/documents/{id}/delete", op.List{document.Delete}, deleteRecord(&documents)),
}
