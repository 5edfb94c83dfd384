package dispatch

import (
	"slices"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestDisabledByTheOperator checks an endpoint that the operator disables. It gets no more events,
// its pending deliveries end, and its owner gets a notice. Once it is enabled, it gets new events.
func TestDisabledByTheOperator(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		first, second := o.Endpoint(), o.Endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
		disp, _ := o.dispatcher()
		o.idle(disp)
		waiting := o.Event()
		o.idle(disp) // one attempt for each endpoint; the next attempts are due in 30 s
		desk := o.StillDesk()
		for range 2 { // the second call changes nothing
			info, err := desk.Disable(ctx, webhook.One{Organization: o.Info.ID, ID: first}, webhook.KeyRevoked)
			must(t, err)
			if info.Status != webhook.Disabled || *info.DisabledReason != webhook.KeyRevoked || info.Revision != 2 {
				t.Errorf("%+v", info)
			}
		}
		o.received()
		o.answer = nil
		o.idle(disp)
		o.Clock.Advance(time.Minute)
		more := o.Event()
		o.idle(disp)
		if got := o.received(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{waiting, more}) {
			// only the second endpoint may receive events
			t.Errorf("received %v of %v", got, []string{waiting, more})
		}
		if n := o.Count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
		if got := o.Told(); !slices.Equal(got, []string{"owner disabled key_revoked"}) {
			t.Errorf("told %v", got)
		}
		if got := o.State(second); got != "active" {
			t.Errorf("the other is %s", got)
		}
		info, err := desk.Enable(ctx, webhook.One{Organization: o.Info.ID, ID: first})
		must(t, err)
		if info.Status != webhook.Active || info.DisabledReason != nil || info.MissedSince == 0 {
			t.Errorf("enabled: %+v", info)
		}
		later := o.Event()
		o.idle(disp)
		if got := o.received(); !slices.Equal(got, []string{later, later}) {
			t.Errorf("received %v, not %s twice", got, later)
		}
		if _, err := desk.Disable(ctx, webhook.One{Organization: o.Info.ID, ID: "whe_1"}, webhook.KeyRevoked); err == nil {
			t.Error("an endpoint that there is not was disabled")
		}
	})
}
