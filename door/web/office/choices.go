package office

import (
	"net/http"
	"strings"

	"kartei/door/web/look"
)

// showChoices answers a field that finds while one types, with the records of a
// family or with people.
func showChoices(v *request) view {
	q, list := strings.TrimSpace(v.URL.Query().Get("q")), v.URL.Query().Get("list")
	f := familyOf(v.PathValue("of"))
	if f == nil || q == "" {
		return view{status: http.StatusOK, body: look.OptionList(v.look(), list, nil, "")}
	}
	hits, err := ask[found](v, "lookup.find", arguments{body: map[string]any{"q": letters[f.name] + q, "limit": 8}})
	if err != nil {
		return v.failed(err)
	}
	var choices []look.Choice
	for _, h := range hitsOf(hits) {
		c := look.Choice{Value: h.ID, Text: h.Title, Marks: h.Marks, Icon: iconOf(h.Object)}
		if len(h.Facts) > 0 {
			c.Note = h.Facts[0].Text
		}
		choices = append(choices, c)
	}
	return view{status: http.StatusOK, body: look.OptionList(v.look(), list, choices, "")}
}

// letters narrow a search to a family.
var letters = map[string]string{"contacts": "k:", "companies": "f:", "tasks": "a:", "documents": "d:"}
