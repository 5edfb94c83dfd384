package data

import (
	"cmp"
	"net/http"
	"time"

	"kartei/api/op"
	"kartei/kit/archive"
	"kartei/transfer/exports"
	"kartei/web/records"
	"kartei/web/shell"
)

// takeOut begins an export and serves it as a ZIP file. The file is written while its parts are
// read. Each part is read with the caller's rights at that time.
//
// The call has no Idempotency-Key, because the page stays open and its form may be sent again. If
// the export fails after the first bytes, the connection is cut, so that browsers do not accept an
// incomplete file.
func takeOut(v *shell.Request, row op.Operation[exports.Input, exports.BeginOutput], id, title string) shell.View {
	begun, err := shell.Ask(v, row, exports.Input{ID: id, Language: v.Words.Language})
	if err != nil {
		return v.Failed(err)
	}
	name := shell.NameOfFile(shell.Joined(" ", title, begun.Name, v.Words.Now.In(v.Zone()).Format(time.DateOnly)), "zip")
	return shell.Download{Name: name, MediaType: "application/zip", Write: func(w http.ResponseWriter) error {
		return pack(v, w, begun.Cursor)
	}}
}

// pack writes the parts of the export that begins at cursor as a ZIP file.
func pack(v *shell.Request, w http.ResponseWriter, cursor string) error {
	control, file := http.NewResponseController(w), archive.NewWriter(w, v.Words.Now)
	for cursor != "" {
		_ = control.SetWriteDeadline(time.Now().Add(shell.ExportPatience)) // an error means no deadlines
		next, err := shell.Ask(v, exports.GetParts, exports.PartsInput{Cursor: cursor})
		if err != nil {
			return err
		}
		for _, p := range next.Parts {
			if err := file.Add(p); err != nil {
				return err
			}
		}
		cursor = next.Cursor
	}
	return file.Close()
}

// takeOutPerson serves the personal data of the caller. An admin can also choose another person or
// a service account.
func takeOutPerson(v *shell.Request) shell.View {
	return takeOut(v, exports.BeginPrincipal, cmp.Or(v.Sent.Text("id"), v.Session.Principal.ID), v.Words.Say("Personal data"))
}

// takeOutOrganization serves all data of the organization.
func takeOutOrganization(v *shell.Request) shell.View {
	return takeOut(v, exports.BeginOrganization, "", v.Words.Say("Export"))
}

// takeOutContact serves all data about one contact.
func takeOutContact(v *shell.Request) shell.View {
	return takeOut(v, exports.BeginContact, v.PathValue("id"), v.Words.Say("Personal data"))
}

// askToTakeOut serves the page that describes the export of a contact and offers it.
func askToTakeOut(v *shell.Request) shell.View {
	p := records.Page{Family: &records.Contacts}
	var err error
	if p.Record, err = records.Get(v, &records.Contacts, v.PathValue("id")); err != nil {
		return records.Missing(v, err)
	}
	return v.InDialog(v.Words.Say("Everything about “%s”", records.Contacts.Heading(p.Record)), records.Contacts.Name, takeOutContactView(v, p))
}
