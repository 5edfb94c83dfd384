package office

import "net/url"

// today is the start page: what is due, and what changed.
type today struct {
	// tasks are the open tasks of the person, by due date.
	tasks []values
	names map[string]string
}

// showToday serves the start page.
func showToday(v *request) view {
	p := today{names: map[string]string{}}
	if v.session.may(tasks.read) {
		page, err := ask[listed](v, "tasks.list", arguments{query: url.Values{
			"assigneeId": {v.session.Principal.ID}, "status": {"open"}, "sort": {"dueAt"}, "limit": {"20"},
		}})
		if err != nil {
			return v.failed(err)
		}
		for _, raw := range page.Data {
			task, err := flatten(raw)
			if err != nil {
				return v.failed(err)
			}
			p.tasks = append(p.tasks, task)
		}
	}
	return v.ok(v.words.Say("Heute", "Today"), "today", todayView(v, p))
}
