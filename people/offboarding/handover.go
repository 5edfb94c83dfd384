package offboarding

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/process"
)

// countMost is the maximum of a count before a hand-over. The hand-over itself counts all records.
const countMost = 10_000

// HandOverInput is the input of HandOver.
type HandOverInput struct {
	// ID is the id of the user or service account that leaves.
	ID string `json:"id"`
	// To is the id of a user or a service account of the same organization.
	To string `json:"to"`
	// Private says that private records are handed over too. To then sees them. If it is false,
	// private records stay and are counted.
	Private bool `json:"private,omitempty"`
	// Disable disables the principal at once, so that its keys and sign-ins are refused.
	Disable bool `json:"disable,omitempty"`
}

// HandOverOutput is the output of HandOver. Jobs then do the work.
type HandOverOutput struct {
	Handover
	// PrivateRecords has the numbers of private records by family. Each number counts at most
	// 10,000 in each organization.
	PrivateRecords map[string]int64 `json:"privateRecords"`
	// Endpoints are the webhook endpoints of the principal. They are not handed over.
	Endpoints []Endpoint `json:"endpoints"`
}

// Endpoint is a webhook endpoint of a principal that leaves.
type Endpoint struct {
	OrganizationID string         `json:"organizationId"`
	ID             string         `json:"id"`
	Name           string         `json:"name"`
	Status         webhook.Status `json:"status"`
}

// Handover is a hand-over as administrators see it.
type Handover struct {
	ID string `json:"id"`
	// From is the id of the principal that leaves, and To is the id of the successor.
	From string `json:"fromId"`
	To   string `json:"toId"`
	// WithPrivate is true if private records are handed over too.
	WithPrivate bool         `json:"withPrivate"`
	CreatedAt   clock.Micros `json:"createdAt"`
	// FinishedAt is the time when all parts had finished. It is null before.
	FinishedAt clock.Micros `json:"finishedAt"`
	// Job is the kind of the jobs that do the work, as kartei jobs shows it.
	Job string `json:"job"`
	// Parts are the part of the organization and the part of its sandbox.
	Parts []Part `json:"parts"`
}

// Part is the part of a hand-over in one organization.
type Part struct {
	OrganizationID string       `json:"organizationId"`
	FinishedAt     clock.Micros `json:"finishedAt"`
	// Families has the counts so far, by family.
	Families map[string]Tally `json:"families"`
}

// Tally has the counts of a family.
type Tally struct {
	// Handed counts the records that were handed over. A task may count twice: as owned and as
	// assigned.
	Handed record.Holdings `json:"handed"`
	// Stayed is the number of private records that stay with their owner.
	Stayed int64 `json:"stayed"`
}

// progress is the stored state of a part. A pass reads all families. Passes are repeated until one
// finds no records, because other people may give the principal new records during a pass.
type progress struct {
	Pass int `json:"pass"`
	// Family is the index in families. After is the last record id that the pass has read.
	Family int    `json:"family"`
	After  string `json:"after"`
	// Handed is the number of records that this pass has handed over.
	Handed   int64            `json:"handed"`
	Families map[string]Tally `json:"families"`
}

// add counts one record. handed is what was handed over, and stayed is what stays with its owner.
func (p *progress) add(family string, handed, stayed record.Holdings) {
	t := p.Families[family]
	t.Handed.Add(handed)
	t.Stayed += stayed.Private
	p.Families[family] = t
	if handed.Any() {
		p.Handed++
	}
}

const (
	insertHandover = `insert into handovers
		(organization, id, from_principal, to_principal, private, progress, requested_by, kind, request_id, created_at, finished_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)`
	selectBusy = `select count(case when from_principal = $2 or to_principal = $2 then 1 end), count(case when from_principal = $3 then 1 end)
		from handovers where organization = $1 and finished_at = 0`
	selectOf = `select id, to_principal, private, progress, created_at, finished_at
		from handovers where organization = $1 and from_principal = $2 order by id desc limit $3`
)

// HandOver is the operation that begins to give the records and tasks of a principal to another
// principal. It covers the organization and its sandbox.
var HandOver = op.New("people.handOver", op.Administer, beginHandover, op.By(op.Admin|op.Operator), op.Fresh,
	op.Gives, op.Audited("person.handOver"))

func beginHandover(ctx context.Context, c *op.Call, in HandOverInput) (out HandOverOutput, err error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return out, err
	}
	from, to, err := parties(ctx, c, in)
	if err != nil {
		return out, err
	}
	tenants, err := tenantsOf(ctx, c.Tx, from)
	if err != nil {
		return out, err
	}
	if err := free(ctx, c.Tx, tenants, from.ID, to.ID); err != nil {
		return out, err
	}
	out.Handover = Handover{
		ID: id.New(id.Handover), From: from.ID, To: to.ID, WithPrivate: in.Private, CreatedAt: c.Now,
		Job: JobKind,
	}
	if err := out.inspect(ctx, c.Tx, tenants); err != nil {
		return out, err
	}
	c.Audit.About(from.Home, from.ID)
	c.Audit.Changed("records", from.ID, to.ID)
	c.Audit.Changed("private", nil, in.Private)
	for _, f := range slices.Sorted(maps.Keys(out.PrivateRecords)) {
		c.Audit.Changed("private."+f, nil, out.PrivateRecords[f])
	}
	if in.Disable && !from.Disabled {
		if err := principal.Disable(ctx, c, from); err != nil {
			return out, err
		}
	}
	for _, t := range tenants {
		if err := out.begin(ctx, c, t); err != nil {
			return out, err
		}
	}
	return out, c.Gives(ctx, op.Gain{
		Word: op.HandedOver, ID: from.ID, Organization: from.Home, Principal: to.ID, Admins: true,
	})
}

// parties reads the two principals of a hand-over. It fails if the successor cannot take over.
func parties(ctx context.Context, c *op.Call, in HandOverInput) (from, to access.PrincipalInfo, err error) {
	if from, err = principal.Find(ctx, c, "", in.ID); err != nil {
		return from, to, err
	}
	to, err = principal.Find(ctx, c, "", in.To)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return from, to, err
	}
	wrong := fault.Field{Name: "to"}
	switch {
	case in.To == "":
		wrong.Code = fault.Required
	case err != nil || to.Home != from.Home || to.ErasedAt != 0:
		wrong.Code, wrong.Text = fault.FieldNotFound, noSuccessor
	case to.ID == from.ID:
		wrong.Code, wrong.Text = fault.ForbiddenCombination, samePrincipal
	case to.Disabled:
		wrong.Code, wrong.Text = fault.ForbiddenCombination, disabledSuccessor
	default:
		return from, to, nil
	}
	return from, to, fault.Invalid(wrong)
}

var (
	noSuccessor       = i18n.Text("There is no such person or service account in the organization.")
	samePrincipal     = i18n.Text("The records belong to this person already. Name another one.")
	disabledSuccessor = i18n.Text("This person or service account is disabled and cannot take over anything.")
)

// free fails if the leaving principal takes part in an unfinished hand-over. It also fails if the
// successor is handing over its own records, because two hand-overs could pass records back and
// forth.
func free(ctx context.Context, tx db.Tx, tenants []tenant, from, to string) error {
	for _, t := range tenants {
		var busy, leaving int64
		if err := tx.QueryRow(ctx, selectBusy, t.number, from, to).Scan(&busy, &leaving); err != nil {
			return err
		}
		switch {
		case busy > 0:
			return fault.Invalid(fault.Field{Name: "id", Code: fault.Duplicate, Text: isUnderway})
		case leaving > 0:
			return fault.Invalid(fault.Field{Name: "to", Code: fault.Duplicate, Text: isUnderway})
		}
	}
	return nil
}

// inspect sets PrivateRecords and Endpoints.
func (o *HandOverOutput) inspect(ctx context.Context, tx db.Tx, tenants []tenant) (err error) {
	if o.PrivateRecords, err = countPrivate(ctx, tx, tenants, o.From); err != nil {
		return err
	}
	o.Endpoints = []Endpoint{}
	for _, t := range tenants {
		endpoints, err := webhook.Of(ctx, tx, t.number, o.From)
		if err != nil {
			return err
		}
		for _, e := range endpoints {
			o.Endpoints = append(o.Endpoints, Endpoint{t.id, e.ID, e.Name, e.Status})
		}
	}
	return nil
}

// begin stores a part and enqueues its job.
func (o *HandOverOutput) begin(ctx context.Context, c *op.Call, t tenant) error {
	o.Parts = append(o.Parts, Part{OrganizationID: t.id, Families: map[string]Tally{}})
	if _, err := c.Tx.Exec(ctx, insertHandover, t.number, o.ID, o.From, o.To, o.WithPrivate,
		process.Encode(progress{Pass: 1, Families: map[string]Tally{}}),
		c.Actor.PrincipalID(), string(c.Actor.Credential().Kind), c.RequestID, c.Now); err != nil {
		return err
	}
	return process.Enqueue(ctx, c, t.number, o.ID, job.Spec{Kind: JobKind})
}

// maxShown is the maximum number of hand-overs that Status returns.
const maxShown = 20

// Status is the operation that returns the latest hand-overs of a principal, the newest first.
var Status = op.New("people.handOverStatus", op.Read, status, op.By(op.Admin|op.Operator))

func status(ctx context.Context, c *op.Call, in op.ByID) (list op.Entries[Handover], err error) {
	list.Data = []Handover{}
	p, err := principal.Find(ctx, c, "", in.ID)
	if err != nil {
		return list, err
	}
	tenants, err := tenantsOf(ctx, c.Tx, p)
	if err != nil {
		return list, err
	}
	for _, t := range tenants {
		if list.Data, err = withParts(ctx, c.Tx, list.Data, t, p.ID); err != nil {
			return list, err
		}
	}
	return list, nil
}

// withParts adds the parts of one organization to a list. The live organization must come first,
// because its parts create the entries.
func withParts(ctx context.Context, tx db.Tx, list []Handover, t tenant, from string) ([]Handover, error) {
	rows, err := tx.Query(ctx, selectOf, t.number, from, maxShown)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		h := Handover{From: from, Job: JobKind}
		var text string
		if err := rows.Scan(&h.ID, &h.To, &h.WithPrivate, &text, &h.CreatedAt, &h.FinishedAt); err != nil {
			return nil, err
		}
		var p progress
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return nil, fmt.Errorf("offboarding: hand-over %s: %w", h.ID, err)
		}
		n := slices.IndexFunc(list, func(other Handover) bool { return other.ID == h.ID })
		if n < 0 {
			n, list = len(list), append(list, h)
		} else if list[n].FinishedAt = max(list[n].FinishedAt, h.FinishedAt); h.FinishedAt == 0 ||
			list[n].Parts[0].FinishedAt == 0 {
			list[n].FinishedAt = 0
		}
		list[n].Parts = append(list[n].Parts, Part{t.id, h.FinishedAt, p.Families})
	}
	return list, rows.Err()
}
