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

// takeOut begins an export and serves it as a ZIP file. The file is written while its
// parts are read, each with the rights of its moment. The call has no idempotency key:
// the page stays, and its form may be sent again. If that fails halfway the
// connection is cut, so that no browser takes a part for the whole.
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

// pack writes the parts of an export.
func pack(v *shell.Request, w http.ResponseWriter, cursor string) error {
	control, file := http.NewResponseController(w), archive.NewWriter(w, v.Words.Now)
	for cursor != "" {
		_ = control.SetWriteDeadline(time.Now().Add(shell.ExportPatience)) // a connection without deadlines does not need one
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

// takeOutPerson serves what is kept about a person of the office: about the caller, or
// for admins about anybody.
func takeOutPerson(v *shell.Request) shell.View {
	return takeOut(v, exports.BeginPrincipal, cmp.Or(v.Sent.Text("id"), v.Session.Principal.ID), v.Words.Say("Personal data"))
}

// takeOutOrganization serves everything of the organization.
func takeOutOrganization(v *shell.Request) shell.View {
	return takeOut(v, exports.BeginOrganization, "", v.Words.Say("Export"))
}

// takeOutContact serves everything about a contact.
func takeOutContact(v *shell.Request) shell.View {
	return takeOut(v, exports.BeginContact, v.PathValue("id"), v.Words.Say("Personal data"))
}

// askToTakeOut says what is in the file about a contact, and offers it.
func askToTakeOut(v *shell.Request) shell.View {
	p := records.Page{Family: &records.Contacts}
	var err error
	if p.Record, err = records.Get(v, &records.Contacts, v.PathValue("id")); err != nil {
		return v.Failed(err)
	}
	return v.InDialog(v.Words.Say("Everything about “%s”", records.Contacts.Heading(p.Record)), records.Contacts.Name, takeOutContactView(v, p))
}
