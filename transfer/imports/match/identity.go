package match

import (
	"crypto/sha256"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/search"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/names"
)

// Two entries are about the same contact if they have the same external id, unless their names
// differ. In some offices all people of one client have the client's number. They are also about
// the same contact if they have the same email address or number and no other value differs.
// Colleagues and families share numbers and addresses.

// Identity has the values of an entry that distinguish it from others.
type Identity struct {
	first, last string
	External    string
	// reached has the keys of the first email and the first numbers. further has those of some
	// additional ones.
	reached, further []string
	// salutation and birthday distinguish people with the same name.
	salutation, birthday string
	// exact says that Kartei exported the entry. Then its external id decides, even if the names
	// differ.
	exact bool
	// own is the record's id, from an export of Kartei. FirmKey is the key of a company's name.
	own, FirmKey string
	// city and domain distinguish companies with the same name. domain is the domain of the email
	// address.
	city, domain string
}

// IdentityOf returns the identity of an entry.
func IdentityOf(e *entry.Entry) Identity {
	if e.Firm {
		place, _ := e.Body["address"].(map[string]any)
		city, _ := place["city"].(string)
		return Identity{
			External: e.Text("externalId"), own: e.Itself, FirmKey: nameKey(e.Text("name")), city: nameKey(city),
			domain: domainOf(e.Text("email")),
		}
	}
	i := Identity{
		own: e.Itself, first: nameKey(e.Text("firstName")), last: lastKey(e.Text("lastName"), e.Text("nameSuffix")),
		External: e.Text("externalId"),
	}
	i.salutation, i.birthday, i.exact = e.Text("salutation"), e.Text("birthday"), e.Exact
	i.reached = append(emailKeys(e.Text("email")), numberKeys(e.Text("phone"), e.Text("mobile"))...)
	i.further = append(i.others(emailKeys(e.Emails()...)), i.others(numberKeys(e.Numbers()...))...)
	return i
}

// maxFurther is the maximum number of additional emails, and of additional numbers, by which an entry
// is found. The index of a file with 100,000 entries would otherwise need a gigabyte.
const maxFurther = 6

// others returns the first keys that are not among those of the first email and numbers.
func (i *Identity) others(keys []string) []string {
	keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(i.reached, key) })
	return keys[:min(len(keys), maxFurther)]
}

// emailKeys returns the keys of emails. An empty text has no key.
func emailKeys(emails ...string) (keys []string) {
	for _, email := range emails {
		if email != "" {
			keys = append(keys, "e"+foldEmail(email))
		}
	}
	return keys
}

// numberKeys returns the keys of telephone numbers. A text that is no number has no key.
func numberKeys(numbers ...string) (keys []string) {
	for _, number := range numbers {
		if key := search.NumberKey(number); key != "" {
			keys = append(keys, "n"+key)
		}
	}
	return keys
}

func nameKey(name string) string { return record.NameKey(&name) }

// lastKey returns the key of a last name. Father and son have different keys.
func lastKey(name, suffix string) string {
	return nameKey(strings.TrimSpace(name + " " + names.Generation(suffix)))
}

// foldEmail returns an email address in the form of the index on the column email.
func foldEmail(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

// other reports whether two texts differ and neither is empty.
func other(a, b string) bool { return a != "" && b != "" && a != b }

// domainOf returns the domain of an email address.
func domainOf(email string) string {
	_, domain, _ := strings.Cut(strings.ToLower(email), "@")
	return domain
}

// fits reports whether no value distinguishes the two identities.
func (i *Identity) fits(was *Identity) bool {
	return !other(i.first, was.first) && !other(i.last, was.last) && !other(i.External, was.External) &&
		!other(i.salutation, was.salutation) && !other(i.birthday, was.birthday) &&
		!other(i.city, was.city) && !other(i.domain, was.domain)
}

// reaches reports whether two identities with a common key of an email or a number can be the same
// contact. Colleagues share an additional one more often than the first one, as info@ of their office.
// Then one of the names must be equal.
func (i *Identity) reaches(key string, was *Identity) bool {
	first := slices.Contains(i.reached, key) && slices.Contains(was.reached, key)
	named := i.last != "" && i.last == was.last || i.first != "" && i.first == was.first
	return i.fits(was) && (first || named)
}

// sharesID reports whether two identities with the same external id can be the same contact or
// company. Without first names, the salutation and the birthday must fit too.
func (i *Identity) sharesID(was *Identity) bool {
	switch {
	case i.exact || i.FirmKey != "" || was.FirmKey != "":
		return true
	case !namesFit(i.first, was.first) || !namesFit(i.last, was.last):
		return false
	case i.first != "" && was.first != "":
		return true
	}
	return !other(i.salutation, was.salutation) && !other(i.birthday, was.birthday)
}

// namesFit reports whether the words of one name are part of the other: Haas and Haas-Neu, Anna and
// Anna Maria, A. and Anna. An empty name fits all.
func namesFit(a, b string) bool {
	within := func(part, whole []string) bool {
		return !slices.ContainsFunc(part, func(w string) bool {
			return !slices.ContainsFunc(whole, func(v string) bool {
				return v == w || len([]rune(w)) == 1 && strings.HasPrefix(v, w)
			})
		})
	}
	return a == "" || b == "" || within(names.Words(a), names.Words(b)) || within(names.Words(b), names.Words(a))
}

// keys returns the index keys of an identity. Entries about the same contact have at least one key
// in common.
func (i *Identity) keys() (list []string) {
	if i.External != "" {
		list = append(list, "x"+i.External)
	}
	list = append(append(list, i.reached...), i.further...)
	if i.FirmKey == "" {
		return list
	}
	if list = append(list, "f"+i.FirmKey); i.External != "" { // companies and contacts have separate external ids
		list[0] = "X" + i.External
	}
	return list
}

// sum is a short hash of a text. With it, and with one Sighting for all keys of an entry, 100,000
// entries fit into memory.
type sum [12]byte

func sumOf(text string) (s sum) {
	if text != "" {
		h := sha256.Sum256([]byte(text))
		copy(s[:], h[:])
	}
	return s
}

// Index has the earlier entries by their hashed keys.
type Index map[sum][]*Sighting

// Sighting is an earlier entry. Its identity has no additional emails and numbers.
type Sighting struct {
	Identity
	// Line is the line of the entry, and File the name of its file. Number is the number of the
	// first entry about the contact.
	Line, Number int64
	File         string
	// Record is the id of the entry's contact. It is set only within one transaction.
	Record string
	// Made says that an entry of the file created the contact. In a dry run, Number is the number
	// of that entry.
	Made bool
}

// maxSightings is the maximum number of entries with the same key that are compared.
const maxSightings = 50

// Find returns an earlier entry about the same contact if double is true. taken says that an entry
// about another contact has the external id.
func (s Index) Find(i *Identity) (was Sighting, double, taken bool) {
	mine := *i
	for _, key := range i.keys() {
		for _, was := range s[sumOf(key)] {
			byID := key[0] == 'x' || key[0] == 'X'
			switch {
			case other(i.own, was.own): // two different records of an export
			case byID && i.sharesID(&was.Identity), key[0] == 'f' && mine.fits(&was.Identity),
				!byID && key[0] != 'f' && mine.reaches(key, &was.Identity):
				return *was, true, taken
			case byID:
				taken, mine.External = true, ""
			}
		}
	}
	return Sighting{}, false, taken
}

// Add adds an entry to the index.
func (s Index) Add(i *Identity, was Sighting) {
	was.Identity = *i
	was.further = nil
	for _, key := range i.keys() {
		if k := sumOf(key); len(s[k]) < maxSightings {
			s[k] = append(s[k], &was)
		}
	}
}

// ToldSame returns the message that an earlier entry is about the same record.
func (s *Sighting) ToldSame() entry.Problem {
	here, there := i18n.Text("The same contact as on line %d of the file."),
		i18n.Text("The same contact as on line %d of the file “%s”.")
	if s.FirmKey != "" {
		here, there = "The same company as on line %d of the file.",
			"The same company as on line %d of the file “%s”."
	}
	if s.File != "" {
		return entry.NewProblem(fault.Duplicate, i18n.Format(there, s.Line, s.File))
	}
	return entry.NewProblem(fault.Duplicate, i18n.Format(here, s.Line))
}
