package records

import (
	"kartei/record"
	"kartei/web/shell"
)

// CallerField is the query parameter with the telephone number of a caller, which a form adds to
// the record.
const CallerField = "caller"

// addCaller adds the number of a caller to a form. The number goes into its empty field, or else to
// the further numbers, or else below the note. No existing value is overwritten.
func (form *Form) addCaller(number string) {
	const list = "additionalPhones"
	name, label := "phone", ""
	if shell.IsMobile(number) {
		if label = "mobile"; form.Family.Has("mobile") {
			name = "mobile"
		}
	}
	switch further := shell.Entries(form.Typed[list]); {
	case form.Typed[name] == "":
		form.Typed[name] = number
	case len(further) < record.MaxEntries[list]:
		form.Typed[list] = shell.EntryList(list, append(further, shell.Values{"phone": number, "label": label}))
	default:
		form.Typed["note"] = shell.Joined("\n", form.Typed["note"], number)
	}
}
