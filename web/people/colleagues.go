package people

import (
	"slices"

	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/web/shell"
)

// colleague is an active person or service account, as members see it.
type colleague struct{ principal.FoundName }

// isPerson reports whether a colleague is a person.
func (c *colleague) isPerson() bool { return !id.Valid(id.ServiceAccount, c.ID) }

// colleaguesPage has the data of the list of people for members and viewers, who see only names.
type colleaguesPage struct {
	q    string
	list []colleague
	// more says that further names match.
	more bool
}

// colleaguesShown is the maximum number of names on the page. A search finds the others.
const colleaguesShown = 50

// showPeople serves the list of people. Admins see all data of people, and others see only names.
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

// icon returns the icon for people or for service accounts.
func (c *colleague) icon() string {
	if c.isPerson() {
		return persons.icon
	}
	return accounts.icon
}
