package record

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kartei/app"
	"kartei/kit/fault"
	"kartei/store/db"
)

// A filter narrows lists and counts to records whose member equals a value.
// The value stands in a column of its own, with indexes in the order of the
// list (see statements), so a narrowed page costs what any page costs.
type filter struct {
	parameter string
	column
	// input is the index of the field in the family's struct of filters.
	input []int
	// few says that few records share a value, so that an admin's are sorted;
	// else there is a second index, in the order of an admin's list.
	few bool
	// with names the parameter of a filter that is often given together with
	// this one, for which there are indexes of both.
	with string
}

// column is a column of the family's table that repeats a member, a text, so
// that queries can use it; null where the member is not set.
type column struct {
	name string
	// member is the index of the member in the family's fields.
	member []int
	// fold keeps ASCII letters in lower case.
	fold bool
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

// FilterBy tells NewCollection what the family's lists can be narrowed by. X is a struct of
// texts tagged as query parameters; each is compared with the member of that
// name, and kept in the column of that name (companyId in company_id).
// `fold:"true"` compares without regard to the case of ASCII letters,
// `few:"true"` says that few records share a value. The first filters should
// be those that fewest share. `with:"status"` says that the indexes
// TABLE_COLUMN_status and TABLE_COLUMN_status_audience exist, with status
// behind COLUMN: where many share both values but few the pair, the open tasks
// of one person among all that were ever done, one index alone would be read
// to its end.
//
// The schema has the column and its indexes: TABLE_COLUMN_audience on
// (organization, COLUMN, audience, updated_at) and, unless few share a value,
// TABLE_COLUMN on (organization, COLUMN, updated_at), both for living records
// where the column is not null.
func FilterBy[X any]() reflect.Type { return reflect.TypeFor[X]() }

// filtersOf joins filters and members by their names. It panics where there is
// no such member: a mistake of the family, found at start.
func filtersOf(filters, members reflect.Type) []filter {
	var list []filter
	for _, f := range reflect.VisibleFields(filters) {
		x := filter{parameter: f.Tag.Get("query"), input: f.Index, few: f.Tag.Get("few") == "true", with: f.Tag.Get("with")}
		x.column = column{name: columnName(x.parameter), fold: f.Tag.Get("fold") == "true"}
		for _, m := range reflect.VisibleFields(members) {
			if !m.Anonymous && m.Tag.Get("json") == x.parameter {
				x.member = m.Index
			}
		}
		if x.member == nil {
			panic(fmt.Sprintf("record: %s.%s filters by a member that %s has not", filters, f.Name, members))
		}
		list = append(list, x)
	}
	return list
}

// value returns what stands in the column for a text.
func (c *column) value(text string) string {
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

// externalID is the column that every family has, with an index of its own
// name, because it is unique.
const externalID = "external_id"

// index returns the name of the index by which a stream of a listing is read:
// that of the first filter, which fewest records share.
func (n narrowing) index(table string, l listing) string {
	first := n.filters[0]
	name := table + "_" + first.name
	for i, x := range n.filters[1:] {
		if n.leads(1 + i) {
			name += "_" + x.name
		}
	}
	if first.name == externalID || l.all && !first.few {
		return name
	}
	return name + "_audience"
}

// leads reports whether the index has the column of the ith filter.
func (n narrowing) leads(i int) bool {
	with := n.filters[0].with
	return i == 0 || with != "" && n.filters[i].parameter == with
}

// columnsOf returns the columns of filters and references, each once, without
// the one that every family has.
func columnsOf(filters []filter, references []reference) (list []column) {
	add := func(c column) {
		if c.name != externalID && !slices.ContainsFunc(list, func(o column) bool { return o.name == c.name }) {
			list = append(list, c)
		}
	}
	for _, x := range filters {
		add(x.column)
	}
	for _, r := range references {
		add(r.column)
	}
	return list
}

// appendColumns appends what stands in the columns of the family.
func (k *Collection[T, F, P]) appendColumns(args []any, f P) []any {
	v := reflect.ValueOf(f).Elem()
	for i := range k.columns {
		if text := textAt(v, k.columns[i].member); text != "" {
			args = append(args, k.columns[i].value(text))
		} else {
			args = append(args, nil)
		}
	}
	return args
}

// textAt returns a text member; empty where it is not set.
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

// narrowing is what one call narrows by.
type narrowing struct {
	filters []*filter
	values  []any
}

// narrowed reads the filters that a call gives; in is a pointer to the
// family's struct of filters, if it has one.
func (k *Collection[T, F, P]) narrowed(in []any) (n narrowing) {
	if len(in) == 0 {
		return n
	}
	v := reflect.ValueOf(in[0]).Elem()
	for i := range k.filters {
		x := &k.filters[i]
		if text := v.FieldByIndex(x.input).String(); text != "" {
			n.filters = append(n.filters, x)
			n.values = append(n.values, x.value(text))
		}
	}
	return n
}

// check refuses what filters do not go together with. A search ranks and does
// not compare; a deletion marker has no content that could be compared.
func (n narrowing) check(q string, includeDeleted bool) error {
	if n.filters == nil || q == "" && !includeDeleted {
		return nil
	}
	if includeDeleted {
		return fault.BadRequest(fault.Field{Name: "includeDeleted", Code: fault.ForbiddenCombination, Text: &notWithFilters})
	}
	var wrong []fault.Field
	for _, x := range n.filters {
		wrong = append(wrong, fault.Field{Name: x.parameter, Code: fault.ForbiddenCombination, Text: &notWithQ})
	}
	return fault.BadRequest(wrong...)
}

var notWithFilters = fault.Text{
	DE: "Nicht zusammen mit Filtern erlaubt: Eine Löschmarke hat keine Felder mehr.",
	EN: "Not allowed together with filters: a deletion marker has no fields any more.",
}

// matchesNothing reports whether a filter names a record that was deleted or
// that the actor does not see. References to it are answered as null, so
// nothing must be found by it: else a filter would tell what an answer hides.
func (k *Collection[T, F, P]) matchesNothing(ctx context.Context, c *app.Call, n narrowing) (bool, error) {
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

// String tells narrowings apart, for cursors; without filters it is empty.
func (n narrowing) String() string {
	var b strings.Builder
	for i, x := range n.filters {
		fmt.Fprintf(&b, "|%s=%q", x.parameter, n.values[i])
	}
	return b.String()
}

// along names the index of a stream, for the from clause. What it does not
// hold is compared on the rows that it leads to.
func (n narrowing) along(d *db.Dialect, table string, l listing) string {
	if n.filters == nil {
		return ""
	}
	return d.Along(n.index(table, l))
}

// where returns the conditions on rows, behind an 'and'; $6 is the first value.
// What the index has not is compared in a form that no index serves: PostgreSQL
// plans once for all values, and would else take the index of a company with
// a million contacts to find those with one address.
func (n narrowing) where() string {
	var b strings.Builder
	for i, x := range n.filters {
		if n.leads(i) {
			fmt.Fprintf(&b, " and %s = $%d", x.name, 6+i)
		} else {
			fmt.Fprintf(&b, " and %s || '' = $%d", x.name, 6+i)
		}
	}
	return b.String()
}
