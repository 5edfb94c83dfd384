package offboarding

import (
	"context"
	"errors"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/audit"
	"kartei/people/invitation"
	"kartei/people/principal"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/store/replay"
	"kartei/transfer/process"
)

// EraseKind is the kind of job that removes the addresses of an erased person from the request log
// and the audit log.
const EraseKind = "people.erase"

// heldCounts has the numbers of a person's records shortly before the transaction that erases the
// person.
type heldCounts struct {
	// ticks has the last tick of each organization when the count began, by organization number.
	ticks map[int64]clock.Micros
	held  map[string]record.Holdings
}

// countHeld counts the records that a person owns or is assigned. It reads all records, so it runs
// before the transaction. The transaction counts only later changes.
func countHeld(ctx context.Context, c *op.Call, by op.ByID) (seen heldCounts, err error) {
	seen = heldCounts{map[int64]clock.Micros{}, map[string]record.Holdings{}}
	var tenants []tenant
	err = c.Services.Read(ctx, func(tx db.Tx) error {
		p, err := principal.Find(ctx, in(c, tx), access.UserPrincipal, by.ID)
		if err != nil {
			return err
		}
		if tenants, err = tenantsOf(ctx, tx, p); err != nil {
			return err
		}
		for _, t := range tenants {
			if seen.ticks[t.number], err = db.LastTick(ctx, tx, t.number); err != nil {
				return err
			}
		}
		return nil
	})
	for _, t := range tenants {
		for _, f := range families {
			if err == nil {
				err = seen.add(ctx, c, t, f, by.ID)
			}
		}
	}
	return seen, err
}

// add counts the records of a family in windows, each in its own transaction.
func (s *heldCounts) add(ctx context.Context, c *op.Call, t tenant, f family, principal string) error {
	sum := s.held[f.plural]
	for after, end := "", "-"; end != ""; after = end {
		err := c.Services.Read(ctx, func(tx db.Tx) (err error) {
			if end, err = f.Window(ctx, tx, t.number, after, process.Window); err != nil || end == "" {
				return err
			}
			h, err := f.CountIn(ctx, tx, t.number, principal, after, end)
			sum.Add(h)
			return err
		})
		if err != nil {
			return err
		}
	}
	s.held[f.plural] = sum
	return nil
}

// since returns the counts, including the records that changed since the count.
func (s *heldCounts) since(
	ctx context.Context, tx db.Tx, tenants []tenant, principal string,
) (map[string]record.Holdings, error) {
	all := map[string]record.Holdings{}
	for _, f := range families {
		sum := s.held[f.plural]
		for _, t := range tenants {
			h, err := f.CountSince(ctx, tx, t.number, principal, s.ticks[t.number])
			if err != nil {
				return nil, err
			}
			sum.Add(h)
		}
		if sum.Any() {
			all[f.plural] = sum
		}
	}
	return all, nil
}

// Erase is the operation that erases a person. It fails if the person has records, which HandOver
// can give to somebody else. The id of the person stays. Records that contain the id show the same
// name for all erased people.
var Erase = op.NewPrefetched("people.erase", op.Administer, countHeld, erase, op.By(op.Admin|op.Operator), op.Fresh,
	op.Audited("person.erase"))

func erase(ctx context.Context, c *op.Call, in op.ByID, seen heldCounts) (access.PrincipalInfo, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return access.PrincipalInfo{}, err
	}
	p, err := principal.Find(ctx, c, access.UserPrincipal, in.ID)
	if err != nil {
		return p, err
	}
	tenants, err := tenantsOf(ctx, c.Tx, p)
	if err != nil {
		return p, err
	}
	if err := seen.mayErase(ctx, c, tenants, p.ID); err != nil {
		return p, err
	}
	// The order of the locks is the order in docs/decisions/0020: endpoints, jobs, notices.
	endpoints, err := webhook.DeleteOf(ctx, c, p.ID, tenants[0].number, tenants[1].number)
	if err != nil {
		return p, err
	}
	for _, t := range tenants {
		if _, err := c.Tx.Exec(ctx, eraseRecents, t.number, p.ID); err != nil {
			return p, err
		}
		// The job runs a minute later, because a running call is logged after its response.
		if err := process.Enqueue(ctx, c, t.number, p.ID, job.Spec{
			Kind: EraseKind, Due: c.Now.Add(time.Minute),
		}); err != nil {
			return p, err
		}
	}
	if err := invitation.Erase(ctx, c.Tx, p.Home, p.Email); err != nil {
		return p, err
	}
	if p, err = principal.Erase(ctx, c, p); err != nil {
		return p, err
	}
	for _, t := range tenants { // stored responses about the person contain their name
		replay.Erase(c.Tx, t.number, p.ID)
	}
	c.Audit.Changed("endpoints", endpoints, 0)
	p.Name = access.ErasedName.In(c.Language)
	return p, nil
}

// mayErase fails if the person has records, or takes part in an unfinished hand-over.
func (s *heldCounts) mayErase(ctx context.Context, c *op.Call, tenants []tenant, person string) error {
	busy, err := underway(ctx, c.Tx, tenants, person)
	if err != nil {
		return err
	}
	if busy {
		err = &fault.Fault{Code: fault.Forbidden, Detail: isUnderway}
	}
	if err != nil {
		return err
	}
	held, err := s.since(ctx, c.Tx, tenants, person)
	if err != nil || len(held) == 0 {
		return err
	}
	text := i18n.Text("The person still owns records, in the sandbox too, or is assigned tasks: %s. Hand them over first.")
	if c.IsOperator() {
		text = "The person still owns records, in the sandbox too, or is assigned tasks: %s. Hand them over first (kartei user hand-over, private ones with --private)."
	}
	return &fault.Fault{
		Code: fault.Forbidden, Extra: map[string]any{"held": held}, Detail: i18n.Format(text, say(held)),
	}
}

const (
	eraseRecents = `delete from recents where organization = $1 and principal = $2`
	selectShorts = `select substr(kid, 1, 8) from api_keys where principal_id = $1
		union select substr(previous_kid, 1, 8) from api_keys where principal_id = $1 and previous_kid is not null`
	// selectLine, clearLines and clearRest change the lines of one key or of a person's sessions in
	// pieces, in the order of an index. Lines of refused calls have no principal.
	selectLine = `select at, request_id from request_log where organization = $1 and kid_short = $2 and (at, request_id) > ($3, $4)
		order by at, request_id limit 1 offset $5`
	clearLines = `update request_log set address = '' where organization = $1 and kid_short = $2 and (at, request_id) > ($3, $4)
		and (at, request_id) <= ($5, $6) and principal_id in ($7, '')`
	clearRest = `update request_log set address = '' where organization = $1 and kid_short = $2 and (at, request_id) > ($3, $4) and principal_id in ($5, '')`
	// clearActs changes the lines of the person's acts and of refused sign-ins, which have no
	// principal.
	clearActs = `update audit_lines set address = '' where organization = $1 and id in (
		select id from audit_lines where organization = $1 and (principal = $2 or principal = '' and target = $2) and address <> '' limit $3)`
	// selectNetworks reads the lines that contain networks of the person's keys.
	selectNetworks = `select id, changes from audit_lines where organization = $1 and id > $2 and changes like '%"networks"%'
		and target in (select id from api_keys where principal_id = $3) order by id limit $4`
	clearNetworks = `update audit_lines set changes = $3 where organization = $1 and id = $2`
)

// erasePiece is the maximum number of lines that one transaction changes.
const erasePiece = 500

// erase removes the addresses of an erased person from the logs, and the networks of the person's
// keys. The lines keep the id of the person.
func (w *Worker) erase(ctx context.Context, j *job.Job) error {
	person, err := process.SubjectOf(j)
	if err != nil {
		return err
	}
	for n := int64(erasePiece); n == erasePiece; {
		err := j.Update(ctx, func(tx db.Tx) (err error) {
			n, err = tx.Exec(ctx, clearActs, j.Organization, person, erasePiece)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := w.clearNetworks(ctx, j, person); err != nil {
		return err
	}
	var shorts []string
	err = w.DB.Read(ctx, func(tx db.Tx) (err error) {
		shorts, err = db.Values[string](ctx, tx, selectShorts, person)
		return err
	})
	for _, short := range append(shorts, id.Short(person)) { // the last selects the sessions
		if err == nil {
			err = w.clear(ctx, j, person, short)
		}
	}
	return err
}

// clearNetworks removes the networks of a person's keys from the lines of the audit log.
func (w *Worker) clearNetworks(ctx context.Context, j *job.Job, person string) error {
	type line struct{ id, changes string }
	last := ""
	for n := erasePiece; n == erasePiece; {
		next := last
		err := j.Update(ctx, func(tx db.Tx) error { // the function may run more than once
			list, err := db.List(ctx, tx, func(row db.Row) (l line, err error) {
				return l, row.Scan(&l.id, &l.changes)
			}, selectNetworks, j.Organization, last, person, erasePiece)
			if err != nil {
				return err
			}
			n = len(list)
			for _, l := range list {
				next = l.id
				hidden, err := audit.Hide(l.changes, "networks")
				if err != nil {
					return err
				}
				tx.Queue(clearNetworks, j.Organization, l.id, hidden)
			}
			return nil
		})
		if err != nil {
			return err
		}
		last = next
	}
	return nil
}

// clear removes the addresses from the lines of one key.
func (w *Worker) clear(ctx context.Context, j *job.Job, person, short string) error {
	at, request := clock.Micros(0), ""
	for more := true; more; {
		var next clock.Micros
		var last string
		err := j.Update(ctx, func(tx db.Tx) error {
			err := tx.QueryRow(ctx, selectLine, j.Organization, short, at, request, erasePiece-1).Scan(&next, &last)
			switch {
			case err == nil:
				more = true
				_, err = tx.Exec(ctx, clearLines, j.Organization, short, at, request, next, last, person)
			case errors.Is(err, db.ErrNoRows):
				more = false
				_, err = tx.Exec(ctx, clearRest, j.Organization, short, at, request, person)
			}
			return err
		})
		if err != nil {
			return err
		}
		at, request = next, last
	}
	return nil
}
