package office

import (
	"net/http"
	"strings"

	"kartei/web/ui"
)

// showChoices answers a field that finds while one types, with the records of a
// family or with people.
func showChoices(v *request) view {
	text, create := strings.TrimSpace(v.URL.Query().Get("q")), ""
	s, err := v.seek(v.PathValue("of"), text)
	if err != nil {
		return v.failed(err)
	}
	if text != "" && len(s.exact) == 0 && v.URL.Query().Get("anew") == companies.name && v.session.may(companies.write) {
		create = v.newCompany(text)
	}
	return view{status: http.StatusOK, body: ui.OptionList(v.look(), v.URL.Query().Get("list"), s.choices, create)}
}
