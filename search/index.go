package search

import (
	"context"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Subject is the record that a document belongs to.
type Subject struct {
	Organization int64
	// Family is the record's kind, for example contact.
	Family string
	// ID holds no space.
	ID string
	// Created is the tick of the record's creation: unique in the
	// organization, and the order of hits that are otherwise alike.
	Created clock.Micros
	// Private limits the record to Owner and to admins.
	Private bool
	Owner   string
}

// The audiences that are not one principal.
const (
	everyone = ""
	admins   = "*"
)

// position returns the record's place in the index: the newest first.
func (s Subject) position() int64 { return -int64(s.Created) }

// audience returns the principal whose record this is, or everyone.
func (s Subject) audience() string {
	if s.Private {
		return s.Owner
	}
	return everyone
}

// audiences returns under whom the postings of an audience's record stand.
// Every reader reads two audiences of which a record is in at most one.
func audiences(audience string) []string {
	if audience == everyone {
		return []string{everyone}
	}
	return []string{audience, admins}
}

const (
	insertDocument = `insert into search_documents (organization, family, created, audience, id, words) values ($1, $2, $3, $4, $5, $6)`
	updateDocument = `update search_documents set audience = $4, words = $5 where organization = $1 and family = $2 and created = $3`
	deleteDocument = `delete from search_documents where organization = $1 and family = $2 and created = $3`
	selectDocument = `select audience, id, words from search_documents where organization = $1 and family = $2 and created = $3`
)

// Put indexes a record for the first time. The transaction must hold the
// organization's change clock, and Created be its tick: so records come to the
// index in the order of their positions, and nobody else changes it meanwhile.
//
// It writes no more than the record's words. Once some hundred records have
// come together, or fewer with many words, one Put has their postings packed
// into a segment: by the process's Merger once it is committed, and does it itself
// where there is none.
func Put(ctx context.Context, tx db.Tx, s Subject, d *Document) error {
	return usualLayout.put(ctx, tx, s, d)
}

func (l layout) put(ctx context.Context, tx db.Tx, s Subject, d *Document) error {
	postings := d.postings()
	tx.Queue(insertDocument, s.Organization, s.Family, int64(s.Created), s.audience(), s.ID, join(postings))
	merges, is := l.due(s.Created, len(postings)*len(audiences(s.audience())))
	if !is || tx.NotifyLocal(dueTopic, due{s.Organization, s.Family, merges}.String()) {
		return nil
	}
	return segments{ctx, tx, s.Organization, s.Family, l}.mergeDue(merges)
}

// Ahead returns for how many postings of a document the merging is to be done
// before Put, by AheadOf: of most there are none. One transaction that did it
// for ten thousand words would hold SQLite's one writer for a tenth of a second.
// Of a private record there are two for each word.
func Ahead(d *Document, private bool) int {
	postings := len(d.words)
	if private {
		postings *= 2
	}
	return max(0, postings-usualLayout.most)
}

// AheadOf merges for a part of the postings that are to come, in a short
// transaction of its own, and returns for how many it is still to be done. The
// transaction must hold the organization's change clock.
func AheadOf(ctx context.Context, tx db.Tx, organization int64, family string, postings int) (left int, err error) {
	now := min(postings, usualLayout.most)
	s := segments{ctx, tx, organization, family, usualLayout}
	list, err := s.list()
	if err != nil {
		return 0, err
	}
	return postings - now, s.merge(list, s.work(list, now))
}

// Replace makes d the words of a record that was Put as before and is now as
// after: they differ in Private and Owner at most. Only what differs is
// written. A record that was never Put is Put. The transaction must hold the
// organization's change clock.
//
// From then on nobody finds the record who may not. Where its audience changes
// and it has more words than some hundred, a Mover brings most to their new places:
// until then they find the record for those only who could see it before.
func Replace(ctx context.Context, tx db.Tx, before, after Subject, d *Document) error {
	return usualLayout.replace(ctx, tx, before, after, d)
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
	m := move{after.Created, audiences(after.audience()), is}
	switch {
	case known && row.audience == after.audience(): // all at once, so that whoever made the change finds it
		m.words = union(without(was, is), without(is, was), posting.compare)
		return g.carryOut(m, document{after.audience(), after.ID, now})
	case known:
		m.words = union(was, is, posting.compare)
		m.audiences = union(m.audiences, audiences(row.audience), strings.Compare)
	}
	return g.move(m, document{after.audience(), after.ID, now})
}

// Remove erases everything that the index holds of a record, which nobody finds
// from then on; of more words than some hundred a Mover erases most. The
// transaction must hold the organization's change clock.
func Remove(ctx context.Context, tx db.Tx, s Subject) error {
	return usualLayout.remove(ctx, tx, s)
}

func (l layout) remove(ctx context.Context, tx db.Tx, s Subject) error {
	g := segments{ctx, tx, s.Organization, s.Family, l}
	row, err := g.row(s.Created)
	if err != nil || row.id == "" {
		return err
	}
	tx.Queue(deleteDocument, s.Organization, s.Family, int64(s.Created))
	return g.move(move{s.Created, audiences(row.audience), parse(row.words)}, document{})
}

// without returns the postings of a that are not in b; both are in order.
func without(a, b []posting) []posting {
	var list []posting
	for _, p := range a {
		if _, found := slices.BinarySearchFunc(b, p, posting.compare); !found {
			list = append(list, p)
		}
	}
	return list
}
