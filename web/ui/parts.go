package ui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"kartei/kit/i18n"

	"github.com/a-h/templ"
)

// Kind is the tone of a badge, a banner or a toast. Each tone has a colour and an icon, so that
// nothing depends on colour alone.
type Kind string

// These are the tones.
const (
	Plain Kind = "plain"
	OK    Kind = "ok"
	Warn  Kind = "warn"
	Bad   Kind = "bad"
	Info  Kind = "info"
)

// icon returns the name of the icon for the tone k.
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

// Field is the data of a form field.
type Field struct {
	// Name is the field's name in the form. ID is the element id. If it is empty, it follows from
	// the name.
	Name, ID string
	Label    string
	Hint     string
	Value    string
	// Unseen says that only screen readers read the label.
	Unseen bool
	// Errors are sentences in the reader's language.
	Errors []string
	// Type is the type attribute of the input. If it is empty, it is text.
	Type         string
	Autocomplete string
	Placeholder  string
	Required     bool
	// Optional adds a note to the label. It is for forms in which most fields are required.
	Optional bool
	Focus    bool
	// Rows is the number of lines of a text field with several lines.
	Rows int
	// Options are the options of a select, or the radio buttons.
	Options []Option
	// Calendar adds the browser's date picker to a text field for a date in words.
	Calendar bool
	// Live makes screen readers read the hint when it changes.
	Live bool
	// Suffix is shown at the end of the field, such as a unit.
	Suffix string
	// Described is the element id of a text that screen readers read after the label, such as the
	// reason why the form was refused.
	Described string
	// More has further attributes, such as inputmode, maxlength or htmx attributes.
	More templ.Attributer
}

// Rows is the data of a field with several entries. Each entry is a row with the same fields.
type Rows struct {
	Field
	Rows []Row
	// Blank are rows for new entries. Another is the label of the button that opens one.
	Blank   []Row
	Another string
	// Suggestions are texts for the fields whose attribute list is the element id of the field with
	// the suffix -labels.
	Suggestions []string
	// Titled says that the fields of a row have labels that everybody sees. Each row is then in a box.
	Titled bool
	// Bare says that the label of the field is already beside it. Open shows the first blank row.
	Bare, Open bool
}

// Row is an entry of Rows.
type Row struct {
	Label  string
	Fields []Field
}

// Option is an option of a select, or a radio button.
type Option struct{ Value, Text, Hint string }

// Languages returns the languages of the application as options, each with its own name.
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

// describedBy returns the ids of the texts that screen readers read after the label.
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

// attributes returns the attributes that the controls of all kinds have.
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
		add("max", "9999-12-31") // without it, browsers accept years with six digits
	}
	if f.More != nil {
		a = append(a, f.More.Items()...)
	}
	return a
}

// Wrong is an entry in the summary of errors above a form. ID is the element id of the field.
type Wrong struct{ ID, Label, Text string }

// Wrongs returns an entry for each error of the fields, in their order.
func Wrongs(fields ...Field) []Wrong {
	var all []Wrong
	for _, f := range fields {
		for _, text := range f.Errors {
			all = append(all, Wrong{ID: f.id(), Label: f.Label, Text: text})
		}
	}
	return all
}

// Combo is the data of a combobox, which finds a record or a word while a person types. The value
// is an id. Without scripts, the form sends the text, and the server searches for it.
type Combo struct {
	Field
	// Text is the visible text of the value. The form sends it as Name + "-text", and the rendered
	// text as Name + "-shown". If the two differ, the person has typed.
	Text string
	// Offers says that there are choices even for an empty text.
	Offers bool
	// Choices are radio buttons below the field, for a text that matches several records. The form
	// sends the selected one as Name + "-pick".
	Choices []Choice
	// Source is the address that returns the choices as an OptionList. The text is in the parameter
	// q.
	Source string
	// Create is the label of a choice for a new value, if nothing matches.
	Create string
}

func (c Combo) listID() string { return c.id() + "-list" }

// Choice is an entry of a list of choices.
type Choice struct {
	Value, Text, Note, Icon string
	// Href makes the choice a link.
	Href string
	// Marks are the matching parts of Text, and NoteMarks those in Note. Each has a start and an
	// end in bytes.
	Marks, NoteMarks [][2]int
	// Best marks the choice that Enter selects.
	Best bool
	// Extra marks a choice that is not a search result.
	Extra bool
}

// piece is a part of a text. found says that it matches a search.
type piece struct {
	text  string
	found bool
}

// pieces splits a text at its marks. It ignores marks outside the text, and overlapping marks.
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

// Toast is a short note about the result of a change.
type Toast struct {
	Kind Kind
	Text string
	// Log is the text for the log of notes in the browser tab. It contains no content of a record.
	// If it is empty, nothing is logged.
	Log string
	// Href is a link to the changed record, and HrefText is its text.
	Href, HrefText string
	// Undo is the address of a form that undoes the change. Hidden has its hidden fields.
	Undo   string
	Hidden []HiddenField
}

// HiddenField is a hidden form field.
type HiddenField struct{ Name, Value string }

// Moment is an entry of a timeline.
type Moment struct {
	At        time.Time
	Who       string
	Text      string
	Icon      string
	Note      string
	Href      templ.SafeURL
	Important bool
}

// Change is an entry of a diff: the label, the former value and the new value.
type Change struct{ Label, From, To string }

// Side is one value of a conflict. Label says who entered it.
type Side struct{ Value, Label, Text string }

// Tab is a link to another view of the same data. Here marks the current view.
type Tab struct {
	Name  string
	Href  templ.SafeURL
	Count string
	Here  bool
}

// Pages has the addresses of the previous and the next page of a list. An empty address means that
// there is no such page.
type Pages struct{ Newer, Older templ.SafeURL }

// Column is the header cell of a table column.
type Column struct {
	Name string
	// Class is the CSS class of its cells, such as main, num, when or pick.
	Class string
	// Href is the address of the list sorted by this column. Sorted is ascending, descending or
	// empty.
	Href   templ.SafeURL
	Sorted string
}

// optionID returns the element id of a choice, to which aria-activedescendant refers.
func optionID(list string, i int) string { return list + "-" + strconv.Itoa(i) }
