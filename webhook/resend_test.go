package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/event"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/work/job"
)

// desk returns what the command line asks, with a runner of its jobs; wait
// returns when n of these have ended.
func (o *office) desk() (d *Desk, wait func(n int)) {
	o.Helper()
	d = &Desk{DB: o.db, Clock: o.clock, Families: families}
	ended := make(chan string, 100)
	r := job.NewRunner(o.db, o.clock, d.Handlers(), job.Options{
		Logger:  slog.New(slog.NewTextHandler(o.Output(), nil)),
		Observe: func(_, outcome string, _ time.Duration) { ended <- outcome },
	})
	running, cancel := context.WithCancel(ctx)
	var ground sync.WaitGroup
	ground.Go(func() { r.Run(running) })
	o.Cleanup(func() { cancel(); ground.Wait() })
	return d, func(n int) {
		o.Helper()
		for range n {
			select {
			case outcome := <-ended:
				if outcome != job.Finished {
					o.Fatalf("a job ended as %s", outcome)
				}
			case <-time.After(20 * time.Second):
				o.Fatal("a job does not end")
			}
		}
	}
}

func TestEnableAndResend(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, wait := o.desk()
		c, _ := o.courier()
		o.idle(c)
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: HTTPStatus} }
		failed := o.event()
		o.idle(c)
		missed := o.events(3)
		o.idle(c)
		o.answer = nil
		o.received()

		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Event: missed[0]})
		if f := fault.From(err); f.Code != fault.ValidationFailed || f.Fields[0].Name != "id" {
			t.Errorf("resending to a disabled endpoint: %v", err)
		}
		info, err := desk.Enable(ctx, One{o.info.ID, name})
		must(t, err)
		if info.Status != Active || info.DisabledReason != nil || info.Failures != 0 || info.FailedSince != 0 || info.Revision != 3 {
			t.Errorf("enabled: %+v", info)
		}
		o.idle(c)
		if got := o.received(); got != nil {
			t.Errorf("enabling sent %v", got)
		}
		out, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Event: missed[0]})
		must(t, err)
		o.idle(c)
		if got := o.received(); out.Events != 1 || !slices.Equal(got, missed[:1]) {
			t.Errorf("one event: %+v, %v", out, got)
		}
		out, err = desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Failed: true})
		must(t, err)
		wait(1)
		o.idle(c)
		if got := o.received(); !out.Going || !slices.Equal(got, []string{failed}) {
			t.Errorf("what failed: %+v, %v, not %v", out, got, failed)
		}
		o.clock.Advance(time.Minute)
		later := o.event()
		o.idle(c)
		o.received()
		_, err = desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Since: clock.FromTime(begin) - 1, Until: clock.Now(o.clock) - clock.Second})
		must(t, err)
		wait(1)
		o.idle(c)
		got := slices.Sorted(slices.Values(o.received()))
		if want := append([]string{failed}, missed...); !slices.Equal(got, want) {
			t.Errorf("a range: %v, not %v (nor %v)", got, want, later)
		}
		for _, in := range []ResendInput{
			{Event: missed[0], Failed: true}, {}, {Event: "evt_01jb2z5k3xf0q8r9s7t6v5w4y3"}, {Event: "x"},
		} {
			in.Organization, in.ID = o.info.ID, name
			if _, err := desk.Resend(ctx, in); !fault.Is(err, fault.ValidationFailed) {
				t.Errorf("%+v: %v", in, err)
			}
		}
		if _, err := desk.Show(ctx, One{o.info.ID, "whe_01jb2z5k3xf0q8r9s7t6v5w4y3"}); !fault.Is(err, fault.NotFound) {
			t.Errorf("an unknown endpoint: %v", err)
		}
	})
}

// A long range goes in pieces, each event once, and no more wait at a time than
// a bound.
func TestResendInPieces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, wait := o.desk()
		ids := o.events(2*resendPiece + 50)
		o.exec(`update webhook_endpoints set cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization)
		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Since: clock.FromTime(begin) - 1})
		must(t, err)
		wait(3)
		c, _ := o.courier()
		o.idle(c)
		if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, ids) {
			t.Errorf("%d received of %d", len(got), len(ids))
		}
		log, err := desk.Log(ctx, LogInput{Organization: o.info.ID, ID: name, Limit: 100})
		must(t, err)
		if len(log.Data) != 100 || !log.HasMore || log.Data[0].Status != "succeeded" || log.Data[0].Attempt != 1 {
			t.Errorf("the log: %d, %+v", len(log.Data), log.Data[0])
		}
		list, err := desk.Find(ctx, FindInput{Organization: o.info.ID})
		must(t, err)
		if len(list.Data) != 1 || list.Data[0].ID != name || list.Data[0].Waiting != 0 || list.Data[0].PrincipalID != o.owner {
			t.Errorf("the list: %+v", list)
		}
		all, err := desk.Find(ctx, FindInput{Status: "active"})
		must(t, err)
		if len(all.Data) != 1 || all.Data[0].OrganizationID != o.info.ID || all.Data[0].BehindSince != 0 {
			t.Errorf("of all organizations: %+v", all)
		}
		for _, in := range []FindInput{{After: name}, {Status: "failing"}} {
			if list, err := desk.Find(ctx, in); err != nil || len(list.Data) != 0 {
				t.Errorf("%+v: %+v, %v", in, list, err)
			}
		}
		o.exec(`update webhook_endpoints set cursor = $2 where organization = $1`, o.organization, clock.FromTime(begin)-1)
		info, err := desk.Show(ctx, One{o.info.ID, name})
		must(t, err)
		if info.BehindSince < clock.FromTime(begin) || info.BehindSince > clock.Now(o.clock) {
			t.Errorf("behind since %s", info.BehindSince)
		}
	})
}

// Enabling wakes the couriers: what happens next needs not wait for the sweep.
func TestEnableTells(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, _ := o.desk()
		told := make(chan string, 10)
		defer d.Hear(Topic, func(word string) { told <- word })()
		o.exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'gone' where organization = $1`, o.organization)
		_, err := desk.Enable(ctx, One{o.info.ID, name})
		must(t, err)
		select {
		case word := <-told:
			if word != strconv.FormatInt(o.organization, 10) {
				t.Errorf("told %q", word)
			}
		case <-time.After(20 * time.Second):
			t.Error("nobody was told")
		}
	})
}

// A try is stored as what its delivery is by now: the last of a series that
// was begun anew meanwhile is its first.
func TestLastAttemptOfWhatIsSentAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		c, at := o.still()
		l := c.lane(at)
		desk := &Desk{DB: d, Clock: o.clock, Families: families}
		sent := o.event()
		v := &visit{Courier: c, lane: l, room: 1}
		must(t, v.run(ctx))
		o.exec(`update webhook_deliveries set attempts = 9 where organization = $1`, o.organization)
		v.taken[0].attempts = 9
		last := c.newTry(v.taken[0])
		last.outcome = Outcome{Status: 500, Code: HTTPStatus}
		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: at.id, Event: sent})
		must(t, err)
		_, err = c.settle(ctx, o.organization, []*try{last}, nil)
		must(t, err)
		if n := o.count("webhook_deliveries", fmt.Sprint("attempts = 1 and claim = 2 and due_at = ", int64(last.began+30*clock.Second))); n != 1 || last.next == 0 {
			t.Errorf("the delivery does not go on: %v", o.attempts(at.id))
		}
	})
}

// still is a courier that does not run, and an endpoint.
func (o *office) still() (*Courier, address) {
	o.Helper()
	return NewCourier(Options{DB: o.db, Clock: o.clock, Vault: o.vault, Families: families, Rand: func(n int64) int64 { return n / 2 }}),
		address{o.organization, o.endpoint()}
}

// What a dead process has left begins a new series of attempts at once.
func TestResendOfWhatTheDeadLeft(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		dead, at := o.still()
		desk := &Desk{DB: d, Clock: o.clock, Families: families}
		sent := o.event()
		must(t, (&visit{Courier: dead, lane: dead.lane(at), room: 1}).run(ctx))
		o.exec(`update webhook_deliveries set attempts = 9 where organization = $1`, o.organization)
		o.clock.Advance(31 * time.Second)
		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: at.id, Event: sent})
		must(t, err)
		c, _ := o.courier()
		o.idle(c)
		if got, want := o.attempts(at.id), []string{sent + " 1 succeeded 200 "}; !slices.Equal(got, want) {
			t.Errorf("the log is %v", got)
		}
	})
}

// Nothing is put on its way to an endpoint that was deleted after it was read.
func TestResendToADeletedEndpoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk := &Desk{DB: d, Clock: o.clock, Families: families}
		r := row{organization: o.organization, principal: o.owner, Endpoint: Endpoint{ID: name}}
		o.exec(`delete from webhook_endpoints where organization = $1`, o.organization)
		must(t, d.Write(ctx, func(tx db.Tx) error {
			sent, err := resending{Desk: desk, row: &r, now: clock.Now(o.clock)}.send(ctx, tx, []event.Event{{ID: id.New(id.Event), Type: "contact.created"}})
			if sent {
				t.Error("it says that it was sent")
			}
			return err
		}))
		if n := o.count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries without an endpoint", n)
		}
	})
}

// Events are sent again for 30 days.
func TestResendOfOldEvents(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk := &Desk{DB: d, Clock: o.clock, Families: families}
		c, _ := o.courier()
		o.idle(c)
		old := o.event()
		o.idle(c)
		o.received()
		in := ResendInput{Organization: o.info.ID, ID: name, Event: old}
		o.clock.Advance(30*24*time.Hour - time.Second)
		_, err := desk.Resend(ctx, in)
		must(t, err)
		o.idle(c)
		if got := o.received(); !slices.Equal(got, []string{old}) {
			t.Errorf("within 30 days: %v", got)
		}
		o.clock.Advance(2 * time.Second)
		if _, err := desk.Resend(ctx, in); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("after 30 days: %v", err)
		}
		o.idle(c)
		if got := o.received(); got != nil {
			t.Errorf("after 30 days: received %v", got)
		}
	})
}

// logged writes n rows of the log of an endpoint: attempts at one event that end as given.
func (o *office) logged(endpoint, event string, status Result, n int) {
	o.Helper()
	must(o, o.db.Write(ctx, func(tx db.Tx) error {
		for range n {
			tx.Queue(`insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
				values ($1, $2, $3, $4, 'contact.created', 1, $5, 500, 1, '', $6, 0)`, o.organization, id.New(id.Delivery), endpoint, event, status, clock.Now(o.clock))
		}
		return nil
	}))
}

// Of all that failed each event is sent again once, however many attempts at it
// and at others there were.
func TestResendFailedInPieces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, wait := o.desk()
		ids := o.events(3)
		o.exec(`update webhook_endpoints set cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization)
		o.logged(name, ids[0], Failed, 3)
		o.logged(name, ids[1], Failed, scanned)
		o.logged(name, ids[1], Succeeded, 1)
		o.logged(name, ids[2], Failed, 1)
		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Failed: true})
		must(t, err)
		wait(2)
		c, _ := o.courier()
		o.idle(c)
		want := []string{ids[0], ids[2]}
		if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, want) {
			t.Errorf("received %v, not %v", got, want)
		}
	})
}

// Of a range as many events are looked at in one go as a look at new ones does,
// whether or not the endpoint asks for them.
func TestResendOfFewInMany(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint("contact.created")
		desk, wait := o.desk()
		first := o.events(1)
		o.eventsOf("contact.updated", "", scanned)
		want := append(first, o.events(1)...)
		o.exec(`update webhook_endpoints set cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization)
		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Since: clock.FromTime(begin) - 1})
		must(t, err)
		wait(2) // of 1002 events
		c, _ := o.courier()
		o.idle(c)
		if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, want) || o.count("jobs", "true") > 0 {
			t.Errorf("received %v, not %v", got, want)
		}
	})
}

// While the gate is closed an event is not sent again, and the answer says why;
// a range waits for as long as there may be something left of it.
func TestResendWhileAllRests(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk := &Desk{DB: d, Clock: o.clock, Families: families}
		sent := o.event()
		o.exec(`update webhook_endpoints set cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization)
		o.set(access.OrganizationChange{Level: as(access.Off)})
		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Event: sent})
		if f := fault.From(err); f.Code != fault.ValidationFailed || f.Fields[0].Text != &resting {
			t.Errorf("one event: %v", err)
		}
		out, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Failed: true})
		if must(t, err); !out.Going || !out.Rests {
			t.Errorf("many: %+v", out)
		}
		from := resendFrom{Endpoint: name, Since: clock.FromTime(begin) - 1, Until: clock.Now(o.clock)}
		payload, err := json.Marshal(from)
		must(t, err)
		j := &job.Job{Organization: o.organization, Payload: payload, CreatedAt: clock.Now(o.clock)}
		o.clock.Advance(30 * 24 * time.Hour)
		if err := desk.resend(ctx, j); err == nil || err.Error() != job.Later(10*time.Second).Error() {
			t.Errorf("after 30 days: %v", err)
		}
		o.clock.Advance(time.Microsecond)
		if err := desk.resend(ctx, j); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// To a principal that may have nothing any more nothing is sent again, and no
// range is looked through.
func TestResendToNobody(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, wait := o.desk()
		o.events(scanned + 50)
		o.exec(`update webhook_endpoints set cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization)
		in := ResendInput{Organization: o.info.ID, ID: name, Since: clock.FromTime(begin) - 1}
		o.setOwner(access.PrincipalChange{Disabled: as(true)})
		_, err := desk.Resend(ctx, in)
		if f := fault.From(err); f.Code != fault.ValidationFailed || f.Fields[0].Text != &ownerless {
			t.Errorf("while the owner is disabled: %v", err)
		}
		must(t, d.Write(ctx, func(tx db.Tx) error { // as it was asked for before
			r, err := find(ctx, tx, o.organization, name)
			if err != nil {
				return err
			}
			return enqueueResend(ctx, tx, &r, clock.Now(o.clock), in)
		}))
		wait(1)
		if n := o.count("jobs", "true"); n != 0 {
			t.Errorf("%d more jobs", n)
		}
	})
}
