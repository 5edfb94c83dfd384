package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/process"
)

// StartInput is the input of Start.
type StartInput struct {
	// Family is contacts or companies.
	Family string `json:"family"`
	// Q is the search text of the list. Filters are its filters, with the names of query
	// parameters as keys.
	Q       string            `json:"q,omitempty"`
	Filters map[string]string `json:"filters,omitempty"`
	Kind    Kind              `json:"kind"`
	// Value is the tag, the id of the new owner, or the visibility.
	Value string `json:"value"`
}

// Start begins an act on all records that are currently in a list. A job makes the changes.
var Start = op.New("bulk.start", op.Administer, start, op.By(op.Member), op.Gives, op.Audited("records.bulkStart"))

func start(ctx context.Context, c *op.Call, in StartInput) (Act, error) {
	f := familyOf(in.Family)
	if f == nil {
		var names []string
		for _, f := range families {
			names = append(names, f.Plural)
		}
		return Act{}, fault.Invalid(fault.Field{Name: "family", Code: fault.NotInEnum, Limit: names})
	}
	if err := process.Require(c.Actor, f.scopes()...); err != nil {
		return Act{}, err
	}
	if _, err := f.filters(in.Filters); err != nil {
		return Act{}, err
	}
	if err := in.check(ctx, c); err != nil {
		return Act{}, err
	}
	r := &row{
		organization: c.Actor.Org(), id: id.New(id.BulkAct), principal: c.Actor.PrincipalID(), state: Collecting,
		Delegation: process.DelegationOf(c, c.Actor),
		content:    content{Family: f.Plural, Kind: in.Kind, Value: in.Value, Q: in.Q, Filters: in.Filters},
		created:    c.Now, began: c.Now, expires: c.Now.Add(Age),
	}
	r.progress = progress{Requests: []string{c.RequestID}}.clone()
	var err error
	if r.Until, err = db.LastTick(ctx, c.Tx, r.organization); err != nil {
		return Act{}, err
	}
	c.Audit.About(r.organization, r.id)
	c.Audit.Changed("family", nil, f.Plural)
	c.Audit.Changed("kind", nil, string(in.Kind))
	if in.Kind == Owner || in.Kind == Visibility {
		c.Audit.Changed(in.Kind.member(), nil, in.Value)
	}
	c.Audit.Hidden("filter", in.Q != "" || len(in.Filters) > 0)
	if err := r.give(ctx, c); err != nil {
		return Act{}, err
	}
	c.Tx.Queue(insertAct, r.organization, r.id, r.principal, r.state, r.reason, process.Encode(r.content),
		process.Encode(r.progress), r.By, r.Delegation.Kind, r.Door, r.RequestID, r.created, r.began, r.expires)
	if err := process.Enqueue(ctx, c, r.organization, r.id, job.Spec{Kind: JobKind}); err != nil {
		return Act{}, err
	}
	if err := process.Enqueue(ctx, c, r.organization, r.id, job.Spec{Kind: ForgetKind, Due: r.expires}); err != nil {
		return Act{}, err
	}
	return r.public(ctx, c.Tx)
}

// check completes the input, and returns a fault if it is not valid or if there are too many
// acts.
func (in *StartInput) check(ctx context.Context, c *op.Call) error {
	var wrong []fault.Field
	switch in.Kind {
	case Tag, Untag:
		in.Value = record.Clean(in.Value)
		switch n := utf8.RuneCountInString(in.Value); {
		case n == 0:
			wrong = append(wrong, fault.Field{Name: "value", Code: fault.Required})
		case n > record.MaxTag:
			wrong = append(wrong, fault.Field{Name: "value", Code: fault.TooLong, Limit: record.MaxTag})
		}
	case Owner:
		if found, err := access.PrincipalExists(ctx, c.Tx, c.Actor.Org(), in.Value); err != nil {
			return err
		} else if !found {
			wrong = append(wrong, fault.Field{Name: "value", Code: fault.FieldNotFound})
		}
	case Visibility:
		if all := []string{string(record.Organization), string(record.Private)}; !slices.Contains(all, in.Value) {
			wrong = append(wrong, fault.Field{Name: "value", Code: fault.NotInEnum, Limit: all})
		}
	default:
		wrong = append(wrong, fault.Field{Name: "kind", Code: fault.NotInEnum, Limit: kinds})
	}
	if in.Q != "" && len(in.Filters) > 0 {
		wrong = append(wrong, fault.Field{Name: "filters", Code: fault.ForbiddenCombination})
	}
	if n := utf8.RuneCountInString(in.Q); n > 200 {
		wrong = append(wrong, fault.Field{Name: "q", Code: fault.TooLong, Limit: 200})
	}
	if wrong != nil {
		return fault.Invalid(wrong...)
	}
	var kept, own int64
	if err := c.Tx.QueryRow(ctx, countKept, c.Actor.Org(), c.Actor.PrincipalID()).Scan(&kept, &own); err != nil {
		return err
	}
	if kept >= maxKept || own >= maxPerPerson {
		return &fault.Fault{
			Code:   fault.QuotaExhausted,
			Detail: tooMany,
			Extra:  map[string]any{"violated-policies": []string{"bulk"}},
		}
	}
	return nil
}

var tooMany = i18n.Text("You or your office have changed so many whole lists within the last seven days that there is no room for another change. Each makes room after seven days.")

// unfit returns the fault for a call that is not allowed in the act's state.
func (r *row) unfit() error {
	return fault.Invalid(fault.Field{
		Name: "id", Code: fault.ForbiddenCombination,
		Text: i18n.Format("This change has gone on already, or is in progress (%s).", r.state),
	})
}

// advance changes an act with alter and enqueues its job, which has the rights of the caller. It
// fails with a fault if the state of the act is not in from.
func advance(ctx context.Context, c *op.Call, in op.ByID, alter func(*row) error, from ...State) (Act, error) {
	r, err := find(ctx, c, in.ID)
	if err != nil {
		return Act{}, err
	}
	if err := process.Require(c.Actor, familyOf(r.Family).scopes()...); err != nil {
		return Act{}, err
	}
	if !slices.Contains(from, r.state) {
		return Act{}, r.unfit()
	}
	r.Delegation, r.began, r.reason = process.DelegationOf(c, c.Actor), c.Now, ""
	r.Requests = append(r.Requests, c.RequestID)
	if err := alter(r); err != nil {
		return Act{}, err
	}
	c.Audit.About(r.organization, r.id)
	if err := r.give(ctx, c); err != nil {
		return Act{}, err
	}
	if err := process.Enqueue(ctx, c, r.organization, r.id, job.Spec{Kind: JobKind}); err != nil {
		return Act{}, err
	}
	if err := process.AsConflict(r.change(ctx, c.Tx)); err != nil {
		return Act{}, err
	}
	return r.public(ctx, c.Tx)
}

// maxRequests is the maximum number of requests that begin, resume or undo one act.
const maxRequests = 50

// Resume continues an act, or its undo, that has stopped.
var Resume = op.New("bulk.resume", op.Administer, resume, op.By(op.Member), op.Gives, op.Audited("records.bulkResume"))

func resume(ctx context.Context, c *op.Call, in op.ByID) (Act, error) {
	return advance(ctx, c, in, func(r *row) error {
		switch {
		case len(r.Requests) > maxRequests:
			return r.unfit()
		case r.Undo:
			r.state = Undoing
		case r.Collected:
			r.state = Running
		default:
			r.state, r.After = Collecting, ""
		}
		return nil
	}, Stopped)
}

// Undo begins to restore the former values of the records. It does not restore records that
// others have changed since.
var Undo = op.New("bulk.undo", op.Administer, undo, op.By(op.Member), op.Gives, op.Audited("records.bulkUndo"))

func undo(ctx context.Context, c *op.Call, in op.ByID) (Act, error) {
	return advance(ctx, c, in, func(r *row) error {
		if r.expires <= c.Now {
			return unknown()
		}
		if r.Undo { // Resume continues an undo
			return r.unfit()
		}
		r.state, r.Undo, r.After, r.Done = Undoing, true, "", 0
		return nil
	}, Finished, Stopped)
}

// Stop stops an act. The changes so far stay, and the act can be resumed or undone.
var Stop = op.New("bulk.stop", op.Administer, stop, op.By(op.Member), op.Audited("records.bulkStop"))

func stop(ctx context.Context, c *op.Call, in op.ByID) (Act, error) {
	r, err := find(ctx, c, in.ID)
	if err != nil {
		return Act{}, err
	}
	if !r.state.Works() {
		return Act{}, r.unfit()
	}
	r.state, r.reason = Stopped, ByPerson
	if err := process.AsConflict(process.Exec(ctx, c.Tx, stopAct, r.organization, r.id, r.was, r.reason)); err != nil {
		return Act{}, err
	}
	c.Audit.About(r.organization, r.id)
	if err := r.tellOwners(ctx, c.Tx, c.Services, c.Now); err != nil { // because the changes so far stay
		return Act{}, err
	}
	return r.public(ctx, c.Tx)
}

// stopAct does not change the progress, which a job may store at the same time.
const stopAct = `update bulk_acts set state = 'stopped', reason = $4 where organization = $1 and id = $2 and state = $3`

// Get returns an act.
var Get = op.New("bulk.get", op.Read, get, op.By(op.Member))

func get(ctx context.Context, c *op.Call, in op.ByID) (Act, error) {
	r, err := find(ctx, c, in.ID)
	if err != nil {
		return Act{}, err
	}
	return r.public(ctx, c.Tx)
}

// ListInput is the input of List.
type ListInput struct {
	// After is the id of the last act on the previous page.
	After string `json:"after,omitempty"`
	// Limit is the maximum number of acts, from 1 to 1,000. Zero means 50.
	Limit int `json:"limit,omitempty"`
}

// List returns the acts of the caller, the newest first. An admin gets all acts of the
// organization.
var List = op.New("bulk.list", op.Read, list, op.By(op.Member))

func list(ctx context.Context, c *op.Call, in ListInput) (out op.Entries[Act], err error) {
	limit, err := op.PageSize(in.Limit, 50)
	if err != nil {
		return out, err
	}
	statement := selectOwn
	if c.Actor.SeesAll() {
		statement = selectAll
	}
	rows, err := db.List(ctx, c.Tx, scan, statement, c.Actor.Org(), c.Actor.PrincipalID(), in.After, limit+1)
	if err != nil {
		return out, err
	}
	list := make([]Act, len(rows))
	for i, r := range rows {
		if list[i], err = r.public(ctx, c.Tx); err != nil {
			return out, err
		}
	}
	return op.PageOf(list, limit), nil
}

// maxShown is the maximum number of reasons and of records in a report.
const maxShown = 100

// Report has the records that an act did not change or restore, with the reasons.
type Report struct {
	// Reasons has the number of records for each reason, the most frequent first.
	Reasons []Why `json:"reasons"`
	// Records are the first of these records, by id.
	Records []LeftRecord `json:"records"`
}

// Why is a reason with the number of its records.
type Why struct {
	Message string `json:"message"`
	Count   int64  `json:"count"`
}

// LeftRecord is a record that an act did not change or restore.
type LeftRecord struct {
	RecordID string  `json:"recordId"`
	Outcome  Outcome `json:"outcome"`
	Message  string  `json:"message"`
}

const (
	selectReasons = `select problem, count(*) from bulk_lines where organization = $1 and act_id = $2 and problem <> '' group by problem order by count(*) desc, problem limit $3`
	selectLeft    = `select record_id, state, problem from bulk_lines where organization = $1 and act_id = $2 and problem <> '' order by record_id limit $3`
)

// GetReport returns the report about an act.
var GetReport = op.New("bulk.report", op.Read, getReport, op.By(op.Member))

func getReport(ctx context.Context, c *op.Call, in op.ByID) (out Report, err error) {
	r, err := find(ctx, c, in.ID)
	if err != nil {
		return out, err
	}
	out.Reasons, err = db.List(ctx, c.Tx, func(from db.Row) (w Why, err error) {
		var problem string
		if err = from.Scan(&problem, &w.Count); err != nil {
			return w, err
		}
		w.Message, err = messageOf(problem, c.Language)
		return w, err
	}, selectReasons, r.organization, r.id, maxShown)
	if err != nil {
		return out, err
	}
	out.Records, err = db.List(ctx, c.Tx, func(from db.Row) (l LeftRecord, err error) {
		var problem string
		if err = from.Scan(&l.RecordID, &l.Outcome, &problem); err != nil {
			return l, err
		}
		l.Message, err = messageOf(problem, c.Language)
		return l, err
	}, selectLeft, r.organization, r.id, maxShown)
	return out, err
}

// storedProblem returns the stored reason for a record. It has no content of the record.
func storedProblem(err *fault.Fault) string {
	if len(err.Fields) > 0 {
		return process.Encode(i18n.WordingOf(err.Fields[0].Message))
	}
	return process.Encode(cmp.Or(err.Detail, "Not saved.").Wording())
}

func messageOf(stored string, in i18n.Language) (string, error) {
	var said i18n.Wording
	if err := json.Unmarshal([]byte(stored), &said); err != nil {
		return "", fmt.Errorf("bulk: a stored problem: %w", err)
	}
	return said.In(in), nil
}
