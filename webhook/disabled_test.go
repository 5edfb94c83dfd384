package webhook

import (
	"slices"
	"testing"
	"time"

	"kartei/event"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// A test goes to a disabled endpoint too: once, and what becomes of it changes
// nothing of the endpoint.
func TestTestOfADisabledEndpoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		o.exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'no_success' where organization = $1`, o.organization)
		c, _ := o.courier()
		for _, status := range []int{200, 500} {
			o.answer = func(Message) Outcome {
				if status == 200 {
					return Outcome{Status: 200}
				}
				return Outcome{Status: status, Code: HTTPStatus}
			}
			sent, now := id.New(id.Event), clock.Now(o.clock)
			o.exec(drawDelivery, o.organization, name, sent, now, event.Test, "webhook_endpoint", name, now, 0, now, nil)
			o.exec(noteDue, o.organization, name, now)
			for range 4 {
				o.idle(c)
				o.clock.Advance(time.Hour)
			}
			if got := o.received(); !slices.Equal(got, []string{sent}) {
				t.Errorf("%d: received %v", status, got)
			}
			if n := o.count("webhook_endpoints", "status = 'disabled' and failures = 0 and last_success_at = 0 and last_failure_at = 0"); n != 1 {
				t.Errorf("%d: the endpoint is another: %s", status, o.state(name))
			}
			if n := o.count("webhook_deliveries", "true"); n != 0 {
				t.Errorf("%d: %d deliveries wait", status, n)
			}
		}
	})
}

// A 410 disables a failing endpoint too, and the times of attempts are kept.
func TestGoneOfAFailingEndpoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		c, _ := o.courier()
		o.idle(c)
		o.event()
		o.idle(c)
		success := clock.Now(o.clock)
		o.clock.Advance(time.Minute)
		now := clock.Now(o.clock)
		o.exec(`update webhook_endpoints set status = 'failing', failed_since = $2, last_failure_at = $2, failures = 5 where organization = $1`,
			o.organization, now-25*clock.Hour)
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: HTTPStatus} }
		o.event()
		o.idle(c)
		if got := o.state(name); got != "disabled gone" {
			t.Errorf("it is %s", got)
		}
		var r row
		must(t, d.Read(ctx, func(tx db.Tx) (err error) {
			r, err = find(ctx, tx, o.organization, name)
			return err
		}))
		if orZero(r.LastSuccessAt) != success || orZero(r.LastFailureAt) != now {
			t.Errorf("the last success was at %d, not %d, the last failure at %d, not %d", orZero(r.LastSuccessAt), success, orZero(r.LastFailureAt), now)
		}
	})
}
