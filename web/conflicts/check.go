package conflicts

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/input"
	"kartei/record/lookup"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// These are the fields of the forms.
const (
	linesField     = "lines"
	referenceField = "reference"
)

// checkPage is the data of the page of the conflict check.
type checkPage struct {
	// typed is the text in the field with the names, and wrong has the errors at this field.
	typed string
	wrong []string
	// result is the result of the check. It is nil without one.
	result *result
	keep   keepForm
}

// showForm serves the form. The query may have the id of a contact or company, with whose name the form begins.
func showForm(v *shell.Request) shell.View {
	var p checkPage
	if id := v.URL.Query().Get(shell.ConflictsParameter); id != "" {
		lines, err := linesAbout(v, id)
		if err != nil {
			return v.Failed(err)
		}
		p.typed = strings.Join(lines, "\n")
	}
	return p.draw(v, http.StatusOK)
}

// linesAbout returns the lines about a contact or company: its name with its city, and the name of the contact's
// company.
func linesAbout(v *shell.Request, id string) ([]string, error) {
	f := records.FamilyOfID(id)
	if f == nil || !f.InBook {
		return nil, fault.New(fault.NotFound)
	}
	record, err := records.Get(v, f, id)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	if firm := record["companyId"]; firm != "" {
		if err := v.TitlesOf([]string{firm}, names); err != nil {
			return nil, err
		}
	}
	return shell.Present(
		shell.Joined(", ", f.Heading(record), record["address.city"]), names[record["companyId"]],
	), nil
}

// draw returns the page.
func (p *checkPage) draw(v *shell.Request, status int) shell.View {
	return v.OK(v.Words.Say("Conflict check"), "", checkView(v, p)).WithStatus(status)
}

// checkNames serves the result of a check.
func checkNames(v *shell.Request) shell.View {
	p := checkPage{typed: v.Sent.Text(linesField)}
	if err := p.check(v); err != nil {
		return v.Failed(err)
	}
	if p.wrong != nil {
		return p.draw(v, fault.ValidationFailed.Status())
	}
	return p.draw(v, http.StatusOK)
}

// check checks the names in the form, and sets the result or the errors at the field.
func (p *checkPage) check(v *shell.Request) error {
	lines, numbers := linesOf(p.typed)
	switch {
	case len(lines) == 0:
		p.wrong = []string{v.Words.Say("Please enter a name.")}
		return nil
	case len(lines) > lookup.MaxConflictLines:
		p.wrong = []string{v.Words.Say("At most %s lines are checked at once.", v.Words.Number(lookup.MaxConflictLines))}
		return nil
	}
	found := shell.Do(v, lookup.Conflicts, lookup.ConflictsInput{Lines: lines})
	if found.Is(fault.ValidationFailed) {
		p.wrong = wrongLines(v, found.Fault, numbers)
	}
	if p.wrong != nil {
		return nil
	}
	p.result = &result{ConflictsOutput: found.Value, at: v.Words.Now}
	return found.Err()
}

// linesOf returns the lines of a text that are not empty, and their numbers in the text. The first line has the
// number 1.
func linesOf(text string) (lines []string, numbers []int) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines, numbers = append(lines, line), append(numbers, i+1)
		}
	}
	return lines, numbers
}

// wrongLines returns an error text for each line that was refused. It returns nil if the fault is about no line.
func wrongLines(v *shell.Request, f *fault.Fault, numbers []int) (texts []string) {
	for i, number := range numbers {
		at := slices.IndexFunc(f.Fields, func(field fault.Field) bool { return field.Name == input.Indexed(linesField, i) })
		if at >= 0 {
			text := f.Fields[at].Message(v.Words.Language)
			texts = append(texts, v.Words.Say("Line %s: %s", v.Words.Number(number), text))
		}
	}
	return texts
}

// namesField is the field with the names.
func (p *checkPage) namesField(v *shell.Request) ui.Field {
	return ui.Field{
		Name: linesField, Label: v.Words.Say("Names"), Value: p.typed, Errors: p.wrong, Rows: 5, Required: true,
		Focus: p.result == nil,
		Hint: v.Words.Say("Names of people and companies, addresses, email addresses or telephone numbers, one a line. " +
			"A place after a comma narrows a name: Anna Maier, Köln"),
	}
}

// result is the result of a check.
type result struct {
	lookup.ConflictsOutput
	at time.Time
}

// by returns a text that says when the check was made, and by whom. at is the time as a text.
func (r *result) by(v *shell.Request, at string) string {
	return v.Words.Say("Checked on %s by %s.", at, v.Session.Principal.Name)
}

// counts returns a text with the numbers of lines and hits.
func (r *result) counts(v *shell.Request) string {
	hidden := 0
	for _, l := range r.Lines {
		hidden += l.Hidden
	}
	list := []string{
		v.Words.Plural(len(r.Lines), "one line [of a check]", "%d lines [of a check]"), countText(v, r.Records()),
	}
	if hidden > 0 {
		list = append(list, v.Words.Plural(hidden, "one hit that you may not see", "%d hits that you may not see"))
	}
	return strings.Join(list, " · ")
}

// countText returns a text with a number of hits.
func countText(v *shell.Request, n int) string {
	return v.Words.Plural(n, "one hit [of a check]", "%d hits [of a check]")
}

// lineCount returns a text with the number of hits of a line. It is empty without hits: a note says it then.
func lineCount(v *shell.Request, l lookup.ConflictLine) string {
	if len(l.Hits) == 0 {
		return ""
	}
	return countText(v, len(l.Hits))
}

// waitingText returns a text about records that are not compared yet. It is empty if there are none.
func (r *result) waitingText(v *shell.Request) string {
	if r.Waiting == 0 {
		return ""
	}
	return v.Words.Plural(int(r.Waiting),
		"One changed entry is not compared for typing errors yet. Please check again in a moment.",
		"%d changed entries are not compared for typing errors yet. Please check again in a moment.")
}

// group has the hits of a line with the same strength.
type group struct {
	title i18n.Text
	hits  []lookup.Conflict
}

// strengths are the headings of the groups.
var strengths = map[lookup.ConflictStrength]i18n.Text{
	lookup.SameName:    "Same name, address or number",
	lookup.SimilarName: "Similar spelling",
	lookup.PartOfName:  "Part of the name",
	lookup.Mentioned:   "Mentioned",
}

// groupsOf returns the groups of the hits of a line, the strongest first.
func groupsOf(l lookup.ConflictLine) (groups []group) {
	for _, strength := range lookup.ConflictStrengths {
		g := group{title: strengths[strength]}
		for _, h := range l.Hits {
			if h.Strength == strength {
				g.hits = append(g.hits, h)
			}
		}
		if len(g.hits) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// notesOf returns the notes below the hits of a line.
func notesOf(v *shell.Request, l lookup.ConflictLine) (notes []string) {
	if l.Hidden > 0 && len(l.Hits) > 0 {
		notes = append(notes, v.Words.Plural(l.Hidden,
			"One more that you may not see: ask an admin.", "%d more that you may not see: ask an admin."))
	} else if l.Hidden > 0 {
		notes = append(notes, v.Words.Plural(l.Hidden,
			"One hit that you may not see: ask an admin.", "%d hits that you may not see: ask an admin."))
	}
	if l.More {
		notes = append(notes, v.Words.Say("There may be more hits. A first name or a place narrows the line."))
	}
	if l.Unplaced {
		notes = append(notes, v.Words.Say("An address needs its postal code or city: they are not in this line."))
	}
	if d := l.Deleted; d != nil {
		at := v.Words.Time(d.DeletedAt.Time())
		notes = append(notes, v.Words.Say("The entry with this identifier was deleted on %s.", at))
	}
	if len(l.Hits) == 0 && notes == nil {
		notes = append(notes, v.Words.Say("Nothing found."))
	}
	return notes
}

// withReferences returns a hit that has the file numbers among its facts.
func withReferences(v *shell.Request, c lookup.Conflict) lookup.Hit {
	h := c.Hit
	if len(c.References) > 0 {
		text := v.Words.Say("File number") + ": " + strings.Join(c.References, ", ")
		h.Facts = append(slices.Clone(h.Facts), lookup.Fact{Name: "references", Text: text})
	}
	return h
}
