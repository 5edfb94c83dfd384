package entry

import (
	"slices"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
)

// Torn is the column of a marker value. It marks an entry that was read incompletely.
const Torn = -1

var (
	tornRow  = i18n.Text("This entry is not complete. What can be read of it was read.")
	tornCard = i18n.Text("This card is not complete: it has too many lines, or END:VCARD is missing at its end. What can be read of it was read.")
)

// Reader turns the values of a file's entries into Entry values.
type Reader struct {
	*mapping.Plan
	// Violations returns the rules of the API that an entry violates.
	Violations func(*Entry) []fault.Field
	// MayMake says that the person of the import may create companies.
	MayMake bool
}

// Read returns the entry with the given values. It removes values that violate a rule of the API,
// until none is left.
func (r *Reader) Read(values []source.Value, now clock.Micros) *Entry {
	e := r.readAs(values, now, false)
	if e.late { // read again as a company, with the members of a company
		e = r.readAs(values, now, true)
	}
	e.finish()
	return e
}

// readAs reads values as Read does. firm says that the entry is a company.
func (r *Reader) readAs(values []source.Value, now clock.Micros, firm bool) *Entry {
	torn := len(values) > 0 && values[len(values)-1].Column == Torn
	if torn {
		values = values[:len(values)-1]
	}
	e := r.collect(values, now, firm)
	if e.Group {
		return e
	}
	if torn {
		why := tornRow
		if r.OfCards() {
			why = tornCard
		}
		e.remark(fault.InvalidFormat, why)
	}
	if e.Firm && !r.MayMake {
		e.becomePerson()
	}
	for range len(e.Body) + 1 {
		if e.Refused = e.nameless(r.MayMake); e.Refused || e.late {
			break
		}
		gaveUp := false
		for _, f := range r.Violations(e) {
			gaveUp = e.giveUp(f) || gaveUp
		}
		e.tidyLists()
		if !gaveUp {
			break
		}
	}
	return e
}

// collect returns the entry before values are removed. firm says that it is a company.
func (r *Reader) collect(values []source.Value, now clock.Micros, firm bool) *Entry {
	e := &Entry{Body: map[string]any{}, Firm: firm, language: r.Language, items: map[string][]item{}}
	columns := r.ByNumber()
	labels := map[string]string{}
	for _, v := range values {
		if column := columns[v.Column]; column != nil && strings.HasSuffix(column.Target, ".label") {
			key := strings.TrimSuffix(column.Target, "label") + column.Slot
			labels[key] = strings.TrimSpace(labels[key] + " " + v.Text)
		}
	}
	for _, v := range values {
		column := columns[v.Column]
		e.Exact = e.Exact || column != nil && (column.Target == mapping.ID || column.Target == "externalId") &&
			(id.Valid(id.Contact, v.Text) || id.Valid(id.Company, v.Text))
	}
	for _, v := range values {
		column := columns[v.Column]
		switch {
		case column == nil:
			e.put(item{member: source.Other, text: v.Text, heading: "Spalte " + letters(v.Column)})
		case strings.HasPrefix(column.Target, "additional"):
			e.putAdditional(r.additional(column, v, labels))
		case r.OfCards():
			e.put(item{
				member: column.Target, text: v.Text, heading: v.Head, kind: kindOf(v.Label), slot: v.Slot,
				rank: v.Rank, card: true,
			})
		case column.Target != "" && !strings.HasSuffix(column.Target, ".label"):
			family, _, _ := strings.Cut(column.Target, ".")
			if family == "mobile" || family == "fax" {
				family = "phone"
			}
			label, i := labels[family+"."+column.Slot], item{
				member: column.Target, text: v.Text, heading: column.Heading, kind: kindOf(column.Slot),
				slot: column.Slot,
			}
			if i.heading == "" {
				i.heading = "Spalte " + letters(v.Column)
			}
			if label != "" {
				i.kind = kindOf(label)
				i.named = column.Target == source.Other && !slices.Contains(generalKinds, i.kind)
			}
			switch i.kind {
			case "work", "direct":
				i.rank = 3
			case "home":
				i.rank = 1
			case "other", "assistant", "callback", "car", "radio", "isdn", "company":
			default:
				i.rank = 2
			}
			if strings.HasPrefix(label, "*") {
				i.rank += 1000
			}
			e.put(i)
		}
	}
	for _, i := range e.has("externalId") {
		for _, group := range r.Groups[i.text] {
			e.put(item{member: "tags", text: group, heading: i.heading, card: true})
		}
	}
	for _, list := range e.items {
		slices.SortStableFunc(list, func(a, b item) int { return b.rank - a.rank })
	}
	e.compose(r.Plan, now.Time().Format(time.DateOnly))
	return e
}

// additional returns the item for a value of a list of additional values, and its label.
func (r *Reader) additional(column *mapping.Column, v source.Value, labels map[string]string) (item, string) {
	if r.OfCards() {
		return item{member: column.Target, text: v.Text, heading: v.Head, slot: v.Slot, card: true}, v.Label
	}
	family, _, _ := strings.Cut(column.Target, ".")
	i := item{member: column.Target, text: v.Text, heading: column.Heading, slot: column.Slot}
	if i.heading == "" {
		i.heading = "Spalte " + letters(v.Column)
	}
	label := labels[family+"."+column.Slot]
	if label == "" && !isNumeral(column.Slot) {
		label = column.Slot
	}
	return i, label
}

// generalKinds are kinds of values that are too general for a label in the note.
var generalKinds = []string{"", "work", "home", "other", "main", "mobile", "fax"}

// letters returns the name of a column in a spreadsheet: A, B, AA. at counts from 0.
func letters(at int) (name string) {
	for at++; at > 0; at = (at - 1) / 26 {
		name = string(rune('A'+(at-1)%26)) + name
	}
	return name
}
