package records

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"kartei/record/lookup"
	"kartei/web/shell"
)

// seenField is the form field with the ids of possible duplicates that the person saw.
const seenField = "seen"

// findSimilar returns records with the same email address or number as a new entry, or with a
// similar name.
func findSimilar(v *shell.Request, f *Family, typed shell.Values) ([]lookup.Like, error) {
	short := func(name string) string {
		if len([]rune(typed[name])) > 254 {
			return ""
		}
		return typed[name]
	}
	emails, numbers := []string{typed["email"]}, []string{typed["mobile"], typed["phone"]}
	for _, e := range shell.Entries(typed["additionalEmails"]) {
		emails = append(emails, e["email"])
	}
	for _, e := range shell.Entries(typed["additionalPhones"]) {
		numbers = append(numbers, e["phone"])
	}
	in := lookup.SimilarInput{
		Family: f.Name, FirstName: short("firstName"), LastName: short("lastName"), Name: short("name"),
		Emails: firstOf(emails), Numbers: firstOf(numbers),
	}
	if cmp.Or(in.FirstName, in.LastName, in.Name) == "" && len(in.Emails) == 0 && len(in.Numbers) == 0 {
		return nil, nil
	}
	found, err := shell.Ask(v, lookup.FindSimilar, in)
	return found.Data, err
}

// firstOf returns the first texts that are neither empty nor longer than any email address, at most as
// many as one search takes.
func firstOf(list []string) []string {
	list = slices.DeleteFunc(list, func(text string) bool { return text == "" || len(text) > 254 })
	return list[:min(len(list), lookup.MaxSought)]
}

// likeness returns a text that says what two records have in common.
func likeness(v *shell.Request, l lookup.Like) string {
	words := map[lookup.Likeness]string{
		lookup.ByEmail: v.Words.Say("same email address"), lookup.ByNumber: v.Words.Say("same number"),
		lookup.ByName: v.Words.Say("similar name"), lookup.ByNearName: v.Words.Say("similarly spelled name"),
	}
	var list []string
	for _, by := range l.By {
		list = append(list, words[by])
	}
	return v.Words.List(list)
}

// ShowSimilar returns the handler that a form calls while a person types. The response lists
// possible duplicates.
func ShowSimilar(f *Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		likes, err := findSimilar(v, f, typedValues(v, f))
		if err != nil {
			return v.Failed(err)
		}
		return shell.HTML{Body: similarView(v, likes)}
	}
}

// unseen reports whether a record is almost certainly the same as the new one, and was not shown to
// the person. The same email address is enough. A number may belong to an office, so it counts only
// together with the name. Records that were created after the form do not count: the form may have
// been sent twice.
func unseen(v *shell.Request, likes []lookup.Like) bool {
	seen, drawn := strings.Fields(v.Sent.Get(seenField)), shell.TokenTimeOf(v.Sent.Token)
	return slices.ContainsFunc(likes, func(l lookup.Like) bool {
		sure := slices.Contains(l.By, lookup.ByEmail) || len(l.By) > 1
		return sure && !slices.Contains(seen, l.ID) && l.CreatedAt.Time().Before(drawn)
	})
}

// seenIDs returns the ids of possible duplicates, separated by spaces, for the field seenField.
func seenIDs(likes []lookup.Like) string {
	var ids []string
	for _, l := range likes {
		ids = append(ids, l.ID)
	}
	return strings.Join(ids, " ")
}

// changedBy returns the names of the people who changed one of the members after the revision
// since. at is the time of the newest of these changes.
func changedBy(v *shell.Request, id string, since int64, members []string) (who string, at time.Time) {
	found, err := shell.Ask(v, lookup.History, lookup.HistoryInput{ID: id, Limit: 50})
	if err != nil { // the merge does not need the name
		return "", at
	}
	var ids []string
	for _, c := range found.Data {
		if c.Revision > since && slices.ContainsFunc(c.Members, func(m string) bool { return slices.Contains(members, m) }) {
			if at.IsZero() {
				at = c.ChangedAt.Time()
			}
			ids = append(ids, c.Principal)
		}
	}
	names := map[string]string{}
	if err := v.NamesOf(shell.Unique(ids), names); err != nil {
		return "", at
	}
	var list []string
	for _, id := range shell.Unique(ids) {
		if id == v.Session.Principal.ID {
			list = append(list, v.Words.Say("you"))
		} else if names[id] != "" {
			list = append(list, names[id])
		}
	}
	return v.Words.List(list), at
}
