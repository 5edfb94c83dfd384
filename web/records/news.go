package records

import (
	"cmp"
	"net/http"

	"kartei/kit/fault"
	"kartei/record"
	"kartei/web/shell"
)

// showNews serves a note about changes of a record since a form was opened. The form stays as it
// is. Without changes, the response is 204.
func showNews(v *shell.Request) shell.View {
	id := v.PathValue("id")
	f := FamilyOfID(id)
	if f == nil {
		return v.Failed(fault.New(fault.NotFound))
	}
	seen := shell.RevisionOf(shell.Values{"revision": cmp.Or(v.URL.Query().Get("since"), "0")})
	list, names, err := changesSince(v, id, seen)
	if err != nil {
		return v.Failed(err)
	}
	if len(list) == 0 {
		return shell.Status(http.StatusNoContent)
	}
	return shell.HTML{Body: newsView(v, f, id, list, names)}
}

// NewsOf returns a sentence that says who changed which members of a record since a revision. members
// are their names. Without changes, both are empty.
func NewsOf(v *shell.Request, f *Family, id string, since int64) (news string, members []string, err error) {
	list, names, err := changesSince(v, id, since)
	if err != nil || len(list) == 0 {
		return "", nil, err
	}
	for _, c := range list {
		members = append(members, c.Members...)
	}
	return newsOf(v, f, list, names), shell.Unique(members), nil
}

// changesSince returns the changes of a record since a revision, and the names of their authors.
func changesSince(v *shell.Request, id string, since int64) (list []record.Change, names map[string]string, err error) {
	all, _, err := readHistory(v, id)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range all {
		if c.Revision > since {
			list = append(list, c)
		}
	}
	names = map[string]string{}
	return list, names, v.NamesOf(people(list), names)
}

// newsOf returns a sentence that says who changed which members.
func newsOf(v *shell.Request, f *Family, list []record.Change, names map[string]string) string {
	who, members := list[0].Principal, []string{}
	for _, c := range list {
		if c.Act == "deleted" {
			return v.Words.Say("This entry was just deleted. What you entered stays here.")
		}
		if c.Principal != who {
			who = ""
		}
		members = append(members, c.Members...)
	}
	name := cmp.Or(names[who], v.Words.Say("Somebody"))
	what := Labels(v, f, shell.Unique(members))
	if len(members) == 0 {
		what = v.Words.Say("this entry")
	}
	return v.Words.Say("%s has just changed %s.", name, what)
}
