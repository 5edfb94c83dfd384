package search

import (
	"strings"

	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// showChoices serves the options of a combobox: the records of a family, or the people, that match
// the typed text.
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
