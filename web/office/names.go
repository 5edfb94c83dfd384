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

// keyTitle is the name of a key, or the beginning of its text.
func keyTitle(name, environment, kidShort string) string {
	return first(name, "kart_"+environment+"_"+kidShort+"…")
}

// keyMadeBy says who made a key, or last rotated it. Nobody is the operator.
func keyMadeBy(v *request, madeBy string, names map[string]string) string {
	switch madeBy {
	case "":
		return v.words.Say("vom Betreiber der Instanz", "by the operator of the instance")
	case v.session.Principal.ID:
		return v.words.Say("von Ihnen", "by you")
	}
	return v.words.Say("von ", "by ") + first(names[madeBy], madeBy)
}

// keyFamilies are the families that a key may be restricted to, as scopes name them.
var keyFamilies = []option{
	newOption("contacts", "Kontakte", "Contacts"),
	newOption("companies", "Firmen", "Companies"),
	newOption("tasks", "Aufgaben", "Tasks"),
	newOption("documents", "Dokumente", "Documents"),
	newOption("webhook_endpoints", "Webhooks", "Webhooks"),
}
