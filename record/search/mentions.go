package search

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"kartei/store/db"
)

// MentionQuery has words of which a record has at least some.
type MentionQuery struct {
	// Words are the words, at most 16, each in all spellings that count. The first spelling is the
	// word itself.
	Words [][]string
	// Enough reports whether a record with some of the words is a result. counts has the number of records
	// that have each word.
	Enough func(m Mention, counts []int) bool
	// Limit is the maximum number of results.
	Limit int
}

// Mention is a record that has some of the words. Bit i of each mask is about word i.
type Mention struct {
	// ID is the id of the record.
	ID string
	// Has says which words the record has in any spelling, Exact which it has as they are, and Named which
	// it has in its name.
	Has, Exact, Named uint16
	position          int64
}

// Mentions are the records that have some of the words of a MentionQuery.
type Mentions struct {
	// List has first the records with the most words, and of these the newest.
	List []Mention
	// More says that there are more records, or that there may be.
	More bool
}

// maxPostings is the maximum number of postings that Mentions reads for each spelling. A word has that many in
// an office with some millions of records.
const maxPostings = 100_000

// maxMentions is the maximum number of postings that one call of Mentions reads, about 100 MB. Ten names with a
// city have some hundred thousand in an office with a million contacts.
const maxMentions = 2_000_000

// Mentions returns the records that have enough words, for each of several lists of words. Unlike a Query, a
// record need not have every word. The records of common words are compared by their positions, so only
// results are read.
func (r *Reader) Mentions(list []MentionQuery) ([]Mentions, error) {
	all := map[string]bool{}
	for _, q := range list {
		for _, spellings := range q.Words {
			for _, word := range spellings {
				all[word] = true
			}
		}
	}
	opened, err := r.x.postingsOf(slices.Sorted(maps.Keys(all)))
	if err != nil {
		return nil, err
	}
	m := mentions{r.x, opened, map[string]occurrences{}, maxMentions}
	out := make([]Mentions, len(list))
	for i, q := range list {
		if out[i], err = m.find(q); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mentions is the state of one call of Mentions.
type mentions struct {
	*index
	opened map[term]*postings
	// words has the occurrences of words that were read already.
	words map[string]occurrences
	// left is the number of postings that may still be read.
	left int
}

// occurrences are the records that have a word in any spelling, in the order of their positions.
type occurrences struct {
	list []occurrence
	// cut says that there may be more.
	cut bool
}

// occurrence is a record that has a word.
type occurrence struct {
	position     int64
	exact, named bool
}

// occurrences returns the records that have a word in one of its spellings.
func (m *mentions) occurrences(spellings []string) (occurrences, error) {
	if known, is := m.words[spellings[0]]; is {
		return known, nil
	}
	var o occurrences
	for i, word := range spellings {
		p := m.opened[term{text: word}]
		most := max(0, min(maxPostings, m.left))
		n, err := p.load(most)
		if err != nil {
			return o, err
		}
		o.cut = o.cut || n == most
		m.left -= n
		for _, c := range p.runs {
			for _, e := range c.list {
				o.list = append(o.list, occurrence{e.Position, i == 0, c.rank == Name})
			}
		}
	}
	slices.SortFunc(o.list, func(a, b occurrence) int { return cmp.Compare(a.position, b.position) })
	o.list = mergeOccurrences(o.list)
	m.words[spellings[0]] = o
	return o, nil
}

// mergeOccurrences leaves one occurrence for each record.
func mergeOccurrences(list []occurrence) []occurrence {
	merged := list[:0]
	for _, o := range list {
		if n := len(merged); n > 0 && merged[n-1].position == o.position {
			merged[n-1].exact = merged[n-1].exact || o.exact
			merged[n-1].named = merged[n-1].named || o.named
			continue
		}
		merged = append(merged, o)
	}
	return merged
}

// find returns the records that have enough words of one list.
func (m *mentions) find(q MentionQuery) (out Mentions, err error) {
	lists, counts := make([][]occurrence, len(q.Words)), make([]int, len(q.Words))
	for i, spellings := range q.Words {
		o, err := m.occurrences(spellings)
		if err != nil {
			return out, err
		}
		lists[i], counts[i], out.More = o.list, len(o.list), out.More || o.cut
	}
	for {
		one, any := nextMention(lists)
		if !any {
			break
		}
		if q.Enough(one, counts) {
			out.List = append(out.List, one)
		}
	}
	slices.SortStableFunc(out.List, Mention.compare)
	if len(out.List) > q.Limit {
		out.List, out.More = out.List[:q.Limit], true
	}
	out.List, err = m.named(out.List)
	return out, err
}

// nextMention takes the record with the lowest position from lists in the order of positions.
func nextMention(lists [][]occurrence) (m Mention, found bool) {
	for _, list := range lists {
		if len(list) > 0 && (!found || list[0].position < m.position) {
			m.position, found = list[0].position, true
		}
	}
	for i, list := range lists {
		if len(list) == 0 || list[0].position != m.position {
			continue
		}
		bit := uint16(1) << i
		m.Has |= bit
		if list[0].exact {
			m.Exact |= bit
		}
		if list[0].named {
			m.Named |= bit
		}
		lists[i] = list[1:]
	}
	return m, found
}

// compare puts the record with the most words first, then the one with the most exact words, then the one
// with the most words in its name, and then the newest.
func (m Mention) compare(o Mention) int {
	return cmp.Or(
		cmp.Compare(bits.OnesCount16(o.Has), bits.OnesCount16(m.Has)),
		cmp.Compare(bits.OnesCount16(o.Exact), bits.OnesCount16(m.Exact)),
		cmp.Compare(bits.OnesCount16(o.Named), bits.OnesCount16(m.Named)),
		cmp.Compare(m.position, o.position),
	)
}

// named sets the ids of records. It leaves out those that were deleted and whose postings were not yet.
func (m *mentions) named(list []Mention) ([]Mention, error) {
	ids := map[int64]string{}
	var old []string
	for _, one := range list {
		if d, known := m.newest[one.position]; known {
			ids[one.position] = d.id
		} else {
			old = append(old, fmt.Sprint(-one.position))
		}
	}
	if len(old) > 0 {
		_, err := db.List(m.ctx, m.tx, func(row db.Row) (none struct{}, err error) {
			var created int64
			var id *string
			err = row.Scan(&created, &id)
			if id != nil {
				ids[-created] = *id
			}
			return none, err
		}, fmt.Sprintf(selectIDs, fmt.Sprintf(m.tx.Dialect().TextList, "$3")), m.scope.Organization, m.scope.Family,
			db.Texts(old))
		if err != nil {
			return nil, err
		}
	}
	for i := range list {
		list[i].ID = ids[list[i].position]
	}
	return slices.DeleteFunc(list, func(one Mention) bool { return one.ID == "" }), nil
}

// selectIDs is like selectDocuments, without the words.
const selectIDs = `select cast(l.value as bigint), (select d.id from search_documents d
	where d.organization = $1 and d.family = $2 and d.created = cast(l.value as bigint)) from %s l`

// Words returns the words of a text, folded and in their order. An email address is one word that begins with
// an additional '@'.
func Words(text string) (words []string) {
	queryWords(fold(scheme.ReplaceAllString(text, " ")), func(word string, _ bool, _ Span) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	})
	return words
}

// MarkerFor returns the marker for whole words, which must be folded.
func MarkerFor(words []string) Marker {
	var m Marker
	for _, word := range words {
		m.words = append(m.words, term{text: word})
	}
	return m
}

// Has reports whether the record has a word, which must be folded.
func (d *Document) Has(word string) bool {
	_, has := d.words[word]
	return has
}
