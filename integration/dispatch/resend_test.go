package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

func TestEnableAndResend(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		desk, wait := o.Desk()
		disp, _ := o.dispatcher()
		o.idle(disp)
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: webhook.HTTPStatus} }
		failed := o.Event()
		o.idle(disp)
		missed := o.Events(3)
		o.idle(disp)
		o.answer = nil
		o.received()

		_, err := desk.Resend(ctx, webhook.ResendInput{Organization: o.Info.ID, ID: name, Event: missed[0]})
		if f := fault.From(err); f.Code != fault.ValidationFailed || f.Fields[0].Name != "id" {
			t.Errorf("resending to a disabled endpoint: %v", err)
		}
		info, err := desk.Enable(ctx, webhook.One{Organization: o.Info.ID, ID: name})
		must(t, err)
		if info.Status != webhook.Active || info.DisabledReason != nil || info.Failures != 0 || info.FailedSince != 0 ||
			info.Revision != 3 {
			t.Errorf("enabled: %+v", info)
		}
		o.idle(disp)
		if got := o.received(); got != nil {
			t.Errorf("enabling sent %v", got)
		}
		out, err := desk.Resend(ctx, webhook.ResendInput{Organization: o.Info.ID, ID: name, Event: missed[0]})
		must(t, err)
		o.idle(disp)
		if got := o.received(); out.Events != 1 || !slices.Equal(got, missed[:1]) {
			t.Errorf("one event: %+v, %v", out, got)
		}
		out, err = desk.Resend(ctx, webhook.ResendInput{Organization: o.Info.ID, ID: name, Failed: true})
		must(t, err)
		wait(1)
		o.idle(disp)
		if got := o.received(); !out.Going || !slices.Equal(got, []string{failed}) {
			t.Errorf("what failed: %+v, %v, not %v", out, got, failed)
		}
		o.Clock.Advance(time.Minute)
		later := o.Event()
		o.idle(disp)
		o.received()
		_, err = desk.Resend(ctx, webhook.ResendInput{
			Organization: o.Info.ID, ID: name, Since: clock.FromTime(endpointtest.Begin) - 1,
			Until: clock.Now(o.Clock) - clock.Second,
		})
		must(t, err)
		wait(1)
		o.idle(disp)
		got := slices.Sorted(slices.Values(o.received()))
		if want := append([]string{failed}, missed...); !slices.Equal(got, want) {
			t.Errorf("a range: %v, not %v (nor %v)", got, want, later)
		}
		for _, in := range []webhook.ResendInput{
			{Event: missed[0], Failed: true}, {}, {Event: "evt_01jb2z5k3xf0q8r9s7t6v5w4y3"}, {Event: "x"},
		} {
			in.Organization, in.ID = o.Info.ID, name
			if _, err := desk.Resend(ctx, in); !fault.Is(err, fault.ValidationFailed) {
				t.Errorf("%+v: %v", in, err)
			}
		}
		if _, err := desk.Show(ctx, webhook.One{
			Organization: o.Info.ID, ID: "whe_01jb2z5k3xf0q8r9s7t6v5w4y3",
		}); !fault.Is(err, fault.NotFound) {
			t.Errorf("an unknown endpoint: %v", err)
		}
	})
}

// TestResendInPieces checks that a long range is sent in pieces. Each event is sent once, and the
// number of pending deliveries is bounded.
func TestResendInPieces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		desk, wait := o.Desk()
		ids := o.Events(450) // a piece has 200 events
		o.CaughtUp()
		_, err := desk.Resend(ctx, webhook.ResendInput{
			Organization: o.Info.ID, ID: name, Since: clock.FromTime(endpointtest.Begin) - 1,
		})
		must(t, err)
		wait(3)
		disp, _ := o.dispatcher()
		o.idle(disp)
		if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, ids) {
			t.Errorf("%d received of %d", len(got), len(ids))
		}
		log, err := desk.Log(ctx, webhook.LogInput{Organization: o.Info.ID, ID: name, Limit: 100})
		must(t, err)
		if len(log.Data) != 100 || !log.HasMore || log.Data[0].Status != "succeeded" || log.Data[0].Attempt != 1 {
			t.Errorf("the log: %d, %+v", len(log.Data), log.Data[0])
		}
		list, err := desk.Find(ctx, webhook.FindInput{Organization: o.Info.ID})
		must(t, err)
		if len(list.Data) != 1 || list.Data[0].ID != name || list.Data[0].Waiting != 0 ||
			list.Data[0].PrincipalID != o.Owner {
			t.Errorf("the list: %+v", list)
		}
		all, err := desk.Find(ctx, webhook.FindInput{Status: "active"})
		must(t, err)
		if len(all.Data) != 1 || all.Data[0].OrganizationID != o.Info.ID || all.Data[0].BehindSince != 0 {
			t.Errorf("of all organizations: %+v", all)
		}
		for _, in := range []webhook.FindInput{{After: name}, {Status: "failing"}} {
			if list, err := desk.Find(ctx, in); err != nil || len(list.Data) != 0 {
				t.Errorf("%+v: %+v, %v", in, list, err)
			}
		}
		o.Exec(`update webhook_endpoints set cursor = $2 where organization = $1`, o.Organization,
			clock.FromTime(endpointtest.Begin)-1)
		info, err := desk.Show(ctx, webhook.One{Organization: o.Info.ID, ID: name})
		must(t, err)
		if info.BehindSince < clock.FromTime(endpointtest.Begin) || info.BehindSince > clock.Now(o.Clock) {
			t.Errorf("behind since %s", info.BehindSince)
		}
	})
}

// TestLastAttemptOfAResend checks that a try is recorded with the current state of its delivery.
// After a resend, the last attempt of the old series counts as the first attempt of the new series.
func TestLastAttemptOfAResend(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		disp, at := o.still()
		q := disp.queueOf(at)
		desk := o.StillDesk()
		sent := o.Event()
		p := &poll{Dispatcher: disp, queue: q, room: 1}
		must(t, p.run(ctx))
		o.Exec(`update webhook_deliveries set attempts = 9 where organization = $1`, o.Organization)
		p.taken[0].attempts = 9
		last := disp.newTry(p.taken[0])
		last.outcome = Outcome{Status: 500, Code: webhook.HTTPStatus}
		_, err := desk.Resend(ctx, webhook.ResendInput{Organization: o.Info.ID, ID: at.ID, Event: sent})
		must(t, err)
		_, err = disp.record(ctx, o.Organization, []*try{last}, nil)
		must(t, err)
		if n := o.Count("webhook_deliveries", fmt.Sprint("attempts = 1 and claim = 2 and due_at = ",
			int64(last.began+30*clock.Second))); n != 1 || last.next == 0 {
			t.Errorf("the delivery does not go on: %v", o.Attempts(at.ID))
		}
	})
}

// still returns a dispatcher that does not run, and the address of an endpoint.
func (o *office) still() (*Dispatcher, webhook.Address) {
	o.Helper()
	return New(o.options(o.DB)),
		o.At(o.Endpoint())
}

// TestResendAfterADeadProcess checks a resend of a delivery that a dead process has claimed. A new
// series of attempts begins at once.
func TestResendAfterADeadProcess(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		dead, at := o.still()
		desk := o.StillDesk()
		sent := o.Event()
		must(t, (&poll{Dispatcher: dead, queue: dead.queueOf(at), room: 1}).run(ctx))
		o.Exec(`update webhook_deliveries set attempts = 9 where organization = $1`, o.Organization)
		o.Clock.Advance(31 * time.Second)
		_, err := desk.Resend(ctx, webhook.ResendInput{Organization: o.Info.ID, ID: at.ID, Event: sent})
		must(t, err)
		disp, _ := o.dispatcher()
		o.idle(disp)
		if got, want := o.Attempts(at.ID), []string{sent + " 1 succeeded 200 "}; !slices.Equal(got, want) {
			t.Errorf("the log is %v", got)
		}
	})
}

// TestResendOfOldEvents checks that events can be sent again for 30 days.
func TestResendOfOldEvents(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		desk := o.StillDesk()
		disp, _ := o.dispatcher()
		o.idle(disp)
		old := o.Event()
		o.idle(disp)
		o.received()
		in := webhook.ResendInput{Organization: o.Info.ID, ID: name, Event: old}
		o.Clock.Advance(30*24*time.Hour - time.Second)
		_, err := desk.Resend(ctx, in)
		must(t, err)
		o.idle(disp)
		if got := o.received(); !slices.Equal(got, []string{old}) {
			t.Errorf("within 30 days: %v", got)
		}
		o.Clock.Advance(2 * time.Second)
		if _, err := desk.Resend(ctx, in); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("after 30 days: %v", err)
		}
		o.idle(disp)
		if got := o.received(); got != nil {
			t.Errorf("after 30 days: received %v", got)
		}
	})
}

// TestResendFailedInPieces checks that a resend of failed events sends each event once, even after
// many attempts.
func TestResendFailedInPieces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		desk, wait := o.Desk()
		ids := o.Events(3)
		o.CaughtUp()
		o.Logged(name, ids[0], webhook.Failed, 3)
		o.Logged(name, ids[1], webhook.Failed, 1000)
		o.Logged(name, ids[1], webhook.Succeeded, 1)
		o.Logged(name, ids[2], webhook.Failed, 1)
		_, err := desk.Resend(ctx, webhook.ResendInput{Organization: o.Info.ID, ID: name, Failed: true})
		must(t, err)
		wait(2)
		disp, _ := o.dispatcher()
		o.idle(disp)
		want := []string{ids[0], ids[2]}
		if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, want) {
			t.Errorf("received %v, not %v", got, want)
		}
	})
}

// TestResendOfFewInMany checks that a piece of a range scans as many events as a poll. Events that
// the endpoint does not subscribe to count too.
func TestResendOfFewInMany(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint("contact.created")
		desk, wait := o.Desk()
		first := o.Events(1)
		o.EventsOf("contact.updated", "", 1000)
		want := append(first, o.Events(1)...)
		o.CaughtUp()
		_, err := desk.Resend(ctx, webhook.ResendInput{
			Organization: o.Info.ID, ID: name, Since: clock.FromTime(endpointtest.Begin) - 1,
		})
		must(t, err)
		wait(2) // the pieces scan 1002 events in total
		disp, _ := o.dispatcher()
		o.idle(disp)
		if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, want) || o.Count("jobs", "true") > 0 {
			t.Errorf("received %v, not %v", got, want)
		}
	})
}
