package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kartei/clock"
	"kartei/db"
)

// Subject is the record that a document belongs to.
type Subject struct {
	Organization int64
	// Family is the record's kind, for example contact. It is part of every
	// posting, so it is short.
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

// audiences returns under whom the record's postings stand. Every reader reads
// two audiences of which a record is in at most one.
func (s Subject) audiences() []string {
	if s.Private {
		return []string{s.Owner, admins}
	}
	return []string{everyone}
}

const (
	insertDocument = `insert into search_documents (organization, family, position, id, words) values ($1, $2, $3, $4, $5)`
	updateDocument = `update search_documents set words = $4 where organization = $1 and family = $2 and position = $3`
	deleteDocument = `delete from search_documents where organization = $1 and family = $2 and position = $3`
	selectDocument = `select words from search_documents where organization = $1 and family = $2 and position = $3`
	deletePosting  = `delete from search_postings where organization = $1 and family = $2 and audience = $3 and rank = $4 and word = $5 and position = $6`
)

// insertPostings holds statements that insert 8, 4, 2 and 1 postings of a
// record: few texts, so that each stays prepared, and few statements, each of
// which PostgreSQL answers.
var insertPostings = func() (list []insertion) {
	for n := 8; n > 0; n /= 2 {
		var b strings.Builder
		b.WriteString(`insert into search_postings (organization, family, audience, position, rank, word) values `)
		for i := range n {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "($1, $2, $3, $4, $%d, $%d)", 5+2*i, 6+2*i)
		}
		list = append(list, insertion{n, b.String()})
	}
	return list
}()

type insertion struct {
	postings  int
	statement string
}

// Put indexes a record for the first time.
func Put(ctx context.Context, tx db.Tx, s Subject, d *Document) error {
	list := d.postings()
	tx.Queue(insertDocument, s.Organization, s.Family, s.position(), s.ID, join(list))
	for _, audience := range s.audiences() {
		insert(tx, s, audience, list)
	}
	return nil
}

// Replace makes d the words of a record that was Put as before and is now as
// after: they differ in Private and Owner at most. Only what differs is
// written. A record that was never Put is Put.
func Replace(ctx context.Context, tx db.Tx, before, after Subject, d *Document) error {
	words, err := wordsOf(ctx, tx, before)
	if errors.Is(err, db.ErrNoRows) {
		return Put(ctx, tx, after, d)
	}
	if err != nil {
		return err
	}
	was, is := parse(words), d.postings()
	for _, audience := range before.audiences() {
		if slices.Contains(after.audiences(), audience) {
			remove(tx, before, audience, without(was, is))
		} else {
			remove(tx, before, audience, was)
		}
	}
	for _, audience := range after.audiences() {
		if slices.Contains(before.audiences(), audience) {
			insert(tx, after, audience, without(is, was))
		} else {
			insert(tx, after, audience, is)
		}
	}
	if now := join(is); now != words {
		tx.Queue(updateDocument, after.Organization, after.Family, after.position(), now)
	}
	return nil
}

// Remove erases everything that the index holds of a record.
func Remove(ctx context.Context, tx db.Tx, s Subject) error {
	words, err := wordsOf(ctx, tx, s)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, audience := range s.audiences() {
		remove(tx, s, audience, parse(words))
	}
	tx.Queue(deleteDocument, s.Organization, s.Family, s.position())
	return nil
}

func wordsOf(ctx context.Context, tx db.Tx, s Subject) (words string, err error) {
	err = tx.QueryRow(ctx, selectDocument, s.Organization, s.Family, s.position()).Scan(&words)
	return words, err
}

func insert(tx db.Tx, s Subject, audience string, list []posting) {
	for _, in := range insertPostings {
		for len(list) >= in.postings {
			args := make([]any, 0, 4+2*in.postings)
			args = append(args, s.Organization, s.Family, audience, s.position())
			for _, p := range list[:in.postings] {
				args = append(args, int64(p.rank), p.word)
			}
			tx.Queue(in.statement, args...)
			list = list[in.postings:]
		}
	}
}

func remove(tx db.Tx, s Subject, audience string, list []posting) {
	for _, p := range list {
		tx.Queue(deletePosting, s.Organization, s.Family, audience, int64(p.rank), p.word, s.position())
	}
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
