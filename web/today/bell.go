package today

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/notify"
	"kartei/record/task"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// bellEntry is a notification on a page.
type bellEntry struct {
	notify.Entry
	// About is the path of the record's page, if the title has the name of a record. It is empty
	// otherwise.
	About string
}

// task returns the id of the task that the notification is about. It is empty for other
// notifications.
func (e bellEntry) task() string {
	var facts struct {
		Task string `json:"taskId"`
	}
	if e.Kind != task.IsDue || json.Unmarshal(e.Facts, &facts) != nil {
		return ""
	}
	return facts.Task
}

// bellPage is a page of notifications, the newest first.
type bellPage struct {
	op.Entries[bellEntry]
	// after is the id of the last notification on the previous page. It is empty on the first page.
	after string
}

const bellShown = 50

// bellOf reads up to limit notifications of the person, after the one with the id after.
func bellOf(v *shell.Request, after string, limit int) (bellPage, error) {
	found, err := shell.Ask(v, notify.ListBell, notify.BellInput{After: after, Limit: limit})
	p := bellPage{after: after}
	p.HasMore = found.HasMore
	for _, e := range found.Data {
		p.Data = append(p.Data, bellEntry{Entry: e})
	}
	if err != nil || !v.Session.May(records.Tasks.Read) {
		return p, err
	}
	return p, nameTasks(v, p.Data)
}

// nameTasks adds the titles of tasks to the notifications. It leaves out tasks that are deleted or
// that the person may not see.
func nameTasks(v *shell.Request, entries []bellEntry) error {
	var ids []string
	for _, e := range entries {
		ids = append(ids, shell.Present(e.task())...)
	}
	titles := map[string]string{}
	if err := v.TitlesOf(ids, titles); err != nil {
		return err
	}
	for i, e := range entries {
		if title := titles[e.task()]; title != "" {
			entries[i].Title = v.Words.Say("Due: %s", title)
			entries[i].About = "/tasks/" + e.task()
		}
	}
	return nil
}

// showBell serves the page of notifications.
func showBell(v *shell.Request) shell.View {
	p, err := bellOf(v, v.URL.Query().Get("after"), bellShown)
	if err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say("Notifications"), "bell", bellView(v, p))
}

// readBell marks one notification as read, or all. If the form has a BackField, it redirects there.
func readBell(v *shell.Request) shell.View {
	if a := shell.Do(v, notify.ReadBell, notify.ReadInput{Entry: v.Sent.Get("entry")}, shell.Once); a.Fault != nil && !a.Is(fault.NotFound) {
		return v.Failed(a.Fault)
	}
	return v.Done(records.Back(v, "/bell"), nil)
}

// leadsTo returns the path of the page on which the person can act on the notification. If there is
// none, it is the page of notifications.
func (e bellEntry) leadsTo() string { return cmp.Or(e.Page, "/bell") }

// icon returns the name of the notification's icon.
func (e bellEntry) icon() string {
	is := func(begin string) bool { return strings.HasPrefix(string(e.Kind), begin) }
	switch {
	case is("access"), is("sign_in"):
		return "shield-check"
	case is("task"):
		return "clock"
	case is("webhook"), is("quota"), is("key"), is("session"):
		return "triangle-alert"
	}
	return "bell"
}

// noticeTime matches a time in UTC in the text of a notification. Emails show times in this form,
// as the time zone of their reader is unknown.
var noticeTime = regexp.MustCompile(`\d{4}-\d{2}-\d{2} \d{2}:\d{2} \(UTC\)`)

// paragraphs returns the paragraphs of the text. Times are in the person's time zone and format.
func (e bellEntry) paragraphs(v *shell.Request) []string {
	text := noticeTime.ReplaceAllStringFunc(strings.TrimSpace(e.Text), func(s string) string {
		t, err := time.Parse("2006-01-02 15:04 (UTC)", s)
		if err != nil {
			return s
		}
		return v.Words.Time(t)
	})
	return strings.Split(text, "\n\n")
}

// pages returns the addresses of the previous and the next page. The previous one is always the
// first page.
func (p bellPage) pages(v *shell.Request) (out ui.Pages) {
	if p.after != "" {
		out.Newer = v.Look().To("/bell")
	}
	if p.HasMore {
		out.Older = v.Look().To("/bell?" + url.Values{"after": {p.Data[len(p.Data)-1].ID}}.Encode())
	}
	return out
}
