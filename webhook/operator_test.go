package webhook

import (
	"slices"
	"testing"
	"time"

	"kartei/notify"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// An endpoint that is disabled by whoever runs the instance gets nothing more,
// what waits for it ends, and its owner is told. Enabled again it gets what
// happens from then on.
func TestDisabledByTheOperator(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		first, second := o.endpoint(), o.endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: HTTPStatus} }
		c, _ := o.courier()
		o.idle(c)
		waiting := o.event()
		o.idle(c) // one attempt at each, the next in 30 s
		desk := &Desk{DB: d, Clock: o.clock, Families: families, Notices: notify.New(notify.Options{DB: d, Clock: o.clock, Forms: Forms})}
		for range 2 { // the second time nothing happens
			info, err := desk.Disable(ctx, One{o.info.ID, first}, KeyRevoked)
			must(t, err)
			if info.Status != Disabled || *info.DisabledReason != KeyRevoked || info.Revision != 2 {
				t.Errorf("%+v", info)
			}
		}
		o.received()
		o.answer = nil
		o.idle(c)
		o.clock.Advance(time.Minute)
		more := o.event()
		o.idle(c)
		if got := o.received(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{waiting, more}) { // at the second alone
			t.Errorf("received %v of %v", got, []string{waiting, more})
		}
		if n := o.count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
		if got := o.told(); !slices.Equal(got, []string{"owner disabled key_revoked"}) {
			t.Errorf("told %v", got)
		}
		if got := o.state(second); got != "active" {
			t.Errorf("the other is %s", got)
		}
		info, err := desk.Enable(ctx, One{o.info.ID, first})
		must(t, err)
		if info.Status != Active || info.DisabledReason != nil || info.MissedSince == 0 {
			t.Errorf("enabled: %+v", info)
		}
		later := o.event()
		o.idle(c)
		if got := o.received(); !slices.Equal(got, []string{later, later}) {
			t.Errorf("received %v, not %s twice", got, later)
		}
		if _, err := desk.Disable(ctx, One{o.info.ID, "whe_1"}, KeyRevoked); err == nil {
			t.Error("an endpoint that there is not was disabled")
		}
	})
}
