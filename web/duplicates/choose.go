package duplicates

import (
	"net/http"
	"slices"

	"kartei/kit/fault"
	"kartei/record/lookup"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// choosePage is the data of the page on which a person chooses the other record of a merge.
type choosePage struct {
	*family
	record shell.Values
	field  ui.Combo
	// same are records that are possibly the same.
	same []lookup.Hit
}

// offeredSame is the maximum number of these records.
const offeredSame = 10

// choose serves the page on which a person chooses the other record, and leads to the two records side
// by side.
func choose(v *shell.Request, f *family) shell.View {
	id, q := v.PathValue("id"), v.URL.Query()
	record, err := records.Get(v, f.Family, id)
	if err != nil {
		return records.Missing(v, err)
	}
	p := choosePage{family: f, record: record, field: ui.Combo{
		Field:  ui.Field{Name: withField, Label: v.Words.Say("The other entry"), Autocomplete: "off", Focus: true},
		Source: "/choices/" + f.Name + "?list=f-" + withField + "-list", Text: q.Get(withField + records.TextSuffix),
	}}
	if p.same, err = records.SameAs(v, f.Family, id, offeredSame); err != nil {
		return v.Failed(err)
	}
	if !q.Has(withField + records.TextSuffix) {
		return p.draw(v, http.StatusOK)
	}
	with, unclear, err := records.Referred(v, records.Field{Name: withField, To: f.Name}, q)
	switch {
	case err != nil:
		return v.Failed(err)
	case unclear != nil:
		unclear.Choices = slices.DeleteFunc(unclear.Choices, func(c ui.Choice) bool { return c.Value == id })
		if len(unclear.Choices) == 1 {
			return v.SeeOther(f.path(id, unclear.Choices[0].Value))
		}
		p.field.Choices = unclear.Choices
		p.field.Errors = []string{v.Words.Say(unclear.Why())}
	case with == "":
		p.field.Errors = []string{v.Words.Say("Please choose an entry.")}
	case with == id:
		p.field.Errors = []string{v.Words.Say("This is the same entry.")}
	default:
		return v.SeeOther(f.path(id, with))
	}
	return p.draw(v, fault.ValidationFailed.Status())
}

// draw returns the page.
func (p choosePage) draw(v *shell.Request, status int) shell.View {
	return v.OK(v.Words.Say(p.title), p.Name, chooseView(v, p)).WithStatus(status)
}
