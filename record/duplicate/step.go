package duplicate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/store/db"
)

// families are the families whose records are compared, by their plurals.
var families = map[string]*family{
	contact.Contacts.Plural:  familyOf(contact.Contacts, OfContact),
	company.Companies.Plural: familyOf(company.Companies, OfCompany),
}

// family has the functions of this package for a family of records.
type family struct {
	table   string
	changed func(ctx context.Context, tx db.Tx, organization int64, after clock.Micros, limit int) ([]*entry, error)
	byID    func(ctx context.Context, tx db.Tx, organization int64, ids []string) ([]*entry, error)
}

func familyOf[T, F any, P interface {
	*F
	record.Fields
}](k *record.Collection[T, F, P], subject func(P) *Subject) *family {
	entries := func(list []record.Sight[P], err error) ([]*entry, error) {
		all := make([]*entry, len(list))
		for i, r := range list {
			s := subject(r.Members)
			all[i] = &entry{r.ID, r.Created, r.Updated, s, s.Keys()}
		}
		return all, err
	}
	return &family{k.Plural,
		func(ctx context.Context, tx db.Tx, organization int64, after clock.Micros, limit int) ([]*entry, error) {
			return entries(k.ChangedAfter(ctx, tx, organization, after, limit))
		},
		func(ctx context.Context, tx db.Tx, organization int64, ids []string) ([]*entry, error) {
			return entries(k.LivingByID(ctx, tx, organization, ids))
		},
	}
}

// entry is a record with its keys.
type entry struct {
	id               string
	created, updated clock.Micros
	subject          *Subject
	keys             []int64
}

// sharesKey reports whether two records have a key in common.
func (e *entry) sharesKey(o *entry) bool {
	return slices.ContainsFunc(e.keys, func(k int64) bool {
		_, found := slices.BinarySearch(o.keys, k)
		return found
	})
}

// pairOf identifies a pair. The lesser id is the first one.
type pairOf struct{ first, second string }

func pairFor(a, b string) pairOf { return pairOf{min(a, b), max(a, b)} }

// verdict is a pair as the database stores it.
type verdict struct {
	rank    int
	reasons string
	at      clock.Micros
}

// same reports whether two rows of a pair say the same. The time does not matter: a pair keeps the
// time of its first find.
func (v verdict) same(o verdict) bool { return v.rank == o.rank && v.reasons == o.reasons }

var (
	// errOvertaken means that another replica made the same step.
	errOvertaken = errors.New("duplicate: another replica was faster")
	// errErased means that the organization is being erased.
	errErased = errors.New("duplicate: the organization is being erased")
)

// step is one step of a family: what it reads, and what it will write.
type step struct {
	*Finder
	work
	family *family
	// begun says that there is a progress. until and version are its values.
	begun   bool
	until   clock.Micros
	version int64
	// changed are the records of the step, in the order of their changes.
	changed []*entry
	// keysBefore has the stored keys of changed records, by their creation.
	keysBefore map[clock.Micros][]int64
	// before has the stored pairs of changed records, and after those that they should have.
	before, after map[pairOf]verdict
}

// read reads and compares the next records.
func (s *step) read(ctx context.Context, tx db.Tx) error {
	after, err := s.readProgress(ctx, tx)
	if err != nil {
		return err
	}
	if s.changed, err = s.family.changed(ctx, tx, s.organization, after, s.limit); err != nil || len(s.changed) == 0 {
		return err
	}
	holders, err := s.readHolders(ctx, tx)
	if err != nil {
		return err
	}
	if err := s.readBefore(ctx, tx); err != nil {
		return err
	}
	return s.compareAll(ctx, tx, holders)
}

const selectProgress = `select until, version from duplicate_progress where organization = $1 and family = $2`

// readProgress returns the tick after which records are to be compared.
func (s *step) readProgress(ctx context.Context, tx db.Tx) (after clock.Micros, err error) {
	err = tx.QueryRow(ctx, selectProgress, s.organization, s.family.table).Scan(&s.until, &s.version)
	if errors.Is(err, db.ErrNoRows) {
		s.begun = false
		return 0, nil
	}
	if s.begun = true; s.version > Version { // a newer release compares
		return math.MaxInt64, err
	}
	if s.version < Version {
		return 0, err
	}
	return s.until, err
}

// readHolders returns the creations of the records that have keys of the changed ones. It leaves out
// keys that too many records have. If there are too many records to compare, it shortens the step.
func (s *step) readHolders(ctx context.Context, tx db.Tx) (map[int64][]clock.Micros, error) {
	var keys []int64
	for _, e := range s.changed {
		keys = append(keys, e.keys...)
	}
	slices.Sort(keys)
	counts, err := countHolders(ctx, tx, s.organization, slices.Compact(keys), s.common)
	if err != nil {
		return nil, err
	}
	budget := s.budget
	for i, e := range s.changed {
		for _, k := range e.keys {
			if s.usable(k, counts[k]) {
				budget -= counts[k]
			}
		}
		if i > 0 && budget < 0 {
			s.changed = s.changed[:i]
			break
		}
	}
	return s.withStep(ctx, tx, counts)
}

// withStep returns the stored holders of the usable keys together with the changed records themselves,
// whose new keys are not stored yet.
func (s *step) withStep(ctx context.Context, tx db.Tx, counts map[int64]int) (map[int64][]clock.Micros, error) {
	own := map[int64][]clock.Micros{}
	var usable []int64
	for _, e := range s.changed {
		for _, k := range e.keys {
			if s.usable(k, counts[k]) {
				own[k] = append(own[k], e.created)
				usable = append(usable, k)
			}
		}
	}
	slices.Sort(usable)
	holders, err := readHolders(ctx, tx, s.organization, slices.Compact(usable))
	for k, list := range own {
		for _, created := range list {
			if !slices.Contains(holders[k], created) {
				holders[k] = append(holders[k], created)
			}
		}
		if !s.usable(k, len(holders[k])) {
			delete(holders, k)
		}
	}
	return holders, err
}

// readBefore reads the stored keys and pairs of the changed records.
func (s *step) readBefore(ctx context.Context, tx db.Tx) error {
	var ids []string
	var created []int64
	for _, e := range s.changed {
		ids, created = append(ids, e.id), append(created, int64(e.created))
	}
	s.keysBefore, s.before = map[clock.Micros][]int64{}, map[pairOf]verdict{}
	_, err := db.List(ctx, tx, func(row db.Row) (none struct{}, err error) {
		var at clock.Micros
		var text []byte
		if err := row.Scan(&at, &text); err != nil {
			return none, err
		}
		var keys []int64
		err = json.Unmarshal(text, &keys)
		s.keysBefore[at] = keys
		return none, err
	}, `select created, keys from duplicate_records where organization = $1 and created `+tx.Dialect().InNumbers("$2"),
		s.organization, db.Numbers(created))
	if err != nil {
		return err
	}
	const columns = `select first_id, second_id, rank, reasons, found_at from duplicate_pairs where organization = $1 and `
	in := tx.Dialect().In("$2")
	_, err = db.List(ctx, tx, func(row db.Row) (none struct{}, err error) {
		var p pairOf
		var v verdict
		err = row.Scan(&p.first, &p.second, &v.rank, &v.reasons, &v.at)
		s.before[p] = v
		return none, err
	}, columns+`first_id `+in+` union all `+columns+`second_id `+in, s.organization, db.Texts(ids))
	return err
}

// compareAll compares the changed records with the holders of their keys, and with the partners of
// their pairs. A pair stays as long as its records match and have a key in common, even if many
// records have this key by now.
func (s *step) compareAll(ctx context.Context, tx db.Tx, holders map[int64][]clock.Micros) error {
	byID, byCreation, err := s.others(ctx, tx, holders)
	if err != nil {
		return err
	}
	partners := map[string][]string{}
	for p := range s.before {
		partners[p.first] = append(partners[p.first], p.second)
		partners[p.second] = append(partners[p.second], p.first)
	}
	s.after = map[pairOf]verdict{}
	for _, e := range s.changed {
		for _, k := range e.keys {
			for _, created := range holders[k] {
				s.compare(e, byCreation[created])
			}
		}
		for _, id := range partners[e.id] {
			s.compare(e, byID[id])
		}
	}
	return nil
}

// others returns the changed records and all others with which they are compared.
func (s *step) others(
	ctx context.Context, tx db.Tx, holders map[int64][]clock.Micros,
) (byID map[string]*entry, byCreation map[clock.Micros]*entry, err error) {
	byID, byCreation = map[string]*entry{}, map[clock.Micros]*entry{}
	for _, e := range s.changed {
		byID[e.id], byCreation[e.created] = e, e
	}
	var created []int64
	for _, list := range holders {
		for _, c := range list {
			if byCreation[c] == nil {
				created = append(created, int64(c))
			}
		}
	}
	slices.Sort(created)
	ids, err := idsOf(ctx, tx, s.organization, slices.Compact(created))
	if err != nil {
		return nil, nil, err
	}
	for p := range s.before {
		ids = append(ids, p.first, p.second)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return byID[id] != nil })
	list, err := s.family.byID(ctx, tx, s.organization, ids)
	for _, e := range list {
		byID[e.id], byCreation[e.created] = e, e
	}
	return byID, byCreation, err
}

// compare adds the pair of two records to after if they match. other is nil for a record of another
// family or a deleted one.
func (s *step) compare(e, other *entry) {
	if other == nil || other == e {
		return
	}
	p := pairFor(e.id, other.id)
	if _, known := s.after[p]; known || !e.sharesKey(other) {
		return
	}
	if m, match := Compare(e.subject, other.subject); match {
		reasons := make([]string, len(m.Reasons))
		for i, r := range m.Reasons {
			reasons[i] = string(r)
		}
		s.after[p] = verdict{m.Strength.Rank(), strings.Join(reasons, " "), e.updated}
	}
}
