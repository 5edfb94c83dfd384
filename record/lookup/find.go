package lookup

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record/document"
	"kartei/record/search"
)

const (
	// defaultHits is the maximum number of hits of each family if the input has no limit. maxHits
	// is the highest limit in the input.
	defaultHits = 5
	maxHits     = 50
	// maxText is the maximum length of a search text in characters. Lists have
	// the same limit for q.
	maxText = 200
)

// FindInput is the input of Find.
type FindInput struct {
	// Q is the search text: words, a telephone number, an email address, or an id. A letter and a
	// colon at its beginning restrict the search to one family: k or c, f or o, a or t, d.
	Q string `json:"q"`
	// Limit is the maximum number of hits of each family, from 1 to 50. Zero means 5.
	Limit int `json:"limit,omitempty"`
	// Counts requests the number of hits of each family, which takes longer.
	Counts bool `json:"counts,omitempty"`
}

// FindOutput is the output of Find.
type FindOutput struct {
	// Q is the search text without the letter for a family. Family is the plural of the family,
	// or empty for all families.
	Q      string `json:"q"`
	Family string `json:"family,omitempty"`
	// Best is the id of the hit to open: an exact hit, or else the first hit. It is empty if
	// there is no hit.
	Best string `json:"best,omitempty"`
	// Groups are the families with hits. Families with exact hits come first.
	Groups []Group `json:"groups"`
	// Thing has the id in the search text, if the id does not belong to a record.
	Thing *Thing `json:"thing,omitempty"`
}

// Group has the hits of one family. Exact hits come first, then records that the caller opened
// recently, then the others in the order of the index.
type Group struct {
	Family string `json:"family"`
	Hits   []Hit  `json:"hits"`
	// More says that there are more hits, or that there may be.
	More  bool   `json:"more"`
	Count *Count `json:"count,omitempty"`
}

// Count is the number of hits. Capped says that there are more hits, or that there may be.
type Count struct {
	Count  int  `json:"count"`
	Capped bool `json:"capped"`
}

// Records returns the number of records that count towards the outflow limit. The hits that
// appear while a user types count as one record.
func (f FindOutput) Records() int {
	n := 0
	for _, g := range f.Groups {
		if len(g.Hits) > defaultHits {
			n += len(g.Hits)
		}
	}
	return max(1, n)
}

// prepare writes pending entries of the request log if the text has a Request-Id. So Find also
// finds a very recent call. It needs no transaction.
func prepare(ctx context.Context, c *op.Call, in FindInput) (struct{}, error) {
	if strings.HasPrefix(idIn(in.Q), id.Request) {
		return requestlog.FlushFirst(ctx, c, in)
	}
	return struct{}{}, nil
}

// Find searches all families that the caller may read. It returns only records that the caller
// sees.
var Find = op.NewPrefetched("lookup.find", op.Read, prepare, find, op.By(op.Member))

func find(ctx context.Context, c *op.Call, in FindInput, _ struct{}) (FindOutput, error) {
	limit, err := in.check()
	if err != nil {
		return FindOutput{}, err
	}
	out := FindOutput{Groups: []Group{}}
	out.Q, out.Family = narrow(in.Q)
	if name := idIn(out.Q); name != "" {
		return out, out.byID(ctx, c, name)
	}
	f := finder{Call: c, q: out.Q, readings: search.Readings(out.Q), limit: limit, counts: in.Counts}
	if f.readings[0].Empty() && len(f.readings) == 1 {
		return out, nil
	}
	opened, err := readOpenings(ctx, c.Tx, c.Actor.Org(), c.Actor.PrincipalID())
	if err != nil {
		return FindOutput{}, err
	}
	f.opened = opened.records
	for _, family := range allowed(c) {
		if out.Family != "" && out.Family != family.Plural {
			continue
		}
		if err := f.family(ctx, family); err != nil {
			return FindOutput{}, err
		}
	}
	if len(f.groups) == 0 {
		if err := f.trunks(ctx, out.Family); err != nil {
			return FindOutput{}, err
		}
	}
	return out, f.finish(ctx, &out)
}

// trunks adds records whose main telephone number belongs to the searched extension.
func (f *finder) trunks(ctx context.Context, only string) error {
	if !search.IsNumber(f.q) {
		return nil
	}
	f.readings = search.Trunks(f.q)
	for _, family := range allowed(f.Call) {
		if only != "" && only != family.Plural {
			continue
		}
		r, err := family.searcher(ctx, f.Call)
		if err != nil {
			return err
		}
		var names []string
		for _, q := range f.readings {
			if names, _, err = r.First(q, f.limit); err != nil {
				return err
			}
			if len(names) > 0 {
				break
			}
		}
		drafts, err := family.look(ctx, f.Call, names)
		if err != nil {
			return err
		}
		g := group{Group: Group{Family: family.Plural}}
		for _, d := range drafts {
			if d.Near = d.isExact(f.q, f.readings); d.Near {
				g.drafts = append(g.drafts, d)
			}
		}
		if len(g.drafts) > 0 {
			f.groups = append(f.groups, g)
		}
	}
	return nil
}

// check returns the limit of the input, and a fault if the input is not valid.
func (in *FindInput) check() (limit int, err error) {
	var wrong []fault.Field
	if utf8.RuneCountInString(in.Q) > maxText {
		wrong = append(wrong, fault.Field{Name: "q", Code: fault.TooLong, Limit: maxText})
	}
	if in.Limit < 0 || in.Limit > maxHits {
		wrong = append(wrong, fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: maxHits}})
	}
	if wrong != nil {
		return 0, fault.Invalid(wrong...)
	}
	return cmp.Or(in.Limit, defaultHits), nil
}

// letters are the letters that restrict a search to a family. They are the initials of the German
// and the English words.
var letters = map[string]string{
	"k": "contacts", "c": "contacts", "f": "companies", "o": "companies",
	"a": "tasks", "t": "tasks", "d": "documents",
}

// narrow splits a search text into the text without the letter for a family, and the family.
// Without such a letter, the family is empty.
func narrow(q string) (text, family string) {
	q = strings.TrimSpace(q)
	letter, rest, _ := strings.Cut(q, ":")
	if family = letters[strings.ToLower(strings.TrimSpace(letter))]; family != "" {
		return strings.TrimSpace(rest), family
	}
	return q, ""
}

// finder is the state of one call of Find.
type finder struct {
	*op.Call
	q        string
	readings []search.Query
	limit    int
	counts   bool
	opened   []openedRecord
	groups   []group
}

// group is a Group whose hits are still drafts.
type group struct {
	Group
	drafts []*draft
}

// family adds the hits of a family.
func (f *finder) family(ctx context.Context, of family) error {
	r, err := of.searcher(ctx, f.Call)
	if err != nil {
		return err
	}
	g := group{Group: Group{Family: of.Plural}}
	opened, err := r.Among(f.readings, ticks(f.opened, of.Object))
	if err != nil {
		return err
	}
	names := slices.Clone(opened)
	for _, q := range f.readings {
		ids, more, err := r.First(q, f.limit)
		if err != nil {
			return err
		}
		names, g.More = append(names, ids...), g.More || more
		if len(ids) > 0 && g.Count == nil {
			if err := f.count(r, q, &g); err != nil {
				return err
			}
		}
	}
	if g.drafts, err = of.look(ctx, f.Call, unique(names)); err != nil || len(g.drafts) == 0 {
		return err
	}
	for _, d := range g.drafts {
		d.Opened = slices.Contains(opened, d.ID)
		d.Exact = d.isExact(f.q, f.readings)
		d.AtEnd = !d.Exact && d.isAtEnd(f.q)
	}
	slices.SortStableFunc(g.drafts, func(a, b *draft) int { return cmp.Compare(a.weight(), b.weight()) })
	if len(g.drafts) > f.limit {
		g.drafts, g.More = g.drafts[:f.limit], true
	}
	f.groups = append(f.groups, g)
	if of.Object == document.Documents.Object {
		return f.content(ctx, g.drafts)
	}
	return nil
}

// content sets Named and InText of documents. If the name of a document has all words of the
// query, content also checks the text of its file.
func (f *finder) content(ctx context.Context, drafts []*draft) error {
	fits := func(words string) bool {
		return slices.ContainsFunc(f.readings, func(q search.Query) bool { return q.HoldsWords(words) })
	}
	var named []string
	for _, d := range drafts {
		if d.Named = fits(d.words().String()); d.Named {
			named = append(named, d.ID)
		}
	}
	both, err := document.WithContent(ctx, f.Call, named, fits)
	for _, d := range drafts {
		d.InText = !d.Named || slices.Contains(both, d.ID)
	}
	return err
}

// weight returns the place of a hit in the order of its family. The lowest comes first.
func (d *draft) weight() int {
	switch {
	case d.Exact:
		return 0
	case d.Opened:
		return 1
	}
	return 2
}

// count counts the hits of a family if the input requests it.
func (f *finder) count(r *search.Reader, q search.Query, g *group) error {
	if !f.counts {
		return nil
	}
	n, capped, err := r.Count(q, countCap)
	g.Count = &Count{n, capped}
	return err
}

// countCap is the highest result of a count. Counting stops at this number.
const countCap = 1000

// finish adds marks to the hits, sorts the groups and chooses the best hit.
func (f *finder) finish(ctx context.Context, out *FindOutput) error {
	var all []*draft
	for _, g := range f.groups {
		all = append(all, g.drafts...)
	}
	titles, err := titlesFor(ctx, f.Call, all)
	if err != nil {
		return err
	}
	marker := search.MarkerOf(f.readings...)
	slices.SortStableFunc(f.groups, func(a, b group) int {
		return cmp.Compare(min(1, a.drafts[0].weight()), min(1, b.drafts[0].weight()))
	})
	for _, g := range f.groups {
		for _, d := range g.drafts {
			g.Hits = append(g.Hits, d.finish(marker, titles))
		}
		out.Groups = append(out.Groups, g.Group)
	}
	if len(out.Groups) > 0 {
		out.Best = out.Groups[0].Hits[0].ID
	}
	return nil
}

// titlesFor returns the titles of the records that the hits refer to, by id. It leaves out
// records that the caller may not read.
func titlesFor(ctx context.Context, c *op.Call, drafts []*draft) (map[string]string, error) {
	titles, missing := map[string]string{}, map[string][]string{}
	for _, d := range drafts {
		titles[d.ID] = d.Title
	}
	for _, d := range drafts {
		for _, m := range d.members {
			if m.kind == names && titles[m.text] == "" && !slices.Contains(missing[m.text[:4]], m.text) {
				missing[m.text[:4]] = append(missing[m.text[:4]], m.text)
			}
		}
	}
	for _, f := range allowed(c) {
		found, err := f.look(ctx, c, missing[f.Prefix])
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			titles[d.ID] = d.Title
		}
	}
	return titles, nil
}

// ticks returns the ticks at which the opened records of a family were created.
func ticks(opened []openedRecord, object string) (list []clock.Micros) {
	for _, o := range opened {
		if o.Object == object {
			list = append(list, o.Created)
		}
	}
	return list
}

// unique returns the list without duplicates.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
