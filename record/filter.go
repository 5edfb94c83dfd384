package record

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/invisible"
	"kartei/store/db"
)

// A filter narrows lists and counts to records whose member equals a value. The
// value has a column of its own, with indexes in the order of the list (see
// statements). So a narrowed page costs the same as any page.
type filter struct {
	parameter string
	column
	// input is the index of the field in the family's struct of filters.
	input []int
	// few says that few records share a value, so an admin's list sorts them. Otherwise a
	// second index has the private records in the order of an admin's list.
	few bool
	// with names the parameter of another filter that has common indexes with this
	// one.
	with string
	// tags says that the member is the list of tags, and one of them is the value.
	// Table tags has them.
	tags bool
}

// column is a column of the family's table that repeats a text member for
// queries. It is null if the member is not set.
type column struct {
	name string
	// member is the index of the member in the family's fields. It is nil for a column that only
	// sorts.
	member []int
	// fold keeps ASCII letters in lower case.
	fold bool
	// bare says that the member has no invisible characters.
	bare bool
	// class returns what the column holds of the member: see Classify. It is nil if that
	// is the text itself.
	class func(text string) string
}

// columnName returns the column of a member: company_id for companyId.
func columnName(member string) string {
	var b strings.Builder
	for _, c := range member {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(c)))
	}
	return b.String()
}

// FilterBy returns the filters of a family for NewCollection. X is a struct of
// texts tagged as query parameters. Each is compared with the member of that name,
// which has the column of that name (companyId in company_id). The filter whose
// value fewest records share comes first.
//
// `fold:"true"` ignores the case of ASCII letters. `few:"true"` says that few
// records share a value. `with:"status"` says that the indexes TABLE_COLUMN_status_audience
// and TABLE_COLUMN_status_private exist, with status after COLUMN. They serve
// values that many records have, as a pair that few have: the open tasks of one
// person among all tasks ever done. One index alone would be read to its end.
//
// The schema has the column and its indexes: TABLE_COLUMN_audience on
// (organization, COLUMN, audience, updated_at) and, unless few share a value,
// TABLE_COLUMN_private on (organization, COLUMN, updated_at) of private records, both for
// living records where the column is not null.
//
// `of:"contentType"` names the member, if that is not the parameter. The column then
// has a class of its text: see Classify.
//
// Two filters are for the members of CommonFields, and come last. `each:"tags"` finds
// records with a tag, along the indexes of table tags. ownerId needs the index
// TABLE_owner_id_shared on (organization, owner_id, updated_at), for living records
// that everyone sees: a private record has its owner as its audience.
func FilterBy[X any]() reflect.Type { return reflect.TypeFor[X]() }

// ReadFilters returns a family's struct of filters, see FilterBy, from their values by
// parameter. It refuses a parameter that is none of them.
func ReadFilters[X any](values map[string]string) (filters X, err error) {
	var known []string
	v := reflect.ValueOf(&filters).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		known = append(known, f.Tag.Get("query"))
		v.FieldByIndex(f.Index).SetString(values[f.Tag.Get("query")])
	}
	for name := range values {
		if !slices.Contains(known, name) {
			return filters, fault.BadRequest(fault.Field{Name: name, Code: fault.UnknownField})
		}
	}
	return filters, nil
}

// filtersOf joins filters and members by their names. It panics if there is no such
// member: that is a mistake in the family, found at start.
func filtersOf(filters, members reflect.Type) []filter {
	var list []filter
	for _, f := range reflect.VisibleFields(filters) {
		x := filter{parameter: f.Tag.Get("query"), input: f.Index, few: f.Tag.Get("few") == "true", with: f.Tag.Get("with")}
		x.column = column{name: columnName(x.parameter), fold: f.Tag.Get("fold") == "true"}
		each := f.Tag.Get("each")
		x.tags = each != ""
		for _, m := range reflect.VisibleFields(members) {
			if !m.Anonymous && m.Tag.Get("json") == cmp.Or(each, f.Tag.Get("of"), x.parameter) {
				x.member, x.bare = m.Index, m.Tag.Get("bare") == "true"
			}
		}
		if x.member == nil {
			panic(fmt.Sprintf("record: %s.%s filters by a member that %s has not", filters, f.Name, members))
		}
		list = append(list, x)
	}
	return list
}

// of returns the value that a filter looks for.
func (x *filter) of(text string) string {
	if x.tags {
		return folded(Clean(text))
	}
	return x.value(text)
}

// value returns the value of the column for a text.
func (c *column) value(text string) string {
	if c.bare {
		text = invisible.Remove(text)
	}
	text = Clean(text)
	if !c.fold {
		return text
	}
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, text)
}

// stored returns what the column holds of the text of a member.
func (c *column) stored(text string) string {
	if c.class != nil {
		return c.class(text)
	}
	return c.value(text)
}

// These columns are in every family. The unique index of externalID has its name.
const (
	externalID = "external_id"
	ownerID    = "owner_id"
)

// index returns the name of a stream's index. It is an index of the first filter, whose
// value fewest records share.
func (n selection) index(table string, p part) string {
	first := n.filters[0]
	name := table + "_" + first.name
	for i, x := range n.filters[1:] {
		if n.leads(1 + i) {
			name += "_" + x.name
		}
	}
	switch {
	case first.name == externalID:
		return name
	case first.few:
		return name + "_audience"
	}
	return name + p.index
}

// leads reports whether the index has the column of the ith filter.
func (n selection) leads(i int) bool {
	with := n.filters[0].with
	return i == 0 || with != "" && n.filters[i].parameter == with
}

// columnsOf returns the columns of filters and references, each once, without the
// columns that every family has.
func columnsOf(filters []filter, references []reference) (list []column) {
	add := func(c column) {
		if c.name != externalID && c.name != ownerID &&
			!slices.ContainsFunc(list, func(o column) bool { return o.name == c.name }) {
			list = append(list, c)
		}
	}
	for _, x := range filters {
		if !x.tags {
			add(x.column)
		}
	}
	for _, r := range references {
		add(r.column)
	}
	return list
}

// appendColumns appends the values of the family's columns, for the record of an
// id.
func (k *Collection[T, F, P]) appendColumns(args []any, name string, f P) []any {
	v := reflect.ValueOf(f).Elem()
	for i := range k.columns {
		if k.columns[i].member == nil {
			args = append(args, k.sortKey(name, f))
		} else if text := textAt(v, k.columns[i].member); text != "" {
			args = append(args, k.columns[i].stored(text))
		} else {
			args = append(args, nil)
		}
	}
	return args
}

// textAt returns a text member; "" if it is not set.
func textAt(v reflect.Value, member []int) string {
	m := v.FieldByIndex(member)
	if m.Kind() == reflect.Pointer {
		m = m.Elem()
	}
	if !m.IsValid() {
		return ""
	}
	return m.String()
}

// selection is the filters of one call, with their values, and its order if it is
// not that by change.
type selection struct {
	filters []*filter
	values  []any
	order   *order
}

// plain reports whether the list has the statement that was made at start.
func (n selection) plain() bool { return n.filters == nil && n.order == nil }

// key returns the column that the list is ordered by.
func (n selection) key() string {
	if n.order == nil {
		return "updated_at"
	}
	return n.order.column
}

// selectionOf reads the filters that a call gives; in is a pointer to the
// family's struct of filters, if it has one.
func (k *Collection[T, F, P]) selectionOf(in []any) (n selection) {
	if len(in) == 0 {
		return n
	}
	v := reflect.ValueOf(in[0]).Elem()
	for i := range k.filters {
		x := &k.filters[i]
		if text := v.FieldByIndex(x.input).String(); text != "" {
			n.filters = append(n.filters, x)
			n.values = append(n.values, x.of(text))
		}
	}
	return n
}

// check refuses filters together with q or includeDeleted. A search ranks and does
// not compare; a deletion marker has no content to compare.
func (n selection) check(q string, includeDeleted bool) error {
	if n.filters == nil || q == "" && !includeDeleted {
		return nil
	}
	if includeDeleted {
		return fault.BadRequest(fault.Field{Name: "includeDeleted", Code: fault.ForbiddenCombination, Text: notWithFilters})
	}
	var wrong []fault.Field
	for _, x := range n.filters {
		wrong = append(wrong, fault.Field{Name: x.parameter, Code: fault.ForbiddenCombination, Text: notWithQ})
	}
	return fault.BadRequest(wrong...)
}

var notWithFilters = i18n.Text("Not allowed together with filters: a deletion marker has no fields any more.")

// matchesNothing reports whether a filter names a record that is deleted or hidden
// from the actor. References to it are returned as null, so no record may be found
// by it: a filter must not show what a response hides.
func (k *Collection[T, F, P]) matchesNothing(ctx context.Context, c *op.Call, n selection) (bool, error) {
	for i, x := range n.filters {
		for _, r := range k.references {
			if r.field != x.parameter || r.family == principals {
				continue
			}
			if found, err := Seen(ctx, c, r.family, n.values[i].(string)); err != nil || !found {
				return true, err
			}
		}
	}
	return false, nil
}

// String returns a text that differs for any two selections. Cursors are bound to it.
func (n selection) String() string {
	var b strings.Builder
	for i, x := range n.filters {
		fmt.Fprintf(&b, "|%s=%q", x.parameter, n.values[i])
	}
	return b.String()
}

// along returns the hint for the from clause that names the index of a stream.
// Filters outside of the index are compared on the rows.
func (n selection) along(d *db.Dialect, table string, p part) string {
	if n.filters == nil {
		return ""
	}
	return d.Along(n.index(table, p))
}

// where returns the conditions on rows, after an 'and'; $6 is the first value.
// Filters outside of the index are written in a form that no index serves.
// PostgreSQL plans once for all values: it might use the index of a company with a
// million contacts to find those with one address.
func (n selection) where(table string) string {
	var b strings.Builder
	for i, x := range n.filters {
		if n.leads(i) {
			fmt.Fprintf(&b, " and %s = $%d", x.name, 6+i)
		} else {
			b.WriteString(x.compared(table, table, 6+i))
		}
	}
	return b.String()
}

// further returns the conditions of all filters but the first.
func (n selection) further(table string) string {
	var b strings.Builder
	for i, x := range n.filters[1:] {
		b.WriteString(x.compared(table, table, 7+i))
	}
	return b.String()
}

// compared returns the condition of a filter outside of the index, on the rows of a table
// that the statement calls alias.
func (x *filter) compared(table, alias string, place int) string {
	if x.tags {
		return fmt.Sprintf(" and (select count(*) from tags as g where g.organization = $1 and g.family = '%s' and g.reader = %s.audience and g.tag = $%d and g.tick = %s.updated_at) > 0",
			table, alias, place, alias)
	}
	return fmt.Sprintf(" and %s || '' = $%d", x.name, place)
}
