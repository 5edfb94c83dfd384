package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kartei/record/search/mask"
	"kartei/store/db"
)

// MentionQuery has words of which a record has at least some.
type MentionQuery struct {
	// Words are the words, at most mask.MaxWords, each in all spellings that count. The first spelling is the
	// word itself.
	Words [][]string
	// Key is the index of a word that each result has, or -1.
	Key int
	// Enough reports whether a record with some of the words is a result. counts has the number of records
	// that have each word.
	Enough func(m Mention, counts []int) bool
	// Limit is the maximum number of results.
	Limit int
}

// Mention is a record that has some of the words.
type Mention struct {
	// ID is the id of the record.
	ID string
	mask.Mask
	position int64
}

// Mentions are the records that have some of the words of a MentionQuery.
type Mentions struct {
	// List has first the records with the most words, and of these the newest.
	List []Mention
	// More says that there are more records, or that there may be.
	More bool
	// Counts has the number of records that have each word. It is nil if none has the key.
	Counts []int
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
	m := mentions{r.x, map[term]*postings{}, map[string]occurrences{}, maxMentions}
	if err := m.open(list); err != nil {
		return nil, err
	}
	out := make([]Mentions, len(list))
	for i, q := range list {
		var err error
		if out[i], err = m.find(q); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// open reads the first postings of all words. If no record has the key of a query, its other words are not read.
func (m *mentions) open(list []MentionQuery) error {
	words := map[string]bool{}
	add := func(spellings []string) {
		for _, word := range spellings {
			if m.opened[term{text: word}] == nil {
				words[word] = true
			}
		}
	}
	for _, q := range list {
		if q.Key >= 0 {
			add(q.Words[q.Key])
		}
	}
	if err := m.read(words); err != nil {
		return err
	}
	clear(words)
	for _, q := range list {
		if q.Key < 0 || m.has(q.Words[q.Key]) {
			for _, spellings := range q.Words {
				add(spellings)
			}
		}
	}
	return m.read(words)
}

// read reads the first postings of words.
func (m *mentions) read(words map[string]bool) error {
	opened, err := m.postingsOf(slices.Sorted(maps.Keys(words)))
	maps.Copy(m.opened, opened)
	return err
}

// has reports whether a record may have a word in one of its spellings. Their first postings must have been read.
func (m *mentions) has(spellings []string) bool {
	return slices.ContainsFunc(spellings, func(word string) bool {
		p := m.opened[term{text: word}]
		return p.read > 0 || slices.ContainsFunc(p.runs, func(c *cursor) bool { return !c.ended })
	})
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
	list []mask.Occurrence
	// cut says that there may be more.
	cut bool
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
		o.list = slices.Grow(o.list, p.read)
		for _, c := range p.runs {
			var has mask.Occurrence
			if i == 0 {
				has |= mask.Exact
			}
			if c.rank == Name {
				has |= mask.Named
			}
			for _, e := range c.list {
				o.list = append(o.list, mask.At(e.Position, has))
			}
		}
	}
	o.list = mask.Merge(o.list)
	m.words[spellings[0]] = o
	return o, nil
}

// find returns the records that have enough words of one list.
func (m *mentions) find(q MentionQuery) (out Mentions, err error) {
	if q.Key >= 0 && !m.has(q.Words[q.Key]) {
		return out, nil
	}
	lists, counts := make([][]mask.Occurrence, len(q.Words)), make([]int, len(q.Words))
	for i, spellings := range q.Words {
		o, err := m.occurrences(spellings)
		if err != nil {
			return out, err
		}
		lists[i], counts[i], out.More = o.list, len(o.list), out.More || o.cut
	}
	out.Counts = counts
	for {
		position, has, any := mask.Next(lists)
		if !any {
			break
		}
		if one := (Mention{"", has, position}); (q.Key < 0 || has.Has>>q.Key&1 == 1) && q.Enough(one, counts) {
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

// compare puts the record with the most words first: see mask.Mask. Of equal records, the newest is first.
func (m Mention) compare(o Mention) int {
	return cmp.Or(m.Mask.Compare(o.Mask), cmp.Compare(m.position, o.position))
}

// named sets the ids of records. It leaves out those that were deleted and whose postings were not yet.
func (m *mentions) named(list []Mention) ([]Mention, error) {
	ids, old := map[int64]string{}, []string{}
	for _, one := range list {
		if d, known := m.newest[one.position]; known {
			ids[one.position] = d.id
			continue
		}
		old = append(old, strconv.FormatInt(-one.position, 10))
	}
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
	for i := range list {
		list[i].ID = ids[list[i].position]
	}
	return slices.DeleteFunc(list, func(one Mention) bool { return one.ID == "" }), err
}

// selectIDs is like selectDocuments, without the words.
const selectIDs = `select cast(l.value as bigint), (select d.id from search_documents d
	where d.organization = $1 and d.family = $2 and d.created = cast(l.value as bigint)) from %s l`
