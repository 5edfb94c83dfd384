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

// quickLine is the meaning of a line typed above the list of tasks, such as "Klage prüfen morgen 10
// !! @müller". The title comes first and the due date last. The other parts may be anywhere.
//
//	! or !!     high priority
//	@müller     the contact or the company to which the task refers
//	@"zwei wörter"
//	morgen 10   the due date: see i18n.ReadDue
type quickLine struct {
	title string
	due   time.Time
	// clock says that the line has a time of day. hasDue says that it has a date.
	clock, hasDue bool
	urgent        bool
	// about is the name after @. It is empty if there is none.
	about string
	// misread is text at the end of the line that looks like a date but is not a valid one. It may
	// be empty.
	misread string
}

// readLine parses a line. It never fails: words without a special meaning become the title.
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

// cutWords splits a line into words. A quoted name after @ is one word.
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

// quickForm is the data of the form with the line.
type quickForm struct {
	token string
	// line is the typed line, and wrong is its error message. about is the name in the line, and
	// choices are the records with this name.
	line, about string
	wrong       string
	choices     []ui.Choice
}

// quickTask is a parsed line with the records that match its name.
type quickTask struct {
	quickLine
	// record is the contact or company to which the task refers. It is empty if no single record
	// matches.
	record ui.Choice
	// choices are the matching records if there are several.
	choices []ui.Choice
}

// These are the names of form fields.
const (
	lineField  = "line"
	aboutField = "about"
)

// maxMeant is the maximum number of records offered for the name in a line. A longer name narrows
// the choice.
const maxMeant = 5

// understand parses a line and searches for the name in the line.
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

// why returns a text that says what is wrong in a line. It is empty if nothing is wrong.
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

// showLine serves a text that shows how a line is understood. A script requests it while a person
// types.
func showLine(v *shell.Request) shell.View {
	u, err := understand(v, v.URL.Query().Get(lineField))
	if err != nil {
		return v.Failed(err)
	}
	return shell.HTML{Body: understoodView(v, u)}
}

// createByLine creates a task from a line. If the name in the line is ambiguous, the response asks
// who is meant, and contains the line.
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

// task returns the request body that creates the task. about is the id of the record to which the
// task refers, or empty.
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

// refusedLine returns the list with the typed line and its error message.
func refusedLine(v *shell.Request, line quickForm) shell.View {
	l := records.Tasks.ListingOf(queryOf(shell.Local(v.Sent.Get(shell.BackField))))
	return drawTasks(v, l, whoField(v, l), line, fault.ValidationFailed.Status())
}

// said returns the due date and the priority of a line as texts.
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

// showDue serves a text that shows how a due date is understood. A script requests it while a
// person types.
func showDue(v *shell.Request) shell.View {
	return shell.HTML{Body: hintView(records.MomentHint(v, v.URL.Query().Get("dueAt")))}
}
