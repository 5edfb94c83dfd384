package tasks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record/task"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// quickLine is the meaning of a line typed above the list of tasks: "Klage prüfen
// morgen 10 !! @müller". The title comes first and the due date last; the other words
// may stand anywhere.
//
//	! or !!     urgent (priority high). The API knows one degree above normal.
//	@müller     the contact or the company that the task is about
//	@"zwei wörter"
//	morgen 10   when it is due: see i18n.ReadDue
type quickLine struct {
	title string
	due   time.Time
	// clock says that the line names a time of the day, hasDue that it names a day.
	clock, hasDue bool
	urgent        bool
	// about is the text behind @, or empty.
	about string
	// misread is an end that looks like a date and is none, or empty.
	misread string
}

// readLine reads a line. It never fails: words without a special meaning are the
// title.
func readLine(w i18n.Words, line string) (q quickLine) {
	var words []string
	for _, word := range cutWords(line) {
		name, mentioned := strings.CutPrefix(word, "@")
		switch name = strings.TrimSpace(strings.Trim(name, `"`)); {
		case word == "!" || word == "!!" || word == "!!!":
			q.urgent = true
		case mentioned && name != "" && q.about == "":
			q.about = name
		default:
			words = append(words, word)
		}
	}
	q.title, q.due, q.clock, q.hasDue = w.TakeDue(strings.Join(words, " "))
	if !q.hasDue {
		q.misread = w.Misread(q.title)
	}
	return q
}

// cutWords returns the words of a line. A name in quotation marks behind @ is one.
func cutWords(line string) (words []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) })
		if strings.HasPrefix(line, `@"`) {
			if closing := strings.IndexByte(line[2:], '"'); closing >= 0 && strings.TrimSpace(line[2:2+closing]) != "" {
				end = closing + 3
			}
		}
		if end < 0 {
			end = len(line)
		}
		words, line = append(words, line[:end]), line[end:]
	}
	return words
}

// quickForm is the quick line as it is drawn.
type quickForm struct {
	token string
	// line is the typed line, and wrong its error. choices are the records that about
	// may mean.
	line, about string
	wrong       string
	choices     []ui.Choice
}

// quickTask is a line as the server understands it.
type quickTask struct {
	quickLine
	// record is what the task is about, once that is clear.
	record ui.Choice
	// choices are several records that fit.
	choices []ui.Choice
}

// The fields of the quick line.
const (
	lineField  = "line"
	aboutField = "about"
)

// maxMeant bounds the records offered for a name of the line. More of the name narrows
// them.
const maxMeant = 5

// understand reads a line and finds what it is about.
func understand(v *shell.Request, line string) (quickTask, error) {
	u := quickTask{quickLine: readLine(v.Words, line)}
	if u.about == "" {
		return u, nil
	}
	var both records.SearchResult
	for _, to := range []*records.Family{&records.Contacts, &records.Companies} {
		if !v.Session.May(to.Read) {
			continue
		}
		s, err := records.Seek(v, to.Name, u.about)
		if err != nil {
			return u, err
		}
		both.Choices, both.Exact = append(both.Choices, s.Choices...), append(both.Exact, s.Exact...)
	}
	if only, clear := both.Only(); clear {
		u.record = only
		return u, nil
	}
	u.choices = both.Choices[:min(len(both.Choices), maxMeant)]
	return u, nil
}

// why says what is not clear in a line, if something is not.
func (u quickTask) why(w i18n.Words) string {
	if u.misread != "" {
		return w.Say("“%s” is no due date.", u.misread)
	}
	if u.about == "" || u.record.Value != "" {
		return ""
	}
	if len(u.choices) == 0 {
		return w.Say("No contact or company matches “@%s”.", u.about)
	}
	return w.Say("“@%s” fits several. Who is meant?", u.about)
}

// showLine answers how a line is understood, while it is typed.
func showLine(v *shell.Request) shell.View {
	u, err := understand(v, v.URL.Query().Get(lineField))
	if err != nil {
		return v.Failed(err)
	}
	return shell.HTML{Body: understoodView(v, u)}
}

// createByLine makes a task of a line. If the name in the line is ambiguous, it asks,
// and keeps the line.
func createByLine(v *shell.Request) shell.View {
	line := quickForm{token: v.Sent.Token, line: v.Sent.Text(lineField)}
	u, err := understand(v, line.line)
	if err != nil {
		return v.Failed(err)
	}
	about := u.record.Value
	if pick := v.Sent.Text(aboutField + records.PickSuffix); pick != "" && v.Sent.Text(aboutField+records.ShownSuffix) == u.about {
		about = pick
	}
	switch {
	case u.title == "":
		line.wrong = v.Words.Say("What needs to be done? Write it before the date.")
	case u.misread != "":
		line.wrong = u.why(v.Words)
	case u.about != "" && about == "":
		line.wrong, line.about, line.choices = u.why(v.Words), u.about, u.choices
	}
	if line.wrong != "" {
		return refusedLine(v, line)
	}
	a := v.Send(task.Create, shell.Arguments{Body: u.task(cmp.Or(v.Sent.Text("assigneeId"), v.Session.Principal.ID), about), Once: v.Sent.Token})
	if a.Fault != nil {
		if len(a.Fault.Fields) == 0 {
			return v.Failed(a.Fault)
		}
		line.wrong = a.Fault.Fields[0].Message(v.Words.Language)
		return refusedLine(v, line)
	}
	task, err := shell.Flatten(a.Body)
	if err != nil {
		return v.Failed(err)
	}
	return doneTask(v, task)
}

// task returns the body of the task that a line means.
func (u quickTask) task(assignee, about string) map[string]any {
	body := map[string]any{"title": u.title, "assigneeId": assignee}
	if u.hasDue {
		body["dueAt"] = clock.FromTime(u.due).String()
	}
	if u.urgent {
		body["priority"] = "high"
	}
	switch prefix, _, _ := strings.Cut(about, "_"); prefix {
	case "con":
		body["contactId"] = about
	case "cmp":
		body["companyId"] = about
	}
	return body
}

// refusedLine draws the list again with the line as it was typed.
func refusedLine(v *shell.Request, line quickForm) shell.View {
	l := records.Tasks.ListingOf(queryOf(shell.Local(v.Sent.Get(shell.BackField))))
	return drawTasks(v, l, whoField(v, l), line, fault.ValidationFailed.Status())
}

// said are the parts of a line as they are understood, besides the title.
func (u quickTask) said(w i18n.Words) []string {
	var list []string
	if u.hasDue {
		text := w.Due(u.due, u.clock)
		if day := w.Weekday(u.due) + " " + w.Short(u.due); !strings.Contains(text, w.Short(u.due)) {
			text += " (" + day + ")"
		}
		list = append(list, text)
	}
	if u.urgent {
		list = append(list, w.Say("high priority"))
	}
	return slices.Clip(list)
}

// showDue answers how a due date is understood, while it is typed.
func showDue(v *shell.Request) shell.View {
	return shell.HTML{Body: hintView(records.MomentHint(v, v.URL.Query().Get("dueAt")))}
}
