package dispatch

import (
	"fmt"
	"testing"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// TestBodyIsTheEvent checks that the first attempt, the next one and a resend send the same
// bytes: the event with all of its members.
func TestBodyIsTheEvent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint("contact.updated")
		event := o.EventsOf("contact.updated", "", 1)[0]
		o.Exec(`update events set revision = 7, changed = 'email address', request_id = 'req_a' where organization = $1`, o.Organization)
		var contact string
		var tick clock.Micros
		dbtest.Get(t, d, []any{&contact, &tick}, `select record_id, tick from events where organization = $1`, o.Organization)
		want := fmt.Sprintf(`{"object":"event","id":"%s","type":"contact.updated","createdAt":"%s","requestId":"req_a",`+
			`"data":{"object":"contact","id":"%s","revision":7,"changed":["email","address"]}}`, event, tick, contact)

		failures := 1
		o.answer = func(Message) Outcome {
			if failures--; failures >= 0 {
				return Outcome{Status: 500, Code: webhook.HTTPStatus}
			}
			return Outcome{Status: 200}
		}
		desk, wait := o.Desk()
		disp, _ := o.dispatcher()
		o.idle(disp)
		o.Clock.Advance(gaps[0])
		o.idle(disp)
		_, err := desk.Resend(ctx, webhook.ResendInput{
			Organization: o.Info.ID, ID: name, Since: clock.FromTime(endpointtest.Begin) - 1,
		})
		must(t, err)
		wait(1)
		o.idle(disp)
		if len(o.got) != 3 {
			t.Fatalf("%d attempts, want 3", len(o.got))
		}
		for i, m := range o.got {
			if string(m.Body) != want {
				t.Errorf("attempt %d sent\n%s, want\n%s", i+1, m.Body, want)
			}
		}
	})
}
