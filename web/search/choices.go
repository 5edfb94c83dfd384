package search

import (
	"strings"

	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// showChoices answers a field that finds while one types, with the records of a
// family or with people.
func showChoices(v *shell.Request) shell.View {
	text, create := strings.TrimSpace(v.URL.Query().Get("q")), ""
	s, err := records.Seek(v, v.PathValue("of"), text)
	if err != nil {
		return v.Failed(err)
	}
	if text != "" && len(s.Exact) == 0 && v.URL.Query().Get("anew") == records.Companies.Name && v.Session.May(records.Companies.Write) {
		create = records.Companies.Offer(v.Words, text)
	}
	return shell.HTML{Body: ui.OptionList(v.Look(), v.URL.Query().Get("list"), s.Choices, create)}
}
