// Package match owns which record an entry of a file is about.
package match

import (
	"context"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/transfer/imports/entry"
)

// Candidate is an entry with its existing record, if there is one.
type Candidate struct {
	*entry.Entry
	Identity
	// Match is the existing contact of the entry, or nil. FirmMatch is the existing company of an
	// entry that is a company, or nil.
	Match     *record.Sight[*contact.Fields]
	FirmMatch *record.Sight[*company.Fields]
	// by is the kind of key by which Match or FirmMatch was found.
	by byte
	// Namesake is the id of another contact with the same name, or empty.
	Namesake string
	// IDTaken says that another contact has the external id of the entry.
	IDTaken bool
	// CompanyKey is the key of the company's name. CompanyID is the id of the existing company, or
	// empty.
	CompanyKey, CompanyID string
	// Private says that the record is private, or will be. A company that is created for it then is
	// private too, because its name reveals for whom the contact works.
	Private bool
}

// NewCandidate returns a candidate before Find, without a record.
func NewCandidate(e *entry.Entry) Candidate {
	x := Candidate{Entry: e, Identity: IdentityOf(e)}
	if e.Firm {
		x.CompanyKey = nameKey(e.Text("name"))
	} else if e.Company != "" {
		x.CompanyKey = nameKey(e.Company)
	}
	return x
}

// Find finds the existing records of entries and the companies of contacts. It finds only records
// that the caller can see. known are the ids of known companies by CacheKey, and Find adds the ones
// that it finds.
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
		x.Private = x.Text("visibility") == string(record.Private) ||
			x.Match != nil && x.Match.Members.Visibility == record.Private
	}
	if err := findNamed(ctx, c, list, known); err != nil {
		return err
	}
	for _, x := range list {
		x.CompanyID = known[x.CacheKey()]
	}
	if err := findByFirmID(ctx, c, people); err != nil {
		return err
	}
	return findFirms(ctx, c, list)
}

// There returns the id of the entry's existing record, or else of a contact with the same name.
func (x *Candidate) There() string {
	switch {
	case x.Match != nil:
		return x.Match.ID
	case x.FirmMatch != nil:
		return x.FirmMatch.ID
	}
	return x.Namesake
}

// privatePrefix is the prefix of cache keys of companies for private contacts. Names do not contain
// newlines.
const privatePrefix = "private\n"

// CacheKey is the key for caches of companies. A private record has its own keys, because it may
// refer to private companies of its person.
func (x *Candidate) CacheKey() string {
	if x.Private && x.CompanyKey != "" {
		return privatePrefix + x.CompanyKey
	}
	return x.CompanyKey
}

const (
	selectByExternal = `select id, external_id from contacts where organization = $1 and external_id is not null and deleted = false and `
	selectTaken      = `select external_id from contacts where organization = $1 and external_id is not null and external_id `
	selectByEmail    = `select id, email from contacts where organization = $1 and email is not null and deleted = false and `
)

// Taken returns the external ids of entries that existing contacts have. It includes contacts that
// the caller cannot see.
func Taken(ctx context.Context, c *op.Call, list []*Candidate) (map[string]bool, error) {
	var external []string
	for _, x := range list {
		if x.External != "" {
			external = append(external, x.External)
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

// contactIndex maps keys to the ids of existing contacts or companies.
type contactIndex map[string][]string

func (f contactIndex) add(key, id string) {
	if !slices.Contains(f[key], id) {
		f[key] = append(f[key], id)
	}
}

// findContacts finds the existing contacts of entries that the caller can see.
func findContacts(ctx context.Context, c *op.Call, list []*Candidate) error {
	by := contactIndex{}
	var external, emails, names []string
	for _, x := range list {
		if x.External != "" {
			external = append(external, x.External)
		}
		emails = append(emails, x.emails()...)
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
	if err := by.additional(ctx, c, emails); err != nil {
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
		x.Match, x.IDTaken = x.choose(by, contacts)
	}
	return namesakes(ctx, c, list)
}

// read adds the records whose column has one of the values.
func (f contactIndex) read(
	ctx context.Context, c *op.Call, family, kind, statement, column string, values []string,
) error {
	if len(values) == 0 {
		return nil
	}
	return f.scan(ctx, c, kind, statement+op.Visible(family, c.Actor, "$2")+` and `+column+` `+
		c.Tx.Dialect().In("$3")+` order by id`,
		c.Actor.Org(), c.Actor.PrincipalID(), db.Texts(record.Unique(values)))
}

// scan adds the records that a statement returns, each with an id and a value.
func (f contactIndex) scan(ctx context.Context, c *op.Call, kind, statement string, args ...any) error {
	rows, err := c.Tx.Query(ctx, statement, args...)
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

// selectByAdditional finds contacts by their additional emails, which are rows of the table tags with
// the tick of the contact. The first part is for records that all people can see.
var selectByAdditional = `select c.id, g.tag from tags as g cross join contacts as c
	where g.organization = $1 and g.family = '` + contact.EmailsInTags + `' and g.reader = '' and g.tag {in}
		and c.organization = $1 and c.deleted = false and c.audience = '' and c.updated_at = g.tick
	union all select c.id, g.tag from tags as g cross join contacts as c
	where g.organization = $1 and g.family = '` + contact.EmailsInTags + `' and g.reader = $2 and g.tag {in}
		and c.organization = $1 and c.deleted = false and {own} and c.updated_at = g.tick
	order by 1`

// additional adds contacts with the emails among their additional ones.
func (f contactIndex) additional(ctx context.Context, c *op.Call, emails []string) error {
	if len(emails) == 0 {
		return nil
	}
	reader, own := c.Actor.PrincipalID(), `c.audience <> '' and c.audience = $2`
	if c.Actor.SeesAll() {
		reader, own = search.Admins, `c.audience <> ''`
	}
	statement := strings.NewReplacer("{in}", c.Tx.Dialect().In("$3"), "{own}", own).Replace(selectByAdditional)
	return f.scan(ctx, c, "e", statement, c.Actor.Org(), reader, db.Texts(record.Unique(emails)))
}

// holders is the maximum number of contacts with the same number that are compared.
const holders = 20

// numbers adds contacts with the telephone numbers of the entries.
func (f contactIndex) numbers(ctx context.Context, c *op.Call, list []*Candidate) error {
	var keys []string
	var queries []search.Query
	for _, x := range list {
		for _, number := range x.Numbers() {
			key := "n" + search.NumberKey(number)
			if _, known := f[key]; known || !slices.Contains(x.keys(), key) {
				continue
			}
			f[key] = nil
			for _, q := range search.Numbers(number) {
				keys, queries = append(keys, key), append(queries, q)
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

// choose returns the existing contact of the entry, or nil. taken says that another contact has its
// external id.
func (x *Candidate) choose(
	by contactIndex, contacts map[string]*record.Sight[*contact.Fields],
) (is *record.Sight[*contact.Fields], taken bool) {
	keys, mine := x.keys(), x.Identity
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
				taken, mine.External = true, ""
			case !mine.reaches(key, was):
			case key[0] == 'n' && !x.calls(c.Members):
			default:
				x.by = key[0]
				return c, taken
			}
		}
	}
	return nil, taken
}

// identityIn returns the identity of an existing contact, with its names and its external id.
func identityIn(f *contact.Fields) *Identity {
	return &Identity{
		first: nameKey(text(f.FirstName)), last: lastKey(text(f.LastName), text(f.NameSuffix)), External: text(f.ExternalID),
		salutation: text(f.Salutation), birthday: text(f.Birthday),
		reached: append(emailKeys(text(f.Email)), numberKeys(text(f.Phone), text(f.Mobile))...),
	}
}

// emails returns the emails by which the entry is found.
func (i *Identity) emails() (list []string) {
	for _, key := range i.keys() {
		if email, is := strings.CutPrefix(key, "e"); is {
			list = append(list, email)
		}
	}
	return list
}

// calls reports whether the entry and a contact have the same telephone number.
func (x *Candidate) calls(f *contact.Fields) bool {
	theirs := []string{text(f.Mobile), text(f.Phone)}
	for _, p := range f.AdditionalPhones {
		if text(p.Label) != "fax" {
			theirs = append(theirs, p.Phone)
		}
	}
	for _, mine := range x.Numbers() {
		readings := search.Numbers(mine)
		if slices.ContainsFunc(theirs, func(number string) bool {
			return number != "" && search.IsNumberOf(mine, readings, number)
		}) {
			return true
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
