package imports

import (
	"context"
	"errors"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/match"
	"kartei/transfer/process"
)

const markLine = `update import_lines set state = $4, problems = $5, record_id = $6 where organization = $1 and import_id = $2 and number = $3`

// check is the dry run. It stores the expected outcome of each entry, and changes no record. It has
// an index of earlier entries in memory, and reads these entries again if the job was interrupted.
func (x *work) check(ctx context.Context) error {
	x.companies, x.joined = map[string]string{}, map[int64]map[string]any{}
	before := match.Index{}
	if err := x.recall(ctx, before); err != nil {
		return err
	}
	err := process.EachPrepared(ctx, &x.Run, job.Portion{Most: window, Least: window},
		func(tx db.Tx, limit int) ([]*line, error) {
			return x.lines(ctx, tx, selectLines, x.After, limit)
		}, func(c *op.Call, list []*line) ([]mark, error) {
			return x.judgeAll(ctx, c, list, before)
		}, func(c *op.Call, list []mark) error {
			for _, m := range list {
				x.Counts[m.outcome]++
				if m.differs {
					c.Tx.Queue(markLine, x.organization, x.id, m.number, m.outcome, m.problems, m.record)
				}
			}
			x.After = list[len(list)-1].number
			return nil
		})
	if err != nil {
		return err
	}
	x.state = Checked
	return x.End(ctx, nil)
}

// judgeAll returns the expected outcomes of some entries.
func (x *work) judgeAll(ctx context.Context, c *op.Call, list []*line, before match.Index) ([]mark, error) {
	all, err := x.prepare(ctx, c, list)
	if err != nil {
		return nil, err
	}
	used, err := match.Taken(ctx, c, matched(all))
	if err != nil {
		return nil, err
	}
	marks := make([]mark, len(all))
	for i, n := range all {
		m, err := x.judge(ctx, c, n, before, used)
		if err != nil {
			return nil, err
		}
		m.differs = m.outcome != n.state || len(m.told) > 0 || n.problems != "" || !sameText(m.record, n.line.record)
		m.problems = x.sealProblems(m.number, m.told)
		marks[i] = m
	}
	return marks, nil
}

// sameText reports whether two texts are equal, or both nil.
func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// recall adds the entries that an earlier run of the job has checked to the index before.
func (x *work) recall(ctx context.Context, before match.Index) error {
	for after := int64(0); after < x.After; {
		err := x.Read(ctx, func(c *op.Call) error {
			reader := x.readerFor(c)
			list, err := x.lines(ctx, c.Tx, selectLines, after, int(min(window, x.After-after)))
			for _, l := range list {
				after = l.number
				if l.values != nil {
					e := reader.Read(l.values, clock.Now(x.Clock))
					i := match.IdentityOf(e)
					was, double, idTaken := before.Find(&i)
					if idTaken && !e.Firm && l.record == nil {
						i.External = ""
					}
					number := l.number
					if double {
						number = was.Number
					}
					before.Add(&i, match.Sighting{
						Line: l.line, File: l.file, Number: number, Made: l.record == nil && (!double || was.Made),
					})
				}
			}
			if err != nil {
				return err
			}
			if len(list) == 0 {
				after = x.After
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mark is the result of the dry run for one entry.
type mark struct {
	number  int64
	outcome Outcome
	told    []entry.Problem
	record  *string
	// differs says that the stored line must change. problems are its encrypted problems.
	differs  bool
	problems string
}

// judge returns the expected outcome of an entry. before is the index of earlier entries. used are
// the external ids of existing contacts.
func (x *work) judge(
	ctx context.Context, c *op.Call, n *candidate, before match.Index, used map[string]bool,
) (m mark, err error) {
	m = mark{number: n.number, outcome: Created}
	switch {
	case n.Entry == nil:
		m.outcome, m.told = x.unread(n.line)
		return m, nil
	case n.Group:
		m.outcome, m.told = Skipped, n.Told
		return m, nil
	}
	was, double, idTaken := before.Find(&n.Identity)
	if idTaken && !n.Firm && n.Match == nil {
		x.withoutID(n)
	}
	number := n.number
	if double {
		number = was.Number
	}
	before.Add(&n.Identity, match.Sighting{
		Line: n.line.line, File: n.line.file, Number: number, Made: n.Match == nil && (!double || was.Made),
	})
	if n.Firm {
		m, err = x.judgeFirm(ctx, c, n, double, &was)
		m.number = n.number
		m.told = append(m.told, n.toldAs(m.outcome)...)
		return m, err
	}
	wrong := n.wrong
	switch {
	case n.Match != nil:
		m.record, m.outcome = &n.Match.ID, Skipped
		if x.Options.Duplicates == mapping.Skip {
			m.told = []entry.Problem{n.ToldThere(n.Match.ID)}
		} else {
			var more []fault.Field
			m.outcome, m.told, more, err = x.judgeUpdate(n)
			wrong = append(wrong, more...)
		}
	case double:
		m.outcome = Updated
		if x.Options.Duplicates == mapping.Skip {
			m.outcome = Skipped
		}
		if len(wrong) == 0 {
			var told []entry.Problem
			if was.Made {
				m.outcome, told, err = x.judgeJoin(ctx, c, n, was.Number)
			}
			m.told = append([]entry.Problem{was.ToldSame()}, told...)
		}
	case len(wrong) == 0:
		f := n.fields
		f.ExternalID = nil // Taken has checked the external ids of all entries
		if wrong, err = violations(contact.Contacts.Check(ctx, c, &f)); used[n.External] {
			wrong = append(wrong, fault.Field{Name: "externalId", Code: fault.Duplicate})
		}
	}
	if err == nil && len(wrong) > 0 {
		m.outcome, m.told = Refused, entry.ProblemsOf(wrong)
	}
	m.told = append(m.told, n.toldAs(m.outcome)...)
	return m, err
}

// toldAs returns the problems of an entry's values that are reported for an outcome. A skipped
// entry has none. A refused entry has only the violations of rules. A created contact also has a
// hint if another contact has its name.
func (x *candidate) toldAs(outcome Outcome) []entry.Problem {
	switch outcome {
	case Skipped:
		return nil
	case Refused:
		return x.Entry.RuleProblems()
	case Created:
		return append(x.ToldNamesake(), x.Told...)
	}
	return x.Told
}

// unread returns the outcome and the problems of an entry without cells.
func (x *work) unread(l *line) (Outcome, []entry.Problem) {
	if l.done {
		return Erased, nil
	}
	why := unreadRow
	if x.OfCards() {
		why = unreadCard
	}
	return Refused, entry.ProblemsOf([]fault.Field{{Code: fault.InvalidFormat, Text: why}})
}

var (
	unreadRow  = i18n.Text("This entry cannot be read: it has more than 16,384 columns, or is longer than a megabyte.")
	unreadCard = i18n.Text("This card is not complete: it has too many lines, or END:VCARD is missing at its end.")
)

// judgeUpdate returns the expected outcome of an entry about an existing contact, and the problems of
// values for which the contact has no room.
func (x *work) judgeUpdate(n *candidate) (Outcome, []entry.Problem, []fault.Field, error) {
	patch, told, err := n.Patch(n.Match.Members, x.Options.Duplicates, n.CompanyID)
	if err != nil {
		return "", nil, nil, err
	}
	if len(patch) == 0 && (n.CompanyKey == "" || n.CompanyID != "") {
		return Unchanged, told, nil, nil
	}
	return Updated, told, x.broken(patch, "contacts.update", new(op.Patch[contact.Fields])), nil
}

// violations returns the fields that a check refused. Other errors are returned as errors.
func violations(err error) ([]fault.Field, error) {
	f, refused := errors.AsType[*fault.Fault](err)
	switch {
	case !refused || f.Code == fault.Internal || f.Code == fault.NotFound:
		return nil, err
	case len(f.Fields) > 0:
		return f.Fields, nil
	}
	return []fault.Field{{Code: fault.ForbiddenCombination, Text: f.Detail}}, nil
}
