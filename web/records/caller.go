package records

import (
	"strings"
	"unicode"

	"kartei/kit/phone"
	"kartei/web/shell"
)

// CallerField is the query parameter with the telephone number of a caller, which a form adds to
// the record.
const CallerField = "caller"

// NumberOf returns the telephone number of a caller from a query parameter. If a telephone does not
// escape a plus sign, the parameter begins with a space. The result is empty for a withheld number.
func NumberOf(sent string) string {
	caller := phone.Caller(sent)
	number := strings.TrimSpace(caller)
	if (strings.HasPrefix(sent, " ") || strings.HasPrefix(caller, " ")) && number != "" && number[0] >= '1' && number[0] <= '9' {
		number = "+" + number
	}
	if !strings.ContainsFunc(number, unicode.IsDigit) { // a withheld number, such as "anonymous" or "unknown"
		return ""
	}
	return number
}

// addCaller adds the number of a caller to a form. The number goes into its empty field, or else to
// the further numbers, or else below the note. No existing value is overwritten.
func (form *Form) addCaller(number string) {
	const list = "additionalPhones"
	name, label := "phone", ""
	if IsMobile(number) {
		if label = "mobile"; form.Family.Has("mobile") {
			name = "mobile"
		}
	}
	switch further := shell.Entries(form.Typed[list]); {
	case form.Typed[name] == "":
		form.Typed[name] = number
	case len(further) < maxEntries[list]:
		form.Typed[list] = shell.EntryList(list, append(further, shell.Values{"phone": number, "label": label}))
	default:
		form.Typed["note"] = shell.Joined("\n", form.Typed["note"], number)
	}
}
