package merge

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kartei/record"
	"kartei/record/contact"
)

// TestNothingIsLost folds random contacts, and looks for each email, number, address, line of the note,
// tag, attribute and external id of both in the result. It checks that a chosen value is taken, and
// that the undo restores the record that stayed.
func TestNothingIsLost(t *testing.T) {
	names := []string{"email", "phone", "mobile", "address", "externalId", "jobTitle", "birthday", "ownerId"}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		into, from := randomContact(random), randomContact(random)
		var values []string
		for _, name := range names {
			if random.IntN(3) == 0 {
				values = append(values, name)
			}
		}
		before, after := clone(into), clone(into)
		if wrong := fold(after, from, partsOfContact(after), partsOfContact(from), values); len(wrong) > 0 {
			t.Fatalf("seed %d: %v", seed, wrong)
		}
		has := contents(after)
		for _, want := range append(contents(before), contents(from)...) {
			if !slices.Contains(has, want) {
				t.Errorf("seed %d: %s is lost\nof  %v\nand %v\nin  %v", seed, want, contents(before), contents(from), has)
			}
		}
		if sorted := slices.Sorted(slices.Values(has)); len(slices.Compact(sorted)) != len(has) {
			t.Errorf("seed %d: twice in %v", seed, has)
		}
		for _, name := range names {
			chosen, is := member(from, name), member(after, name)
			if !slices.Contains(values, name) || chosen == "" {
				chosen = member(before, name)
			}
			if chosen != "" && is != chosen {
				t.Errorf("seed %d: %s is %s, want %s", seed, name, is, chosen)
			}
		}
		undone := clone(after)
		takeBack(reflect.ValueOf(undone).Elem(), reflect.ValueOf(*before), reflect.ValueOf(*after), nil)
		if !reflect.DeepEqual(contents(undone), contents(before)) {
			t.Errorf("seed %d: after the undo\n%v, before\n%v", seed, contents(undone), contents(before))
		}
	}
}

func clone(f *contact.Fields) *contact.Fields {
	c := *f
	return &c
}

// randomContact returns a contact whose values often equal the values of another one.
func randomContact(r *rand.Rand) *contact.Fields {
	some := func(format string, n int) *string {
		if r.IntN(3) == 0 {
			return nil
		}
		text := fmt.Sprintf(format, r.IntN(n))
		return &text
	}
	label := func() *string { return some("label%d", 3) }
	f := &contact.Fields{
		Email: some("a%d@berg.example", 4), Phone: some("+49 221 10%d", 4), Mobile: some("+49 221 10%d", 4),
		JobTitle: some("t%d", 3),
		Birthday: some("1984-05-1%d", 3), Note: some("line %d", 5),
	}
	if city := some("city %d", 3); city != nil {
		f.Address = &record.Address{City: city, Street: some("street %d", 3)}
	}
	f.OwnerID, f.ExternalID, f.Attributes = fmt.Sprint("usr_", r.IntN(3)), some("id-%d", 3), record.Attributes{}
	for i := range r.IntN(3) {
		f.Tags = append(f.Tags, fmt.Sprintf("tag%d", i))
		email, phone := fmt.Sprintf("b%d@berg.example", i), fmt.Sprintf("+49 221 20%d", i+r.IntN(2)*5)
		at := record.Address{City: some("town %d", 3), Street: some("lane %d", 3), Region: &email}
		f.AdditionalEmails = append(f.AdditionalEmails, record.AdditionalEmail{Email: email, Label: label()})
		f.AdditionalPhones = append(f.AdditionalPhones, record.AdditionalPhone{Phone: phone, Label: label()})
		f.AdditionalAddresses = append(f.AdditionalAddresses, record.AdditionalAddress{Address: at, Label: label()})
	}
	for i := range r.IntN(3) {
		name := fmt.Sprint("name", i, r.IntN(2))
		f.Attributes[name] = fmt.Sprint("value of ", name, ": ", r.IntN(2))
	}
	if r.IntN(4) == 0 {
		f.Attributes[record.MergedExternalID] = fmt.Sprint("id-", r.IntN(5))
	}
	return f
}

// contents returns what a merge must keep of a contact: what may stand at another place, with its kind.
func contents(f *contact.Fields) (list []string) {
	add := func(kind, text string) { list = append(list, kind+" "+text) }
	for _, n := range []*string{f.Phone, f.Mobile} {
		if n != nil && !slices.Contains(list, "number "+*n) { // both members may have the same number
			add("number", *n)
		}
	}
	if f.Email != nil {
		add("email", *f.Email)
	}
	if f.Address != nil {
		add("address", written(*f.Address))
	}
	for _, e := range f.AdditionalEmails {
		add("email", e.Email)
	}
	for _, p := range f.AdditionalPhones {
		add("number", p.Phone)
	}
	for _, a := range f.AdditionalAddresses {
		add("address", written(a.Address))
	}
	for _, tag := range f.Tags {
		add("tag", tag)
	}
	if f.Note != nil {
		for line := range strings.SplitSeq(*f.Note, "\n\n") {
			add("note", line)
		}
	}
	ids := []string{}
	if f.ExternalID != nil {
		ids = append(ids, *f.ExternalID)
	}
	for name, value := range f.Attributes {
		if strings.HasPrefix(name, record.MergedExternalID) {
			ids = append(ids, value)
		} else {
			add("attribute", value)
		}
	}
	for _, id := range record.Unique(ids) {
		add("id", id)
	}
	slices.Sort(list)
	return list
}

func written(a record.Address) string {
	text := ""
	for _, part := range []*string{a.Street, a.City, a.Region} {
		if part != nil {
			text += *part
		}
		text += "|"
	}
	return text
}

// member returns the text of a member.
func member(f *contact.Fields, name string) string {
	if name == "ownerId" {
		return f.OwnerID
	}
	if name == "address" {
		if f.Address == nil {
			return ""
		}
		return written(*f.Address)
	}
	p := map[string]*string{
		"email": f.Email, "phone": f.Phone, "mobile": f.Mobile, "externalId": f.ExternalID, "jobTitle": f.JobTitle,
		"birthday": f.Birthday,
	}[name]
	if p == nil {
		return ""
	}
	return *p
}

// TestAddressWithoutCountry checks that an address without its country is no other address than the
// same one with it: the country stays, and nothing goes to the list. With another country it does.
func TestAddressWithoutCountry(t *testing.T) {
	at := func(country *string) *record.Address {
		return &record.Address{Street: new("Lindenstraße 7"), City: new("Köln"), Country: country}
	}
	for _, c := range []struct {
		into, from, want *string
		values           []string
		others           int
	}{
		{into: nil, from: new("DE"), want: new("DE")},
		{into: new("DE"), from: nil, want: new("DE")},
		{into: new("DE"), from: nil, values: []string{"address"}, want: new("DE")},
		{into: nil, from: nil, want: nil},
		{into: new("DE"), from: new("AT"), want: new("DE"), others: 1},
		{into: new("DE"), from: new("AT"), values: []string{"address"}, want: new("AT"), others: 1},
	} {
		into, from := &contact.Fields{Address: at(c.into)}, &contact.Fields{Address: at(c.from)}
		fold(into, from, partsOfContact(into), partsOfContact(from), c.values)
		if !reflect.DeepEqual(into.Address, at(c.want)) || len(into.AdditionalAddresses) != c.others {
			t.Errorf("%+v: %+v and %v", c, into.Address.Country, into.AdditionalAddresses)
		}
	}
}
