package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/match"
	"kartei/transfer/process"
)

const (
	endLine = `update import_lines set content = '', state = $4, problems = $5, record_id = $6, company_id = $7, revision = $8, former = $9, before = $10
		where organization = $1 and import_id = $2 and number = $3`
	// keepLine changes a refused line without deleting its cells.
	keepLine       = `update import_lines set state = $4, problems = $5, company_id = $6 where organization = $1 and import_id = $2 and number = $3`
	selectRevision = `select revision from contacts where organization = $1 and id = $2 and deleted = false`
)

// importAll creates or changes contacts for the entries. Each transaction handles some entries and
// stores their outcomes. Slow work is done before the transaction, because the transaction locks
// the change clock.
func (x *work) importAll(ctx context.Context) error {
	x.companies = map[string]string{}
	err := process.EachPrepared(ctx, &x.Run, job.Portion{Most: process.Piece, Least: process.Piece},
		func(tx db.Tx, limit int) ([]*line, error) {
			return x.lines(ctx, tx, selectLines, x.After, limit)
		}, func(c *op.Call, list []*line) ([]*candidate, error) {
			maps.Copy(x.companies, x.made)
			return x.prepare(ctx, c, list)
		}, func(c *op.Call, list []*candidate) error {
			if err := x.mayName(c); err != nil {
				return err
			}
			x.made, x.After = map[string]string{}, list[len(list)-1].number
			b := &batch{work: x, Call: c, there: map[string]bool{}, seen: match.Index{}}
			for _, n := range list {
				if err := b.importOne(ctx, n); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	x.expires, x.Groups = clock.Now(x.Clock).Add(Age), nil
	return x.end(ctx, Finished, DoneWord)
}

// batch is the import of some entries in one transaction.
type batch struct {
	*work
	*op.Call
	// there has the companies that the transaction has found to exist.
	there map[string]bool
	// used has the contacts that other records refer to. It is set during an undo.
	used map[string]bool
	seen match.Index
}

// mayName stops the import if the file has a column with companies, but its person may no longer
// read companies.
func (x *work) mayName(c *op.Call) error {
	for _, column := range x.Columns {
		if column.Target == mapping.Company && !c.Actor.May("companies:read") {
			return process.StopError{Reason: NoRight}
		}
	}
	return nil
}

// result is the outcome of an entry.
type result struct {
	outcome Outcome
	wrong   []fault.Field
	record  *string
	company *string
	// former is the revision before the change. before are the encrypted members before it.
	former, revision int64
	before           string
	// told are problems in addition to the entry's own.
	told []entry.Problem
}

// importOne imports an entry and stores its outcome.
func (b *batch) importOne(ctx context.Context, n *candidate) error {
	if n.Entry == nil {
		outcome, told := b.unread(n.line)
		b.Counts[outcome]++
		b.Tx.Queue(keepLine, b.organization, b.id, n.number, outcome, b.sealProblems(n.number, told), nil)
		return nil
	}
	r, err := b.resolve(ctx, n)
	if err != nil {
		return err
	}
	b.Counts[r.outcome]++
	told := slices.Concat(entry.ProblemsOf(r.wrong), r.told, n.toldAs(r.outcome))
	if n.Group {
		told = n.Told
	}
	problems := b.sealProblems(n.number, told)
	if r.company != nil {
		b.Companies++
	}
	if r.outcome == Refused {
		b.Tx.Queue(keepLine, b.organization, b.id, n.number, r.outcome, problems, r.company)
		return nil
	}
	b.Tx.Queue(endLine, b.organization, b.id, n.number, r.outcome, problems, r.record, r.company, r.revision, r.former,
		r.before)
	return nil
}

// resolve decides the outcome of an entry, and carries it out.
func (b *batch) resolve(ctx context.Context, n *candidate) (r result, err error) {
	switch {
	case n.Group:
		return result{outcome: Skipped}, nil
	case n.Firm:
		return b.resolveFirm(ctx, n)
	}
	var target string
	var made bool
	var told []entry.Problem
	if n.Match != nil {
		if target, made = n.Match.ID, n.made; made {
			told = []entry.Problem{n.first.ToldSame()}
		} else if b.Options.Duplicates == mapping.Skip {
			told = []entry.Problem{n.ToldThere(target)}
		}
	} else {
		was, double, idTaken := b.seen.Find(&n.Identity)
		if target, made = was.Record, was.Made; idTaken {
			b.withoutID(n)
		}
		if double {
			told = []entry.Problem{was.ToldSame()}
		}
	}
	if len(n.wrong) > 0 {
		return result{outcome: Refused, wrong: n.wrong}, nil
	}
	if target != "" && !made && b.Options.Duplicates == mapping.Skip {
		return result{outcome: Skipped, record: &target, told: told}, nil
	}
	switch {
	case target == "":
		r, err = b.create(ctx, n)
		made = true
	case made:
		r, err = b.join(ctx, n, target)
	default:
		r, err = b.update(ctx, n, target)
	}
	if fault.Is(err, fault.NotFound) {
		err = fmt.Errorf("imports: %w: %w", errGone, err)
	}
	if err == nil && r.record != nil {
		b.noteSighting(n, *r.record, made)
	}
	if r.outcome != Refused {
		r.told = append(told, r.told...)
	}
	return r, err
}

// noteSighting adds an entry to the index for later entries. made says that the entry created the
// record.
func (b *batch) noteSighting(n *candidate, record string, made bool) {
	b.seen.Add(&n.Identity, match.Sighting{
		Line: n.line.line, File: n.line.file, Number: n.number, Record: record, Made: made,
	})
}

// companyFor returns the id of an entry's company, and creates the company if it does not exist.
// made is the id of a created company, or nil.
func (b *batch) companyFor(ctx context.Context, n *candidate) (company string, made *string, err error) {
	if n.CompanyKey == "" || n.CompanyID != "" {
		return n.CompanyID, nil, nil
	}
	for _, key := range []string{n.CompanyKey, n.CacheKey()} {
		if known := cmp.Or(b.made[key], b.companies[key]); known != "" {
			return known, nil, nil
		}
	}
	company = id.New(id.Company)
	if err := createCompany(ctx, b.Call, n.Company, company, n.Private); err != nil {
		return "", nil, err
	}
	b.made[n.CacheKey()], b.there[company] = company, true
	return company, &company, nil
}

// create creates the contact of an entry. It checks the contact before it creates a company, so
// that a refused entry creates no company.
func (b *batch) create(ctx context.Context, n *candidate) (r result, err error) {
	f := n.fields
	wrong, err := violations(contact.Contacts.CheckStored(ctx, b.Call, &f))
	if err != nil || len(wrong) > 0 {
		return result{outcome: Refused, wrong: wrong}, err
	}
	company, made, err := b.companyFor(ctx, n)
	if err != nil {
		return r, err
	}
	if company != "" {
		f.CompanyID = &company
		if made == nil {
			if err := b.still(ctx, company); err != nil {
				return r, err
			}
		}
	}
	name := id.New(id.Contact)
	if _, err := contact.Contacts.Insert(ctx, b.Call, name, &f, nil); err != nil {
		return r, err
	}
	return result{outcome: Created, record: &name, company: made, revision: 1}, nil
}

// still fails with errGone if a company no longer exists. The job then repeats the transaction.
func (b *batch) still(ctx context.Context, company string) error {
	if b.there[company] {
		return nil
	}
	seen, err := record.Seen(ctx, b.Call, "companies", company)
	if err == nil && !seen {
		err = fmt.Errorf("imports: %w: the company %s", errGone, company)
	}
	b.there[company] = err == nil
	return err
}

// errGone means that the record of an entry was deleted during the import.
var errGone = errors.New("a record was deleted meanwhile")

// update changes an existing contact according to an entry.
func (b *batch) update(ctx context.Context, n *candidate, target string) (r result, err error) {
	before, _, err := contact.Contacts.Members(ctx, b.Call, target)
	if fault.Is(err, fault.NotFound) {
		return r, fmt.Errorf("imports: %w: the contact %s", errGone, target)
	}
	if err != nil {
		return r, err
	}
	patch, told, err := n.Patch(before, b.Options.Duplicates, n.CompanyID)
	if err != nil {
		return r, err
	}
	if wrong := b.broken(patch, "contacts.update", new(op.Patch[contact.Fields])); len(wrong) > 0 {
		return result{outcome: Refused, wrong: wrong}, nil
	}
	n.Private = n.Private || before.Visibility == record.Private
	company, made := n.CompanyID, (*string)(nil)
	if n.CompanyKey != "" && company == "" && (before.CompanyID == nil || b.Options.Duplicates == mapping.Replace) {
		if company, made, err = b.companyFor(ctx, n); err != nil {
			return r, err
		}
		patch["companyId"] = company
	}
	r, err = b.write(ctx, updateContact, selectRevision, n.number, target, before, patch)
	r.company, r.told = made, told
	return r, err
}

// updater changes the members of a record, and returns its new entity tag.
type updater func(ctx context.Context, c *op.Call, target string, patch json.RawMessage) (string, error)

func updateContact(ctx context.Context, c *op.Call, target string, patch json.RawMessage) (string, error) {
	in := record.UpdateInput[contact.Fields]{ID: target}
	in.Patch.SetRaw(patch)
	answer, err := contact.Contacts.Update(ctx, c, in)
	if err != nil {
		return "", err
	}
	return answer.EntityTag(), nil
}

func updateCompany(ctx context.Context, c *op.Call, target string, patch json.RawMessage) (string, error) {
	in := record.UpdateInput[company.Fields]{ID: target}
	in.Patch.SetRaw(patch)
	answer, err := company.Companies.Update(ctx, c, in)
	if err != nil {
		return "", err
	}
	return answer.EntityTag(), nil
}

// write changes the members of a record, and stores their former values in the result.
func (b *batch) write(
	ctx context.Context, update updater, revisionOf string, number int64, target string, before any, patch map[string]any,
) (r result, err error) {
	var revision int64
	if err := b.Tx.QueryRow(ctx, revisionOf, b.organization, target).Scan(&revision); err != nil {
		return r, err
	}
	r = result{outcome: Unchanged, record: &target}
	if len(patch) == 0 {
		return r, nil
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return r, err
	}
	tag, err := update(ctx, b.Call, target, raw)
	if wrong, other := violations(err); other != nil || len(wrong) > 0 {
		return result{outcome: Refused, wrong: wrong}, other
	}
	if tag == op.Tag(revision) {
		return r, nil
	}
	r.outcome, r.former, r.revision = Updated, revision, revision+1
	former, err := entry.Former(before, patch)
	r.before = b.seal(former, beforePart(number))
	return r, err
}
