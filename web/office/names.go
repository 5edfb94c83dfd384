package office

import (
	"kartei/api/op"
	"kartei/people/settings"
	"kartei/record/lookup"
)

// namesOf adds the names of people and service accounts.
func (v *request) namesOf(ids []string, names map[string]string) error {
	return v.resolved(settings.ResolveNames, arguments{}, ids, names)
}

// titlesOf adds the names of records. One that the person does not see has none.
func (v *request) titlesOf(ids []string, names map[string]string) error {
	return v.resolved(lookup.Titles, arguments{}, ids, names)
}

// named adds the names of people, and of records.
func (v *request) named(people, records []string, names map[string]string) error {
	return together(
		func() error { return v.namesOf(people, names) },
		func() error { return v.titlesOf(records, names) },
	)
}

// titlesIn is titlesOf in the sandbox, or in the environment of the page.
func (v *request) titlesIn(sandbox bool, ids []string, names map[string]string) error {
	return v.resolved(lookup.Titles, arguments{sandbox: sandbox}, ids, names)
}

// resolved adds the names that a row knows for ids.
func (v *request) resolved(row op.Any, in arguments, ids []string, names map[string]string) error {
	if ids = unique(ids); len(ids) == 0 {
		return nil
	}
	in.body = map[string]any{"ids": ids}
	found, err := fetch[struct {
		Data []struct {
			ID    string `json:"id"`
			Name  string `json:"name"`
			Title string `json:"title"`
		} `json:"data"`
	}](v, row, in)
	v.naming.Lock()
	defer v.naming.Unlock()
	for _, n := range found.Data {
		names[n.ID] = first(n.Name, n.Title)
	}
	return err
}

// get reads a record.
func (v *request) get(f *family, id string) (values, error) {
	a := v.send(f.acts.get, arguments{id: id})
	if err := a.err(); err != nil {
		return nil, err
	}
	return flatten(a.Body)
}
