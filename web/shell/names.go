package shell

import (
	"cmp"

	"kartei/people/principal"
	"kartei/record/lookup"
)

// NamesOf adds the names of people and service accounts with these ids to names.
func (v *Request) NamesOf(ids []string, names map[string]string) error {
	if ids = Unique(ids); len(ids) == 0 {
		return nil
	}
	found, err := Ask(v, principal.ResolveNames, principal.NamesInput{IDs: ids})
	v.naming.Lock()
	defer v.naming.Unlock()
	for _, n := range found.Data {
		names[n.ID] = n.Name
	}
	return err
}

// TitlesOf adds the titles of the records with these ids to names. Records that the person may not
// see are left out.
func (v *Request) TitlesOf(ids []string, names map[string]string) error {
	return v.TitlesIn(false, ids, names)
}

// Named adds the names of people and the titles of records to names.
func (v *Request) Named(people, records []string, names map[string]string) error {
	return Together(
		func() error { return v.NamesOf(people, names) },
		func() error { return v.TitlesOf(records, names) },
	)
}

// TitlesIn does the same as TitlesOf. If sandbox is true, the records are in the sandbox, and
// otherwise in the environment of the page.
func (v *Request) TitlesIn(sandbox bool, ids []string, names map[string]string) error {
	if ids = Unique(ids); len(ids) == 0 {
		return nil
	}
	found, err := Ask(v, lookup.Titles, lookup.TitlesInput{IDs: ids}, InSandbox(sandbox))
	v.naming.Lock()
	defer v.naming.Unlock()
	for _, n := range found.Data {
		names[n.ID] = n.Title
	}
	return err
}

// KeyTitle returns the name of a key. If the key has no name, it returns the beginning of the key's
// text.
func KeyTitle(name, environment, kidShort string) string {
	return cmp.Or(name, "kart_"+environment+"_"+kidShort+"…")
}

// KeyMadeBy returns a text that says who created a key or rotated it last. madeBy is the id of a
// principal. It is empty for the operator of the instance.
func KeyMadeBy(v *Request, madeBy string, names map[string]string) string {
	switch madeBy {
	case "":
		return v.Words.Say("by the operator of the instance")
	case v.Session.Principal.ID:
		return v.Words.Say("by you")
	}
	return v.Words.Say("by %s", cmp.Or(names[madeBy], madeBy))
}
