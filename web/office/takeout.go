package office

import (
	"net/http"
	"time"

	"kartei/api/op"
	"kartei/kit/archive"
	"kartei/transfer/exports"
)

// takeOut begins an export and serves it as a ZIP file. The file is written while its
// parts are read, each with the rights of its moment. The call has no idempotency key:
// the page stays, and its form may be sent again. If that fails halfway the
// connection is cut, so that no browser takes a part for the whole.
func (v *request) takeOut(row op.Operation[exports.Input, exports.Begun], id, title string) view {
	begun, err := ask(v, row, exports.Input{ID: id, Language: v.words.Language})
	if err != nil {
		return v.failed(err)
	}
	name := nameOfFile(joined(" ", title, begun.Name, v.words.Now.In(v.zone()).Format(time.DateOnly)), "zip")
	return view{status: http.StatusOK, written: &written{name: name, mediaType: "application/zip", write: func(w http.ResponseWriter) error {
		return v.pack(w, begun.Cursor)
	}}}
}

// pack writes the parts of an export.
func (v *request) pack(w http.ResponseWriter, cursor string) error {
	control, file := http.NewResponseController(w), archive.NewWriter(w, v.words.Now)
	for cursor != "" {
		_ = control.SetWriteDeadline(time.Now().Add(exportPatience)) // a connection without deadlines does not need one
		next, err := ask(v, exports.GetParts, exports.PartsInput{Cursor: cursor})
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
func takeOutPerson(v *request) view {
	return v.takeOut(exports.BeginPrincipal, first(v.form.text("id"), v.session.Principal.ID), v.words.Say("Auskunft", "Personal data"))
}

// takeOutOrganization serves everything of the organization.
func takeOutOrganization(v *request) view {
	return v.takeOut(exports.BeginOrganization, "", v.words.Say("Export", "Export"))
}

// takeOutContact serves everything about a contact.
func takeOutContact(v *request) view {
	return v.takeOut(exports.BeginContact, v.PathValue("id"), v.words.Say("Auskunft", "Personal data"))
}

// askToTakeOut says what is in the file about a contact, and offers it.
func askToTakeOut(v *request) view {
	p := recordPage{family: &contacts}
	var err error
	if p.record, err = v.get(&contacts, v.PathValue("id")); err != nil {
		return v.failed(err)
	}
	return v.inDialog(v.words.Say("Auskunft über „", "Everything about “")+contacts.heading(p.record)+v.words.Say("“", "”"), contacts.name, takeOutContactView(v, p))
}
