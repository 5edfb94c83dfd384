package records

import (
	"strings"
	"unicode"

	"kartei/kit/phone"
	"kartei/web/shell"
)

// CallerField is the parameter with the number of a caller that a form adds.
const CallerField = "caller"

// NumberOf returns the number of a caller. A plus sign that a telephone does not
// escape arrives as a space.
func NumberOf(sent string) string {
	caller := phone.Caller(sent)
	number := strings.TrimSpace(caller)
	if (strings.HasPrefix(sent, " ") || strings.HasPrefix(caller, " ")) && number != "" && number[0] >= '1' && number[0] <= '9' {
		number = "+" + number
	}
	if !strings.ContainsFunc(number, unicode.IsDigit) { // a hidden number: anonymous, unknown
		return ""
	}
	return number
}

// addCaller puts the number of a caller into a form: into an empty member for numbers,
// else below the note. Nothing that stands there is lost.
func (form *Form) addCaller(number string) {
	members := []string{"phone", "mobile"}
	if IsMobile(number) {
		members = []string{"mobile", "phone"}
	}
	for _, name := range members {
		if form.Family.Has(name) && form.Typed[name] == "" {
			form.Typed[name] = number
			return
		}
	}
	form.Typed["note"] = shell.Joined("\n", form.Typed["note"], number)
}
