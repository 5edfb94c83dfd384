package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode"

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

const (
	// firstTag finds the first tag of shared records in a range, and its oldest record.
	firstTag = `select tag, record_id from tags where organization = $1 and family = $2 and audience = '' and tag >= $3 and tag < $4 order by tag, tick limit 1`
	// mostTags bounds the tags in one answer.
	mostTags = 8
)

// UsedTags returns the first tags that begin with a text, as somebody spelled them.
// Only tags of records that everyone sees count, so each is found in one step.
func (k *Collection[T, F, P]) UsedTags(ctx context.Context, c *app.Call, prefix string) ([]string, error) {
	from := folded(Clean(prefix))
	end := from + string(unicode.MaxRune)
	tags, spelled := []string{}, []string{}
	for len(tags) < mostTags {
		var tag, name string
		err := c.Tx.QueryRow(ctx, firstTag, c.Actor.Org(), k.Plural, from, end).Scan(&tag, &name)
		if errors.Is(err, db.ErrNoRows) {
			break
		}
		if err != nil {
			return nil, err
		}
		tags, spelled, from = append(tags, tag), append(spelled, name), tag+"\x01"
	}
	seen, err := k.Look(ctx, c, Unique(spelled))
	for i, tag := range tags {
		for _, s := range seen {
			if at := slices.IndexFunc(s.Members.Shared().Tags, func(t string) bool { return folded(t) == tag }); at >= 0 && s.ID == spelled[i] {
				tags[i] = s.Members.Shared().Tags[at]
			}
		}
	}
	return tags, err
}
