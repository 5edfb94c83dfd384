package office

import (
	"kartei/people/settings"
	"kartei/record/lookup"
)

// namesOf adds the names of people and service accounts.
func (v *request) namesOf(ids []string, names map[string]string) error {
	if ids = unique(ids); len(ids) == 0 {
		return nil
	}
	found, err := ask(v, settings.ResolveNames, settings.NamesInput{IDs: ids})
	v.naming.Lock()
	defer v.naming.Unlock()
	for _, n := range found.Data {
		names[n.ID] = n.Name
	}
	return err
}

// titlesOf adds the names of records. One that the person does not see has none.
func (v *request) titlesOf(ids []string, names map[string]string) error {
	return v.titlesIn(false, ids, names)
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
	if ids = unique(ids); len(ids) == 0 {
		return nil
	}
	found, err := ask(v, lookup.Titles, lookup.TitlesInput{IDs: ids}, inSandbox(sandbox))
	v.naming.Lock()
	defer v.naming.Unlock()
	for _, n := range found.Data {
		names[n.ID] = n.Title
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
