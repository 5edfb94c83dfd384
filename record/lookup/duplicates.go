package lookup

import (
	"context"
	"fmt"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/duplicate"
	"kartei/record/search"
)

const (
	// maxPairs is the maximum number of pairs on a page, and defaultPairs the number without a limit.
	maxPairs     = 100
	defaultPairs = 20
	// maxWalked is the maximum number of pairs that one call reads. It ends a page early if nearly all
	// pairs have a record that the caller does not see.
	maxWalked = 1000
	// maxWaiting is the highest number of records in Waiting.
	maxWaiting = 1000
)

// DuplicatesInput is the input of Duplicates.
type DuplicatesInput struct {
	// Family is contacts or companies.
	Family string `json:"family"`
	// ID is the id of a record. If it is set, the list has only the pairs of this record.
	ID string `json:"id,omitempty"`
	// After is the member After of the previous page.
	After string `json:"after,omitempty"`
	// Limit is the maximum number of pairs, from 1 to 100. Zero means 20.
	Limit int `json:"limit,omitempty"`
	// Dismissed lists the dismissed pairs instead of the others.
	Dismissed bool `json:"dismissed,omitempty"`
}

// DuplicatePair has two records that are probably the same.
type DuplicatePair struct {
	// First is the older record.
	First    Hit                `json:"first"`
	Second   Hit                `json:"second"`
	Strength duplicate.Strength `json:"strength"`
	Reasons  []duplicate.Reason `json:"reasons"`
	// Group is the id of the oldest record that is connected with both by pairs on the page. Pairs of one
	// group have the same.
	Group string `json:"group"`
}

// DuplicateList is the output of Duplicates.
type DuplicateList struct {
	Data    []DuplicatePair `json:"data"`
	HasMore bool            `json:"hasMore"`
	// After is the position for the next page. It is empty on the last page.
	After string `json:"after,omitempty"`
	// Waiting is the number of records that the caller sees and that changed and are not compared yet,
	// at most 1,000. It is zero in the list of one record.
	Waiting int64 `json:"waiting"`
}

// Records returns the number of records on the page.
func (l DuplicateList) Records() int { return 2 * len(l.Data) }

// Duplicates returns the pairs of contacts or companies that are probably the same, the strongest first
// and of these the newest. It returns only pairs of which the caller sees both records. A page may have
// fewer pairs than the limit although there are more.
var Duplicates = op.New("lookup.duplicates", op.Read, duplicates, op.By(op.Member))

func duplicates(ctx context.Context, c *op.Call, in DuplicatesInput) (DuplicateList, error) {
	out := DuplicateList{Data: []DuplicatePair{}}
	f, err := compared(c, in.Family, in.limit())
	if err != nil {
		return out, err
	}
	if scope := f.ReadScope(); !c.Actor.May(scope) {
		return out, access.Lacking(scope)
	}
	w := &pairWalk{ctx: ctx, c: c, f: f, in: in}
	if err := w.open(); err != nil {
		return out, err
	}
	for !w.more {
		if more, err := w.next(); err != nil {
			return out, err
		} else if !more {
			break
		}
	}
	if out.Data, err = w.finish(); err != nil {
		return out, err
	}
	if out.HasMore = w.more; out.HasMore {
		if out.After, err = c.Services.Cursors.Seal(w.scope(), c.Now, w.place); err != nil {
			return out, err
		}
	}
	if in.ID != "" {
		return out, nil
	}
	out.Waiting, err = waiting(ctx, c, f)
	return out, err
}

// waiting returns the number of records of a family that the caller sees and that changed and are not compared
// yet, at most maxWaiting.
func waiting(ctx context.Context, c *op.Call, f *family) (int64, error) {
	until, err := duplicate.Until(ctx, c.Tx, c.Actor.Org(), f.Plural)
	if err != nil {
		return 0, err
	}
	n, err := f.count(ctx, c, record.CountInput{UpdatedSince: until})
	return min(n.Count, maxWaiting), err
}

// limit returns a violation for a limit out of range.
func (in *DuplicatesInput) limit() (wrong []fault.Field) {
	if in.Limit < 0 || in.Limit > maxPairs {
		wrong = append(wrong, fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1,
			Max: maxPairs}})
	}
	if in.Limit == 0 {
		in.Limit = defaultPairs
	}
	return wrong
}

// compared returns a family whose records are compared. It fails with the violations in wrong, and
// with another one for any other family.
func compared(c *op.Call, name string, wrong []fault.Field) (*family, error) {
	i := slices.IndexFunc(families, func(f family) bool { return f.Plural == name })
	if i < 0 || name != "contacts" && name != "companies" {
		wrong = append(wrong, fault.Field{Name: "family", Code: fault.NotInEnum, Limit: []string{"contacts",
			"companies"}})
	}
	if wrong != nil {
		return nil, fault.Invalid(wrong...)
	}
	return &families[i], nil
}

// pairWalk reads pairs for a page, and leaves out a pair if the caller does not see both records.
type pairWalk struct {
	ctx context.Context
	c   *op.Call
	f   *family
	in  DuplicatesInput
	// place is the place behind the last pair that was shown or left out. It is nil at the beginning.
	place *duplicate.Place
	// ofRecord are the pairs of the record in.ID that are still to be read.
	ofRecord []duplicate.Pair
	walked   int
	pairs    []seenPair
	// more says that there may be pairs behind place.
	more bool
}

// seenPair is a pair of which the caller sees both records, the older one first.
type seenPair struct {
	duplicate.Match
	first, second *draft
}

// scope identifies the list for its cursors.
func (w *pairWalk) scope() string {
	return fmt.Sprintf("duplicates|%d|%s|%s|%s|%t", w.c.Actor.Org(), w.c.Actor.PrincipalID(), w.f.Plural, w.in.ID,
		w.in.Dismissed)
}

// open reads the position, and the pairs of the record if the list is about one.
func (w *pairWalk) open() error {
	if w.in.After != "" {
		w.place = new(duplicate.Place)
		if err := w.c.Services.Cursors.Open(w.scope(), w.in.After, w.c.Now, w.place); err != nil {
			return fault.New(fault.CursorMismatch)
		}
	}
	if w.in.ID == "" {
		return nil
	}
	if err := w.f.mustSee(w.ctx, w.c, w.in.ID); err != nil {
		return err
	}
	var err error
	w.ofRecord, err = duplicate.Of(w.ctx, w.c.Tx, w.c.Actor.Org(), w.in.ID, w.in.Dismissed, w.place)
	return err
}

// mustSee fails with NOT_FOUND unless the caller sees all records with these ids.
func (f *family) mustSee(ctx context.Context, c *op.Call, ids ...string) error {
	for _, name := range ids {
		if !id.Valid(f.Prefix, name) {
			return fault.New(fault.NotFound)
		}
	}
	seen, err := f.look(ctx, c, ids)
	if err == nil && len(seen) < len(ids) {
		return fault.New(fault.NotFound)
	}
	return err
}

// next reads the next pairs. It returns false if there are no more.
func (w *pairWalk) next() (bool, error) {
	portion := w.in.Limit + 1
	list, err := w.read(portion)
	if err != nil {
		return false, err
	}
	var ids []string
	for _, p := range list {
		ids = append(ids, p.First, p.Second)
	}
	seen, err := w.f.look(w.ctx, w.c, unique(ids))
	if err != nil {
		return false, err
	}
	byID := map[string]*draft{}
	for _, d := range seen {
		byID[d.ID] = d
	}
	for i := range list {
		if w.take(&list[i], byID); w.more {
			return true, nil
		}
	}
	if w.walked += len(list); len(list) == portion && w.walked >= maxWalked {
		w.more = true
	}
	return len(list) == portion, nil
}

// read returns up to n pairs behind the place.
func (w *pairWalk) read(n int) ([]duplicate.Pair, error) {
	if w.in.ID == "" {
		return duplicate.List(w.ctx, w.c.Tx, w.c.Actor.Org(), w.f.Plural, w.in.Dismissed, w.place, n)
	}
	n = min(n, len(w.ofRecord))
	list := w.ofRecord[:n]
	w.ofRecord = w.ofRecord[n:]
	return list, nil
}

// take adds a pair to the page if the caller sees both records. If the page has its number of pairs
// already, take only notes that there are more.
func (w *pairWalk) take(p *duplicate.Pair, byID map[string]*draft) {
	a, b := byID[p.First], byID[p.Second]
	if a != nil && b != nil {
		if len(w.pairs) == w.in.Limit {
			w.more = true
			return
		}
		if b.CreatedAt < a.CreatedAt {
			a, b = b, a
		}
		w.pairs = append(w.pairs, seenPair{p.Match, a, b})
	}
	w.place = new(p.Place())
}

// finish returns the pairs of the page with their groups.
func (w *pairWalk) finish() ([]DuplicatePair, error) {
	var drafts []*draft
	for _, p := range w.pairs {
		drafts = append(drafts, p.first, p.second)
	}
	titles, err := titlesFor(w.ctx, w.c, drafts)
	if err != nil {
		return nil, err
	}
	groups := groupsOf(w.pairs)
	list := []DuplicatePair{}
	for _, p := range w.pairs {
		list = append(list, DuplicatePair{
			First: p.first.finish(search.Marker{}, titles), Second: p.second.finish(search.Marker{}, titles),
			Strength: p.Strength, Reasons: p.Reasons, Group: groups(p.first).ID,
		})
	}
	return list, nil
}

// groupsOf returns a function from a record to the oldest record of its group. Two records of a pair are
// in one group.
func groupsOf(pairs []seenPair) func(*draft) *draft {
	parents := map[string]*draft{}
	oldest := func(d *draft) *draft {
		for parents[d.ID] != nil {
			d = parents[d.ID]
		}
		return d
	}
	for _, p := range pairs {
		a, b := oldest(p.first), oldest(p.second)
		if a.ID == b.ID {
			continue
		}
		if b.CreatedAt < a.CreatedAt {
			a, b = b, a
		}
		parents[b.ID] = a
	}
	return oldest
}

// DismissInput is the input of Dismiss.
type DismissInput struct {
	// Family is contacts or companies.
	Family string `json:"family"`
	// First and Second are the ids of two records, in any order.
	First  string `json:"first"`
	Second string `json:"second"`
	// Undo lists the pair again.
	Undo bool `json:"undo,omitempty"`
}

// Dismiss stores that two records are two people or companies. Their pair is not listed again, even if
// the records change. The caller must have the right to write the family and see both records. All
// others who see both no longer get the pair, so the audit log has a line.
var Dismiss = op.New("lookup.dismiss", op.Administer, dismiss, op.By(op.Member), op.Audited("records.dismissPair"))

func dismiss(ctx context.Context, c *op.Call, in DismissInput) (op.Nothing, error) {
	var wrong []fault.Field
	if in.First == in.Second {
		wrong = append(wrong, fault.Field{Name: "second", Code: fault.ForbiddenCombination, Text: twoRecords})
	}
	f, err := compared(c, in.Family, wrong)
	if err != nil {
		return op.Nothing{}, err
	}
	for _, scope := range []string{f.ReadScope(), f.Plural + ":write"} {
		if !c.Actor.May(scope) {
			return op.Nothing{}, access.Lacking(scope)
		}
	}
	if err := f.mustSee(ctx, c, in.First, in.Second); err != nil {
		return op.Nothing{}, err
	}
	var now clock.Micros
	if now, err = c.Tx.Tick(ctx, c.Actor.Org(), c.Now); err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(c.Actor.Org(), in.First)
	c.Audit.Changed("second", nil, in.Second)
	c.Audit.Changed("dismissed", in.Undo, !in.Undo)
	if in.Undo {
		duplicate.Restore(c.Tx, c.Actor.Org(), in.First, in.Second)
	} else {
		duplicate.Dismiss(c.Tx, c.Actor.Org(), f.Plural, in.First, in.Second, now)
	}
	return op.Nothing{}, nil
}

var twoRecords = i18n.Text("The two records must be different.")
