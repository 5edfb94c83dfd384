package webhook_test

import (
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
	"kartei/test/operator"
)

// TestDeliveriesOfAnEvent checks that DeliveriesOf returns the attempts at each endpoint, the
// newest first.
func TestDeliveriesOfAnEvent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		first, second, sent := o.Endpoint(), o.Endpoint(), o.Event()
		o.Endpoint() // this endpoint did not get the event
		o.Logged(second, sent, webhook.Failed, 2)
		o.Logged(first, sent, webhook.Succeeded, 1)
		o.Logged(first, "evt_other", webhook.Failed, 1)
		o.Exec(`insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at)
			values ($1, $2, $3, 1, 'contact.created', 'contact', 'con_1', 2, 77, 0, 1)`, o.Organization, second, sent)
		got, err := operator.Run(t.Context(), o.Operator, webhook.DeliveriesOf,
			webhook.EventInput{Organization: o.Info.ID, ID: sent})
		endpointtest.Must(t, err)
		if len(got.Data) != 2 {
			t.Fatalf("%+v", got.Data)
		}
		a, b := got.Data[0], got.Data[1]
		if a.EndpointID != first || a.DueAt != 0 || len(a.Attempts) != 1 || a.Attempts[0].Status != "succeeded" ||
			a.Attempts[0].EventID != sent {
			t.Errorf("the first endpoint: %+v", a)
		}
		if b.EndpointID != second || b.DueAt != 77 || len(b.Attempts) != 2 || b.Attempts[0].ID < b.Attempts[1].ID ||
			b.PrincipalID != o.Owner || b.Name != "CRM" {
			t.Errorf("the second endpoint: %+v", b)
		}
	})
}

// TestRecentAttempts checks that the full output counts the attempts of 24 hours. Each attempt
// counts in the hour in which it began.
func TestRecentAttempts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d) // the clock shows 9:00
		name, other := o.Endpoint(), o.Endpoint()
		o.Logged(name, "evt_a", webhook.Failed, 2)
		o.Logged(other, "evt_a", webhook.Failed, 9)
		o.Clock.Advance(59 * time.Minute)
		o.Logged(name, "evt_a", webhook.Succeeded, 1)
		o.Clock.Advance(time.Minute)
		o.Logged(name, "evt_b", webhook.Succeeded, webhook.MaxCounted+3)
		o.Exec(`update webhook_attempts set response_ms = 40 where organization = $1 and endpoint = '`+name+`'`,
			o.Organization)
		show := func() *webhook.Recent {
			i, err := o.StillDesk().Show(t.Context(), webhook.One{Organization: o.Info.ID, ID: name})
			endpointtest.Must(t, err)
			return i.Recent
		}
		got := show()
		if len(got.Hours) != 24 || got.P95Ms != 40 {
			t.Fatalf("%+v", got)
		}
		nine, ten := got.Hours[22], got.Hours[23]
		if nine.At.Time() != endpointtest.Begin || nine.Succeeded != 1 || nine.Failed != 2 ||
			ten.Succeeded != webhook.MaxCounted || ten.Failed != 0 {
			t.Errorf("nine: %+v, ten: %+v", nine, ten)
		}
		o.Clock.Advance(23 * time.Hour) // the hour from 10:00 is now the first hour
		got = show()
		if got.Hours[0] != ten || got.Hours[1].Succeeded != 0 {
			t.Errorf("a day later: %+v", got.Hours)
		}
		o.Clock.Advance(time.Hour)
		for _, h := range show().Hours {
			if h.Succeeded+h.Failed != 0 {
				t.Errorf("after a day: %+v", h)
			}
		}
	})
}

// TestEnableWithWhatWasMissed checks that Enable with Missed also sends the events that never
// arrived. These are the failed events and the events without an attempt. The output counts each
// event once.
func TestEnableWithWhatWasMissed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		desk, wait := o.Desk()
		failed, arrived := o.Event(), o.Event()
		o.CaughtUp()
		o.Logged(name, failed, webhook.Failed, 2)
		o.Logged(name, arrived, webhook.Failed, 1)
		o.Logged(name, arrived, webhook.Succeeded, 1)
		_, err := desk.Disable(t.Context(), webhook.One{Organization: o.Info.ID, ID: name}, webhook.NoSuccess)
		endpointtest.Must(t, err)
		missed := o.Events(3)
		o.EventsOf("contact.merged", "", 1) // the endpoint does not subscribe to this type
		one := webhook.One{Organization: o.Info.ID, ID: name}
		before, err := desk.Show(t.Context(), one)
		endpointtest.Must(t, err)
		if before.Missed == nil || before.Missed.Events != 4 || before.Missed.More {
			t.Fatalf("before: %+v", before.Missed)
		}
		out, err := desk.EnableWith(t.Context(), webhook.EnableInput{One: one, Missed: true})
		endpointtest.Must(t, err)
		if out.Status != webhook.Active || out.Sends == nil || out.Sends.Found.Events != 4 || !out.Sends.Going {
			t.Errorf("%+v", out)
		}
		wait(2)
		for _, e := range append(missed, failed) {
			if n := o.Count("webhook_deliveries", "event_id = '"+e+"'"); n != 1 {
				t.Errorf("%s has %d deliveries", e, n)
			}
		}
		if n := o.Count("webhook_deliveries", "true"); n != 4 {
			t.Errorf("%d deliveries", n)
		}
		if again, err := desk.EnableWith(t.Context(), webhook.EnableInput{One: one, Missed: true}); err != nil ||
			again.Sends != nil {
			t.Errorf("an endpoint that is enabled: %+v %v", again, err)
		}
		found, err := desk.Resend(t.Context(), webhook.ResendInput{
			Organization: o.Info.ID, ID: name, Since: clock.FromTime(endpointtest.Begin) - 1,
		})
		if endpointtest.Must(t, err); found.Found.Events != 5 {
			t.Errorf("a range: %+v", found)
		}
	})
}

// TestMissedIsBounded checks that the count of missed events is bounded, and that More then is set.
func TestMissedIsBounded(t *testing.T) {
	d := dbtest.SQLite(t)
	o := endpointtest.Open(t, d)
	name := o.Endpoint()
	o.Event()
	o.CaughtUp()
	_, err := o.StillDesk().Disable(t.Context(), webhook.One{Organization: o.Info.ID, ID: name}, webhook.Gone)
	endpointtest.Must(t, err)
	o.Events(webhook.MaxCounted + 1)
	i, err := o.StillDesk().Show(t.Context(), webhook.One{Organization: o.Info.ID, ID: name})
	if endpointtest.Must(t, err); *i.Missed != (webhook.Tally{Events: webhook.MaxCounted, More: true}) {
		t.Errorf("%+v", i.Missed)
	}
}
