package api_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/integration/webhook"
	"kartei/people/gains"
	"kartei/people/notify"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// TestDeliveriesOfAnEvent checks which deliveries of an event a caller sees. These are deliveries
// to their own endpoints, and for admins also deliveries to endpoints of service accounts.
func TestDeliveriesOfAnEvent(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		service, err := operator.Run(t.Context(), o.Operator, principal.CreateServiceAccount,
			principal.New{Organization: o.ID, Name: "Abgleich"})
		if err != nil {
			t.Fatal(err)
		}
		ida, admin := o.As(access.Member), o.User(access.Admin)
		tested := func(c *apitest.Client) string {
			made := c.Do("POST", "/webhook_endpoints", map[string]any{
				"name":       "CRM",
				"url":        "https://example.com/hook",
				"eventTypes": []string{"contact.created"},
			}).Want(201)
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

// TestOutcomesOfEvents checks the numbers of endpoints for which the delivery of an event
// succeeded, failed or is due. Only endpoints that the caller administers count. Each endpoint
// counts once, regardless of the number of attempts.
func TestOutcomesOfEvents(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		ida, other := o.As(access.Member), o.User(access.Member)
		endpoints := map[string]string{}
		for _, name := range []string{"good", "bad", "late"} {
			endpoints[name] = ida.Do("POST", "/webhook_endpoints", map[string]any{
				"name":       name,
				"url":        "https://example.com/hook",
				"eventTypes": []string{"contact.created"},
			}).Want(201).Text("id")
		}
		try := func(endpoint, event, status string, number int) {
			dbtest.Run(t, d, `insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
				select organization, $3, id, $2, 'contact.created', $5, $4, 0, 0, '', 1, 0 from webhook_endpoints where id = $1`, endpoints[endpoint], event, fmt.Sprintf("dlv_%s%s%d", endpoint, event, number), status, number)
		}
		try("good", "evt_1", "failed", 1)
		try("good", "evt_1", "succeeded", 2)
		try("bad", "evt_1", "succeeded", 1)
		try("bad", "evt_1", "failed", 2)
		try("late", "evt_1", "failed", 1)
		dbtest.Run(t, d, `insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at, trace)
			select organization, id, 'evt_1', 1, 'contact.created', 'contact', 'con_1', 1, 1, 1, 1, '' from webhook_endpoints where id = $1`, endpoints["late"])
		service, err := operator.Run(t.Context(), o.Operator, principal.CreateServiceAccount,
			principal.New{Organization: o.ID, Name: "Abgleich"})
		if err != nil {
			t.Fatal(err)
		}
		ofService := &apitest.Client{Office: o, Principal: service.ID, Key: o.Key(service.ID)}
		endpoints["service"] = ofService.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "service",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201).Text("id")
		try("service", "evt_1", "succeeded", 1)
		try("good", "evt_2", "succeeded", 1)
		try("good", "evt_other", "succeeded", 1)
		for who, want := range map[string]string{
			ida.Principal: `{"data":[{"eventId":"evt_1","succeeded":1,"failed":1,"due":1},{"eventId":"evt_2","succeeded":1,"failed":0,"due":0}]}`, other: `{"data":[]}`,
			// only endpoints of service accounts
			o.User(access.Admin): `{"data":[{"eventId":"evt_1","succeeded":1,"failed":0,"due":0}]}`,
		} {
			answer := ask(t, o, api.Web, api.Cookie(o.Session(who), true), "events.outcomes",
				webhook.OutcomesInput{Organization: o.SandboxID, IDs: []string{"evt_1", "evt_2", "evt_3"}})
			var got webhook.Outcomes
			if err := json.Unmarshal(answer.Body, &got); err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(got.Data, func(a, b webhook.Outcome) int { return strings.Compare(a.EventID, b.EventID) })
			if sorted, _ := json.Marshal(got); string(sorted) != want {
				t.Errorf("%s gets %s, want %s", who, sorted, want)
			}
		}
		foreign, _ := o.Organization("Andere")
		stranger := api.Cookie(o.Session(o.User(access.Admin, foreign)), true)
		if got := ask(t, o, api.Web, stranger, "events.outcomes",
			webhook.OutcomesInput{IDs: []string{"evt_1"}}); string(got.Body) != `{"data":[]}` {
			t.Errorf("another organization reads %d %s", got.Status, got.Body)
		}
		if got := ask(t, o, api.Web, stranger, "events.outcomes",
			webhook.OutcomesInput{Organization: o.SandboxID, IDs: []string{"evt_1"}}); got.Status != 404 {
			t.Errorf("another organization asks for this one: %d %s", got.Status, got.Body)
		}
		for _, ids := range [][]string{nil, make([]string, webhook.MaxOutcomes+1)} {
			if got := ask(t, o, api.Web, api.Cookie(o.Session(other), true), "events.outcomes",
				webhook.OutcomesInput{IDs: ids}); got.Status != 400 {
				t.Errorf("%d ids: %d %s", len(ids), got.Status, got.Body)
			}
		}
	})
}

// TestEndpointsOfAPerson checks that only its owner can administer a person's endpoint. Other
// people cannot, and neither can admins. People need the same permissions for this as programs.
func TestEndpointsOfAPerson(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, reader := o.User(access.Member), o.User(access.Member)
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{
			ID:     reader,
			Rights: access.Rights{"webhook_endpoints": access.ReadRight, "tasks": access.NoRight},
		}); err != nil {
			t.Fatal(err)
		}
		as := func(who string) api.Credential { return api.Cookie(o.Session(who), true) }
		fields := func(change ...string) map[string]any {
			m := map[string]any{"name": "CRM", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}
			for i := 0; i < len(change); i += 2 {
				m[change[i]] = change[i+1]
			}
			return m
		}
		var made webhook.SecretAnswer
		got := ask(t, o, api.Web, as(ida), "webhooks.create", fields())
		if got.Fault != nil || json.Unmarshal(got.Body, &made) != nil || len(made.Text) < 20 {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		for _, c := range []struct {
			name string
			in   map[string]any
			want string
		}{
			{"no name", fields("name", " "), "name"},
			{"two lines", fields("name", "a\nb"), "name"},
			{"a private address", fields("url", "https://10.0.0.1/"), "url"},
			{"no URL", fields("url", ""), "url"},
			{
				"an unknown type",
				map[string]any{"name": "a", "url": "https://example.com", "eventTypes": []string{"contact.lost"}},
				"eventTypes",
			},
			{"nothing", map[string]any{}, "name url eventTypes"},
		} {
			got := ask(t, o, api.Web, as(ida), "webhooks.create", c.in)
			if got.Status != 422 {
				t.Errorf("%s: %d %s", c.name, got.Status, got.Body)
				continue
			}
			var names []string
			for _, f := range got.Fault.Fields {
				names = append(names, f.Name)
			}
			if strings.Join(names, " ") != c.want {
				t.Errorf("%s: %v", c.name, names)
			}
		}
		for who, principal := range map[string]string{"an admin": o.User(access.Admin), "a member": o.User(access.Member)} {
			for _, row := range []string{
				"webhooks.change", "webhooks.rotate", "webhooks.delete", "webhooks.get", "webhooks.deliveries",
				"webhooks.enable",
			} {
				if got := ask(t, o, api.Web, as(principal), row, op.ByID{ID: made.ID}); got.Status != 404 {
					t.Errorf("%s as %s: %d %s", row, who, got.Status, got.Body)
				}
			}
		}
		for row, in := range map[string]any{
			"webhooks.create": fields(),
			"webhooks.rotate": op.ByID{ID: made.ID},
			"webhooks.delete": op.ByID{ID: made.ID},
		} {
			if got := ask(t, o, api.Web, as(reader), row, in); got.Status != 403 {
				t.Errorf("%s without the right: %d %s", row, got.Status, got.Body)
			}
		}
		got = ask(t, o, api.Web, as(ida), "webhooks.change", map[string]any{"id": made.ID, "name": "Neu"})
		var e webhook.Endpoint
		if got.Fault != nil || json.Unmarshal(got.Body, &e) != nil || e.Name != "Neu" ||
			e.URL != "https://example.com/hook" || e.Revision != 2 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		var rotated webhook.SecretAnswer
		got = ask(t, o, api.Web, as(ida), "webhooks.rotate", op.ByID{ID: made.ID})
		if got.Fault != nil || json.Unmarshal(got.Body, &rotated) != nil || rotated.Text == made.Text ||
			rotated.PreviousSecretValidUntil == nil {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		if got := ask(t, o, api.Web, as(ida), "webhooks.get",
			webhook.GetInput{One: webhook.One{ID: made.ID}}); !strings.Contains(string(got.Body),
			`"previousSecretValidUntil":"20`) {
			t.Errorf("the overlap: %s", got.Body)
		}
		if got := ask(t, o, api.Web, as(ida), "webhooks.delete", op.ByID{ID: made.ID}); got.Status != 204 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
}

// TestEndpointsByTheOperator checks the notices about an endpoint that the operator creates and
// rotates for a person. They must name the operator, and not the person, as the author.
func TestEndpointsByTheOperator(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida := o.User(access.Member)
		in := webhook.NewInput{
			Organization: o.SandboxID,
			Principal:    ida,
			Fields:       webhook.Fields{Name: "CRM", URL: "https://example.com/hook", EventTypes: []string{"contact.created"}},
		}
		got := ask(t, o, api.Admin, api.Local(), "webhooks.create", in)
		var made webhook.SecretAnswer
		if got.Fault != nil || json.Unmarshal(got.Body, &made) != nil {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		if got := ask(t, o, api.Admin, api.Local(), "webhooks.rotate",
			webhook.One{Organization: o.SandboxID, ID: made.ID}); got.Fault != nil {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		by := api.Caller{
			Door: api.Web, Credential: api.Cookie(o.Session(ida), true),
			Address: netip.MustParseAddr("192.0.2.7"),
		}
		bell, err := api.Call(t.Context(), o.API, by, notify.ListBell, notify.BellInput{})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, e := range bell.Data {
			var facts gains.Facts
			if e.Kind != gains.AccessGiven || json.Unmarshal(e.Facts, &facts) != nil {
				continue
			}
			told++
			if facts.By != "" || facts.Own || facts.Kind != string(access.Operator) {
				t.Errorf("the notice of %s names %q as who acted (own %t, %q)", facts.Word, facts.By, facts.Own, facts.Kind)
			}
		}
		if told != 2 {
			t.Errorf("%d notices, want 2", told)
		}
	})
}
