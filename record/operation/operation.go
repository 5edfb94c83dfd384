// Package operation owns calls that continue in a job after their response: their state, result and failure.
package operation

import (
	"context"
	"errors"
	"reflect"
	"time"

	"kartei/api/op"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Status is the progress of an operation.
type Status string

// The values of Status, in the order in which an operation has them. It ends with one of the last
// two.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
)

// Operation is an operation as the API returns it.
type Operation struct {
	Object     string         `json:"object" enum:"operation" example:"operation"`
	ID         string         `json:"id" example:"opr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Type       string         `json:"type" example:"documents.create"`
	Status     Status         `json:"status" enum:"queued,running,succeeded,failed" example:"succeeded"`
	Progress   int64          `json:"progress" min:"0" max:"100" example:"100"`
	Result     *Result        `json:"result"`
	Error      jsontext.Value `json:"error" problem:"UPLOAD_REJECTED,UPLOAD_CHECKSUM_MISMATCH,UPLOAD_INCOMPLETE,VALIDATION_FAILED,UPSTREAM,INTERNAL"`
	CreatedAt  clock.Micros   `json:"createdAt" example:"2026-11-01T09:30:00.000000Z"`
	StartedAt  *clock.Micros  `json:"startedAt" example:"2026-11-01T09:30:00.200000Z"`
	FinishedAt *clock.Micros  `json:"finishedAt" example:"2026-11-01T09:30:01.500000Z"`
}

// Result identifies the record that an operation has created.
type Result struct {
	Object string `json:"object" example:"document"`
	ID     string `json:"id" example:"doc_01jb2z5k3xf0q8r9s7t6v5w4y3"`
}

// poll is the time that a client should wait between two requests for the status.
const poll = time.Second

// RetryAfter returns the time that a client should wait before the next request. It is zero if
// the operation has ended.
func (o Operation) RetryAfter() time.Duration {
	if o.Status == Succeeded || o.Status == Failed {
		return 0
	}
	return poll
}

// AcceptedOperation is the response of a call that began an operation. Its status is 202.
type AcceptedOperation struct{ Operation }

// Location returns the operation's path below /v1.
func (a AcceptedOperation) Location() string { return "/operations/" + a.ID }

// Type returns the type of the response.
func (AcceptedOperation) Type() reflect.Type { return reflect.TypeFor[Operation]() }

// Accepted marks a response with the status 202.
func (AcceptedOperation) Accepted() {}

// Begin inserts an operation of the caller in the transaction of the current call. kind is the
// type of the operation. input is stored as JSON for Read.
func Begin(c *op.Call, kind string, input any) (AcceptedOperation, error) {
	encoded, err := json.Marshal(input)
	if err != nil {
		return AcceptedOperation{}, err
	}
	o := Operation{
		Object: "operation", ID: id.At(id.Operation, c.Now.Time()), Type: kind, Status: Queued,
		CreatedAt: c.Now, Error: null,
	}
	c.Tx.Queue(`insert into operations (organization, id, principal, type, status, progress, input, result_object, result_id, error, request, created_at, started_at, finished_at)
		values ($1, $2, $3, $4, $5, 0, $6, '', '', '', $7, $8, 0, 0)`,
		c.Actor.Org(), o.ID, c.Actor.PrincipalID(), o.Type, string(o.Status), string(encoded), c.RequestID, c.Now)
	return AcceptedOperation{o}, nil
}

var null = jsontext.Value("null")

// Get is the operation that returns the state of another operation, by Find.
var Get = op.New("operations.get", op.Get, Find, op.Costs(1), op.InBatch)

// Find returns an operation of the caller. It fails with NOT_FOUND for an unknown id and for an
// operation of another principal.
func Find(ctx context.Context, c *op.Call, in op.ByID) (Operation, error) {
	if !id.Valid(id.Operation, in.ID) {
		return Operation{}, fault.New(fault.NotFound)
	}
	o, _, err := scan(c, c.Tx.QueryRow(ctx, columns+` where organization = $1 and id = $2 and principal = $3`,
		c.Actor.Org(), in.ID, c.Actor.PrincipalID()))
	if errors.Is(err, db.ErrNoRows) {
		return Operation{}, fault.New(fault.NotFound)
	}
	return o, err
}

const columns = `select id, type, status, progress, result_object, result_id, error, request, created_at, started_at, finished_at, input from operations`

// scan reads a row of the query columns. It returns an operation and its input.
func scan(c *op.Call, row db.Row) (o Operation, input string, err error) {
	o.Object, o.Error = "operation", null
	var object, name, failure, request string
	var started, finished clock.Micros
	if err := row.Scan(&o.ID, &o.Type, &o.Status, &o.Progress, &object, &name, &failure, &request, &o.CreatedAt,
		&started, &finished, &input); err != nil {
		return Operation{}, "", err
	}
	if object != "" {
		o.Result = &Result{object, name}
	}
	if started > 0 {
		o.StartedAt = &started
	}
	if finished > 0 {
		o.FinishedAt = &finished
	}
	if failure != "" {
		f, err := parse(failure)
		if err != nil {
			return Operation{}, "", err
		}
		o.Error = f.AppendProblem(nil, fault.Problem{
			TypeBase: c.Services.DocsBase, Instance: "/v1/operations/" + o.ID, RequestID: request, Language: c.Language,
		})
	}
	return o, input, nil
}

// Underway is an operation with its input. If the operation has failed, Input is the rest that
// Fail has stored.
type Underway struct {
	Operation
	Input string `json:"-"`
}

// underway selects along two partial indexes, which both have few rows.
const underway = columns + ` where organization = $1 and principal = $2 and type = $3 and finished_at = 0
	union all ` + columns + ` where organization = $1 and principal = $2 and type = $3 and status = 'failed' and finished_at > $4
	order by created_at desc, id desc limit $5`

// ListUnderway returns operations of the caller, the newest first. It returns operations that
// have not ended, and operations that failed after failedSince.
func ListUnderway(
	ctx context.Context, c *op.Call, kind string, failedSince clock.Micros, limit int,
) (list []Underway, err error) {
	rows, err := c.Tx.Query(ctx, underway, c.Actor.Org(), c.Actor.PrincipalID(), kind, failedSince, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var u Underway
		if u.Operation, u.Input, err = scan(c, rows); err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, rows.Err()
}

// Work is an operation for the job that executes it.
type Work struct {
	ID string
	// Principal is the id of the principal that began the operation.
	Principal string
	Status    Status
	// Request is the Request-Id of the call that began the operation.
	Request string
	input   string
}

// Read returns an operation for its job, and decodes its input into input. It does not decode the
// input of an operation that has ended.
func Read(ctx context.Context, tx db.Tx, organization int64, name string, input any) (w Work, err error) {
	w.ID = name
	err = tx.QueryRow(ctx, `select principal, status, input, request from operations where organization = $1 and id = $2`, organization, name).
		Scan(&w.Principal, &w.Status, &w.input, &w.Request)
	if err != nil || w.Ended() {
		return w, err
	}
	return w, json.Unmarshal([]byte(w.input), input)
}

// Ended reports whether the operation has ended.
func (w *Work) Ended() bool { return w.Status == Succeeded || w.Status == Failed }

// Progress stores the progress of an operation, in percent below 100. The stored value never
// decreases, even if a new attempt starts.
func Progress(tx db.Tx, organization int64, name string, now clock.Micros, percent int64) {
	tx.Queue(`update operations set status = 'running', progress = case when progress > $3 then progress else $3 end,
		started_at = case when started_at > 0 then started_at else $4 end
		where organization = $1 and id = $2 and finished_at = 0`, organization, name, percent, now)
}

// Succeed ends an operation with its result and its event.
func Succeed(ctx context.Context, c *op.Call, name string, made Result) error {
	return end(ctx, c, name, Succeeded, made, "", "")
}

// Fail ends an operation with a fault and its event. rest replaces the input. It is the part that
// its principal needs to recognize the operation.
func Fail(ctx context.Context, c *op.Call, name string, why *fault.Fault, rest string) error {
	failure, err := encode(why)
	if err != nil {
		return err
	}
	return end(ctx, c, name, Failed, Result{}, failure, rest)
}

// end ends an operation. Its event has a tick of its own, because no two events may have the same
// tick.
func end(ctx context.Context, c *op.Call, name string, status Status, made Result, failure, rest string) error {
	tick, err := c.Tx.Tick(ctx, c.Actor.Org(), c.Now)
	if err != nil {
		return err
	}
	c.Tx.Queue(`update operations set status = $3, progress = 100, input = $8, result_object = $4, result_id = $5, error = $6, finished_at = $7,
		started_at = case when started_at > 0 then started_at else $7 end
		where organization = $1 and id = $2 and finished_at = 0`, c.Actor.Org(), name, string(status), made.Object,
		made.ID, failure, c.Now, rest)
	event.Append(c, event.Event{
		Type:      "operation.completed",
		CreatedAt: tick,
		Data:      event.Subject{Object: "operation", ID: name},
	})
	return nil
}
