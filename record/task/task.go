// Package task owns the tasks of an office: their members, rules, operations and reminders.
package task

import (
	"context"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/search"
)

// Status says whether a task is done.
type Status string

// The values of Status. An update can open a task, and only the operation Complete completes it.
const (
	Open      Status = "open"
	Completed Status = "completed"
)

// Priority says how urgent a task is.
type Priority string

// Normal is the default priority.
const Normal Priority = "normal"

// Fields are the members of a task besides the envelope.
type Fields struct {
	Title       string        `json:"title" required:"true" min:"1" max:"200" example:"Klageerwiderung entwerfen"`
	Reference   *string       `json:"reference" max:"100" bare:"true" example:"12 O 345/26"`
	Description *string       `json:"description" max:"10000" multiline:"true" example:"Unterlagen liegen in der Akte." patch:"clear"`
	Status      Status        `json:"status" enum:"open,completed" named:"TaskStatus" default:"open" example:"open"`
	Priority    Priority      `json:"priority" enum:"low,normal,high" named:"TaskPriority" default:"normal" example:"high"`
	DueAt       *clock.Micros `json:"dueAt" example:"2026-11-30T17:00:00.000000Z" patch:"set"`
	AssigneeID  *string       `json:"assigneeId" prefix:"usr_,svc_" ref:"principals"`
	ContactID   *string       `json:"contactId" prefix:"con_" ref:"contacts"`
	CompanyID   *string       `json:"companyId" prefix:"cmp_" ref:"companies"`
	DocumentID  *string       `json:"documentId" prefix:"doc_" ref:"documents"`
	CompletedAt *clock.Micros `json:"completedAt" read:"true"`
	CompletedBy *string       `json:"completedBy" read:"true" prefix:"usr_,svc_"`
	record.CommonFields
}

// Task is a task as the API returns it.
type Task struct {
	record.Envelope
	Fields
}

// CreateInput is the input of tasks.create.
type CreateInput struct {
	Fields Fields `body:"create"`
}

// Filters are the query parameters that filter lists and counts. They are ordered by selectivity:
// the filter whose values the fewest records share comes first.
type Filters struct {
	ContactID  string `query:"contactId" prefix:"con_" few:"true" example:"con_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Reference  string `query:"reference" min:"1" max:"100" few:"true" fold:"true" example:"12 O 345/26"`
	CompanyID  string `query:"companyId" prefix:"cmp_" with:"status" example:"cmp_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	AssigneeID string `query:"assigneeId" prefix:"usr_,svc_" with:"status" example:"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Tag        string `query:"tag" min:"1" max:"50" each:"tags" example:"Mandant"`
	Status     string `query:"status" enum:"open,completed" example:"open"`
}

// ListInput is the input of tasks.list.
type ListInput struct {
	record.ListInput
	Filters
}

// CountInput is the input of tasks.count.
type CountInput struct {
	record.CountInput
	Filters
}

// Tasks is the collection of all tasks.
var Tasks = record.NewCollection[Task, Fields](op.Family{
	Object: "task",
	Prefix: id.Task,
	Plural: "tasks",
}, record.FilterBy[Filters]()).SortBy(
	record.Order[Fields]{Parameter: "dueAt", Only: "status", Value: string(Open), Key: byDue},
	record.Order[Fields]{Parameter: "reference", Only: "status", Value: string(Open), Key: byReference},
).OnStore(expectReminder).OnDelete(forgetReminder)

// byDue returns the sort key of an open task by the time when it is due.
func byDue(f *Fields) (key string, in bool) {
	return record.TimeKey(f.DueAt) + urgency[f.Priority], f.Status == Open
}

// byReference returns the sort key of an open task by its file number, and then by the time when it is due.
func byReference(f *Fields) (key string, in bool) {
	due, open := byDue(f)
	return record.JoinKeys(record.NameKey(f.Reference), due), open && f.Reference != nil
}

// urgency has the part of the sort key that orders tasks with the same due date by priority.
var urgency = map[Priority]string{"high": "0", Normal: "1", "low": "2"}

// The operations on tasks.
var (
	List   = op.New("tasks.list", op.Read, list, op.Scoped, op.Costs(2), op.InBatch)
	Create = op.New("tasks.create", op.Create, create, op.Scoped, op.Costs(5), op.InBatch, op.Emits("task.created"))
	Count  = op.New("tasks.count", op.Read, count, op.Scoped, op.Costs(2), op.InBatch)
	Get    = op.New("tasks.get", op.Get, Tasks.Get, op.Scoped, op.Costs(1), op.InBatch)
	Update = op.New("tasks.update", op.Update, Tasks.Update, op.Scoped, op.Costs(5), op.InBatch,
		op.Emits("task.updated"), op.Gives, op.Audited("records.give"))
	Delete = op.New("tasks.delete", op.Delete, Tasks.Delete, op.Scoped, op.Costs(10), op.InBatch,
		op.Emits("task.deleted"))
	Complete = op.New("tasks.complete", op.Change, Finish, op.Scoped, op.Costs(5), op.InBatch, op.Emits("task.completed"))
)

// list returns a page of the tasks that the caller sees and that match the filters or q.
func list(ctx context.Context, c *op.Call, in ListInput) (record.Page[Task], error) {
	return Tasks.List(ctx, c, in.ListInput, &in.Filters)
}

// count counts the tasks that the caller sees, up to record.CountCap.
func count(ctx context.Context, c *op.Call, in CountInput) (record.Count, error) {
	return Tasks.Count(ctx, c, in.CountInput, &in.Filters)
}

// create creates a task.
func create(ctx context.Context, c *op.Call, in CreateInput) (record.Creation[Task], error) {
	return Tasks.Create(ctx, c, &in.Fields)
}

// Finish marks a task as completed by the caller at the time of the call. A
// completed task does not change. The operation Complete, which calls Finish,
// honours If-Match.
func Finish(ctx context.Context, c *op.Call, in op.ByID) (record.Answer[Task], error) {
	return Tasks.Act(ctx, c, in.ID, "completed", func(f *Fields) error {
		if f.Status != Completed {
			by, at := c.Actor.PrincipalID(), c.Now
			f.Status, f.CompletedBy, f.CompletedAt = Completed, &by, &at
		}
		return nil
	})
}

// Shared returns the members that all families have in common.
func (f *Fields) Shared() *record.CommonFields { return &f.CommonFields }

// Normalize sets the defaults of status and priority.
func (f *Fields) Normalize() {
	if f.Status == "" {
		f.Status = Open
	}
	if f.Priority == "" {
		f.Priority = Normal
	}
}

// Wrong returns a violation for a new task that is already completed.
func (f *Fields) Wrong(_ *op.Services, sent op.RuleScope) []fault.Field {
	if sent.New && sent.Fit("status") && f.Status == Completed {
		return []fault.Field{completed}
	}
	return nil
}

// Follow returns a violation if an update of the status completes a task. Such an update would
// have no event and no principal. If the task is open, Follow clears CompletedAt and CompletedBy.
func (f *Fields) Follow(before *Fields) []fault.Field {
	switch {
	case f.Status == Open:
		f.CompletedAt, f.CompletedBy = nil, nil
	case before.Status != Completed:
		return []fault.Field{completed}
	}
	return nil
}

var completed = fault.Field{Name: "status", Code: fault.ReadOnly, Text: useComplete}

var useComplete = i18n.Text("A task is completed with POST /tasks/{id}/complete.")

// Words returns the search words of a task. The title has the lowest rank. The reference, the
// external id and the tags have the next rank, and the description has the last.
func (f *Fields) Words() *search.Document {
	d := new(search.Document)
	d.Add(search.Name, f.Title)
	d.AddAll(search.Detail, f.Reference, f.ExternalID)
	for _, tag := range f.Tags {
		d.Add(search.Detail, tag)
	}
	d.AddAll(search.Note, f.Description)
	return d
}
