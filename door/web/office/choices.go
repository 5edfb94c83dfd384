package office

import (
	"net/http"
	"strings"

	"kartei/door/web/look"
)

// showChoices answers a field that finds while one types, with the records of a
// family or with people.
func showChoices(v *request) view {
	s, err := v.seek(v.PathValue("of"), strings.TrimSpace(v.URL.Query().Get("q")))
	if err != nil {
		return v.failed(err)
	}
	return view{status: http.StatusOK, body: look.OptionList(v.look(), v.URL.Query().Get("list"), s.choices, "")}
}

// letters narrow a search to a family.
var letters = map[string]string{"contacts": "k:", "companies": "f:", "tasks": "a:", "documents": "d:"}
