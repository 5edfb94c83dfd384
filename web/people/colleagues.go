package people

import (
	"slices"

	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/web/shell"
)

// colleague is an active person or service account.
type colleague struct{ principal.FoundName }

// isPerson reports whether a colleague is a person.
func (c *colleague) isPerson() bool { return !id.Valid(id.ServiceAccount, c.ID) }

// colleaguesPage is the list of people for those who do not administer them: names only.
type colleaguesPage struct {
	q    string
	list []colleague
	// more says that there are others.
	more bool
}

// colleaguesShown is the number of names on the page. A search finds others.
const colleaguesShown = 50

// showPeople serves the list of people: with all that an admin administers, or the names
// of the office for others.
func showPeople(v *shell.Request) shell.View {
	if v.Session.Administers {
		return showPrincipals(&persons)(v)
	}
	p := colleaguesPage{q: v.URL.Query().Get("q")}
	found, err := shell.Ask(v, principal.FindNames, principal.FindNamesInput{Q: p.q, Limit: colleaguesShown})
	if err != nil {
		return v.Failed(err)
	}
	for _, n := range found.Data {
		p.list = append(p.list, colleague{n})
	}
	p.more = found.More
	slices.SortStableFunc(p.list, func(a, b colleague) int { // people before service accounts
		switch {
		case a.isPerson() == b.isPerson():
			return 0
		case a.isPerson():
			return -1
		}
		return 1
	})
	return v.Settings(shell.PeoplePath, persons.title(v), colleaguesView(v, p))
}

// icon is the icon of the list to which a colleague belongs.
func (c *colleague) icon() string {
	if c.isPerson() {
		return persons.icon
	}
	return accounts.icon
}
