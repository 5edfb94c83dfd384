package imports

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/search"
	"kartei/store/db"
)

// Two entries are about the same contact if they have the same external id, unless their
// names contradict: offices give all people of a client its number. They also are if they
// have the same email address or number and nothing tells them apart: the people of an
// office, or of a family, share numbers and addresses.

// identity is what tells an entry from others.
type identity struct {
	first, last     string
	external, email string
	// salutation and birthday tell people of one name apart.
	salutation, birthday string
	numbers              []string
	// exact says that Kartei wrote the entry: its external id counts whatever its names are.
	exact bool
	// own is the id that an export of Kartei gives the entry, firmKey the key of the name of
	// a company.
	own, firmKey string
	// city and domain, which is the domain of the email, tell companies of one name apart.
	city, domain string
}

// identityOf returns the identity of an entry.
func identityOf(e *entry) identity {
	if e.firm {
		place, _ := e.body["address"].(map[string]any)
		city, _ := place["city"].(string)
		return identity{
			external: e.text("externalId"), own: e.itself, firmKey: nameKey(e.text("name")), city: nameKey(city),
			domain: domainOf(e.text("email")),
		}
	}
	i := identity{
		own: e.itself, first: nameKey(e.text("firstName")), last: nameKey(e.text("lastName")),
		external: e.text("externalId"), email: foldEmail(e.text("email")),
	}
	i.salutation, i.birthday, i.exact = e.text("salutation"), e.text("birthday"), e.exact
	for _, member := range []string{"mobile", "phone"} {
		if key := search.NumberKey(e.text(member)); key != "" {
			i.numbers = append(i.numbers, key)
		}
	}
	return i
}

func nameKey(name string) string { return record.NameKey(&name) }

// foldEmail returns an address as the column email has it.
func foldEmail(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

// other reports whether two texts are there and differ.
func other(a, b string) bool { return a != "" && b != "" && a != b }

// domainOf returns the domain of an address.
func domainOf(email string) string {
	_, domain, _ := strings.Cut(strings.ToLower(email), "@")
	return domain
}

// fits reports whether nothing tells two identities apart.
func (i *identity) fits(was *identity) bool {
	return !other(i.first, was.first) && !other(i.last, was.last) && !other(i.external, was.external) &&
		!other(i.salutation, was.salutation) && !other(i.birthday, was.birthday) &&
		!other(i.city, was.city) && !other(i.domain, was.domain)
}

// sharesID reports whether two identities with the same external id can be the same one.
// Whoever has no first name is told from others by the salutation and the birthday too.
func (i *identity) sharesID(was *identity) bool {
	switch {
	case i.exact || i.firmKey != "" || was.firmKey != "":
		return true
	case !namesFit(i.first, was.first) || !namesFit(i.last, was.last):
		return false
	case i.first != "" && was.first != "":
		return true
	}
	return !other(i.salutation, was.salutation) && !other(i.birthday, was.birthday)
}

// namesFit reports whether a name is a part of another: Haas and Haas-Neu, Anna and Anna
// Maria, A. and Anna.
func namesFit(a, b string) bool {
	within := func(part, whole []string) bool {
		return !slices.ContainsFunc(part, func(w string) bool {
			return !slices.ContainsFunc(whole, func(v string) bool {
				return v == w || len([]rune(w)) == 1 && strings.HasPrefix(v, w)
			})
		})
	}
	return a == "" || b == "" || within(nameWords(a), nameWords(b)) || within(nameWords(b), nameWords(a))
}

// keys returns the keys under which an identity is found. The same contact has at least
// one of them in common.
func (i *identity) keys() (list []string) {
	if i.external != "" {
		list = append(list, "x"+i.external)
	}
	if i.email != "" {
		list = append(list, "e"+i.email)
	}
	for _, n := range i.numbers {
		list = append(list, "n"+n)
	}
	if i.firmKey == "" {
		return list
	}
	if list = append(list, "f"+i.firmKey); i.external != "" { // companies and contacts have external ids of their own
		list[0] = "X" + i.external
	}
	return list
}

// sum is a short form of a text, so that 100,000 entries fit into memory.
type sum [12]byte

func sumOf(text string) (s sum) {
	if text != "" {
		h := sha256.Sum256([]byte(text))
		copy(s[:], h[:])
	}
	return s
}

// sightingIndex has the entries that came before, by what they have in common with
// others.
type sightingIndex map[sum][]sighting

// sighting is an entry that came before. Its identity has no keys but the external id.
type sighting struct {
	identity
	// line is the line of the entry, file the name of its file, number its number among all.
	line, number int64
	file         string
	// record is the contact of the entry, within one transaction.
	record string
	// made says that an entry of the file made the contact. In a dry run, number is the
	// number of that entry.
	made bool
}

// sightings bounds the entries with the same number that are compared.
const sightings = 50

// find returns an earlier entry about the same contact. taken says that one of another
// contact has the external id.
func (s sightingIndex) find(i *identity) (was sighting, double, taken bool) {
	mine := *i
	for _, key := range i.keys() {
		for _, was := range s[sumOf(key)] {
			byID := key[0] == 'x' || key[0] == 'X'
			switch {
			case other(i.own, was.own): // two records of an export
			case byID && i.sharesID(&was.identity), !byID && mine.fits(&was.identity):
				return was, true, taken
			case byID:
				taken, mine.external = true, ""
			}
		}
	}
	return sighting{}, false, taken
}

// add notes an entry. number is the one of the first entry about the contact.
func (s sightingIndex) add(i *identity, l *line, number int64, record string, made bool) {
	was := sighting{*i, l.line, number, l.file, record, made}
	was.email, was.numbers = "", nil
	for _, key := range i.keys() {
		if k := sumOf(key); len(s[k]) < sightings {
			s[k] = append(s[k], was)
		}
	}
}

// candidate is an entry on its way to a contact.
type candidate struct {
	*line
	*entry
	identity
	// match is the contact that the entry is about, nil for a new one.
	match *record.Sight[*contact.Fields]
	// fields are the members of a new contact, firmFields the members of a new company.
	fields     contact.Fields
	firmFields company.Fields
	// firmMatch is the company that an entry is about which is a company itself.
	firmMatch *record.Sight[*company.Fields]
	// by is what the entry and match or firmMatch have in common, as a kind of key.
	by byte
	// made says that the import itself created the contact of match, and first is the entry of
	// which it did.
	made  bool
	first sighting
	// namesake is another contact of the name, empty for none.
	namesake string
	// idTaken says that another contact has the external id of the entry.
	idTaken bool
	// wrong is why the entry is refused.
	wrong []fault.Field
	// companyKey is the key of its company's name, and companyID the company, if there
	// is one.
	companyKey, companyID string
	// private says that the record is private, or will be. Then so is a company that is
	// created for it: its name tells others whom the contact works for.
	private bool
}

// privatePrefix begins the keys of companies for private contacts. No name has a line end.
const privatePrefix = "private\n"

// cacheKey is the key of the company's name among the companies that the record may refer
// to: a private one may refer to the private ones of its person.
func (x *candidate) cacheKey() string {
	if x.private && x.companyKey != "" {
		return privatePrefix + x.companyKey
	}
	return x.companyKey
}

const (
	selectByExternal = `select id, external_id from contacts where organization = $1 and external_id is not null and deleted = false and `
	selectTaken      = `select external_id from contacts where organization = $1 and external_id is not null and external_id `
	selectByEmail    = `select id, email from contacts where organization = $1 and email is not null and deleted = false and `
)

// taken returns which external ids contacts have, also those that the caller does not
// see.
func taken(ctx context.Context, c *op.Call, list []*candidate) (map[string]bool, error) {
	var external []string
	for _, x := range list {
		if x.external != "" {
			external = append(external, x.external)
		}
	}
	all := map[string]bool{}
	if len(external) == 0 {
		return all, nil
	}
	found, err := db.Values[string](ctx, c.Tx, selectTaken+c.Tx.Dialect().In("$2"), c.Actor.Org(),
		db.Texts(record.Unique(external)))
	for _, id := range found {
		all[id] = true
	}
	return all, err
}

// contactIndex has the contacts that entries may be about, by what they have in
// common.
type contactIndex map[string][]string

func (f contactIndex) add(key, id string) {
	if !slices.Contains(f[key], id) {
		f[key] = append(f[key], id)
	}
}

// match finds the contacts that entries are about, as far as the caller sees them.
func match(ctx context.Context, c *op.Call, list []*candidate) error {
	by := contactIndex{}
	var external, emails, names []string
	for _, x := range list {
		if x.external != "" {
			external = append(external, x.external)
		}
		if x.email != "" {
			emails = append(emails, x.email)
		}
		if id.Valid(id.Contact, x.itself) {
			by.add("i"+x.itself, x.itself)
		}
	}
	if err := by.read(ctx, c, "contacts", "x", selectByExternal, "external_id", external); err != nil {
		return err
	}
	if err := by.read(ctx, c, "contacts", "e", selectByEmail, "email", emails); err != nil {
		return err
	}
	if err := by.numbers(ctx, c, list); err != nil {
		return err
	}
	for _, ids := range by {
		names = append(names, ids...)
	}
	slices.Sort(names)
	looked, err := contact.Contacts.Look(ctx, c, slices.Compact(names))
	if err != nil {
		return err
	}
	contacts := make(map[string]*record.Sight[*contact.Fields], len(looked))
	for i := range looked {
		contacts[looked[i].ID] = &looked[i]
	}
	for _, x := range list {
		x.match, x.idTaken = x.choose(by, contacts)
	}
	return namesakes(ctx, c, list)
}

// read finds contacts by a column.
func (f contactIndex) read(
	ctx context.Context, c *op.Call, family, kind, statement, column string, values []string,
) error {
	if len(values) == 0 {
		return nil
	}
	rows, err := c.Tx.Query(ctx, statement+op.Visible(family, c.Actor, "$2")+` and `+column+` `+
		c.Tx.Dialect().In("$3")+` order by id`,
		c.Actor.Org(), c.Actor.PrincipalID(), db.Texts(record.Unique(values)))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, value string
		if err := rows.Scan(&id, &value); err != nil {
			return err
		}
		f.add(kind+value, id)
	}
	return rows.Err()
}

// holders is how many contacts with the same number are compared.
const holders = 20

// numbers finds contacts by their numbers.
func (f contactIndex) numbers(ctx context.Context, c *op.Call, list []*candidate) error {
	var keys []string
	var queries []search.Query
	for _, x := range list {
		for _, member := range []string{"mobile", "phone"} {
			key := search.NumberKey(x.text(member))
			if _, known := f["n"+key]; known || key == "" {
				continue
			}
			f["n"+key] = nil
			for _, q := range search.Numbers(x.text(member)) {
				keys, queries = append(keys, "n"+key), append(queries, q)
			}
		}
	}
	if len(queries) == 0 {
		return nil
	}
	reader, err := contact.Contacts.Searcher(ctx, c)
	if err != nil {
		return err
	}
	holding, err := reader.FirstOfEach(queries, holders)
	for i, ids := range holding {
		for _, id := range ids {
			f.add(keys[i], id)
		}
	}
	return err
}

// choose returns the contact that an entry is about. taken says that another one has its
// external id.
func (x *candidate) choose(
	by contactIndex, contacts map[string]*record.Sight[*contact.Fields],
) (is *record.Sight[*contact.Fields], taken bool) {
	keys, mine := x.keys(), x.identity
	if x.itself != "" {
		keys = append([]string{"i" + x.itself}, keys...)
	}
	for _, key := range keys {
		for _, id := range by[key] {
			c := contacts[id]
			if c == nil {
				continue
			}
			was := identityIn(c.Members)
			switch {
			case key[0] == 'i', key[0] == 'x' && x.sharesID(was):
				x.by = key[0]
				return c, taken
			case key[0] == 'x':
				taken, mine.external = true, ""
			case !mine.fits(was):
			case key[0] == 'n' && !x.calls(c.Members):
			default:
				x.by = key[0]
				return c, taken
			}
		}
	}
	return nil, taken
}

// identityIn returns the identity of a contact, as far as names and external ids go.
func identityIn(f *contact.Fields) *identity {
	return &identity{
		first: nameKey(text(f.FirstName)), last: nameKey(text(f.LastName)), external: text(f.ExternalID),
		salutation: text(f.Salutation), birthday: text(f.Birthday),
	}
}

// withoutID puts an external id into the note that another contact has.
func (x *work) withoutID(n *candidate) {
	if n.external == "" {
		return
	}
	n.external, n.fields.ExternalID = "", nil
	x.decodeAgain(n, n.moveExternalID(fault.Duplicate, otherHasID))
}

var otherHasID = i18n.Text("Another contact of another name has this id already.")

// calls reports whether the entry and a contact have a number in common.
func (x *candidate) calls(f *contact.Fields) bool {
	for _, mine := range []string{x.text("mobile"), x.text("phone")} {
		readings := search.Numbers(mine)
		for _, theirs := range []*string{f.Mobile, f.Phone} {
			if mine != "" && theirs != nil && search.IsNumberOf(mine, readings, *theirs) {
				return true
			}
		}
	}
	return false
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
