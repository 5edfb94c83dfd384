package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/people/notify"
	"kartei/people/principal"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// desk is a person with a session in the live organization of an office.
type desk struct {
	*apitest.Office
	person string
}

func deskOf(o *apitest.Office, role access.Role) *desk {
	return &desk{o, o.User(role)}
}

// ask calls the operation row as the person, and returns the members of the response. It sends
// If-Match with the current revision.
func (d *desk) ask(row, id string, body map[string]any) map[string]any {
	d.Helper()
	by := api.Caller{
		Door:       api.Web,
		Credential: api.Cookie(d.Session(d.person), false),
		Address:    netip.MustParseAddr("192.0.2.1"),
		Header:     map[string][]string{},
	}
	if id != "" && row != "tasks.create" {
		got, err := api.Send(d.Context(), d.API, by, api.ByID("tasks.get"), api.Arguments{ID: id})
		if err != nil || got.Fault != nil {
			d.Fatal(err, got)
		}
		by.Header["If-Match"] = []string{strings.Join(got.Header["ETag"], "")}
	}
	a := api.Arguments{ID: id}
	if body != nil {
		a.Body = body
	}
	got, err := api.Send(d.Context(), d.API, by, api.ByID(row), a)
	if err != nil || got.Fault != nil {
		d.Fatalf("%s: %v %+v", row, err, got.Fault)
	}
	var members map[string]any
	if len(got.Body) > 0 {
		if err := json.Unmarshal(got.Body, &members); err != nil {
			d.Fatal(err)
		}
	}
	return members
}

// task creates a task with a due date and an assignee, and returns its id. more has names and
// values of other members in turn.
func (d *desk) task(due string, assignee string, more ...any) string {
	d.Helper()
	body := map[string]any{"title": "Geheime Klage", "dueAt": due, "assigneeId": assignee}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return d.ask("tasks.create", "", body)["id"].(string)
}

// reminder returns the Reminder of an office.
func reminder(o *apitest.Office, d db.DB) *task.Reminder {
	return &task.Reminder{
		DB: d, Clock: o.Clock,
		Notices: notify.New(notify.Options{DB: d, Clock: o.Clock, Forms: api.NoticeForms()}),
	}
}

// texts returns the texts that a query selects.
func texts(t testing.TB, d db.DB, query string) (list []string) {
	t.Helper()
	err := d.Read(t.Context(), func(tx db.Tx) (err error) {
		list, err = db.Values[string](t.Context(), tx, query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// told returns the notices about due tasks in an office, in order. Each has the recipient, the
// task and whether an email will be sent.
func told(o *apitest.Office) (list []string) {
	o.Helper()
	rows := texts(o.TB, o.DB, `select principal || ' ' || data || ' ' || case when mailing then 'mail' else '' end from notices where kind = 'task_due' order by id`)
	for _, line := range rows {
		person, rest, _ := strings.Cut(line, " ")
		var f task.DueFacts
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(&f); err != nil {
			o.Fatal(err)
		}
		list = append(list, person+" "+f.Task+line[strings.LastIndex(line, " "):])
	}
	return list
}

// at advances the clock of an office to a time and sends the reminders. It returns all notices.
func at(o *apitest.Office, d db.DB, when string) []string {
	o.Helper()
	t, err := time.Parse(time.RFC3339, when)
	if err != nil {
		o.Fatal(err)
	}
	o.Clock.Advance(t.Sub(o.Clock.Now()))
	if err := reminder(o, d).Once(o.Context()); err != nil {
		o.Fatal(err)
	}
	return told(o)
}

// TestRemind checks the times of notices. The office's clock begins on Monday, 2 November 2026. A
// due date has one notice, at its time. A due date for a whole day has its notice at eight in the
// morning of the assignee's zone. People who want emails get one.
func TestRemind(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida, jan := deskOf(o, access.Member), deskOf(o, access.Member)
		err := d.Write(t.Context(), func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), `update principals set preferences = $2 where id = $1`, jan.person,
				`{"zone":"America/New_York","reminders":true}`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		timed := ida.task("2026-11-03T10:30:00Z", ida.person)
		berlin := ida.task("2026-11-03T22:59:00Z", ida.person)  // the last minute of the 3rd in Berlin
		newYork := ida.task("2026-11-04T04:59:00Z", jan.person) // the last minute of the 3rd in New York
		service, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{
			Organization: o.ID, Name: "Abgleich", Role: access.Member,
		})
		if err != nil {
			t.Fatal(err)
		}
		ida.task("2026-11-03T10:30:00Z", service.ID)
		ida.task("2020-11-03T10:30:00Z", ida.person) // already past when the task is created
		expect := func(when string, want ...string) {
			t.Helper()
			if got := at(o, d, when); !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", when, got, want)
			}
		}
		one, two, three := ida.person+" "+berlin+" ", ida.person+" "+timed+" ", jan.person+" "+newYork+" mail"
		expect("2026-11-03T06:59:00Z")
		expect("2026-11-03T07:00:00Z", one)
		expect("2026-11-03T07:01:00Z", one)
		expect("2026-11-03T10:29:59Z", one)
		expect("2026-11-03T10:31:00Z", one, two)
		expect("2026-11-03T12:59:00Z", one, two)
		expect("2026-11-03T13:00:00Z", one, two, three)
		expect("2026-12-03T13:00:00Z", one, two, three)
	})
}

// TestRemindAnew checks that a changed due date has a new notice, and an unchanged one has none.
// A completed or deleted task has no notice. Neither has a task that its assignee does not see.
func TestRemindAnew(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida, jan := deskOf(o, access.Member), deskOf(o, access.Member)
		const first, second = "2026-11-03T10:00:00Z", "2026-11-05T10:00:00Z"
		moved, done, deleted, given, secret, bare := ida.task(first,
			ida.person), ida.task(first, ida.person), ida.task(first,
			ida.person), ida.task(first, ida.person), ida.task(first, jan.person, "visibility",
			"private"), ida.task(first, ida.person)
		back := ida.task(first, ida.person)
		ida.ask("tasks.complete", done, nil)
		ida.ask("tasks.delete", deleted, nil)
		ida.ask("tasks.update", given, map[string]any{"assigneeId": jan.person})
		ida.ask("tasks.update", bare, map[string]any{"dueAt": nil})
		count := func(list []string, want ...string) {
			t.Helper()
			if !slices.Equal(slices.Sorted(slices.Values(list)), slices.Sorted(slices.Values(want))) {
				t.Errorf("told %q, want %q", list, want)
			}
		}
		begun := []string{ida.person + " " + moved + " ", jan.person + " " + given + " ", ida.person + " " + back + " "}
		count(at(o, d, first), begun...)
		// A date has only one notice. It has no second one if the task is completed and opened
		// again, or gets the same date again.
		ida.ask("tasks.update", moved, map[string]any{"title": "Anders", "dueAt": "2026-11-03T10:00:00.000000Z"})
		ida.ask("tasks.complete", back, nil)
		ida.ask("tasks.update", back, map[string]any{"status": "open"})
		count(at(o, d, "2026-11-03T10:05:00Z"), begun...)
		ida.ask("tasks.update", moved, map[string]any{"dueAt": second})
		count(at(o, d, "2026-11-05T09:59:00Z"), begun...)
		count(at(o, d, second), append(begun, ida.person+" "+moved+" ")...)
		for _, id := range []string{secret, deleted, bare, done} {
			if strings.Contains(strings.Join(told(o), "\n"), id) {
				t.Errorf("somebody was told of %s", id)
			}
		}
		if left := texts(t, d, `select task_id from reminders where look_at is not null or task_id = '`+deleted+
			`'`); len(left) > 0 {
			t.Errorf("%q are still looked at", left)
		}
	})
}

// cutDB is a database whose process dies after left writes. It dies before the commit of the next
// write, or after it.
type cutDB struct {
	db.DB
	left  *int
	after bool
}

var errDied = errors.New("the process died")

func (c cutDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if *c.left--; *c.left >= 0 {
		return c.DB.WriteIn(ctx, organization, f)
	}
	if !c.after {
		return c.DB.WriteIn(ctx, organization, func(tx db.Tx) error { return errors.Join(f(tx), errDied) })
	}
	return errors.Join(c.DB.WriteIn(ctx, organization, f), errDied)
}

// TestRemindAfterDeath checks that a process which dies between any two steps neither loses nor
// repeats a reminder.
func TestRemindAfterDeath(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida := deskOf(o, access.Member)
		var want []string
		for range 3 {
			want = append(want, ida.person+" "+ida.task("2026-11-03T10:00:00Z", ida.person)+" ")
		}
		o.Clock.Advance(48 * time.Hour)
		for writes := range 4 {
			for _, after := range []bool{false, true} {
				left := writes
				if err := reminder(o, cutDB{d, &left, after}).Once(t.Context()); err != nil && !errors.Is(err, errDied) {
					t.Fatal(err)
				}
			}
		}
		if err := reminder(o, d).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := told(o); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// TestReminderMail checks that the email says that a task is due and links to it. The email has
// no content of the task.
func TestReminderMail(t *testing.T) {
	facts, err := json.Marshal(task.DueFacts{
		Task: "tsk_01jb2z5k3xf0q8r9s7t6v5w4y3", DueAt: clock.FromTime(time.Unix(0, 0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	words, err := task.Forms[task.IsDue].Mail(facts)
	if err != nil || words.Title.In(i18n.English) != "A task is due" {
		t.Errorf("%+v %v", words, err)
	}
	page, err := task.Forms[task.IsDue].Page("", facts)
	if err != nil || page.Path != "/tasks/tsk_01jb2z5k3xf0q8r9s7t6v5w4y3" {
		t.Errorf("%+v %v", page, err)
	}
}

// TestRemindDespiteOne checks that a failed reminder does not delay the others, and is sent
// later.
func TestRemindDespiteOne(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida, jan := deskOf(o, access.Member), deskOf(o, access.Member)
		broken, other := jan.task("2026-11-03T10:00:00Z", jan.person), ida.task("2026-11-03T10:01:00Z", ida.person)
		prefer := func(preferences string) {
			dbtest.Run(t, d, `update principals set preferences = '`+preferences+`' where id = $1`, jan.person)
		}
		prefer("{")
		o.Clock.Advance(time.Date(2026, 11, 3, 10, 2, 0, 0, time.UTC).Sub(o.Clock.Now()))
		if err := reminder(o, d).Once(t.Context()); err == nil {
			t.Error("preferences that cannot be read are no error")
		}
		if got := told(o); !slices.Equal(got, []string{ida.person + " " + other + " "}) {
			t.Errorf("told %q", got)
		}
		prefer("{}")
		if got := at(o, d, "2026-11-03T10:03:00Z"); len(got) != 2 || !strings.Contains(got[1], broken) {
			t.Errorf("told %q afterwards", got)
		}
	})
}
