package records

import (
	"cmp"

	"kartei/web/shell"
)

// TaskNote returns the note after a change of a task. The note offers to undo the completion. back
// is the path of the page to show after the undo.
func TaskNote(v *shell.Request, task shell.Values, back string) *shell.Toast {
	title := task["title"]
	if title == "" { // a person who may write tasks but not read them
		return &shell.Toast{Text: v.Words.Say("Saved.")}
	}
	if task["status"] == "completed" {
		return &shell.Toast{
			Text: v.Words.Say("“%s” done.", title),
			Log:  v.Words.Say("Task done."),
			Undo: &shell.Undo{Action: "/tasks/" + task["id"], Token: v.Mint(), Revision: shell.RevisionOf(task), Was: shell.Values{"status": "completed"}, Set: shell.Values{"status": "open"}, Back: back},
		}
	}
	t := &shell.Toast{Href: "/tasks/" + task["id"], HrefText: v.Words.Say("View")}
	if shell.RevisionOf(task) > 1 {
		t.Text = v.Words.Say("“%s” is open again.", title)
		return t
	}
	about := []string{title}
	if due, ok := shell.TimeOf(task["dueAt"]); ok {
		about = append(about, v.Words.Due(due, v.Words.HasClock(due)))
	}
	if task["priority"] == "high" {
		about = append(about, v.Words.Say("high priority"))
	}
	names := map[string]string{}
	if v.TitlesOf([]string{cmp.Or(task["contactId"], task["companyId"])}, names) == nil {
		about = append(about, names[cmp.Or(task["contactId"], task["companyId"])])
	}
	t.Text = v.Words.Say("Created: %s", shell.Joined(" · ", about...))
	return t
}
