package ui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"kartei/kit/i18n"

	"github.com/a-h/templ"
)

// Kind is the tone of a badge, a banner or a toast. Each has a colour and a shape,
// so nothing depends on colour alone.
type Kind string

// The tones.
const (
	Plain Kind = "plain"
	OK    Kind = "ok"
	Warn  Kind = "warn"
	Bad   Kind = "bad"
	Info  Kind = "info"
)

// icon returns the shape of a tone.
func (k Kind) icon() string {
	switch k {
	case OK:
		return "circle-check"
	case Warn:
		return "triangle-alert"
	case Bad:
		return "circle-alert"
	}
	return "info"
}

// Field is a field of a form: label, hint, what was typed, and what is wrong with
// it.
type Field struct {
	// Name is the field's name in the form. ID is its own, or made of the name.
	Name, ID string
	Label    string
	Hint     string
	Value    string
	// Errors are sentences in the reader's language.
	Errors []string
	// Type is the type of the input; without one it is text.
	Type         string
	Autocomplete string
	Placeholder  string
	Required     bool
	// Optional is said beside the label. It is for forms whose other fields are
	// mostly required.
	Optional bool
	Focus    bool
	// Rows are the lines of a text of several lines.
	Rows int
	// Options are the choices of a select or of radio buttons.
	Options []Option
	// Calendar offers the browser's calendar beside a moment that is typed in words.
	Calendar bool
	// Live says the hint anew when it changes.
	Live bool
	// Suffix stands within the field, at its end.
	Suffix string
	// Described is the id of a text elsewhere that a screen reader says after the
	// label: why the form was refused.
	Described string
	// More are further attributes: inputmode, maxlength, htmx's attributes.
	More templ.Attributer
}

// Option is one choice.
type Option struct{ Value, Text, Hint string }

// Languages are the languages of the product to choose from, each by its own name.
func Languages() []Option {
	all := make([]Option, len(i18n.Languages))
	for i, l := range i18n.Languages {
		all[i] = Option{Value: string(l), Text: l.OwnName()}
	}
	return all
}

func (f Field) id() string      { return cmp.Or(f.ID, "f-"+f.Name) }
func (f Field) hintID() string  { return f.id() + "-hint" }
func (f Field) errorID() string { return f.id() + "-error" }

func (f Field) inputType() string { return cmp.Or(f.Type, "text") }
func (f Field) rows() int         { return cmp.Or(f.Rows, 3) }

// describedBy names what a screen reader says after the label.
func (f Field) describedBy() string {
	var ids []string
	if f.Described != "" {
		ids = append(ids, f.Described)
	}
	if len(f.Errors) > 0 {
		ids = append(ids, f.errorID())
	}
	if f.Hint != "" {
		ids = append(ids, f.hintID())
	}
	return strings.Join(ids, " ")
}

// attributes are those that all controls of a field have.
func (f Field) attributes() templ.OrderedAttributes {
	var a templ.OrderedAttributes
	add := func(key string, value any) {
		a = append(a, templ.KeyValue[string, any]{Key: key, Value: value})
	}
	add("id", f.id())
	add("name", f.Name)
	add("required", f.Required)
	add("autofocus", f.Focus)
	if f.Autocomplete != "" {
		add("autocomplete", f.Autocomplete)
	}
	if f.Placeholder != "" {
		add("placeholder", f.Placeholder)
	}
	if described := f.describedBy(); described != "" {
		add("aria-describedby", described)
	}
	if len(f.Errors) > 0 {
		add("aria-invalid", "true")
	}
	if f.Type == "date" {
		add("max", "9999-12-31") // else years of six digits can be typed
	}
	if f.More != nil {
		a = append(a, f.More.Items()...)
	}
	return a
}

// Wrong is a line of the summary above a form: which field, and what is wrong.
type Wrong struct{ ID, Label, Text string }

// Wrongs collects what is wrong in fields, in their order.
func Wrongs(fields ...Field) []Wrong {
	var all []Wrong
	for _, f := range fields {
		for _, text := range f.Errors {
			all = append(all, Wrong{ID: f.id(), Label: f.Label, Text: text})
		}
	}
	return all
}

// Combo is a field that finds a record or a word while one types. Its value is an
// id; without a script the text goes to the server, which looks for it.
type Combo struct {
	Field
	// Text is what the reader sees of the value. It travels as Name + "-text", and as
	// it was drawn as Name + "-shown": a text that differs was typed.
	Text string
	// Offers says that an empty field has choices too.
	Offers bool
	// Choices are drawn below the field, as answers to a text that fits several. The
	// chosen one travels as Name + "-pick".
	Choices []Choice
	// Source is the address of the choices: it answers ?q= with OptionList.
	Source string
	// Create is what the last choice makes, if nothing fits: "Firma anlegen".
	Create string
}

func (c Combo) listID() string { return c.id() + "-list" }

// Choice is one line of a list of choices.
type Choice struct {
	Value, Text, Note, Icon string
	// Href makes the choice a link.
	Href string
	// Marks are the spans of Text that were found, as bytes: from, to. NoteMarks are
	// the spans of Note.
	Marks, NoteMarks [][2]int
	// Best is the choice that Enter takes.
	Best bool
	// Extra is a choice below the hits that is none of them.
	Extra bool
}

// piece is a part of a text, found or not.
type piece struct {
	text  string
	found bool
}

// pieces cuts a text at its marks. Marks that do not fit are left out.
func pieces(text string, marks [][2]int) []piece {
	var all []piece
	at := 0
	for _, m := range marks {
		if m[0] < at || m[1] <= m[0] || m[1] > len(text) {
			continue
		}
		if m[0] > at {
			all = append(all, piece{text[at:m[0]], false})
		}
		all, at = append(all, piece{text[m[0]:m[1]], true}), m[1]
	}
	if at < len(text) {
		all = append(all, piece{text[at:], false})
	}
	return all
}

// Toast names a change and its result. Undo is the address of the form that
// takes it back.
type Toast struct {
	Kind Kind
	Text string
	// Log is what the log of the tab keeps of it: nothing that is in a record. Without
	// it, the log has no line.
	Log string
	// Href leads to what changed.
	Href, HrefText string
	// Undo is the address that a form is sent to, with the given hidden fields.
	Undo   string
	Hidden []HiddenField
}

// HiddenField is a field that nobody sees.
type HiddenField struct{ Name, Value string }

// Moment is a line of a timeline.
type Moment struct {
	At        time.Time
	Who       string
	Text      string
	Icon      string
	Note      string
	Href      templ.SafeURL
	Important bool
}

// Change is a line of a diff: what it was, what it is.
type Change struct{ Label, From, To string }

// Side is one value of a conflict: whose, and what.
type Side struct{ Value, Label, Text string }

// Tab is a view of the same things: its name, how many, whether it is open.
type Tab struct {
	Name  string
	Href  templ.SafeURL
	Count string
	Here  bool
}

// Pages are the addresses of the neighbouring pages of a list. An empty one is an
// end.
type Pages struct{ Newer, Older templ.SafeURL }

// Column is the head of a column of a table.
type Column struct {
	Name string
	// Class is the class of its cells, such as main, num, when or pick.
	Class string
	// Href sorts by this column. Sorted is ascending, descending or empty.
	Href   templ.SafeURL
	Sorted string
}

// optionID is the id of a choice, which aria-activedescendant names.
func optionID(list string, i int) string { return list + "-" + strconv.Itoa(i) }
