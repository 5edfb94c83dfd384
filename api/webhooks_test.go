package api_test

import (
	"encoding/json"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/settings"
	"kartei/test/apitest"
	"kartei/test/operator"
	"kartei/webhook"
)

// TestDeliveriesOfAnEvent shows an event at the endpoints that the caller administers:
// the own ones, and for admins also those of service accounts.
func TestDeliveriesOfAnEvent(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		service, err := operator.Do(t.Context(), o.Operator, settings.CreateServiceAccount, settings.NewPrincipal{Organization: o.ID, Name: "Abgleich"})
		if err != nil {
			t.Fatal(err)
		}
		ida, admin := o.As(access.Member), o.User(access.Admin)
		tested := func(c *apitest.Client) string {
			made := c.Do("POST", "/webhook_endpoints", map[string]any{"name": "CRM", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201)
			return c.Do("POST", "/webhook_endpoints/"+made.Text("id")+"/test", nil).Want(200).Text("eventId")
		}
		ofIda, ofService := tested(ida), tested(&apitest.Client{Office: o, Principal: service.ID, Key: o.Key(service.ID)})
		for _, c := range []struct {
			who, as, event string
			want           []string
		}{
			{"the owner", ida.Principal, ofIda, []string{ida.Principal}},
			{"another member", o.User(access.Member), ofIda, nil},
			{"an admin", admin, ofIda, nil},
			{"an admin", admin, ofService, []string{service.ID}},
			{"a member", ida.Principal, ofService, nil},
			{"a member", ida.Principal, "evt_", nil},
		} {
			var got webhook.EventDeliveries
			answer := ask(t, o, api.Web, api.Cookie(o.Session(c.as), true), "events.deliveries", webhook.EventInput{ID: c.event})
			if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Fault != nil || len(got.Data) != len(c.want) {
				t.Errorf("%s asks about %s: %d %s", c.who, c.event, answer.Status, answer.Body)
				continue
			}
			for i, d := range got.Data {
				if d.PrincipalID != c.want[i] || d.Name != "CRM" || d.DueAt == 0 || len(d.Attempts) != 0 {
					t.Errorf("%s asks about %s: %+v", c.who, c.event, d)
				}
			}
		}
	})
}
