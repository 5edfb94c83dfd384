package shell

import (
	"cmp"

	"kartei/people/principal"
	"kartei/record/lookup"
)

// NamesOf adds the names of people and service accounts.
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

// TitlesOf adds the names of records. One that the person does not see has none.
func (v *Request) TitlesOf(ids []string, names map[string]string) error {
	return v.TitlesIn(false, ids, names)
}

// Named adds the names of people, and of records.
func (v *Request) Named(people, records []string, names map[string]string) error {
	return Together(
		func() error { return v.NamesOf(people, names) },
		func() error { return v.TitlesOf(records, names) },
	)
}

// TitlesIn is TitlesOf in the sandbox, or in the environment of the page.
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

// KeyTitle is the name of a key, or the beginning of its text.
func KeyTitle(name, environment, kidShort string) string {
	return cmp.Or(name, "kart_"+environment+"_"+kidShort+"…")
}

// KeyMadeBy says who made a key, or last rotated it. Nobody is the operator.
func KeyMadeBy(v *Request, madeBy string, names map[string]string) string {
	switch madeBy {
	case "":
		return v.Words.Say("by the operator of the instance")
	case v.Session.Principal.ID:
		return v.Words.Say("by you")
	}
	return v.Words.Say("by %s", cmp.Or(names[madeBy], madeBy))
}
