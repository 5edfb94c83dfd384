package record

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"

	"golang.org/x/text/unicode/norm"
)

// Order is an order of a family's lists, besides the order of changes. The column sort_PARAMETER has
// its keys (sort_due_at for dueAt). The indexes of this column are divided.
type Order[F any] struct {
	// Parameter is the value of the query parameter sort for this order. A minus before it
	// reverses the order.
	Parameter string
	// Key returns the sort key of a record. in is false for a record that the list leaves out.
	Key func(f *F) (key string, in bool)
	// Only is the parameter of a filter that a list in this order must have, with the given
	// Value. That filter leaves out the same records as Key. Both are empty if Key leaves out no
	// records.
	Only, Value string
}

// order has the values of an Order that statements and selections need.
type order struct {
	parameter, column, only, value string
	// tagged is the family of the rows in sorted_tags that have the keys of this order. It is the plural for
	// the first order of a family.
	tagged string
}

// SortBy adds orders of the family's lists. It returns the collection.
func (k *Collection[T, F, P]) SortBy(orders ...Order[F]) *Collection[T, F, P] {
	for i, o := range orders {
		n := order{o.Parameter, "sort_" + columnName(o.Parameter), o.Only, o.Value, k.Plural}
		if i > 0 {
			n.tagged += "." + o.Parameter
		}
		k.orders, k.keys = append(k.orders, n), append(k.keys, o.Key)
		k.columns = append(k.columns, column{name: n.column, order: i})
	}
	k.sql = statementsFor(k.Plural, k.columns, k.references)
	return k
}

// sortKey returns the value of the sort column of an order. It differs for any two records, because it
// ends with the id. It is nil if lists in this order leave the record out.
func (k *Collection[T, F, P]) sortKey(order int, name string, f P) any {
	key, in := k.keys[order]((*F)(f))
	if !in {
		return nil
	}
	return key + separator + name
}

// sortKeys returns the sort keys of a record in all orders.
func (k *Collection[T, F, P]) sortKeys(name string, f P) []any {
	keys := make([]any, len(k.orders))
	for i := range keys {
		keys[i] = k.sortKey(i, name, f)
	}
	return keys
}

// separator separates the parts of a key. It sorts before all characters of a key, so Müller, Zoe
// comes before Müller-Thal, Anna.
const separator = "\t"

// ordered sets the order of n if in.Sort is not the order of changes. It returns a fault if other
// parameters are not allowed in this order.
func (k *Collection[T, F, P]) ordered(in *ListInput, n *selection) error {
	at := slices.IndexFunc(k.orders, func(o order) bool { return o.parameter == strings.TrimPrefix(in.Sort, "-") })
	if at < 0 {
		return nil
	}
	n.order = &k.orders[at]
	var wrong []fault.Field
	if in.UpdatedSince != 0 {
		wrong = append(wrong, fault.Field{Name: "updatedSince", Code: fault.ForbiddenCombination, Text: onlyByChange})
	}
	if only := n.order.only; only != "" {
		i := slices.IndexFunc(n.filters, func(x *filter) bool { return x.parameter == only })
		if i < 0 || n.values[i] != n.order.value {
			text := fmt.Sprintf("sort=%s: %s=%s", n.order.parameter, only, n.order.value)
			wrong = append(wrong, fault.Field{
				Name: only, Code: fault.ForbiddenCombination,
				Text: i18n.Format("Required with %s.", text),
			})
		} else { // the column implies this filter
			n.filters, n.values = slices.Delete(n.filters, i, i+1), slices.Delete(n.values, i, i+1)
		}
	}
	if wrong != nil {
		return fault.BadRequest(wrong...)
	}
	return nil
}

var onlyByChange = i18n.Text("Only allowed in the order of changes.")

// NameKey returns the sort key for a list of names (DIN 5007-2). The first name counts most.
// Case, diacritics and punctuation do not count. Numbers are compared by their value, so Anlage 2
// comes before Anlage 10.
func NameKey(names ...*string) string {
	keys := make([]string, len(names))
	for i, n := range names {
		if n != nil {
			keys[i] = collated(*n)
		}
	}
	return JoinKeys(keys...)
}

// JoinKeys returns a sort key from the sort keys of several members. The first counts most.
func JoinKeys(keys ...string) string { return strings.Join(keys, separator) }

// keyBytes is the maximum length of a name's key in bytes. PostgreSQL refuses index entries of
// more than 2,704 bytes.
const keyBytes = 400

// collated returns the sort key of one name. It has words and numbers with spaces between.
func collated(name string) string {
	var b strings.Builder
	words := strings.FieldsFunc(folded(name),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) })
	for i, word := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		for word != "" {
			n := digits(word)
			if n > 0 {
				b.WriteString(numberKey(word[:n]))
			} else if n = strings.IndexAny(word, "0123456789"); n < 0 {
				n = len(word)
				b.WriteString(word)
			} else {
				b.WriteString(word[:n])
			}
			word = word[n:]
		}
	}
	key := b.String()
	for len(key) > keyBytes {
		_, size := utf8.DecodeLastRuneInString(key)
		key = key[:len(key)-size]
	}
	return key
}

// digits returns the number of digits at the beginning of s.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// numberKey returns a key that orders numbers by their value. The key begins with the number of
// digits. Numbers of more than nine digits come after all shorter numbers and before letters.
func numberKey(number string) string {
	if number = strings.TrimLeft(number, "0"); number == "" {
		number = "0"
	}
	return string(rune('0'+min(len(number), 10))) + number
}

// TimeKey returns the sort key of a time. A nil time sorts last.
func TimeKey(at *clock.Micros) string {
	if at == nil {
		return "~"
	}
	const year0 = 1 << 56 // more than the microseconds from year 1 to 1970
	return fmt.Sprintf("%018d", int64(*at)+year0)
}

// folded returns the form in which names are ordered and tags are compared. It is in lower case
// and without diacritics. Umlauts become two letters, as in the order of German names (DIN
// 5007-2). So Müller comes next to Mueller.
//
// The search index folds more: there the words 'neue' and 'neu' are equal.
func folded(s string) string {
	b := make([]byte, 0, len(s)+8)
	for _, r := range norm.NFC.String(s) {
		r = unicode.ToLower(r)
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case written[r] != "":
			b = append(b, written[r]...)
		default:
			b = appendPlain(b, r)
		}
	}
	return string(b)
}

// written has the letters that folded replaces by other letters.
var written = map[rune]string{
	'ä': "ae", 'ö': "oe", 'ü': "ue", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "oe",
	'đ': "d", 'ð': "d", 'ł': "l", 'ħ': "h", 'ı': "i", 'þ': "th", 'ŧ': "t", 'ς': "σ",
}

// appendPlain appends a rune without its diacritics.
func appendPlain(b []byte, r rune) []byte {
	for _, part := range norm.NFKD.String(string(r)) {
		if part < 0x300 || part > 0x36f { // the diacritics of European scripts
			b = utf8.AppendRune(b, unicode.ToLower(part))
		}
	}
	return b
}
