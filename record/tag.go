package record

import (
	"fmt"
	"slices"

	"kartei/app"
	"kartei/store/db"
)

// Table tags has a row for each tag of each record, with what lists are ordered
// by. So the records with a tag are one range of an index, as all others.
const (
	insertTags = `insert into tags (organization, record_id, tag, family, audience, tick, sort_key)
		select cast($1 as bigint), cast($2 as text), value, cast($3 as text), cast($4 as text), cast($5 as bigint), cast($6 as text) from %s`
	moveTags   = `update tags set audience = $3, tick = $4, sort_key = $5 where organization = $1 and record_id = $2`
	deleteTags = `delete from tags where organization = $1 and record_id = $2`
)

// foldedTags returns the values of a record's tags in table tags.
func foldedTags(tags []string) []string {
	list := make([]string, 0, len(tags))
	for _, t := range tags {
		if t = folded(t); t != "" {
			list = append(list, t)
		}
	}
	return Unique(list)
}

// tag writes the rows of a new record's tags.
func (k *Collection[T, F, P]) tag(c *app.Call, r *row, f P) {
	if values := foldedTags(f.Shared().Tags); len(values) > 0 {
		c.Tx.Queue(fmt.Sprintf(insertTags, fmt.Sprintf(c.Tx.Dialect().TextList, "$7")),
			c.Actor.Org(), r.id, k.Plural, r.audience, r.updated, k.sortKey(r.id, f), db.Texts(values))
	}
}

// retag brings the rows of a record's tags to its next revision.
func (k *Collection[T, F, P]) retag(c *app.Call, next *row, before, after P) {
	was, is := foldedTags(before.Shared().Tags), foldedTags(after.Shared().Tags)
	switch {
	case len(was) == 0:
		k.tag(c, next, after)
	case slices.Equal(was, is):
		c.Tx.Queue(moveTags, c.Actor.Org(), next.id, next.audience, next.updated, k.sortKey(next.id, after))
	default:
		untag(c.Tx, c.Actor.Org(), next.id)
		k.tag(c, next, after)
	}
}

// untag deletes the rows of a record's tags.
func untag(tx db.Tx, organization int64, name string) { tx.Queue(deleteTags, organization, name) }
