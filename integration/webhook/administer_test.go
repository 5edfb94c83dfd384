package webhook_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
	"kartei/test/waittest"
)

// TestEnableTells checks that Enable notifies the dispatchers, so that deliveries do not wait for a
// sweep.
func TestEnableTells(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		desk, _ := o.Desk()
		told := make(chan string, 10)
		defer d.SubscribeLocal(webhook.Topic, func(word string) { told <- word })()
		o.Exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'gone' where organization = $1`,
			o.Organization)
		_, err := desk.Enable(t.Context(), webhook.One{Organization: o.Info.ID, ID: name})
		endpointtest.Must(t, err)
		select {
		case word := <-told:
			if word != strconv.FormatInt(o.Organization, 10) {
				t.Errorf("told %q", word)
			}
		case <-time.After(waittest.Bound):
			t.Error("nobody was told")
		}
	})
}

// TestResendToADeletedEndpoint checks that a resend queues no events for an endpoint that was
// deleted meanwhile.
func TestResendToADeletedEndpoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		r := o.Read(name)
		o.Exec(`delete from webhook_endpoints where organization = $1`, o.Organization)
		endpointtest.Must(t, d.Write(t.Context(), func(tx db.Tx) error {
			sent, err := webhook.Send(t.Context(), tx, &r, clock.Now(o.Clock),
				[]event.Event{{ID: id.New(id.Event), Type: "contact.created"}})
			if sent {
				t.Error("it says that it was sent")
			}
			return err
		}))
		if n := o.Count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries without an endpoint", n)
		}
	})
}

// TestResendWhileTheGateIsClosed checks resends while the API of the organization is off. A resend
// of one event is refused with a reason. A resend of many events waits until its events have
// expired.
func TestResendWhileTheGateIsClosed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		desk := o.StillDesk()
		sent := o.Event()
		o.CaughtUp()
		o.Set(organization.Change{Level: endpointtest.As(access.Off)})
		_, err := desk.Resend(t.Context(), webhook.ResendInput{Organization: o.Info.ID, ID: name, Event: sent})
		if f := fault.From(err); f.Code != fault.ValidationFailed || f.Fields[0].Text != webhook.Resting {
			t.Errorf("one event: %v", err)
		}
		out, err := desk.Resend(t.Context(), webhook.ResendInput{Organization: o.Info.ID, ID: name, Failed: true})
		if endpointtest.Must(t, err); !out.Going || !out.Rests {
			t.Errorf("many: %+v", out)
		}
		from := webhook.ResendFrom{Endpoint: name, Since: clock.FromTime(endpointtest.Begin) - 1, Until: clock.Now(o.Clock)}
		payload, err := json.Marshal(from)
		endpointtest.Must(t, err)
		j := &job.Job{Organization: o.Organization, Payload: payload, CreatedAt: clock.Now(o.Clock)}
		o.Clock.Advance(30 * 24 * time.Hour)
		if err := desk.Resender().RunResend(t.Context(), j); err == nil || err.Error() != job.Later(10*time.Second).Error() {
			t.Errorf("after 30 days: %v", err)
		}
		o.Clock.Advance(time.Microsecond)
		if err := desk.Resender().RunResend(t.Context(), j); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// TestResendWithoutRights checks that a resend sends no events if the principal may receive none.
// The job does not scan the events.
func TestResendWithoutRights(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		name := o.Endpoint()
		desk, wait := o.Desk()
		o.Events(1050)
		o.CaughtUp()
		in := webhook.ResendInput{Organization: o.Info.ID, ID: name, Since: clock.FromTime(endpointtest.Begin) - 1}
		o.SetOwner(principal.Change{Disabled: endpointtest.As(true)})
		_, err := desk.Resend(t.Context(), in)
		if f := fault.From(err); f.Code != fault.ValidationFailed || f.Fields[0].Text != webhook.Ownerless {
			t.Errorf("while the owner is disabled: %v", err)
		}
		r := o.Read(name)
		endpointtest.Must(t, d.Write(t.Context(), func(tx db.Tx) error { // the job was enqueued before the owner was disabled
			return webhook.EnqueueResend(t.Context(), tx, &r, clock.Now(o.Clock), in)
		}))
		wait(1)
		if n := o.Count("jobs", "true"); n != 0 {
			t.Errorf("%d more jobs", n)
		}
	})
}
