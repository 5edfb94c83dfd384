package record

import (
	"fmt"
	"reflect"
	"strings"

	"kartei/db"
	"kartei/fault"
)

// A filter narrows lists and counts to records whose member equals a value.
// The value stands in a column of its own, with indexes in the order of the
// list (see statements), so a narrowed page costs what any page costs.
type filter struct {
	parameter string
	column    string
	// input and member are the indexes of the field in the family's struct of
	// filters and of the member of that name in its fields.
	input, member []int
	// few says that few records share a value, so that an admin's are sorted;
	// else there is a second index, in the order of an admin's list.
	few bool
	// fold compares without regard to the case of ASCII letters.
	fold bool
}

// By tells NewKind what the family's lists can be narrowed by. X is a struct of
// texts tagged as query parameters; each is compared with the member of that
// name, and kept in the column of that name (companyId in company_id).
// `fold:"true"` compares without regard to the case of ASCII letters,
// `few:"true"` says that few records share a value. The first filters should
// be those that fewest share.
//
// The migrations make the column and its indexes: TABLE_COLUMN_audience on
// (organization, COLUMN, audience, updated_at) and, unless few share a value,
// TABLE_COLUMN on (organization, COLUMN, updated_at), both for living records
// where the column is not null.
func By[X any]() reflect.Type { return reflect.TypeFor[X]() }

// filtersOf joins filters and members by their names. It panics where there is
// no such member: a mistake of the family, found at start.
func filtersOf(filters, members reflect.Type) []filter {
	var list []filter
	for _, f := range reflect.VisibleFields(filters) {
		x := filter{parameter: f.Tag.Get("query"), input: f.Index, few: f.Tag.Get("few") == "true", fold: f.Tag.Get("fold") == "true"}
		for _, m := range reflect.VisibleFields(members) {
			if !m.Anonymous && m.Tag.Get("json") == x.parameter {
				x.member = m.Index
			}
		}
		if x.member == nil {
			panic(fmt.Sprintf("record: %s.%s filters by a member that %s has not", filters, f.Name, members))
		}
		for _, c := range x.parameter {
			if c >= 'A' && c <= 'Z' {
				x.column += "_"
			}
			x.column += strings.ToLower(string(c))
		}
		list = append(list, x)
	}
	return list
}

// value returns what stands in the column for a text.
func (x *filter) value(text string) string {
	text = Clean(text)
	if !x.fold {
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

// index returns the name of the index by which a stream of a listing is read.
func (x *filter) index(table string, l listing) string {
	name := table + "_" + x.column
	if x.column == externalID || l.all && !x.few {
		return name
	}
	return name + "_audience"
}

// ownColumns returns the filters whose columns exist for them alone.
func ownColumns(filters []filter) (own []filter) {
	for _, x := range filters {
		if x.column != externalID {
			own = append(own, x)
		}
	}
	return own
}

// appendColumns appends the values of the filters' own columns, nil for
// members that are not set.
func (k *Kind[T, F, P]) appendColumns(args []any, f P) []any {
	v := reflect.ValueOf(f).Elem()
	for i := range k.own {
		member := v.FieldByIndex(k.own[i].member)
		if member.Kind() == reflect.Pointer {
			member = member.Elem()
		}
		if !member.IsValid() || member.String() == "" {
			args = append(args, nil)
			continue
		}
		args = append(args, k.own[i].value(member.String()))
	}
	return args
}

// narrowing is what one call narrows by.
type narrowing struct {
	filters []*filter
	values  []any
}

// narrowed reads the filters that a call gives; in is a pointer to the
// family's struct of filters, if it has one.
func (k *Kind[T, F, P]) narrowed(in []any) (n narrowing) {
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

// String tells narrowings apart, for cursors; without filters it is empty.
func (n narrowing) String() string {
	var b strings.Builder
	for i, x := range n.filters {
		fmt.Fprintf(&b, "|%s=%q", x.parameter, n.values[i])
	}
	return b.String()
}

// along names the index of a stream, for the from clause: that of the first
// filter, which fewest records share. The others are compared on the rows that
// it leads to.
func (n narrowing) along(d *db.Dialect, table string, l listing) string {
	if n.filters == nil {
		return ""
	}
	return d.Along(n.filters[0].index(table, l))
}

// where returns the conditions on rows, behind an 'and'; $6 is the first value.
func (n narrowing) where() string {
	var b strings.Builder
	for i, x := range n.filters {
		fmt.Fprintf(&b, " and %s = $%d", x.column, 6+i)
	}
	return b.String()
}
