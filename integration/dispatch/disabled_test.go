package dispatch

import (
	"slices"
	"testing"
	"time"

	"kartei/api/op"
	"kartei/api/optest"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestTestOfADisabledEndpoint checks that a test event is sent to a disabled endpoint once. Its
// outcome does not change the endpoint.
func TestTestOfADisabledEndpoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		o.Exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'no_success' where organization = $1`,
			o.Organization)
		disp, _ := o.dispatcher()
		for _, status := range []int{200, 500} {
			o.answer = func(Message) Outcome {
				if status == 200 {
					return Outcome{Status: 200}
				}
				return Outcome{Status: status, Code: webhook.HTTPStatus}
			}
			var sent string
			must(t, d.Write(ctx, func(tx db.Tx) error {
				out, err := optest.Run(ctx, o.Call(tx), webhook.SendTest, op.ByID{ID: name})
				sent = out.EventID
				return err
			}))
			for range 4 {
				o.idle(disp)
				o.Clock.Advance(time.Hour)
			}
			if got := o.received(); !slices.Equal(got, []string{sent}) {
				t.Errorf("%d: received %v", status, got)
			}
			if n := o.Count("webhook_endpoints", "status = 'disabled' and failures = 0 and last_success_at = 0 and last_failure_at = 0"); n != 1 {
				t.Errorf("%d: the endpoint is another: %s", status, o.State(name))
			}
			if n := o.Count("webhook_deliveries", "true"); n != 0 {
				t.Errorf("%d: %d deliveries wait", status, n)
			}
		}
	})
}

// TestGoneOfAFailingEndpoint checks that a 410 disables a failing endpoint too. The endpoint keeps
// the times of its last success and its last failure.
func TestGoneOfAFailingEndpoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		disp, _ := o.dispatcher()
		o.idle(disp)
		o.Event()
		o.idle(disp)
		success := clock.Now(o.Clock)
		o.Clock.Advance(time.Minute)
		now := clock.Now(o.Clock)
		o.Exec(`update webhook_endpoints set status = 'failing', failed_since = $2, last_failure_at = $2, failures = 5 where organization = $1`,
			o.Organization, now-25*clock.Hour)
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: webhook.HTTPStatus} }
		o.Event()
		o.idle(disp)
		if got := o.State(name); got != "disabled gone" {
			t.Errorf("it is %s", got)
		}
		r := o.Read(name)
		if r.LastSuccessAt == nil || *r.LastSuccessAt != success || r.LastFailureAt == nil || *r.LastFailureAt != now {
			t.Errorf("the last success was at %v, not %d, the last failure at %v, not %d", r.LastSuccessAt, success,
				r.LastFailureAt, now)
		}
	})
}
