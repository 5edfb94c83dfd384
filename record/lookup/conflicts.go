package lookup

import (
	"cmp"
	"context"
	"math"
	"slices"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/input"

	"kartei/record/search"
	"kartei/store/db"
)

// KeptCheck is the attribute of a document that is the result of a conflict check. Such documents are no hits,
// because each check would add one for all its names.
const KeptCheck = "kartei-conflict-check"

const (
	// MaxConflictLines is the maximum number of lines in one conflict check.
	MaxConflictLines = 30
	// maxShown is the maximum number of hits of each line.
	maxShown = 50
	// maxJudged is the maximum number of records of each family that are compared with a line, and maxNeighbours
	// with an address.
	maxJudged     = 150
	maxNeighbours = 500
	// maxReferences is the maximum number of file numbers of a hit. They are from at most maxReferring records
	// of each family.
	maxReferences = 5
	maxReferring  = 20
	// maxReferred is the maximum number of hits of each line that have file numbers.
	maxReferred = 10
)

// ConflictsInput is the input of Conflicts.
type ConflictsInput struct {
	// Lines are the names of people and companies, addresses, email addresses, telephone numbers, or ids of
	// records, at most MaxConflictLines. Words after the first comma of a line, or after "aus" or "from",
	// narrow a line, and hits may lack them.
	Lines []string `json:"lines"`
}

// ConflictsOutput is the output of Conflicts.
type ConflictsOutput struct {
	// Lines has the hits of each line, in the order of the input.
	Lines []ConflictLine `json:"lines"`
	// Waiting is the number of records that the caller sees and that changed and are not compared yet, at
	// most 1,000 of each family. A typing error in their names may stay unnoticed.
	Waiting int64 `json:"waiting"`
}

// Records returns the number of hits.
func (o ConflictsOutput) Records() (n int) {
	for _, l := range o.Lines {
		n += len(l.Hits)
	}
	return n
}

// ConflictLine has the hits of one line.
type ConflictLine struct {
	// Text is the line as the caller wrote it.
	Text string `json:"text"`
	// Hits are at most 50 records, the strongest first.
	Hits []Conflict `json:"hits"`
	// Hidden is the number of further records that fit and that the caller may not see.
	Hidden int `json:"hidden"`
	// More says that there are more hits, or that there may be.
	More bool `json:"more"`
	// Unplaced says that the line may be an address without a postal code and a city, so that it was not
	// compared with addresses.
	Unplaced bool `json:"unplaced,omitempty"`
	// Deleted is set if the line is the id of a record that was deleted and that the caller saw.
	Deleted *ConflictDeletion `json:"deleted,omitempty"`
}

// ConflictDeletion is a deleted record. Nothing but its id and the time is left.
type ConflictDeletion struct {
	Object    string       `json:"object"`
	ID        string       `json:"id"`
	DeletedAt clock.Micros `json:"deletedAt"`
}

// Conflict is a record that fits a line.
type Conflict struct {
	Hit
	Strength ConflictStrength `json:"strength"`
	// References are the file numbers of tasks and documents that refer to a contact or company, at most 5.
	// Only the strongest hits have them.
	References []string `json:"references,omitempty"`
}

// ConflictStrength says how well a record fits a line of a conflict check.
type ConflictStrength string

// The values of ConflictStrength, the strongest first. SameName is for a record with the name and all other
// words of the line, or with its address, email address or number. SimilarName has them in another spelling or with
// a typing error. PartOfName has only a part of them, for example another first name. Mentioned is for words of
// the line in a task, a document or a note.
const (
	SameName    ConflictStrength = "same"
	SimilarName ConflictStrength = "similar"
	PartOfName  ConflictStrength = "part"
	Mentioned   ConflictStrength = "mentioned"
)

// ConflictStrengths are all values of ConflictStrength, the strongest first.
var ConflictStrengths = []ConflictStrength{SameName, SimilarName, PartOfName, Mentioned}

// rank returns the place of a strength. The strongest is zero.
func (s ConflictStrength) rank() int { return slices.Index(ConflictStrengths, s) }

// Conflicts searches all families for names, also in other spellings, so that an office notices a conflict of
// interest. Records that the caller may not see are counted. So each check has a line in the audit log, without
// the names.
var Conflicts = op.NewPrefetched("lookup.conflicts", op.Administer, findConflicts, noteConflicts, op.By(op.Member),
	op.Reads, op.Audited("records.checkConflicts"))

// findConflicts finds the hits. It runs before the transaction, because it reads for up to a second.
func findConflicts(ctx context.Context, c *op.Call, in ConflictsInput) (out ConflictsOutput, err error) {
	lines, err := in.parse()
	if err != nil {
		return out, err
	}
	err = c.Services.Read(ctx, func(tx db.Tx) error {
		reading := *c
		reading.Tx = tx
		k := conflictCheck{Call: &reading, lines: lines, out: make([]ConflictLine, len(lines))}
		if err := k.run(ctx); err != nil {
			return err
		}
		out.Lines = k.out
		out.Waiting, err = k.waiting(ctx)
		return err
	})
	return out, err
}

// noteConflicts writes the numbers of lines and hits to the audit log.
func noteConflicts(_ context.Context, c *op.Call, _ ConflictsInput, out ConflictsOutput) (ConflictsOutput, error) {
	hidden := 0
	for _, l := range out.Lines {
		hidden += l.Hidden
	}
	o := c.Actor.Organization()
	c.Audit.About(o.Number, o.ID)
	c.Audit.Changed("lines", nil, len(out.Lines))
	c.Audit.Changed("hits", nil, out.Records())
	c.Audit.Changed("hidden", nil, hidden)
	return out, nil
}

// parse returns the lines of the input.
func (in *ConflictsInput) parse() (lines []*conflictLine, err error) {
	if len(in.Lines) == 0 {
		return nil, fault.Invalid(fault.Field{Name: "lines", Code: fault.Required})
	}
	if len(in.Lines) > MaxConflictLines {
		return nil, fault.Invalid(fault.Field{Name: "lines", Code: fault.TooLong, Limit: fault.Items(MaxConflictLines)})
	}
	var wrong []fault.Field
	for i, text := range in.Lines {
		l := parseConflictLine(text)
		switch name := input.Indexed("lines", i); {
		case utf8.RuneCountInString(text) > maxText:
			wrong = append(wrong, fault.Field{Name: name, Code: fault.TooLong, Limit: maxText})
		case len(l.words) == 0:
			wrong = append(wrong, fault.Field{Name: name, Code: fault.InvalidFormat, Text: noName})
		}
		lines = append(lines, l)
	}
	if wrong != nil {
		return nil, fault.Invalid(wrong...)
	}
	return lines, nil
}

var noName = i18n.Text("The line has no name: a letter or a digit is missing.")

// conflictCheck is the state of one call of Conflicts.
type conflictCheck struct {
	*op.Call
	lines []*conflictLine
	out   []ConflictLine
	// hits has the hits of each line that the caller sees.
	hits [][]*conflictHit
}

// conflictHit is a Conflict that is not finished yet.
type conflictHit struct {
	*draft
	family   *family
	strength ConflictStrength
}

// run finds the hits of all lines in all families.
func (k *conflictCheck) run(ctx context.Context) error {
	k.hits = make([][]*conflictHit, len(k.lines))
	for i, l := range k.lines {
		k.out[i] = ConflictLine{Text: l.text, Hits: []Conflict{}, Unplaced: l.unplaced}
	}
	for i := range families {
		if err := k.family(ctx, &families[i]); err != nil {
			return err
		}
	}
	for i, l := range k.lines {
		var err error
		if k.out[i].Deleted, err = k.deletion(ctx, l); err != nil {
			return err
		}
	}
	return k.finish(ctx)
}

// fit is a record that fits a line, whoever may see it.
type fit struct {
	line     int
	id       string
	strength ConflictStrength
}

// family adds the hits in a family.
func (k *conflictCheck) family(ctx context.Context, f *family) error {
	found, err := k.candidates(ctx, f)
	if err != nil {
		return err
	}
	drafts, err := f.every(ctx, k.Tx, k.Actor.Org(), unique(slices.Concat(found...)))
	if err != nil {
		return err
	}
	drawn, fits := byID(drafts), []fit{}
	for i, ids := range found {
		for _, id := range ids {
			if d := drawn[id]; d != nil && !d.keptCheck {
				if strength := k.lines[i].judge(d); strength != "" {
					fits = append(fits, fit{i, id, strength})
				}
			}
		}
	}
	return k.add(ctx, f, fits)
}

// add adds the hits that the caller sees, and counts the others.
func (k *conflictCheck) add(ctx context.Context, f *family, fits []fit) error {
	seen := map[string]*draft{}
	if k.Actor.May(f.ReadScope()) {
		var ids []string
		for _, x := range fits {
			ids = append(ids, x.id)
		}
		drafts, err := f.look(ctx, k.Call, unique(ids))
		if err != nil {
			return err
		}
		seen = byID(drafts)
	}
	for _, x := range fits {
		l, d := k.lines[x.line], seen[x.id]
		switch {
		case d != nil:
			hit := *d // several lines may have the same hit
			hit.InText = f.texts && l.id != d.ID && !l.isIn(d.words())
			k.hits[x.line] = append(k.hits[x.line], &conflictHit{&hit, f, x.strength})
		case l.id == "": // an id must tell no more than a GET does
			k.out[x.line].Hidden++
		}
	}
	return nil
}

// byID returns drafts by their ids.
func byID(drafts []*draft) map[string]*draft {
	all := make(map[string]*draft, len(drafts))
	for _, d := range drafts {
		all[d.ID] = d
	}
	return all
}

// deletion returns the deletion of the record whose id a line is. It returns nil if the record exists, or if the
// caller did not see it.
func (k *conflictCheck) deletion(ctx context.Context, l *conflictLine) (*ConflictDeletion, error) {
	f := familyOfID(l.id)
	if f == nil || !k.Actor.May(f.ReadScope()) {
		return nil, nil
	}
	_, living, err := creation(ctx, k.Call, f.Family, l.id)
	if fault.Is(err, fault.NotFound) || err == nil && living {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	changes, err := db.List(ctx, k.Tx, scanChange, selectChanges, k.Actor.Org(), l.id, int64(math.MaxInt64), 1)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	return &ConflictDeletion{Object: f.Object, ID: l.id, DeletedAt: changes[0].ChangedAt}, nil
}

// finish sorts the hits of each line and adds their facts and file numbers.
func (k *conflictCheck) finish(ctx context.Context) error {
	var all []*draft
	for i, list := range k.hits {
		slices.SortStableFunc(list, func(a, b *conflictHit) int { return cmp.Compare(a.strength.rank(), b.strength.rank()) })
		if len(list) > maxShown {
			k.hits[i], k.out[i].More = list[:maxShown], true
		}
		for _, h := range k.hits[i] {
			all = append(all, h.draft)
		}
	}
	titles, err := titlesFor(ctx, k.Call, all)
	if err != nil {
		return err
	}
	for i, list := range k.hits {
		marker := search.MarkerFor(k.lines[i].spellings())
		for n, h := range list {
			hit := Conflict{Hit: h.finish(marker, titles), Strength: h.strength}
			if n < maxReferred && h.family.comparable() {
				if hit.References, err = k.references(ctx, h); err != nil {
					return err
				}
			}
			k.out[i].Hits = append(k.out[i].Hits, hit)
		}
	}
	return nil
}

// references returns the file numbers of tasks and documents that refer to a contact or company and that the
// caller sees.
func (k *conflictCheck) references(ctx context.Context, h *conflictHit) (list []string, err error) {
	for i := range families {
		f := &families[i]
		if !f.texts || !k.Actor.May(f.ReadScope()) {
			continue
		}
		ids, err := f.referring(ctx, k.Tx, k.Actor.Org(), h.family.Plural, h.ID, maxReferring)
		if err != nil {
			return nil, err
		}
		drafts, err := f.look(ctx, k.Call, ids)
		if err != nil {
			return nil, err
		}
		for _, d := range drafts {
			for _, m := range d.members {
				if m.name == "reference" {
					list = append(list, m.text)
				}
			}
		}
	}
	list = unique(list)
	return list[:min(len(list), maxReferences)], nil
}

// waiting returns the number of records that are not compared yet.
func (k *conflictCheck) waiting(ctx context.Context) (all int64, err error) {
	for i := range families {
		if f := &families[i]; f.comparable() && k.Actor.May(f.ReadScope()) {
			n, err := waiting(ctx, k.Call, f)
			if err != nil {
				return 0, err
			}
			all += n
		}
	}
	return all, nil
}
