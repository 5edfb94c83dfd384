package webhook_test

import (
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
	"kartei/test/operator"
	"kartei/webhook"
)

// The deliveries of an event are the attempts at each endpoint, the newest first.
func TestDeliveriesOfAnEvent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := endpointtest.Open(t, d)
		first, second, sent := o.Endpoint(), o.Endpoint(), o.Event()
		o.Endpoint() // it did not get the event
		o.Logged(second, sent, webhook.Failed, 2)
		o.Logged(first, sent, webhook.Succeeded, 1)
		o.Logged(first, "evt_other", webhook.Failed, 1)
		o.Exec(`insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at)
			values ($1, $2, $3, 1, 'contact.created', 'contact', 'con_1', 2, 77, 0, 1)`, o.Organization, second, sent)
		got, err := operator.Do(t.Context(), o.Operator, webhook.DeliveriesOf, webhook.EventInput{Organization: o.Info.ID, ID: sent})
		endpointtest.Must(t, err)
		if len(got.Data) != 2 {
			t.Fatalf("%+v", got.Data)
		}
		a, b := got.Data[0], got.Data[1]
		if a.EndpointID != first || a.DueAt != 0 || len(a.Attempts) != 1 || a.Attempts[0].Status != "succeeded" || a.Attempts[0].EventID != sent {
			t.Errorf("the first endpoint: %+v", a)
		}
		if b.EndpointID != second || b.DueAt != 77 || len(b.Attempts) != 2 || b.Attempts[0].ID < b.Attempts[1].ID || b.PrincipalID != o.Owner || b.Name != "CRM" {
			t.Errorf("the second endpoint: %+v", b)
		}
	})
}
