package search

import (
	"context"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Subject identifies the record to which a document belongs.
type Subject struct {
	Organization int64
	// Family is the singular of the record's family, for example contact.
	Family string
	// ID is the id of the record. It contains no space.
	ID string
	// Created is the tick of the record's creation. It is unique in the organization
	// and orders hits that are otherwise equal.
	Created clock.Micros
	// Private says that only Owner and admins see the record.
	Private bool
	Owner   string
}

// everyone and Admins are the audiences that are not a principal.
const (
	everyone = ""
	// Admins is the audience of all private records.
	Admins = "*"
)

// position returns the record's position in postings. Postings are ordered from the newest record
// to the oldest.
func (s Subject) position() int64 { return -int64(s.Created) }

// audience returns the owner of a private record, or everyone for a shared one.
func (s Subject) audience() string {
	if s.Private {
		return s.Owner
	}
	return everyone
}

// Audiences returns the audiences under which the index has a record with an audience. A private
// record has two: its owner and Admins. A reader searches two audiences, and each record is in at
// most one of them.
func Audiences(audience string) []string {
	if audience == everyone {
		return []string{everyone}
	}
	return []string{audience, Admins}
}

const (
	insertDocument = `insert into search_documents (organization, family, created, audience, id, words) values ($1, $2, $3, $4, $5, $6)`
	updateDocument = `update search_documents set audience = $4, words = $5 where organization = $1 and family = $2 and created = $3`
	deleteDocument = `delete from search_documents where organization = $1 and family = $2 and created = $3`
	selectDocument = `select audience, id, words from search_documents where organization = $1 and family = $2 and created = $3`
)

// Put indexes a new record. The transaction must hold the organization's change clock, and
// Created must be the tick that it got. So records enter the index in the order of their
// positions, and no other transaction changes the index at the same time.
//
// Put writes only one row with the words of the record. About a hundred records, or fewer with
// many words, are then packed into a segment. The Merger of this process does so after the
// commit. Without a Merger, Put does it.
func Put(ctx context.Context, tx db.Tx, s Subject, d *Document) error {
	return defaultLayout.put(ctx, tx, s, d)
}

func (l layout) put(ctx context.Context, tx db.Tx, s Subject, d *Document) error {
	postings := d.postings()
	tx.Queue(insertDocument, s.Organization, s.Family, int64(s.Created), s.audience(), s.ID, join(postings))
	merges, is := l.due(s.Created, len(postings)*len(Audiences(s.audience())))
	if !is || tx.NotifyLocal(dueTopic, due{s.Organization, s.Family, merges}.String()) {
		return nil
	}
	return segments{ctx, tx, s.Organization, s.Family, l}.mergeDue(merges)
}

// Ahead returns the number of postings that AheadOf must merge before the Put of a document. It
// is zero for most documents. One transaction with ten thousand words would hold SQLite's only
// writer for a tenth of a second. A private record has two postings for each word.
func Ahead(d *Document, private bool) int {
	postings := len(d.words)
	if private {
		postings *= 2
	}
	return max(0, postings-defaultLayout.limit)
}

// AheadOf merges segments for some of the postings that Put will write, in a short transaction.
// It returns the number of the remaining postings. The transaction must hold the organization's
// change clock.
func AheadOf(ctx context.Context, tx db.Tx, organization int64, family string, postings int) (left int, err error) {
	now := min(postings, defaultLayout.limit)
	s := segments{ctx, tx, organization, family, defaultLayout}
	list, err := s.list()
	if err != nil {
		return 0, err
	}
	return postings - now, s.merge(list, s.work(list, now))
}

// Replace sets the words of a record to d. before is the subject of the last Put or Replace.
// after may differ in Private and Owner. Replace writes only differences. It puts a record that
// the index does not have. The transaction must hold the organization's change clock.
//
// From the commit on, only principals who may see the record find it. If the audience changes and
// the record has more than a few hundred words, a Mover moves most postings later. Until then,
// these words find the record only for principals who also saw it before.
func Replace(ctx context.Context, tx db.Tx, before, after Subject, d *Document) error {
	return defaultLayout.replace(ctx, tx, before, after, d)
}

func (l layout) replace(ctx context.Context, tx db.Tx, before, after Subject, d *Document) error {
	g := segments{ctx, tx, after.Organization, after.Family, l}
	row, err := g.row(before.Created)
	if err != nil {
		return err
	}
	known := row.id != ""
	was, is := parse(row.words), d.postings()
	now := join(is)
	switch {
	case !known:
		tx.Queue(insertDocument, after.Organization, after.Family, int64(after.Created), after.audience(), after.ID, now)
	case row.words != now || row.audience != after.audience():
		tx.Queue(updateDocument, after.Organization, after.Family, int64(after.Created), after.audience(), now)
	default:
		return nil
	}
	m := move{after.Created, Audiences(after.audience()), is}
	switch {
	case known && row.audience == after.audience(): // so that the author finds the record at once
		m.words = union(without(was, is), without(is, was), posting.compare)
		return g.carryOut(m, document{after.audience(), after.ID, now})
	case known:
		m.words = union(was, is, posting.compare)
		m.audiences = union(m.audiences, Audiences(row.audience), strings.Compare)
	}
	return g.move(m, document{after.audience(), after.ID, now})
}

// Remove deletes a record from the index. From the commit on, searches do not find it. If it has
// more than a few hundred words, a Mover deletes most postings later. The transaction must hold
// the organization's change clock.
func Remove(ctx context.Context, tx db.Tx, s Subject) error {
	return defaultLayout.remove(ctx, tx, s)
}

func (l layout) remove(ctx context.Context, tx db.Tx, s Subject) error {
	g := segments{ctx, tx, s.Organization, s.Family, l}
	row, err := g.row(s.Created)
	if err != nil || row.id == "" {
		return err
	}
	tx.Queue(deleteDocument, s.Organization, s.Family, int64(s.Created))
	return g.move(move{s.Created, Audiences(row.audience), parse(row.words)}, document{})
}

// without returns the postings of a that are not in b. Both must be sorted.
func without(a, b []posting) []posting {
	var list []posting
	for _, p := range a {
		if _, found := slices.BinarySearchFunc(b, p, posting.compare); !found {
			list = append(list, p)
		}
	}
	return list
}
