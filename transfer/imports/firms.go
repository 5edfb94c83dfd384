package imports

import (
	"context"

	"kartei/api/op"
	"kartei/kit/id"
	"kartei/record/company"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/match"
)

// This file handles entries that are companies: cards of organizations, and rows of a table of
// companies.

// resolveFirm decides the outcome of an entry that is a company, and carries it out.
func (b *batch) resolveFirm(ctx context.Context, n *candidate) (r result, err error) {
	target := ""
	was, double, _ := b.seen.Find(&n.Identity)
	if n.FirmMatch != nil {
		target = n.FirmMatch.ID
	} else if double {
		target = was.Record
	}
	switch {
	case len(n.wrong) > 0:
		return result{outcome: Refused, wrong: n.wrong}, nil
	case target != "" && b.Options.Duplicates == mapping.Skip:
		told := n.ToldThere(target)
		if n.FirmMatch == nil {
			told = was.ToldSame()
		} else if n.first.Line != 0 {
			told = n.first.ToldSame()
		}
		return result{outcome: Skipped, record: &target, told: []entry.Problem{told}}, nil
	case target != "":
		r, err = b.updateFirm(ctx, n, target)
	default:
		r, err = b.createFirm(ctx, n)
	}
	if err != nil {
		return r, err
	}
	if r.record != nil {
		b.noteSighting(n, *r.record, false)
		b.made[n.CacheKey()] = *r.record
	}
	return r, err
}

// createFirm creates the company of an entry.
func (b *batch) createFirm(ctx context.Context, n *candidate) (r result, err error) {
	f := n.firmFields
	wrong, err := violations(company.Companies.CheckStored(ctx, b.Call, &f))
	if err != nil || len(wrong) > 0 {
		return result{outcome: Refused, wrong: wrong}, err
	}
	name := id.New(id.Company)
	if _, err := company.Companies.Insert(ctx, b.Call, name, &f, nil); err != nil {
		return r, err
	}
	b.there[name] = true
	return result{outcome: Created, record: &name, company: &name, revision: 1}, nil
}

const selectFirmRevision = `select revision from companies where organization = $1 and id = $2 and deleted = false`

// updateFirm changes a company according to an entry.
func (b *batch) updateFirm(ctx context.Context, n *candidate, target string) (r result, err error) {
	before, _, err := company.Companies.Members(ctx, b.Call, target)
	if err != nil {
		return r, err
	}
	patch, told, err := n.Patch(before, b.Options.Duplicates, "")
	if err != nil {
		return r, err
	}
	if wrong := b.broken(patch, "companies.update", new(op.Patch[company.Fields])); len(wrong) > 0 {
		return result{outcome: Refused, wrong: wrong}, nil
	}
	r, err = b.write(ctx, updateCompany, selectFirmRevision, n.number, target, before, patch)
	r.told = told
	return r, err
}

// judgeFirm returns the expected outcome of an entry that is a company.
func (x *work) judgeFirm(
	ctx context.Context, c *op.Call, n *candidate, double bool, was *match.Sighting,
) (m mark, err error) {
	m.outcome = Created
	wrong := n.wrong
	switch {
	case len(wrong) > 0:
	case n.FirmMatch != nil && x.Options.Duplicates == mapping.Skip:
		m.outcome, m.told = Skipped, []entry.Problem{n.ToldThere(n.FirmMatch.ID)}
	case n.FirmMatch == nil && double && x.Options.Duplicates == mapping.Skip:
		m.outcome, m.told = Skipped, []entry.Problem{was.ToldSame()}
	case n.FirmMatch != nil:
		patch, told, err := n.Patch(n.FirmMatch.Members, x.Options.Duplicates, "")
		if err != nil {
			return m, err
		}
		if m.outcome, m.told = Updated, told; len(patch) == 0 {
			m.outcome = Unchanged
		}
		wrong = x.broken(patch, "companies.update", new(op.Patch[company.Fields]))
	case double:
		m.outcome = Updated
	default:
		f := n.firmFields
		wrong, err = violations(company.Companies.Check(ctx, c, &f))
	}
	if n.FirmMatch != nil {
		m.record = &n.FirmMatch.ID
	}
	if len(wrong) > 0 {
		m.outcome, m.told = Refused, entry.ProblemsOf(wrong)
	}
	return m, err
}

// isFirm reports whether the record of a line is a company.
func (l *line) isFirm() bool { return l.record != nil && id.Valid(id.Company, *l.record) }
