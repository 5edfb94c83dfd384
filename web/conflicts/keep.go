package conflicts

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/record/lookup"
	"kartei/web/documents"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// keepForm is the data of the form that keeps a check as a document.
type keepForm struct {
	reference string
	// wrong is the error at the reference. failed is the error if no field is wrong. Both may be empty.
	wrong, failed string
}

// field is the field with the reference.
func (k *keepForm) field(v *shell.Request) ui.Field {
	return ui.Field{
		Name: referenceField, Label: v.Words.Say("File number"), Value: k.reference, Optional: true,
		Autocomplete: "off", Errors: shell.Present(k.wrong), Focus: k.wrong != "",
	}
}

// keepCheck makes a check again and creates a document from its result. It does not trust a result that the browser
// sends.
func keepCheck(v *shell.Request) shell.View {
	p := checkPage{typed: v.Sent.Text(linesField), keep: keepForm{reference: v.Sent.Text(referenceField)}}
	if err := p.check(v); err != nil {
		return v.Failed(err)
	}
	if p.wrong != nil {
		return p.draw(v, fault.ValidationFailed.Status())
	}
	members := map[string]any{
		"visibility": "private", "attributes": map[string]string{lookup.KeptCheck: clock.FromTime(p.result.at).String()},
	}
	if p.keep.reference != "" {
		members["reference"] = p.keep.reference
	}
	operation, err := documents.FileText(v, p.result.fileName(v), p.result.file(v), members, v.Sent.Token)
	if err != nil {
		return p.refused(v, shell.AsFault(err))
	}
	return v.SeeOther("/operations/" + operation)
}

// refused returns the page with a message that says why no document was created.
func (p *checkPage) refused(v *shell.Request, f *fault.Fault) shell.View {
	if p.keep.wrong = shell.FieldTexts(f, v.Words.Language)[referenceField]; p.keep.wrong == "" {
		if len(f.Fields) == 0 {
			return v.Failed(f)
		}
		p.keep.failed = cmp.Or(documents.WhyRefused(v, f), v.Reason(f))
	}
	return p.draw(v, f.Code.Status())
}

// fileName returns the name of the document.
func (r *result) fileName(v *shell.Request) string {
	return v.Words.Say("Conflict check") + r.at.In(v.Zone()).Format(" 2006-01-02 15.04") + ".txt"
}

// file returns the result as a plain text.
func (r *result) file(v *shell.Request) string {
	var b textFile
	b.heading(v.Words.Say("Conflict check"), "=")
	b.line(v.Session.Organization.Name)
	zone := r.at.In(v.Zone()).Format("UTC-07:00")
	b.line(r.by(v, v.Words.Time(r.at)+" ("+zone+")"))
	b.line(r.counts(v))
	if text := r.waitingText(v); text != "" {
		b.line(text)
	}
	for i, l := range r.Lines {
		b.line("")
		b.heading(shell.Joined(" · ", strconv.Itoa(i+1)+". "+l.Text, lineCount(v, l)), "-")
		b.result(v, l)
	}
	return b.String()
}

// textFile is a text with lines.
type textFile struct{ strings.Builder }

// line adds a line. White space is replaced by single spaces, so that a text of a record adds no line.
func (b *textFile) line(text string) { b.indented("", text) }

func (b *textFile) indented(indent, text string) {
	b.WriteString(indent + strings.Join(strings.Fields(text), " ") + "\n")
}

// heading adds a line that is underlined with a character.
func (b *textFile) heading(text, under string) {
	text = strings.Join(strings.Fields(text), " ")
	b.line(text)
	b.line(strings.Repeat(under, utf8.RuneCountInString(text)))
}

// result adds the hits of a line by their strength, and the notes.
func (b *textFile) result(v *shell.Request, l lookup.ConflictLine) {
	for _, g := range groupsOf(l) {
		b.line(v.Words.Say(g.title) + ":")
		for _, h := range g.hits {
			b.indented("- ", hitText(v, withReferences(v, h)))
		}
	}
	for _, text := range notesOf(v, l) {
		b.line(text)
	}
}

// hitText returns a hit as a text: the family, the title, the facts and the id.
func hitText(v *shell.Request, h lookup.Hit) string {
	texts := []string{h.Title}
	if f := records.FamilyOf(h.Object); f != nil {
		texts[0] = v.Words.Say(f.One) + ": " + h.Title
	}
	for _, fact := range records.FactsOf(v, h) {
		texts = append(texts, fact.Text)
	}
	if h.InText {
		texts = append(texts, v.Words.Say("Found in the text of the document"))
	}
	return strings.Join(append(texts, h.ID), " · ")
}
