package record

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record/search"
	"kartei/store/db"
)

// tagStatements has the statements on tags or sorted_tags. These tables have a row for each tag
// of each record and each of its readers, in the order of lists. So the records with a tag are
// one range, as in all other lists. A row has no record id. It is found by the tick or the sort
// key of the record. The old members of the record tell which rows a change deletes.
//
// The table tags also has the values of lists by which a family's filters find records: see
// filter.also. Their family has the name of the column too, for example contacts.email. They have
// no rows in sorted_tags, because few records share such a value.
//
// The statements have the same arguments: organization, family, reader, tags, and the tick or the
// sort key. The statement move also has the next tick or sort key.
type tagStatements struct{ insert, move, remove string }

// byTick has the statements on tags, and bySortKey the statements on sorted_tags.
var byTick, bySortKey = tagStatementsFor("tags", "tick", "bigint"), tagStatementsFor("sorted_tags", "sort_key", "text")

func tagStatementsFor(table, order, kind string) map[*db.Dialect]tagStatements {
	all := map[*db.Dialect]tagStatements{}
	for _, d := range db.Dialects() {
		fill := strings.NewReplacer("{table}", table, "{order}", order, "{kind}", kind, "{list}",
			fmt.Sprintf(d.TextList, "$4"), "{in}", d.In("$4")).Replace
		all[d] = tagStatements{
			insert: fill(`insert into {table} (organization, family, reader, tag, {order})
				select cast($1 as bigint), cast($2 as text), cast($3 as text), value, cast($5 as {kind}) from {list}`),
			move:   fill(`update {table} set {order} = $6 where organization = $1 and family = $2 and reader = $3 and tag {in} and {order} = $5`),
			remove: fill(`delete from {table} where organization = $1 and family = $2 and reader = $3 and tag {in} and {order} = $5`),
		}
	}
	return all
}

// tagRows describes the rows of one record in tags and sorted_tags.
type tagRows struct {
	tags     []string // folded
	listed   []listedValues
	audience string
	tick     clock.Micros
	// sortKeys are the sort keys in all orders. A key is nil if there are no rows in sorted_tags. A record
	// without tags has no keys.
	sortKeys []any
}

// listedValues are the values of a list in a record, and the family of their rows.
type listedValues struct {
	family string
	values []string
}

func (l listedValues) equal(other listedValues) bool {
	return l.family == other.family && slices.Equal(l.values, other.values)
}

// tagRows returns the rows for the tags and the listed values of a record.
func (k *Collection[T, F, P]) tagRows(r *row, f P) tagRows {
	var all []listedValues
	for i := range k.filters {
		if x := &k.filters[i]; x.also != nil {
			if values := x.listed(reflect.ValueOf(f).Elem()); len(values) > 0 {
				all = append(all, listedValues{x.listedIn(k.Plural), values})
			}
		}
	}
	rows := tagRows{foldedTags(f.Shared().Tags), all, r.audience, r.updated, nil}
	if len(rows.tags) > 0 {
		rows.sortKeys = k.sortKeys(r.id, f)
	}
	return rows
}

// foldedTags returns the tags in the form in which rows store them, without duplicates.
func foldedTags(tags []string) []string {
	list := make([]string, 0, len(tags))
	for _, t := range tags {
		if t = folded(t); t != "" {
			list = append(list, t)
		}
	}
	return Unique(list)
}

// alike reports whether t and other are equal, apart from their tick and sort keys.
func (t tagRows) alike(other tagRows) bool {
	return slices.Equal(t.tags, other.tags) && t.audience == other.audience &&
		slices.EqualFunc(t.listed, other.listed, listedValues.equal)
}

// queue queues a statement on rows of a record with the given family and values, once for each
// reader. The readers are the same as in the search index. order is the tick or the sort key. For
// the statement move, more has the next tick or sort key.
func (t *tagRows) queue(c *op.Call, statement, family string, values []string, order any, more ...any) {
	if len(values) == 0 || order == nil {
		return
	}
	texts := db.Texts(values)
	for _, reader := range search.Audiences(t.audience) {
		c.Tx.Queue(statement, append([]any{c.Actor.Org(), family, reader, texts, order}, more...)...)
	}
}

// queueByTick queues a statement on the rows of a record in tags. more is as in queue.
func (k *Collection[T, F, P]) queueByTick(c *op.Call, statement string, t tagRows, more ...any) {
	t.queue(c, statement, k.Plural, t.tags, t.tick, more...)
	for _, l := range t.listed {
		t.queue(c, statement, l.family, l.values, t.tick, more...)
	}
}

// queueBySortKey queues a statement on the rows of a record in sorted_tags that have the keys of an
// order. more is as in queue.
func (k *Collection[T, F, P]) queueBySortKey(c *op.Call, statement string, order int, t tagRows, more ...any) {
	t.queue(c, statement, k.orders[order].tagged, t.tags, t.sortKeys[order], more...)
}

// tag inserts the rows of a record's tags and listed values.
func (k *Collection[T, F, P]) tag(c *op.Call, t tagRows) {
	k.queueByTick(c, byTick[c.Tx.Dialect()].insert, t)
	for i := range t.sortKeys {
		k.queueBySortKey(c, bySortKey[c.Tx.Dialect()].insert, i, t)
	}
}

// untag deletes the rows of a record's tags and listed values.
func (k *Collection[T, F, P]) untag(c *op.Call, t tagRows) {
	k.queueByTick(c, byTick[c.Tx.Dialect()].remove, t)
	for i := range t.sortKeys {
		k.queueBySortKey(c, bySortKey[c.Tx.Dialect()].remove, i, t)
	}
}

// retag replaces the rows of a record by the rows of its next revision. moves says that this release
// made the rows. Another release may know no listed values, and leave their rows behind. Most changes do
// not change the rows in sorted_tags.
func (k *Collection[T, F, P]) retag(c *op.Call, was, is tagRows, moves bool) {
	if !moves || !was.alike(is) {
		k.untag(c, was)
		k.tag(c, is)
		return
	}
	k.queueByTick(c, byTick[c.Tx.Dialect()].move, was, is.tick)
	keys := bySortKey[c.Tx.Dialect()]
	for i := range was.sortKeys {
		switch before, after := was.sortKeys[i], is.sortKeys[i]; {
		case before == after:
		case before != nil && after != nil:
			k.queueBySortKey(c, keys.move, i, was, after)
		default:
			k.queueBySortKey(c, keys.remove, i, was)
			k.queueBySortKey(c, keys.insert, i, is)
		}
	}
}

const (
	// firstTag selects the first tag of shared records in a range. It also selects the record
	// with this tag that changed first.
	firstTag = `select tag, (select id from {table} as t where t.organization = $1 and t.audience = '' and t.deleted = false and t.updated_at = g.tick)
		from tags as g where organization = $1 and family = $2 and reader = '' and tag >= $3 and tag < $4 order by tag, tick limit 1`
	// maxTags is the maximum number of tags that UsedTags returns.
	maxTags = 8
)

// UsedTags returns the first maxTags tags that begin with prefix, each with the spelling of one of
// its records. It uses only tags of records that everyone sees, which are one range of the table.
// So each query finds the next tag.
func (k *Collection[T, F, P]) UsedTags(ctx context.Context, c *op.Call, prefix string) ([]string, error) {
	from := folded(Clean(prefix))
	end := from + string(unicode.MaxRune)
	tags, spelled := []string{}, []string{}
	statement := strings.ReplaceAll(firstTag, "{table}", k.Plural)
	for len(tags) < maxTags {
		var tag, name string
		err := c.Tx.QueryRow(ctx, statement, c.Actor.Org(), k.Plural, from, end).Scan(&tag, &name)
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
			if at := slices.IndexFunc(s.Members.Shared().Tags, func(t string) bool { return folded(t) == tag }); at >= 0 &&
				s.ID == spelled[i] {
				tags[i] = s.Members.Shared().Tags[at]
			}
		}
	}
	return tags, err
}
