package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"kartei/kit/clock"
	"kartei/record/search/packed"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// organizations counts the organizations, so that each run of a property has its own.
var organizations atomic.Int64

// world has an index and its expected content.
type world struct {
	ctx          context.Context
	d            db.DB
	organization int64
	layout       layout
	records      []*record
	created      clock.Micros
	served       clock.Micros // tick of the record of the last move
}

type record struct {
	subject Subject
	doc     *Document
	// before has the record's earlier versions, which may still have postings until a Mover has
	// run.
	before []record
}

// small is a layout that packs two records, merges two segments, and has blocks of a few
// postings. So its merges have many steps.
var small = layout{
	pending: 2, volume: 1 << 20, share: 1, least: 1, limit: 1000, atOnce: 1000, fanout: 2, haste: 100,
	block: 30,
}

func drawLayout(t *rapid.T) layout {
	n := rapid.IntRange(1, 4)
	share := rapid.IntRange(1, 20).Draw(t, "share")
	return layout{
		pending: n.Draw(t, "pending"), volume: 50 * n.Draw(t, "volume"), share: share,
		least: n.Draw(t, "least"), limit: share * n.Draw(t, "most"),
		atOnce: rapid.IntRange(1, 10).Draw(t, "atOnce"), fanout: 1 + n.Draw(t, "fanout"),
		haste: 50 * n.Draw(t, "haste"), block: 20 * n.Draw(t, "block"),
	}
}

func newWorld(d db.DB) *world {
	return &world{ctx: context.Background(), d: d, organization: organizations.Add(1), layout: small, created: 1_000_000}
}

func (w *world) write(t testing.TB, f func(tx db.Tx) error) {
	t.Helper()
	if err := w.d.Write(w.ctx, f); err != nil {
		t.Fatal(err)
	}
}

func (w *world) put(t testing.TB, owner string, private bool, doc *Document) *record {
	t.Helper()
	w.created++
	subject := Subject{
		Organization: w.organization, Family: "contact", ID: fmt.Sprintf("con_%d", w.created),
		Created: w.created, Owner: owner, Private: private,
	}
	r := &record{subject: subject, doc: doc}
	w.write(t, func(tx db.Tx) error { return w.layout.put(w.ctx, tx, r.subject, doc) })
	w.records = append(w.records, r)
	return r
}

func (w *world) replace(t testing.TB, r *record, owner string, private bool, doc *Document) {
	t.Helper()
	after := r.subject
	after.Owner, after.Private = owner, private
	w.write(t, func(tx db.Tx) error { return w.layout.replace(w.ctx, tx, r.subject, after, doc) })
	r.before = append(r.before, record{subject: r.subject, doc: r.doc})
	r.subject, r.doc = after, doc
}

func (w *world) remove(t testing.TB, r *record) {
	t.Helper()
	w.write(t, func(tx db.Tx) error { return w.layout.remove(w.ctx, tx, r.subject) })
	w.records = slices.DeleteFunc(w.records, func(o *record) bool { return o == r })
}

// moveOne carries out one move, and reports whether there was one.
func (w *world) moveOne(t testing.TB) (more bool) {
	t.Helper()
	w.write(t, func(tx db.Tx) (err error) {
		served, err := segments{w.ctx, tx, w.organization, "contact", w.layout}.next(w.served)
		w.served, more = served, served > 0
		return err
	})
	return more
}

// moveAll carries out all moves.
func (w *world) moveAll(t testing.TB) {
	t.Helper()
	for w.moveOne(t) {
	}
	for _, r := range w.records {
		r.before = nil
	}
}

// rows returns the first column of all rows.
func (w *world) rows(t testing.TB, query string) (list []string) {
	t.Helper()
	err := w.d.Read(w.ctx, func(tx db.Tx) (err error) {
		list, err = db.Values[string](w.ctx, tx, query, w.organization)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// checkRows compares the database with the expected content. It checks that the words of every
// record are there, and each packed posting exactly once.
func (w *world) checkRows(t testing.TB) {
	t.Helper()
	end, _ := strconv.ParseInt(w.rows(t, `select cast(coalesce(max(until), 0) as text) from search_segments where organization = $1`)[0], 10, 64)
	var documents, postings []string
	for _, r := range w.records {
		list := r.doc.postings()
		documents = append(documents, fmt.Sprintf("%d %s %s %s", r.subject.Created, r.subject.audience(), r.subject.ID,
			join(list)))
		for _, audience := range Audiences(r.subject.audience()) {
			for _, p := range list {
				if int64(r.subject.Created) <= end {
					postings = append(postings, fmt.Sprintf("%s %d %s %d", audience, p.rank, p.word, r.subject.position()))
				}
			}
		}
	}
	same(t, "documents", documents, w.rows(t,
		`select cast(created as text) || ' ' || audience || ' ' || id || ' ' || words from search_documents where organization = $1`))
	var stored []string
	before, ending := "", packed.Entry{}
	for _, block := range w.rows(t, `select cast(segment as text) || '/' || audience || '/' || cast(rank as text) || '/' || word || '/' || cast(position as text) || '/' || postings
		from search_blocks where organization = $1 order by organization, segment, audience, rank, word, position`) {
		part := strings.SplitN(block, "/", 6)
		list, _, err := packed.Decode(nil, part[5], packed.First(""), "")
		if err != nil {
			t.Fatal(err)
		}
		if last := list[len(list)-1]; part[3] != last.Word || part[4] != fmt.Sprint(last.Position) ||
			!slices.IsSortedFunc(list, packed.Entry.Compare) {
			t.Fatalf("block %s holds %v", block, list)
		}
		if run := strings.Join(part[:3], "/"); run == before && list[0].Compare(ending) <= 0 {
			t.Fatalf("block %s begins before %v, the end of the one before", block, ending)
		} else {
			before, ending = run, list[len(list)-1]
		}
		for _, e := range list {
			stored = append(stored, fmt.Sprintf("%s %s %s %d", part[1], part[2], e.Word, e.Position))
		}
	}
	same(t, "postings", postings, stored)
}

func same(t testing.TB, what string, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Fatalf("the index holds the %s\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// matching returns the ids that a scan over all records finds. sure are the ids that a search
// also finds during moves. The reader could see all versions of these records, and all versions
// match by the same words.
func (w *world) matching(principal string, admin bool, q Query) (ids, sure []string) {
	for _, r := range w.records {
		by := func(v record) (list []posting) {
			if v.subject.Private && !admin && v.subject.Owner != principal {
				return nil
			}
			for _, t := range q.words {
				p, found := t.best(join(v.doc.postings()))
				if !found {
					return nil
				}
				list = append(list, p)
			}
			return list
		}
		found := by(*r)
		if found == nil {
			continue
		}
		ids = append(ids, r.subject.ID)
		if !slices.ContainsFunc(r.before, func(v record) bool { return !slices.Equal(by(v), found) }) {
			sure = append(sure, r.subject.ID)
		}
	}
	slices.Sort(ids)
	slices.Sort(sure)
	return ids, sure
}

// pages returns the hits of all pages. It calls between after each page.
func (w *world) pages(t testing.TB, b bounds, s Scope, q Query, limit int, between func()) []string {
	t.Helper()
	var ids []string
	var from *Position
	for n := 0; ; n++ {
		var hits Hits
		err := w.d.Read(w.ctx, func(tx db.Tx) (err error) {
			hits, err = b.find(w.ctx, tx, s, q, from, limit)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(hits.IDs) > limit || n > 10_000 {
			t.Fatalf("page %d holds %d hits of at most %d", n, len(hits.IDs), limit)
		}
		ids = append(ids, hits.IDs...)
		if !hits.More {
			return ids
		}
		from = &hits.Next
		between()
	}
}

func (w *world) count(t testing.TB, b bounds, s Scope, q Query, limit int) (n int, capped bool) {
	t.Helper()
	err := w.d.Read(w.ctx, func(tx db.Tx) (err error) {
		n, capped, err = b.counted(w.ctx, tx, s, q, limit)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, capped
}

var vocabulary = strings.Fields(`Anna Annabell An Änne Berg Bergmann Berger Müller Mueller Muller Müllerin
	Köln Koeln Kö kanzlei 田中 田 a@b.de anna.berg@kanzlei.de anna 030/12345 0301234567 Straße`)

func drawText(t *rapid.T, label string, words int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, words).Draw(t, label), " ")
}

func drawDocument(t *rapid.T) *Document {
	d := new(Document)
	d.Add(Name, drawText(t, "name", 2))
	d.Add(Detail, drawText(t, "detail", 2))
	d.Add(Note, drawText(t, "note", 3))
	if rapid.IntRange(0, 4).Draw(t, "large") == 0 {
		d.Add(Note, page(rapid.IntRange(1, 60).Draw(t, "words")))
	}
	return d
}

// page returns a text with the given number of different words and the words of the vocabulary.
func page(words int) string {
	text := strings.Join(vocabulary, " ")
	for i := range words {
		text += fmt.Sprint(" wort", i)
	}
	return text
}

func drawQuery(t *rapid.T) Query {
	text := []rune(drawText(t, "q", 3))
	if n := len(text); n > 0 && rapid.Bool().Draw(t, "cut") {
		text = text[:rapid.IntRange(1, n).Draw(t, "length")]
	}
	return Parse(string(text))
}

func drawBounds(t *rapid.T) bounds {
	n := rapid.IntRange(1, 8)
	b := bounds{
		few: n.Draw(t, "few"), rare: n.Draw(t, "rare"), walk: n.Draw(t, "walk"), count: n.Draw(t, "count"),
		step: n.Draw(t, "step"), bytes: 40 * n.Draw(t, "bytes"),
	}
	b.rare += b.few
	return b
}

var principals = []string{"usr_1", "usr_2"}

// TestPagesEqualScan checks that all pages of a query together have the same records as a scan,
// each exactly once. It makes random puts, replacements, moves and removals, and also writes
// between pages.
func TestPagesEqualScan(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		owner := rapid.SampledFrom(principals)
		seed.Check(t, func(rt *rapid.T) {
			w := newWorld(d)
			w.layout = drawLayout(rt)
			for range rapid.IntRange(0, 40).Draw(rt, "changes") {
				who, private, doc := owner.Draw(rt, "owner"), rapid.Bool().Draw(rt, "private"), drawDocument(rt)
				kind := rapid.SampledFrom([]string{"put", "put", "put", "replace", "replace", "remove", "move"}).Draw(rt, "change")
				if kind == "move" {
					w.moveOne(t)
					continue
				}
				if len(w.records) == 0 || kind == "put" {
					w.put(t, who, private, doc)
					continue
				}
				r := rapid.SampledFrom(w.records).Draw(rt, "record")
				if kind == "replace" {
					w.replace(t, r, who, private, doc)
				} else {
					w.remove(t, r)
				}
			}
			searches := func() {
				for range 3 {
					w.search(t, rt)
				}
				w.searchEach(t, rt)
			}
			searches()
			w.moveAll(t)
			w.checkRows(t)
			searches()
		})
	})
}

// search compares a count and the pages of a random query with a scan.
func (w *world) search(t testing.TB, rt *rapid.T) {
	t.Helper()
	q, b := drawQuery(rt), drawBounds(rt)
	admin := rapid.Bool().Draw(rt, "admin")
	principal := rapid.SampledFrom(principals).Draw(rt, "principal")
	s := ScopeFor(w.organization, "contact", principal, admin)
	all, sure := w.matching(principal, admin, q)

	limit := rapid.IntRange(1, 6).Draw(rt, "limit")
	n, capped := w.count(t, b, s, q, limit)
	if n > min(limit, len(all)) || !capped && n < len(sure) || len(sure) > limit && !capped {
		rt.Fatalf("%v: counted %d, capped %v; want %d to %d, at most %d", q, n, capped, len(sure), len(all), limit)
	}

	var late []string
	write := rapid.IntRange(0, 3).Draw(rt, "writes between pages")
	got := w.pages(t, b, s, q, limit, func() {
		if write > 0 {
			write--
			late = append(late, w.put(t, principal, false, drawDocument(rt)).subject.ID)
			w.moveOne(t)
		}
	})
	slices.Sort(got)
	if len(slices.Compact(slices.Clone(got))) != len(got) {
		rt.Fatalf("%v under %+v: %v holds a hit twice", q, b, got)
	}
	lacks := func(list []string) func(id string) bool {
		return func(id string) bool { return !slices.Contains(list, id) }
	}
	got = slices.DeleteFunc(got, func(id string) bool { return slices.Contains(late, id) })
	if slices.ContainsFunc(got, lacks(all)) || slices.ContainsFunc(sure, lacks(got)) {
		rt.Fatalf("%v under %+v: got %v, want all of %v and none but %v", q, b, got, sure, all)
	}
}

// searchEach compares FirstOfEach for several words with First for each word.
func (w *world) searchEach(t testing.TB, rt *rapid.T) {
	t.Helper()
	var queries []Query
	for _, text := range rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 6).Draw(rt, "words") {
		if q := Whole(text); len(q.words) == 1 {
			queries = append(queries, q)
		}
	}
	s := ScopeFor(w.organization, "contact", rapid.SampledFrom(principals).Draw(rt, "principal"),
		rapid.Bool().Draw(rt, "admin"))
	limit := rapid.IntRange(1, 6).Draw(rt, "limit")
	err := w.d.Read(w.ctx, func(tx db.Tx) error {
		all, err := Open(w.ctx, tx, s)
		if err != nil {
			return err
		}
		lists, err := all.FirstOfEach(queries, limit)
		if err != nil {
			return err
		}
		for i, q := range queries {
			one, err := Open(w.ctx, tx, s)
			if err != nil {
				return err
			}
			want, _, err := one.First(q, limit)
			if err != nil {
				return err
			}
			if !slices.Equal(lists[i], want) {
				rt.Errorf("%v, at most %d: found %v with others, %v alone", q, limit, lists[i], want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEnginesAgree checks that both engines return the same hits in the same order.
func TestEnginesAgree(t *testing.T) {
	lite, postgres := dbtest.SQLite(t), dbtest.Postgres(t)
	seed.Check(t, func(rt *rapid.T) {
		a, b := newWorld(lite), newWorld(postgres)
		b.organization = a.organization
		for range rapid.IntRange(1, 20).Draw(rt, "records") {
			doc, private := drawDocument(rt), rapid.Bool().Draw(rt, "private")
			a.put(t, "usr_1", private, doc)
			b.put(t, "usr_1", private, doc)
		}
		for range 3 {
			q, bounds, limit := drawQuery(rt), drawBounds(rt), rapid.IntRange(1, 6).Draw(rt, "limit")
			s := ScopeFor(a.organization, "contact", "usr_1", false)
			x, y := a.pages(t, bounds, s, q, limit, func() {}), b.pages(t, bounds, s, q, limit, func() {})
			if !slices.Equal(x, y) {
				rt.Fatalf("%v under %+v: SQLite finds %v, PostgreSQL %v", q, bounds, x, y)
			}
			n, capped := a.count(t, bounds, s, q, limit)
			if m, also := b.count(t, bounds, s, q, limit); n != m || capped != also {
				rt.Fatalf("%v under %+v: SQLite counts %d %v, PostgreSQL %d %v", q, bounds, n, capped, m, also)
			}
		}
	})
}

func text(name, detail, note string) *Document {
	d := new(Document)
	d.Add(Name, name)
	d.Add(Detail, detail)
	d.Add(Note, note)
	return d
}

func TestOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		names := map[string]string{}
		for _, c := range []struct {
			name    string
			private bool
			doc     *Document
		}{
			{"note", false, text("Karl", "", "kennt Herrn Berg aus Köln")},
			{"old", false, text("Anna Berg", "Köln", "")},
			{"city", false, text("Karl", "Berg", "Köln")},
			{"longer", false, text("Anna Bergmann", "Köln", "")},
			{"private", true, text("Anna Berg", "Köln", "")},
			{"hidden", true, text("Anna Berg", "Köln", "")},
			{"new", false, text("Berg", "Köln", "Anna")},
		} {
			owner := "usr_1"
			if c.name == "hidden" {
				owner = "usr_2"
			}
			names[w.put(t, owner, c.private, c.doc).subject.ID] = c.name
		}
		for _, c := range []struct {
			q, want string
		}{
			{"berg", "new private old longer city note"},
			{"BERG", "new private old longer city note"},
			{"bergm", "longer"},
			{"Anna Berg", "private old longer new"},
			{"köln berg", "new private old longer city note"},
			{"berg köln", "new private old city note"},
			{"berg meier", ""},
			{"***", ""},
			{"", ""},
		} {
			for _, limit := range []int{1, 2, 100} {
				var got []string
				s := ScopeFor(w.organization, "contact", "usr_1", false)
				for _, id := range w.pages(t, defaultBounds, s, Parse(c.q), limit, func() {}) {
					got = append(got, names[id])
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("%q by %d: %v, want %s", c.q, limit, got, c.want)
				}
			}
		}
	})
}

// TestOrderOfOneWord checks that the hits of one word are in the order of the index, with any
// bounds.
func TestOrderOfOneWord(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		r := seed.Rand(t)
		for range 60 {
			var parts [3]string
			for i := range parts {
				parts[i] = vocabulary[r.IntN(len(vocabulary))]
			}
			w.put(t, "usr_1", r.IntN(3) == 0, text(parts[0], parts[1], parts[2]))
		}
		for _, q := range []string{"an", "anna", "m", "be", "berg"} {
			query := Parse(q)
			type candidate struct {
				at
				id string
			}
			var hits []candidate
			for _, r := range w.records {
				if p, found := query.words[0].best(join(r.doc.postings())); found {
					hits = append(hits, candidate{at{p.rank, p.word, r.subject.position()}, r.subject.ID})
				}
			}
			slices.SortFunc(hits, func(a, b candidate) int {
				return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Word, b.Word), cmp.Compare(a.Position, b.Position))
			})
			s := ScopeFor(w.organization, "contact", "usr_1", false)
			got := w.pages(t, bounds{few: 3, rare: 5, walk: 7, count: 7, step: 4, bytes: 1 << 20}, s, query, 5, func() {})
			if !slices.EqualFunc(hits, got, func(h candidate, id string) bool { return h.id == id }) {
				t.Errorf("%q: %v, want %v", q, got, hits)
			}
		}
	})
}

// TestScope checks that a search finds no record of another organization or family, and no
// private record of others.
func TestScope(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		a, b := newWorld(d), newWorld(d)
		a.put(t, "usr_1", false, text("Anna", "", ""))
		mine := a.put(t, "usr_1", true, text("Anna", "", ""))
		b.put(t, "usr_1", false, text("Anna", "", ""))
		for _, c := range []struct {
			scope Scope
			want  int
		}{
			{ScopeFor(a.organization, "contact", "usr_1", false), 2},
			{ScopeFor(a.organization, "contact", "usr_2", false), 1},
			{ScopeFor(a.organization, "contact", "usr_2", true), 2},
			{ScopeFor(a.organization, "company", "usr_1", true), 0},
			{ScopeFor(b.organization, "contact", "usr_1", true), 1},
			{ScopeFor(0, "contact", "usr_1", true), 0},
		} {
			got := a.pages(t, defaultBounds, c.scope, Parse("anna"), 10, func() {})
			n, capped := a.count(t, defaultBounds, c.scope, Parse("anna"), 10)
			if len(got) != c.want || n != c.want || capped {
				t.Errorf("%+v: found %v, counted %d", c.scope, got, n)
			}
		}
		a.replace(t, mine, "usr_2", true, mine.doc)
		for principal, want := range map[string]int{"usr_1": 1, "usr_2": 2} {
			if got := a.pages(t, defaultBounds, ScopeFor(a.organization, "contact", principal, false), Parse("anna"), 10,
				func() {}); len(got) != want {
				t.Errorf("after the owner changed %s finds %v", principal, got)
			}
		}
	})
}

// TestLargeRecordsArePackedByVolume checks that a few large records are packed as soon as their
// words reach the volume. So the work of a search and of a packing transaction is bounded.
func TestLargeRecordsArePackedByVolume(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.layout = layout{
			pending: 100, volume: 10_000, atOnce: 10_000, share: 500, least: 25, limit: 1000, fanout: 4,
			haste: 150, block: 780,
		}
		for i := range 40 {
			w.put(t, "usr_1", false, text("Anna Berg", "", page([]int{1500, 0, 700, 0, 0}[i%5])))
			var waiting int
			for _, size := range w.rows(t, `select cast(octet_length(words) as text) from search_documents where organization = $1
				and created > (select coalesce(max(until), 0) from search_segments where organization = $1)`) {
				n, _ := strconv.Atoi(size)
				waiting += n
			}
			if waiting > 2*w.layout.volume {
				t.Fatalf("after %d records %d bytes of words wait", i+1, waiting)
			}
		}
		w.checkRows(t)
		large := w.records[0]
		w.replace(t, large, "usr_1", false, text("Karl Tal", "", page(1500)))
		w.checkRows(t)
		w.replace(t, large, "usr_1", true, large.doc)
		w.checkRows(t)
		w.remove(t, large)
		w.checkRows(t)
	})
}

// TestMergingAheadOfALargeRecord checks that the merges for a large record happen before its Put,
// in several transactions.
func TestMergingAheadOfALargeRecord(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		l := defaultLayout
		l.haste = 0
		for range 6 {
			w.layout = l
			w.put(t, "usr_1", false, text("Anna", "", page(8000)))
			w.put(t, "usr_1", false, text("Anna", "", page(8000)))
		}
		blocks := func() string {
			return w.rows(t, `select cast(count(*) as text) from search_blocks where organization = $1 and segment in
				(select segment from search_segments where organization = $1 and level > 0)`)[0]
		}
		before, turns := blocks(), 0
		for left := Ahead(text("", "", page(7900)), false); left > 0; turns++ {
			w.write(t, func(tx db.Tx) (err error) {
				left, err = AheadOf(w.ctx, tx, w.organization, "contact", left)
				return err
			})
			if after := blocks(); turns == 0 && after == before {
				t.Error("nothing was merged")
			}
		}
		if turns != 3 { // 6,000 words, 2,000 in each transaction
			t.Errorf("%d turns", turns)
		}
		w.checkRows(t)
		if n := Ahead(text("Anna Berg", "", ""), true); n != 0 {
			t.Errorf("a small record wants the merging for %d words ahead", n)
		}
	})
}

// TestReplaceAndRemoveOfUnknownRecord checks that Replace puts a record that the index does not
// have. Remove accepts such a record.
func TestReplaceAndRemoveOfUnknownRecord(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		r := w.put(t, "usr_1", false, text("Anna", "", ""))
		w.remove(t, r)
		w.checkRows(t)
		w.write(t, func(tx db.Tx) error { return Remove(w.ctx, tx, r.subject) })
		w.replace(t, r, "usr_1", true, text("Anna Berg", "", ""))
		w.records = append(w.records, r)
		w.checkRows(t)
	})
}

func TestCountIsCapped(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		for i := range 12 {
			w.put(t, "usr_1", i%3 == 0, text("Anna Annabell", "Berg", fmt.Sprintf("Akte%d", i)))
		}
		s := ScopeFor(w.organization, "contact", "usr_1", false)
		for _, c := range []struct {
			q      string
			limit  int
			n      int
			capped bool
		}{
			{"berg", 12, 12, false}, {"berg", 11, 11, true}, {"anna", 12, 12, false}, {"anna", 11, 11, true},
			{"berg anna", 12, 12, false}, {"berg anna", 11, 11, true}, {"akte1", 100, 3, false}, {"***", 100, 0, false},
			{"berg akte3", 5, 1, false},
		} {
			if n, capped := w.count(t, defaultBounds, s, Parse(c.q), c.limit); n != c.n || capped != c.capped {
				t.Errorf("%q up to %d: %d, %v; want %d, %v", c.q, c.limit, n, capped, c.n, c.capped)
			}
		}
	})
}

func TestPositionOfAnotherQuery(t *testing.T) {
	w := newWorld(dbtest.SQLite(t))
	err := w.d.Read(w.ctx, func(tx db.Tx) error {
		_, err := Find(w.ctx, tx, ScopeFor(1, "contact", "usr_1", false), Parse("anna"), &Position{Driver: 1}, 5)
		return err
	})
	if err != ErrPosition {
		t.Errorf("got %v", err)
	}
}

// TestSearchWhileSegmentsAreMerged checks that a search reads one snapshot. During puts and
// merges, it finds each earlier record once.
func TestSearchWhileSegmentsAreMerged(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		for range 40 {
			w.put(t, "usr_1", false, text("Anna Berg", "Köln", ""))
		}
		want := len(w.records)
		stop := make(chan struct{})
		ended := make(chan error)
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				s := Subject{
					Organization: w.organization, Family: "contact", ID: fmt.Sprint("late", i),
					Created: clock.Micros(2_000_000 + i),
				}
				if err := d.Write(w.ctx, func(tx db.Tx) error {
					return w.layout.put(w.ctx, tx, s, text("Karl", "", ""))
				}); err != nil {
					ended <- err
					return
				}
			}
		}()
		for range 50 {
			s := ScopeFor(w.organization, "contact", "usr_1", false)
			if n, _ := w.count(t, defaultBounds, s, Parse("berg"), 1000); n != want {
				t.Errorf("counted %d of %d", n, want)
			}
			if got := w.pages(t, defaultBounds, s, Parse("anna berg"), 1000, func() {}); len(got) != want {
				t.Errorf("found %d of %d", len(got), want)
			}
		}
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestManyLongRecords checks a search with more records than one statement reads. The first
// records are short, and the following ones are long.
func TestManyLongRecords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		for i := range documentsAtOnce + 30 {
			w.put(t, "usr_1", false, text("Anna Berg", "", page([]int{1, 2000}[i/documentsAtOnce])))
		}
		s, q := ScopeFor(w.organization, "contact", "usr_1", false), Parse("berg anna")
		want, _ := w.matching("usr_1", false, q)
		for _, limit := range []int{1000, 100} {
			got := w.pages(t, defaultBounds, s, q, limit, func() {})
			slices.Sort(got)
			same(t, fmt.Sprint("pages of ", limit), want, got)
		}
	})
}

// TestLongPrivateRecordsAreMerged checks that long private records with distinct words do not
// leave many segments unmerged. Such a record has two postings for each word, and no two records
// have a word in common.
func TestLongPrivateRecordsAreMerged(t *testing.T) {
	w := newWorld(dbtest.SQLite(t))
	w.layout = defaultLayout
	for i := range 48 {
		d := new(Document)
		for word := range 6000 {
			d.add(Note, fmt.Sprintf("w%dx%d", i, word))
		}
		for left := Ahead(d, true); left > 0; {
			w.write(t, func(tx db.Tx) (err error) {
				left, err = AheadOf(w.ctx, tx, w.organization, "contact", left)
				return err
			})
		}
		w.put(t, "usr_1", true, d)
	}
	if list := w.rows(t, `select cast(segment as text) from search_segments where organization = $1`); len(list) > 12 {
		t.Errorf("%d segments of 48 records", len(list))
	}
	w.checkRows(t)
}
