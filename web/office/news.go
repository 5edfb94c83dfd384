package office

import (
	"kartei/kit/fault"
	"kartei/record"
	"net/http"
	"strings"
)

// showNews says what was changed in a record while a form of it is open. It leaves
// the form as it is.
func showNews(v *request) view {
	id := v.PathValue("id")
	prefix, _, _ := strings.Cut(id, "_")
	f := familyOf(strings.Trim(pathsByPrefix[prefix], "/"))
	if f == nil {
		return v.failed(fault.New(fault.NotFound))
	}
	all, _, err := v.history(id)
	if err != nil {
		return v.failed(err)
	}
	seen := revisionOf(values{"revision": first(v.URL.Query().Get("since"), "0")})
	var list []record.Change
	for _, c := range all {
		if c.Revision > seen {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return view{status: http.StatusNoContent}
	}
	names := map[string]string{}
	if err := v.namesOf(people(list), names); err != nil {
		return v.failed(err)
	}
	return view{status: http.StatusOK, body: newsView(v, f, id, list, names)}
}

// newsOf says who changed which members, in one sentence.
func (v *request) newsOf(f *family, list []record.Change, names map[string]string) string {
	who, members := list[0].Principal, []string{}
	for _, c := range list {
		if c.Act == "deleted" {
			return v.words.Say("Dieser Eintrag wurde gerade gelöscht. Was Sie eingegeben haben, bleibt stehen.", "This entry was just deleted. What you entered stays here.")
		}
		if c.Principal != who {
			who = ""
		}
		members = append(members, c.Members...)
	}
	name := first(names[who], v.words.Say("Jemand", "Somebody"))
	what := v.labels(f, unique(members))
	if len(members) == 0 {
		what = v.words.Say("diesen Eintrag", "this entry")
	}
	return v.words.Say(name+" hat gerade "+what+" geändert.", name+" has just changed "+what+".")
}
