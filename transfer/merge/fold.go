package merge

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/phone"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
)

// parts are the members that two records unite, instead of choosing one of two values. They point
// into the members of a record.
type parts struct {
	email **string
	// numbers are the first telephone numbers, each with the label that it gets in a list.
	numbers []number
	address **record.Address
	note    **string
	*record.Additional
	*record.CommonFields
}

// number is a first telephone number, such as mobile.
type number struct {
	member string
	text   **string
	label  *string
}

func partsOfContact(f *contact.Fields) parts {
	mobile := "mobile"
	return parts{
		&f.Email, []number{{"phone", &f.Phone, nil}, {"mobile", &f.Mobile, &mobile}}, &f.Address, &f.Note,
		&f.Additional, &f.CommonFields,
	}
}

func partsOfCompany(f *company.Fields) parts {
	return parts{&f.Email, []number{{"phone", &f.Phone, nil}}, &f.Address, &f.Note, &f.Additional, &f.CommonFields}
}

// maxNote is the maximum length of a note in characters, as in the schema.
const maxNote = 10_000

// fold takes over the members of a record into another one, and returns the violations of limits.
// values names the members whose value is that of from, if it has one. For other members, the value
// of from is taken only if into has none. A first email, number or address that is not chosen goes to
// the list of the others. Lists, tags and attributes are united, and notes are joined.
func fold(into, from any, has, gives parts, values []string) []fault.Field {
	chosen := func(member string) bool { return slices.Contains(values, member) }
	foldEmails(has, gives, chosen("email"))
	foldNumbers(has, gives, chosen)
	foldAddresses(has, gives, chosen("address"))
	if n, more := *has.note, *gives.note; n == nil {
		*has.note = more
	} else if more != nil && !strings.Contains(*n, *more) {
		joined := *n + "\n\n" + *more
		*has.note = &joined
	}
	foldCommon(has.CommonFields, gives.CommonFields, chosen)
	foldTexts(reflect.ValueOf(into).Elem(), reflect.ValueOf(from).Elem(), has.united(), chosen)
	return tooMuch(has)
}

// united returns pointers to the texts among the parts.
func (p parts) united() []any {
	list := []any{p.email, p.note, &p.ExternalID}
	for _, n := range p.numbers {
		list = append(list, n.text)
	}
	return list
}

// foldTexts takes over the texts that are not among the parts.
func foldTexts(into, from reflect.Value, united []any, chosen func(string) bool) {
	for _, f := range reflect.VisibleFields(into.Type()) {
		has, gives := into.FieldByIndex(f.Index), from.FieldByIndex(f.Index)
		if !isText(has) || f.Tag.Get("read") == "true" || slices.Contains(united, has.Addr().Interface()) {
			continue
		}
		if !gives.IsZero() && (has.IsZero() || chosen(f.Tag.Get("json"))) {
			has.Set(gives)
		}
	}
}

func isText(v reflect.Value) bool {
	return v.Kind() == reflect.String || v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.String
}

func foldEmails(has, gives parts, take bool) {
	list := append(first(*has.email, asEmail), has.AdditionalEmails...)
	list = append(append(list, first(*gives.email, asEmail)...), gives.AdditionalEmails...)
	if take && *gives.email != nil || *has.email == nil {
		*has.email = *gives.email
	}
	has.AdditionalEmails = others(list, first(*has.email, asEmail), sameEmail)
}

func sameEmail(a, b record.AdditionalEmail) bool { return strings.EqualFold(a.Email, b.Email) }

func asEmail(text string) record.AdditionalEmail { return record.AdditionalEmail{Email: text} }

// foldNumbers unites the numbers. A first number that another one replaces keeps what it is for as
// its label.
func foldNumbers(has, gives parts, chosen func(string) bool) {
	var list []record.AdditionalPhone
	country := countryOf(has, gives)
	for _, p := range []parts{has, gives} {
		list = append(append(list, p.entries()...), p.AdditionalPhones...)
	}
	for i, n := range has.numbers {
		if more := *gives.numbers[i].text; more != nil && (*n.text == nil || chosen(n.member)) {
			*n.text = more
		}
	}
	has.AdditionalPhones = others(list, has.entries(), func(a, b record.AdditionalPhone) bool {
		return sameNumber(a.Phone, b.Phone, country)
	})
}

// entries returns the first telephone numbers as entries of a list.
func (p parts) entries() (list []record.AdditionalPhone) {
	for _, n := range p.numbers {
		list = append(list, first(*n.text, n.asEntry)...)
	}
	return list
}

func (n number) asEntry(text string) record.AdditionalPhone {
	return record.AdditionalPhone{Phone: text, Label: n.label}
}

// countryOf returns the country of the first address, for numbers without a country code.
func countryOf(list ...parts) string {
	for _, p := range list {
		if a := *p.address; a != nil && a.Country != nil {
			return *a.Country
		}
	}
	return "DE"
}

// sameNumber reports whether two texts have the same telephone number.
func sameNumber(a, b, country string) bool {
	if a == b {
		return true
	}
	read := phone.Read(a, country)
	return len(read) > 0 && slices.Equal(read, phone.Read(b, country))
}

func foldAddresses(has, gives parts, take bool) {
	list := append(first(*has.address, asAddress), has.AdditionalAddresses...)
	list = append(append(list, first(*gives.address, asAddress)...), gives.AdditionalAddresses...)
	switch is, other := *has.address, *gives.address; {
	case other == nil:
	case is == nil, covers(asAddress(*other), asAddress(*is)), take && !covers(asAddress(*is), asAddress(*other)):
		*has.address = other
	}
	has.AdditionalAddresses = others(list, first(*has.address, asAddress), covers)
}

func asAddress(a record.Address) record.AdditionalAddress {
	return record.AdditionalAddress{Address: a}
}

// covers reports whether an address says all that another one says: they are equal, or the other one
// only lacks the country. Many files leave out the own country. The labels may differ.
func covers(a, other record.AdditionalAddress) bool {
	if other.Country == nil {
		other.Country = a.Country
	}
	return reflect.DeepEqual(a.Address, other.Address)
}

// others returns the entries of a list that equal no entry of without, and no earlier one.
func others[E any](list, without []E, same func(a, b E) bool) []E {
	return distinct(append(without, list...), same)[len(distinct(without, same)):]
}

// first returns a list with the value to which p points, or an empty list.
func first[T, E any](p *T, as func(T) E) []E {
	if p == nil {
		return nil
	}
	return []E{as(*p)}
}

// distinct returns the list without entries that equal an earlier one.
func distinct[E any](list []E, same func(a, b E) bool) []E {
	kept := make([]E, 0, len(list))
	for _, e := range list {
		if !slices.ContainsFunc(kept, func(k E) bool { return same(k, e) }) {
			kept = append(kept, e)
		}
	}
	return kept
}

// foldCommon unites tags, attributes and external ids. If both have an attribute with different values,
// the value of from gets another name.
func foldCommon(has, gives *record.CommonFields, chosen func(string) bool) {
	has.Tags = distinct(slices.Concat(has.Tags, gives.Tags), strings.EqualFold)
	all := record.Attributes{}
	maps.Copy(all, has.Attributes)
	for _, name := range slices.Sorted(maps.Keys(gives.Attributes)) {
		keep(all, name, gives.Attributes[name])
	}
	switch id, other := has.ExternalID, gives.ExternalID; {
	case other == nil:
	case id == nil:
		has.ExternalID = other
	case *id == *other:
	case chosen("externalId"):
		has.ExternalID = other
		keep(all, record.MergedExternalID, *id)
	default:
		keep(all, record.MergedExternalID, *other)
	}
	has.Attributes = all
}

// maxName is the maximum length of the name of an attribute, as in the schema.
const maxName = 40

// keep adds an attribute, under the first name with a number that is free.
func keep(all record.Attributes, name, value string) {
	free := name
	for n := 2; ; n++ {
		if has, used := all[free]; !used || has == value {
			all[free] = value
			return
		}
		number := strconv.Itoa(n)
		free = name[:min(len(name), maxName-len(number))] + number
	}
}

// tooMuch returns a violation for each member that is too long after the merge. The schema checks
// only the members of a request.
func tooMuch(p parts) (wrong []fault.Field) {
	for _, list := range []struct {
		member    string
		has, most int
	}{
		{"additionalEmails", len(p.AdditionalEmails), record.MaxEntries["additionalEmails"]},
		{"additionalPhones", len(p.AdditionalPhones), record.MaxEntries["additionalPhones"]},
		{"additionalAddresses", len(p.AdditionalAddresses), record.MaxEntries["additionalAddresses"]},
		{"tags", len(p.Tags), record.MaxTags},
	} {
		if list.has > list.most {
			wrong = append(wrong, fault.Field{Name: list.member, Code: fault.TooLong, Limit: fault.Items(list.most)})
		}
	}
	if n := *p.note; n != nil && utf8.RuneCountInString(*n) > maxNote {
		wrong = append(wrong, fault.Field{Name: "note", Code: fault.TooLong, Limit: maxNote})
	}
	return wrong
}
