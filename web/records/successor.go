package records

import (
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/lookup"
	"kartei/transfer/merge"
	"kartei/web/shell"
)

// Missing returns the response if the record of a page cannot be read. If the record was merged into
// another one, it is the same page of the record that stayed. It is a redirect, and with scripts the
// page itself. Otherwise it is a page about the error.
func Missing(v *shell.Request, err error) shell.View {
	id := v.PathValue("id")
	if !fault.Is(err, fault.NotFound) || !v.Page.Uses.Has(merge.Find) {
		return v.Failed(err)
	}
	next, found := Successor(v, id)
	if !found {
		return v.Failed(err)
	}
	path := strings.Replace(strings.TrimPrefix(v.URL.Path, v.Look().Root), id, next, 1)
	if v.URL.RawQuery != "" {
		path += "?" + v.URL.RawQuery
	}
	if v.Scripted() && !v.Part("dialog") {
		return v.Lead(path)
	}
	return v.SeeOther(path)
}

// Successor returns the id of the record into which a record was merged. It returns false if there is
// none, or if the person does not see it.
func Successor(v *shell.Request, id string) (next string, found bool) {
	s, err := shell.Ask(v, merge.Find, op.ByID{ID: id})
	return s.ID, err == nil
}

// SameAs returns up to limit records that are possibly the same as a record.
func SameAs(v *shell.Request, f *Family, id string, limit int) (list []lookup.Hit, err error) {
	found, err := shell.Ask(v, lookup.Duplicates, lookup.DuplicatesInput{Family: f.Name, ID: id, Limit: limit})
	for _, p := range found.Data {
		if p.First.ID == id {
			p.First = p.Second
		}
		list = append(list, p.First)
	}
	return list, err
}
