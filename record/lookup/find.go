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
	// defaultHits and maxHits are the hits of each family without a limit in the
	// input, and the highest limit.
	defaultHits = 5
	maxHits     = 50
	// maxText is the maximum length of a search text in characters. Lists have
	// the same limit for q.
	maxText = 200
)

// FindInput is the input of Find.
type FindInput struct {
	// Q is the text: words, a number, an email address, or an id. A letter with a
	// colon before it narrows to a family: k or c, f or o, a or t, d.
	Q string `json:"q"`
	// Limit is the number of hits of each family, 1 to 50; zero means 5.
	Limit int `json:"limit,omitempty"`
	// Counts asks for the number of hits of each family, which takes longer.
	Counts bool `json:"counts,omitempty"`
}

// FindOutput is the output of Find.
type FindOutput struct {
	// Q is the text without what narrows it, and Family the plural of the only
	// family; empty means all.
	Q      string `json:"q"`
	Family string `json:"family,omitempty"`
	// Best is the id of the hit to open, or empty: an exact one, else the first.
	Best string `json:"best,omitempty"`
	// Groups are the families with hits, one with exact ones first.
	Groups []Group `json:"groups"`
	// Thing is what an id in the text names, if that is no record.
	Thing *Thing `json:"thing,omitempty"`
}

// Group has the hits of one family: exact ones first, then those that the caller opened
// lately, then the others in the order of the index.
type Group struct {
	Family string `json:"family"`
	Hits   []Hit  `json:"hits"`
	// More says that there are further hits, or may be.
	More  bool   `json:"more"`
	Count *Count `json:"count,omitempty"`
}

// Count is the number of hits. Capped says that there may be more.
type Count struct {
	Count  int  `json:"count"`
	Capped bool `json:"capped"`
}

// Records counts the records of the answer for the limit on outflow. What is shown
// while somebody types counts as one.
func (f FindOutput) Records() int {
	n := 0
	for _, g := range f.Groups {
		if len(g.Hits) > defaultHits {
			n += len(g.Hits)
		}
	}
	return max(1, n)
}

// prepare writes waiting entries of the request log if the text has a Request-Id, so
// that the call of a moment ago is found. It needs no transaction.
func prepare(ctx context.Context, c *op.Call, in FindInput) (struct{}, error) {
	if strings.HasPrefix(idIn(in.Q), id.Request) {
		return requestlog.FlushFirst(ctx, c, in)
	}
	return struct{}{}, nil
}

// Find finds what a text names in all families that the caller may read, as far as
// the caller sees it.
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

// trunks adds those whose telephone number has the searched one as an extension.
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

// check returns the limit of the input.
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

// letters narrow a search to a family. They stand for the German and the English words.
var letters = map[string]string{
	"k": "contacts", "c": "contacts", "f": "companies", "o": "companies",
	"a": "tasks", "t": "tasks", "d": "documents",
}

// narrow splits a query into its text and the family that its prefix names. The family is empty
// without such a prefix.
func narrow(q string) (text, family string) {
	q = strings.TrimSpace(q)
	letter, rest, _ := strings.Cut(q, ":")
	if family = letters[strings.ToLower(strings.TrimSpace(letter))]; family != "" {
		return strings.TrimSpace(rest), family
	}
	return q, ""
}

// finder is one call of Find.
type finder struct {
	*op.Call
	q        string
	readings []search.Query
	limit    int
	counts   bool
	opened   []openedRecord
	groups   []group
}

// group is a Group in the making.
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

// content says which documents have the words in their content. Those whose name has them
// may have them there, too.
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

// weight orders the hits of a family.
func (d *draft) weight() int {
	switch {
	case d.Exact:
		return 0
	case d.Opened:
		return 1
	}
	return 2
}

// count counts the hits of a family, if the caller asks for it.
func (f *finder) count(r *search.Reader, q search.Query, g *group) error {
	if !f.counts {
		return nil
	}
	n, capped, err := r.Count(q, countCap)
	g.Count = &Count{n, capped}
	return err
}

// countCap is where counting stops.
const countCap = 1000

// finish marks the hits, and chooses the one to open.
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

// titlesFor returns the titles of the records that members of hits name, by their
// ids, as far as the caller may read them.
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

// ticks returns the ticks of the opened records of a family.
func ticks(opened []openedRecord, object string) (list []clock.Micros) {
	for _, o := range opened {
		if o.Object == object {
			list = append(list, o.Created)
		}
	}
	return list
}

// unique drops the repetitions of a list.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
