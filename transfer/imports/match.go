package imports

import (
	"context"
	"slices"

	"kartei/api/op"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/transfer/imports/entry"
)

// Candidate is an entry with the record that it is about.
type Candidate struct {
	*entry.Entry
	identity
	// match is the contact that the entry is about, nil for a new one. firmMatch is the company
	// that an entry is about which is a company itself.
	match     *record.Sight[*contact.Fields]
	firmMatch *record.Sight[*company.Fields]
	// by is what the entry and match or firmMatch have in common, as a kind of key.
	by byte
	// namesake is another contact of the name, empty for none.
	namesake string
	// idTaken says that another contact has the external id of the entry.
	idTaken bool
	// companyKey is the key of its company's name, and companyID the company, if there
	// is one.
	companyKey, companyID string
	// private says that the record is private, or will be. Then so is a company that is
	// created for it: its name tells others whom the contact works for.
	private bool
}

// NewCandidate returns an entry without the record that it is about. Find finds it.
func NewCandidate(e *entry.Entry) Candidate {
	x := Candidate{Entry: e, identity: identityOf(e)}
	if e.Firm {
		x.companyKey = nameKey(e.Text("name"))
	} else if e.Company != "" {
		x.companyKey = nameKey(e.Company)
	}
	return x
}

// Find finds the records that entries are about, and the companies of contacts, as far as the
// caller sees them. known are the companies that were found before, by CacheKey. It gets those that
// are found.
func Find(ctx context.Context, c *op.Call, list []*Candidate, known map[string]string) error {
	var people []*Candidate
	for _, x := range list {
		if !x.Firm {
			people = append(people, x)
		}
	}
	if err := findContacts(ctx, c, people); err != nil {
		return err
	}
	for _, x := range list {
		x.private = x.Text("visibility") == string(record.Private) ||
			x.match != nil && x.match.Members.Visibility == record.Private
	}
	if err := findNamed(ctx, c, list, known); err != nil {
		return err
	}
	for _, x := range list {
		x.companyID = known[x.cacheKey()]
	}
	if err := findByFirmID(ctx, c, people); err != nil {
		return err
	}
	return findFirms(ctx, c, list)
}

// there returns the record that an entry is about, or else a contact of its name.
func (x *Candidate) there() string {
	switch {
	case x.match != nil:
		return x.match.ID
	case x.firmMatch != nil:
		return x.firmMatch.ID
	}
	return x.namesake
}

// privatePrefix begins the keys of companies for private contacts. No name has a line end.
const privatePrefix = "private\n"

// cacheKey is the key of the company's name among the companies that the record may refer
// to: a private one may refer to the private ones of its person.
func (x *Candidate) cacheKey() string {
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
func taken(ctx context.Context, c *op.Call, list []*Candidate) (map[string]bool, error) {
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

// findContacts finds the contacts that entries are about, as far as the caller sees them.
func findContacts(ctx context.Context, c *op.Call, list []*Candidate) error {
	by := contactIndex{}
	var external, emails, names []string
	for _, x := range list {
		if x.external != "" {
			external = append(external, x.external)
		}
		if x.email != "" {
			emails = append(emails, x.email)
		}
		if id.Valid(id.Contact, x.Itself) {
			by.add("i"+x.Itself, x.Itself)
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
func (f contactIndex) numbers(ctx context.Context, c *op.Call, list []*Candidate) error {
	var keys []string
	var queries []search.Query
	for _, x := range list {
		for _, member := range []string{"mobile", "phone"} {
			key := search.NumberKey(x.Text(member))
			if _, known := f["n"+key]; known || key == "" {
				continue
			}
			f["n"+key] = nil
			for _, q := range search.Numbers(x.Text(member)) {
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
func (x *Candidate) choose(
	by contactIndex, contacts map[string]*record.Sight[*contact.Fields],
) (is *record.Sight[*contact.Fields], taken bool) {
	keys, mine := x.keys(), x.identity
	if x.Itself != "" {
		keys = append([]string{"i" + x.Itself}, keys...)
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

// calls reports whether the entry and a contact have a number in common.
func (x *Candidate) calls(f *contact.Fields) bool {
	for _, mine := range []string{x.Text("mobile"), x.Text("phone")} {
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
