package office

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"kartei/record"
	"kartei/record/lookup"
)

// like is a record that may be the one that a form is about to make.
type like struct {
	hit
	CreatedAt string   `json:"createdAt"`
	By        []string `json:"by"`
}

// seenField has the ids of similar records that the person was shown.
const seenField = "seen"

// similar returns the records with the name, a number or the address of a new entry.
func (v *request) similar(f *family, typed values) ([]like, error) {
	in := map[string]any{"family": f.name}
	for _, name := range []string{"firstName", "lastName", "name", "email"} {
		if typed[name] != "" && len([]rune(typed[name])) <= 254 {
			in[name] = typed[name]
		}
	}
	if numbers := present(typed["mobile"], typed["phone"]); len(numbers) > 0 {
		in["numbers"] = numbers
	}
	if len(in) == 1 {
		return nil, nil
	}
	found, err := fetch[struct {
		Data []like `json:"data"`
	}](v, lookup.FindSimilar, arguments{body: in})
	return found.Data, err
}

// likeness says what two records have in common.
func (l like) likeness(v *request) string {
	words := map[string]string{
		"email": v.words.Say("gleiche E-Mail-Adresse", "same email address"), "number": v.words.Say("gleiche Nummer", "same number"),
		"name": v.words.Say("ähnlicher Name", "similar name"),
	}
	var list []string
	for _, by := range l.By {
		list = append(list, words[by])
	}
	return v.words.List(list)
}

// showSimilar answers a form while somebody types, with the records that may be the
// same.
func showSimilar(f *family) func(*request) view {
	return func(v *request) view {
		likes, err := v.similar(f, v.typed(f))
		if err != nil {
			return v.failed(err)
		}
		return view{status: http.StatusOK, body: similarView(v, likes)}
	}
}

// unseen reports whether a record is surely the same as a new one and was not shown
// to the person. An email address is one person's. A number may be an office's,
// so it counts only together with the name. Records that came after the form was
// drawn do not count: the form may have been sent twice.
func (v *request) unseen(likes []like) bool {
	seen, drawn := strings.Fields(v.form.Get(seenField)), tokenTimeOf(v.form.token)
	return slices.ContainsFunc(likes, func(l like) bool {
		sure := slices.Contains(l.By, "email") || len(l.By) > 1
		made, known := timeOf(l.CreatedAt)
		return sure && !slices.Contains(seen, l.ID) && !(known && !made.Before(drawn))
	})
}

// seenIDs are the ids of similar records, for the field that says that they were
// shown.
func seenIDs(likes []like) string {
	var ids []string
	for _, l := range likes {
		ids = append(ids, l.ID)
	}
	return strings.Join(ids, " ")
}

// changedBy names the people who changed one of the members after a revision. at is
// the time of the last such change.
func (v *request) changedBy(id string, since int64, members []string) (who string, at time.Time) {
	found, err := fetch[struct {
		Data []change `json:"data"`
	}](v, record.History, arguments{body: map[string]any{"id": id, "limit": 50}})
	if err != nil { // the merge stands without a name, too
		return "", at
	}
	var ids []string
	for _, c := range found.Data {
		if c.Revision > since && slices.ContainsFunc(c.Members, func(m string) bool { return slices.Contains(members, m) }) {
			if t, ok := timeOf(c.Time); ok && at.IsZero() {
				at = t
			}
			ids = append(ids, c.Principal)
		}
	}
	names := map[string]string{}
	if err := v.namesOf(unique(ids), names); err != nil {
		return "", at
	}
	var list []string
	for _, id := range unique(ids) {
		if id == v.session.Principal.ID {
			list = append(list, v.words.Say("Sie selbst", "you"))
		} else if names[id] != "" {
			list = append(list, names[id])
		}
	}
	return v.words.List(list), at
}
