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

// filter is a filter of lists and counts. It accepts the records whose member equals a value. The
// member has a column of its own, with indexes in the order of the list (see statements). So a
// page of a filtered list costs as much as any page.
type filter struct {
	parameter string
	column
	// input is the index of the parameter's field in the family's struct of filters.
	input []int
	// few says that few records share a value, so the list of an admin sorts them. If few is
	// false, a second index has the private records in the order of an admin's list.
	few bool
	// with is the parameter of a second filter. Indexes of the form COLUMN_WITH serve both
	// filters together.
	with string
	// also is the index of a list whose entries have the member too, and entry the index of the
	// member in an entry. Both are nil if there is no such list. The table tags has the values of
	// the list, under the family's name and the column's: see listed.
	also, entry []int
	// tags says that the filter accepts records that have the value among their tags. The table
	// tags has these.
	tags bool
}

// column is a column of the family's table that repeats a text member for queries. It is null if
// the member is not set.
type column struct {
	name string
	// member is the index of the member in the family's fields. It is nil for a sort column, and order is
	// then the index of the order.
	member []int
	order  int
	// fold says that the column has ASCII letters in lower case.
	fold bool
	// bare says that invisible characters are removed from the text.
	bare bool
	// class returns the value of the column for the text of the member: see Classify. If it is
	// nil, the column holds the text.
	class func(text string) string
}

// columnName returns the name of a member's column, for example company_id for companyId.
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

// FilterBy returns the filters of a family for NewCollection. X is a struct of texts tagged as
// query parameters. Each parameter filters by the member of the same name, whose column has the
// corresponding name (company_id for companyId). The fields of X are ordered by selectivity: the
// filter whose values the fewest records share comes first.
//
// The tag `fold:"true"` ignores the case of ASCII letters. `few:"true"` says that few records
// share a value. `with:"status"` says that the indexes TABLE_COLUMN_status_audience and
// TABLE_COLUMN_status_private exist, with status after COLUMN. They serve two filters whose
// values many records have, but whose combination few records have. An example is the open tasks
// of one person among all their tasks. With an index for only one of the filters, a query would
// read its whole range.
//
// The schema must have the column and its indexes for living records where the column is not
// null. TABLE_COLUMN_audience is on (organization, COLUMN, audience, updated_at). Without few,
// TABLE_COLUMN_private is on (organization, COLUMN, updated_at) of private records.
//
// The tag `also:"additionalEmails"` also finds records with the value in a list. The entries of the
// list have a member of the filter's name. The filter must have few.
//
// The tag `of:"contentType"` names the member if its name is not the parameter. The column then
// holds a class of the member's text: see Classify.
//
// Two filters are for the members of CommonFields, and come last. `each:"tags"` finds records
// with a tag, along the indexes of table tags. ownerId needs the index TABLE_owner_id_shared on
// (organization, owner_id, updated_at), for living records that everyone sees. It needs no index
// of private records, because their audience is their owner.
func FilterBy[X any]() reflect.Type { return reflect.TypeFor[X]() }

// ReadFilters returns a family's struct of filters (see FilterBy) with the given values. The keys
// of values are parameters. ReadFilters fails with a fault if a parameter is not a filter of the
// family.
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

// filtersOf returns the filters of a family, each with the member that it compares. It panics if
// there is no member of that name, because this is a mistake in the family. The panic happens at
// the start of the program.
func filtersOf(filters, members reflect.Type) []filter {
	var list []filter
	for _, f := range reflect.VisibleFields(filters) {
		x := filter{parameter: f.Tag.Get("query"), input: f.Index, few: f.Tag.Get("few") == "true", with: f.Tag.Get("with")}
		x.column = column{name: columnName(x.parameter), fold: f.Tag.Get("fold") == "true"}
		each := f.Tag.Get("each")
		x.tags = each != ""
		if m, has := memberOf(members, cmp.Or(each, f.Tag.Get("of"), x.parameter)); has {
			x.member, x.bare = m.Index, m.Tag.Get("bare") == "true"
		}
		if also := f.Tag.Get("also"); also != "" {
			x.also, x.entry = listOf(members, also, x.parameter)
		}
		if x.member == nil {
			panic(fmt.Sprintf("record: %s.%s filters by a member that %s has not", filters, f.Name, members))
		}
		list = append(list, x)
	}
	return list
}

// listOf returns the index of a list of structs, and that of a member in its entries. It panics if there
// is no such list or member, because this is a mistake in the family.
func listOf(members reflect.Type, name, member string) (list, entry []int) {
	l, has := memberOf(members, name)
	if has {
		if m, has := memberOf(l.Type.Elem(), member); has {
			return l.Index, m.Index
		}
	}
	panic(fmt.Sprintf("record: %s has no list %s whose entries have %s", members, name, member))
}

// memberOf returns the field of a struct for a member.
func memberOf(t reflect.Type, name string) (field reflect.StructField, has bool) {
	for _, m := range reflect.VisibleFields(t) {
		if !m.Anonymous && m.Tag.Get("json") == name {
			return m, true
		}
	}
	return field, false
}

// listed returns the values of the filter in the list also of a record. The value of the column is
// not among them, because the column finds the record already.
func (x *filter) listed(v reflect.Value) (values []string) {
	list := v.FieldByIndex(x.also)
	if list.Len() == 0 {
		return nil
	}
	own := x.value(textAt(v, x.member))
	for i := range list.Len() {
		if value := x.value(textAt(list.Index(i), x.entry)); value != own {
			values = append(values, value)
		}
	}
	return Unique(values)
}

// Listed returns the family of the rows in table tags for a filter by a list: see filter.also.
func (k *Collection[T, F, P]) Listed(parameter string) string {
	for i := range k.filters {
		if x := &k.filters[i]; x.parameter == parameter && x.also != nil {
			return x.listedIn(k.Plural)
		}
	}
	panic("record: " + k.Plural + " have no filter by a list " + parameter)
}

// listedIn returns the family of the rows in tags that have the values of the list also.
func (x *filter) listedIn(table string) string { return table + "." + x.name }

// of returns the value that the column must have for a filter by text.
func (x *filter) of(text string) string {
	if x.tags {
		return folded(Clean(text))
	}
	return x.value(text)
}

// value returns the value of a column without a class for the text of a member.
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

// stored returns the value of the column for the text of a member.
func (c *column) stored(text string) string {
	if c.class != nil {
		return c.class(text)
	}
	return c.value(text)
}

// externalID and ownerID are columns of every family. The unique index on external_id is named
// after that column alone.
const (
	externalID = "external_id"
	ownerID    = "owner_id"
)

// index returns the name of a stream's index. It is an index of the first filter, because the
// fewest records share its value.
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

// leads reports whether the index contains the column of the i-th filter.
func (n selection) leads(i int) bool {
	with := n.filters[0].with
	return i == 0 || with != "" && n.filters[i].parameter == with
}

// columnsOf returns the columns of filters and references without duplicates. It leaves out the
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

// appendColumns appends the values of the family's columns for a record to args. name is the id
// of the record.
func (k *Collection[T, F, P]) appendColumns(args []any, name string, f P) []any {
	v := reflect.ValueOf(f).Elem()
	for i := range k.columns {
		if k.columns[i].member == nil {
			args = append(args, k.sortKey(k.columns[i].order, name, f))
		} else if text := textAt(v, k.columns[i].member); text != "" {
			args = append(args, k.columns[i].stored(text))
		} else {
			args = append(args, nil)
		}
	}
	return args
}

// textAt returns the text of a member. It returns "" if the member is not set.
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

// selection has the filters of one call and their values. order is nil for the order of changes.
type selection struct {
	filters []*filter
	values  []any
	order   *order
}

// plain reports whether the list has no filters and is in the order of changes. The statement of
// such a list is made at the start of the program.
func (n selection) plain() bool { return n.filters == nil && n.order == nil }

// key returns the name of the column by which the list is ordered.
func (n selection) key() string {
	if n.order == nil {
		return "updated_at"
	}
	return n.order.column
}

// selectionOf returns the filters that a call uses. in is empty, or has a pointer to the family's
// struct of filters.
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

// check returns a fault if a call combines filters with q or includeDeleted. A search ranks
// records and does not compare columns. A deletion marker has no content to compare.
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

// matchesNothing reports whether a filter has the id of a record that is deleted or hidden from
// the actor. The list is then empty. A response has null in place of a reference to such a
// record. So a filter must not find records by it either.
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

// String returns a text that differs for any two selections. It is part of the scope of a cursor.
func (n selection) String() string {
	var b strings.Builder
	for i, x := range n.filters {
		fmt.Fprintf(&b, "|%s=%q", x.parameter, n.values[i])
	}
	return b.String()
}

// along returns the hint for the from clause that names the index of a stream. It is empty
// without filters. Filters outside of the index are compared on the rows.
func (n selection) along(d *db.Dialect, table string, p part) string {
	if n.filters == nil {
		return ""
	}
	return d.Along(n.index(table, p))
}

// where returns the conditions of the filters, each after an 'and'. The first value is parameter
// $6. For filters outside of the index, it writes conditions that no other index can serve.
// PostgreSQL makes one plan for all values. To find contacts by an address, that plan might read
// the index of a company with a million contacts.
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

// further returns the conditions of all filters except the first.
func (n selection) further(table string) string {
	var b strings.Builder
	for i, x := range n.filters[1:] {
		b.WriteString(x.compared(table, table, 7+i))
	}
	return b.String()
}

// compared returns the condition of a filter outside of the index. alias is the name of the table
// in the statement, and place is the number of the parameter.
func (x *filter) compared(table, alias string, place int) string {
	if x.tags {
		return " and " + inTags(table, alias, place)
	}
	if x.also != nil {
		return fmt.Sprintf(" and (%s || '' = $%d or %s)", x.name, place, inTags(x.listedIn(table), alias, place))
	}
	return fmt.Sprintf(" and %s || '' = $%d", x.name, place)
}

// inTags returns the condition that a record has a row of a family in tags. alias and place are as
// in compared.
func inTags(family, alias string, place int) string {
	return fmt.Sprintf("(select count(*) from tags as g where g.organization = $1 and g.family = '%s'"+
		" and g.reader = %s.audience and g.tag = $%d and g.tick = %s.updated_at) > 0", family, alias, place, alias)
}
