package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/notify"
	"kartei/store/db"
	"kartei/store/job"
)

// IsDue is the kind of a notice about a due task. Its recipient is the assignee.
const IsDue notify.Kind = "task_due"

// DueFacts are the data of a notice about a due task. They have no title. The page that shows the
// notice reads the title only if the reader sees the task.
type DueFacts struct {
	Task  string       `json:"taskId"`
	DueAt clock.Micros `json:"dueAt"`
}

// Forms has the texts and the page for notices about tasks.
var Forms = map[notify.Kind]notify.Form{IsDue: {
	Words: func(context.Context, db.Tx, []byte) (notify.Words, error) {
		return notify.Words{
			Title: taskDue,
			Text:  "A task that is assigned to you is due.",
		}, nil
	},
	Mail: func([]byte) (notify.Words, error) {
		return notify.Words{
			Title: taskDue,
			Text:  "a task that is assigned to you is due.",
		}, nil
	},
	Page: func(_ string, data []byte) (notify.Page, error) {
		var f DueFacts
		err := json.Unmarshal(data, &f)
		return notify.Page{Path: "/tasks/" + f.Task, Name: "Open the task"}, err
	},
	Farewell:     "You asked for this email in your profile, and can turn it off there:",
	FarewellPath: "/settings/profile",
}}

var taskDue = i18n.Text("A task is due")

const (
	// earliest is the longest time from a reminder to its due date. The last minute of a day
	// stands for the whole day, whose reminder comes at eight in the morning.
	earliest = 16 * time.Hour
	// latest is the longest time from a due date to its reminder. The first minute of a day also
	// stands for the whole day.
	latest = dayStart * time.Hour
	// dayStart is the hour at which a reminder for a whole day comes, in the time zone of the
	// assignee.
	dayStart = 8
	// remindEvery is the interval between two searches for due tasks.
	remindEvery = time.Minute
	// remindPiece is the maximum number of rows that one query of Once reads.
	remindPiece = 200
	// closedPause is the time until the next check of a task in an organization that is not open.
	closedPause = 24 * time.Hour
)

const (
	// upsertReminder stores the next due date of a task. If the date is the same, the row does
	// not change, so a date has only one notice.
	upsertReminder = `insert into reminders (organization, task_id, due_at, look_at) values ($1, $2, $3, $4)
		on conflict (organization, task_id) do update set due_at = excluded.due_at, look_at = excluded.look_at where reminders.due_at <> excluded.due_at`
	dropReminder    = `delete from reminders where organization = $1 and task_id = $2`
	selectReminders = `select organization, task_id, due_at from reminders where look_at <= $1 order by look_at limit $2`
	// The next three statements end the check of a row. None of them changes a row that has a
	// newer due date.
	looked         = ` where organization = $1 and task_id = $2 and due_at = $3 and look_at is not null`
	markReminded   = `update reminders set look_at = null` + looked
	moveReminder   = `update reminders set look_at = $4` + looked
	deleteReminder = `delete from reminders` + looked
	selectDueTask  = `select assignee_id, audience, content from tasks
		where organization = $1 and id = $2 and deleted = false and status = 'open' and assignee_id is not null`
	selectPreferences = `select preferences from principals where organization = $1 and id = $2`
)

// expectReminder updates the reminder of a task with each revision that changes the due date, the
// status or the assignee. Sandboxes have no reminders. It stores no reminder if the due date is
// already past.
func expectReminder(c *op.Call, id string, before, after *Fields) {
	if after.Status != Open || after.DueAt == nil || after.AssigneeID == nil || c.Actor.Organization().Sandbox {
		return
	}
	if before != nil && before.Status == Open && before.DueAt != nil && *before.DueAt == *after.DueAt &&
		before.AssigneeID != nil {
		return
	}
	if after.DueAt.Add(latest) <= c.Now {
		if before != nil {
			c.Tx.Queue(dropReminder, c.Actor.Org(), id)
		}
		return
	}
	c.Tx.Queue(upsertReminder, c.Actor.Org(), id, *after.DueAt, after.DueAt.Add(-earliest))
}

// forgetReminder deletes the reminder of a deleted task.
func forgetReminder(_ context.Context, c *op.Call, id string) error {
	c.Tx.Queue(dropReminder, c.Actor.Org(), id)
	return nil
}

// Reminder sends notices about due tasks to their assignees. The notices appear in the bell of
// the web application. People who want emails also get an email.
type Reminder struct {
	DB      db.DB
	Clock   clock.Clock
	Notices *notify.Center
}

// Handlers returns the handler of the job that searches for due tasks.
func (r *Reminder) Handlers() []job.Handler {
	return []job.Handler{
		{Kind: "tasks.remind", Every: remindEvery, Run: func(ctx context.Context, _ *job.Job) error { return r.Once(ctx) }},
	}
}

// dueRow is a row of the table reminders.
type dueRow struct {
	organization int64
	task         string
	due          clock.Micros
}

// Once sends the notices of all tasks that are due now. One transaction sends a task's notice and
// marks its row. So a process that dies in between neither loses nor repeats a notice. An error
// with one task does not delay the other notices.
func (r *Reminder) Once(ctx context.Context) error {
	for {
		now := clock.Now(r.Clock)
		var list []dueRow
		err := r.DB.Read(ctx, func(tx db.Tx) (err error) {
			list, err = db.List(ctx, tx, func(row db.Row) (e dueRow, err error) {
				return e, row.Scan(&e.organization, &e.task, &e.due)
			}, selectReminders, now, int64(remindPiece))
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range list {
			if look := r.DB.WriteIn(ctx, e.organization,
				func(tx db.Tx) error { return r.look(ctx, tx, e, now) }); !errors.Is(look, errReplaced) {
				err = errors.Join(err, look)
			}
		}
		if err != nil || len(list) < remindPiece {
			return err
		}
	}
}

// errReplaced rolls back the check of a row. The due date of the task has changed meanwhile, and
// the row has the new date.
var errReplaced = errors.New("task: the due date was moved meanwhile")

// look sends the notice of a task if its time has come. It then marks, moves or deletes the row.
func (r *Reminder) look(ctx context.Context, tx db.Tx, e dueRow, now clock.Micros) error {
	end := func(statement string, more ...any) error {
		n, err := tx.Exec(ctx, statement, append([]any{e.organization, e.task, e.due}, more...)...)
		if err != nil {
			return err
		}
		if n == 0 {
			return errReplaced
		}
		return nil
	}
	p, state, err := r.assignee(ctx, tx, e)
	switch {
	case err != nil:
		return err
	case state == access.Closed:
		return end(moveReminder, now.Add(closedPause))
	case p == nil:
		return end(deleteReminder)
	}
	wants, err := wishesOf(ctx, tx, p)
	if err != nil {
		return err
	}
	if at := wants.moment(e.due); at > now {
		return end(moveReminder, at)
	}
	if err := r.Notices.Tell(ctx, tx, p.Home, p.ID, IsDue, DueFacts{Task: e.task, DueAt: e.due},
		wants.Reminders); err != nil {
		return err
	}
	return end(markReminded)
}

// assignee returns the recipient of a notice about a due task, and the state of the organization.
// The recipient is nil in these cases:
//   - The task is completed or deleted, or has another due date or no assignee.
//   - The assignee is a service account, is disabled, or does not see the task.
func (r *Reminder) assignee(ctx context.Context, tx db.Tx, e dueRow) (*access.PrincipalInfo, access.State, error) {
	name, err := access.OrganizationID(ctx, tx, e.organization)
	if errors.Is(err, db.ErrNoRows) {
		return nil, access.Deleting, nil
	}
	if err != nil {
		return nil, "", err
	}
	o, err := access.OrganizationIn(ctx, tx, name)
	if err != nil || o.State != access.Open || o.Live != o.Number {
		return nil, o.State, err
	}
	var id, audience, content string
	err = tx.QueryRow(ctx, selectDueTask, e.organization, e.task).Scan(&id, &audience, &content)
	if errors.Is(err, db.ErrNoRows) {
		return nil, o.State, nil
	}
	if err != nil {
		return nil, "", err
	}
	var f struct {
		DueAt *clock.Micros `json:"dueAt"`
	}
	if err := json.Unmarshal([]byte(content), &f); err != nil || f.DueAt == nil || *f.DueAt != e.due {
		return nil, o.State, err
	}
	p, err := access.UserIn(ctx, tx, id)
	switch {
	case fault.Is(err, fault.NotFound): // a service account
		return nil, o.State, nil
	case err != nil:
		return nil, "", err
	case p.Disabled, p.ErasedAt > 0, p.Home != e.organization, !access.Allows(p.Role, p.Rights, "tasks:read"),
		audience != "" && audience != p.ID && p.Role != access.Admin:
		return nil, o.State, nil
	}
	return &p, o.State, nil
}

// wishes has the preferences of a person that affect reminders. Package account writes them.
type wishes struct {
	Zone      string `json:"zone"`
	Reminders bool   `json:"reminders"`
	zone      *time.Location
}

// defaultZone is the time zone of people who have not chosen one. Package account has the same
// default.
const defaultZone = "Europe/Berlin"

func wishesOf(ctx context.Context, tx db.Tx, p *access.PrincipalInfo) (w wishes, err error) {
	var text string
	if err = tx.QueryRow(ctx, selectPreferences, p.Home, p.ID).Scan(&text); err != nil {
		return w, err
	}
	if err = json.Unmarshal([]byte(text), &w); err != nil {
		return w, err
	}
	if w.Zone == "" {
		w.Zone = defaultZone
	}
	if w.zone, err = time.LoadLocation(w.Zone); err != nil { // the zone may come from a newer time zone database
		w.zone, err = time.UTC, nil
	}
	return w, err
}

// moment returns the time of the notice for a due date. This is the date itself. The first and
// the last minute of a day stand for the whole day, whose notice comes at eight in the morning.
func (w wishes) moment(due clock.Micros) clock.Micros {
	t := due.Time().In(w.zone)
	if h, m, _ := t.Clock(); h == 23 && m == 59 || h == 0 && m == 0 {
		return clock.FromTime(time.Date(t.Year(), t.Month(), t.Day(), dayStart, 0, 0, 0, w.zone))
	}
	return due
}
