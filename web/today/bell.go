package today

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/people/notify"
	"kartei/record/task"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// bellEntry is an entry of the bell on a page.
type bellEntry struct {
	notify.Entry
	// About is the page of the record that the title names, or empty.
	About string
}

// task returns the id of the task that an entry is about, or nothing.
func (e bellEntry) task() string {
	var facts struct {
		Task string `json:"taskId"`
	}
	if e.Kind != task.IsDue || json.Unmarshal(e.Facts, &facts) != nil {
		return ""
	}
	return facts.Task
}

// bellPage are entries of the bell, the newest first.
type bellPage struct {
	access.List[bellEntry]
	// after is the entry before this page, or empty.
	after string
}

const bellShown = 50

// bellOf reads entries of the person's bell.
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

// nameTasks gives entries about tasks the titles that the person sees. The title of a
// task that is gone, or that the person no longer sees, is in no entry.
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

// showBell serves the page of the bell.
func showBell(v *shell.Request) shell.View {
	p, err := bellOf(v, v.URL.Query().Get("after"), bellShown)
	if err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say("Notifications"), "bell", bellView(v, p))
}

// readBell marks an entry as read, or all. With an address to go on, it leads there.
func readBell(v *shell.Request) shell.View {
	if a := shell.Do(v, notify.ReadBell, notify.ReadInput{Entry: v.Sent.Get("entry")}, shell.Once); a.Fault != nil && !a.Is(fault.NotFound) {
		return v.Failed(a.Fault)
	}
	return v.Done(records.Back(v, "/bell"), nil)
}

// leadsTo is the page where the person acts on an entry, or the bell itself.
func (e bellEntry) leadsTo() string { return cmp.Or(e.Page, "/bell") }

// icon returns the shape of an entry.
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

// noticeTime matches a time in the text of a notice. Emails show it in this form, since
// they do not know where they are read.
var noticeTime = regexp.MustCompile(`\d{4}-\d{2}-\d{2} \d{2}:\d{2} \(UTC\)`)

// paragraphs returns the paragraphs of the text, with times as the person reads them.
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

// pages are the neighbouring pages.
func (p bellPage) pages(v *shell.Request) (out ui.Pages) {
	if p.after != "" {
		out.Newer = v.Look().To("/bell")
	}
	if p.HasMore {
		out.Older = v.Look().To("/bell?" + url.Values{"after": {p.Data[len(p.Data)-1].ID}}.Encode())
	}
	return out
}
