package webhooks_test

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/pagetest"
	"kartei/web/shell"
)

var ()

// attempted adds an attempt to the log of an endpoint.
func attempted(t *testing.T, o *apitest.Office, path, event, status string, response int, code string) {
	t.Helper()
	endpoint := path[len(shell.WebhooksPath)+1:]
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
			select organization, $1, id, $2, 'contact.created', 3, $3, $4, 87, $5, $6, 0 from webhook_endpoints where id = $7`,
			id.At(id.Delivery, o.Clock.Now()), event, status, int64(response), code, o.Clock.Now().UnixMicro(), endpoint)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// setHook sets columns of an endpoint. set is a list of assignments in SQL.
func setHook(t *testing.T, o *apitest.Office, path, set string) {
	t.Helper()
	if err := o.DB.Write(context.Background(), func(tx db.Tx) error {
		_, err := tx.Exec(context.Background(), `update webhook_endpoints set `+set+` where id = $1`, path[len(shell.WebhooksPath)+1:])
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestWebhooksOnPages checks that a person can create, change, rotate and delete an endpoint.
func TestWebhooksOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		b.Get(shell.WebhooksPath).Want(200, "Noch kein Endpunkt", "Inhalte stehen nicht darin", "Ein Empfänger zum Kopieren", "standardwebhooks")
		form := b.Get(shell.WebhooksPath+"/new?env=live&name=CRM&types=contact.*,task.completed&url=https://10.0.0.1/").Want(200, `value="CRM"`, `value="live" checked`)
		refused := form.Send(shell.WebhooksPath+"/new").Want(422, "Rechnername", `value="https://10.0.0.1/"`, `aria-invalid="true"`)
		made := refused.Send(shell.WebhooksPath+"/new", "url", "https://crm.example.com/hook").Want(200, "nur jetzt", "standardwebhooks", "Node.js", "Testen")
		secret, path := pagetest.HookSecrets.FindString(made.Body), pagetest.WebhookPath.FindString(made.Body)
		if secret == "" || path == "" {
			t.Fatalf("the secret %q, the page %q", secret, path)
		}
		list := b.Get(shell.WebhooksPath).Want(200, "CRM", "live", "aktiv", "Kontakte, Aufgabe erledigt", "24 Stunden: kein Versuch")
		one := b.Get(path).Want(200, "https://crm.example.com/hook", "Noch keine", "Testen")
		for _, shown := range []*pagetest.Page{list, one} {
			if pagetest.HookSecrets.MatchString(shown.Body) {
				t.Error("a page shows the secret again")
			}
		}
		one.Send(path, "name", "").Want(422, `aria-invalid="true"`)
		one.Send(path, "name", "Buchhaltung").Want(303)
		rotated := b.Get(path).Want(200, "Buchhaltung").Send(path+"/rotate").Want(200, "unterschreibt auch das bisherige")
		if again := pagetest.HookSecrets.FindString(rotated.Body); again == "" || again == secret {
			t.Errorf("the new secret is %q", again)
		}
		b.Get(path).Want(200, "unterschreibt auch das bisherige")

		// A change that sends events or the secret elsewhere needs a recent sign-in. Other changes
		// do not.
		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.Get(path).Send(path, "name", "Archiv").Want(303)
		b.Get(path).Send(path, "url", "https://thief.example.com/").Want(403, "bestätigen")
		b.Get(path).Send(path+"/rotate").Want(403, "bestätigen")
		b.Get(shell.WebhooksPath+"/new").Send(shell.WebhooksPath+"/new", "name", "A", "url", "https://a.example.com", "types", "*").Want(403, "bestätigen")
		b.Get(path+"/delete").Want(200, "nicht zurücknehmen").Send(path + "/delete").Want(303)
		b.Get(path).Want(404)
		b.Get(shell.WebhooksPath).Want(200, "Noch kein Endpunkt")
	})
}

// TestWebhookTest checks that the page of a test waits for the result and then shows it.
func TestWebhookTest(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		path := pagetest.Hook(b, "env=test&name=CRM&types=*&url=https://crm.example.com/hook")
		result := b.Get(path).Send(path + "/test").Want(303).Location
		event := result[strings.LastIndex(result, "/")+1:]
		b.Get(result).Want(200, "unterwegs", "Neu laden")
		b.Get(result+"?asked=4").Want(200, "asked=5", `id="test"`)
		b.Get(result+"?asked=119").Want(200, "Noch kein Ergebnis")
		attempted(t, o, path, event, "failed", 0, "DNS")
		if part := b.Get(result+"?asked=4").Want(200, "gescheitert", "lässt sich nicht auflösen"); strings.Contains(part.Body, "asked=") || strings.Contains(part.Body, "<html") {
			t.Errorf("the part: %s", part.Body)
		}
		attempted(t, o, path, event, "succeeded", 204, "")
		b.Get(result).Want(200, "Der Test ist angekommen", "204 · 87 ms · Versuch 3 von 10")
	})
}

// TestDisabledWebhook checks that a page shows why an endpoint is disabled. It enables the endpoint
// with the missed events, and sends events again.
func TestDisabledWebhook(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		path := pagetest.Hook(b, "env=live&name=CRM&types=*&url=https://crm.example.com/hook")
		setHook(t, o, path, `failed_since = 1795000000000000, failures = 3`)
		b.Get(path).Want(200, "zuletzt gescheitert", "Kartei versucht es weiter")
		setHook(t, o, path, `status = 'failing'`)
		b.Get(shell.WebhooksPath).Want(200, "scheitert", "wird der Endpunkt am")
		attempted(t, o, path, "evt_01m7zy33qhee2tp82pq92dhq4k", "failed", 410, "HTTP_STATUS")
		setHook(t, o, path, `status = 'disabled', disabled_reason = 'gone', missed_since = cursor`)
		for _, name := range []string{"Anna", "Bernd", "Carla"} {
			b.Get("/contacts/new").Send("/contacts/new", "lastName", name).Want(303)
		}
		b.Get(shell.WebhooksPath).Want(200, "abgeschaltet", "410 Gone", "Nicht zugestellt: 3 Ereignisse", "Einschalten und nachsenden", "1 gescheitert")
		shown := b.Get(path).Want(200, "Nicht zugestellt: 3 Ereignisse", "410 · 87 ms · Versuch 3 von 10", "Es folgt kein Versuch von selbst")
		if strings.Contains(shown.Body, path+`/resend`) {
			t.Error("a disabled endpoint offers to send again, which is refused")
		}
		on := shown.Send(path+"/enable", "missed", "1").Want(303).Location
		b.Get(on).Want(200, "3 Ereignisse werden nachgesendet", "aktiv")
		b.Get(path).Send(path+"/resend", "event", "", "failed", "1").Want(303)
		b.Get(b.Get(path).Send(path+"/resend", "event", "", "since", "2020-01-01T00:00", "until", "2020-01-02T00:00").Want(303).Location).Want(200, "nichts nachzusenden")
		b.Get(path).Send(path+"/resend", "event", "", "since", "gestern").Want(422, "Geben Sie einen Zeitraum an", `value="gestern"`)
		b.Get(path).Send(path+"/resend", "event", "evt_01m7zy33qhee2tp82pq92dhq4k").Want(422)
		b.Get(path+"?status=failed").Want(200, "410")
		b.Get(path+"?status=failed&before=dlv_0").Want(200, "Kein Versuch ist gescheitert")
		// This enables the endpoint without the missed events.
		setHook(t, o, path, `status = 'disabled', disabled_reason = 'no_success', missed_since = cursor`)
		b.Get(b.Get(path).Send(path+"/enable").Want(303).Location).Want(200, "bekommt wieder Ereignisse")
	})
}

// TestOtherPeoplesWebhooks checks access to endpoints of other people. An admin can see, enable,
// change and delete the endpoints of service accounts, and can send events again. An admin cannot
// test these endpoints.
func TestOtherPeoplesWebhooks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		service, err := operator.Run(t.Context(), o.Operator, principal.CreateServiceAccount, principal.New{Organization: o.ID, Name: "Abgleich"})
		if err != nil {
			t.Fatal(err)
		}
		owner, other, admin, reader := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Admin), pagetest.Open(t, o, access.Viewer)
		path := pagetest.Hook(owner, "env=test&name=Meiner&types=*&url=https://crm.example.com/hook")
		ofService := (&apitest.Client{Office: o, Principal: service.ID, Key: o.Key(service.ID)}).Do("POST", "/webhook_endpoints",
			map[string]any{"name": "Dienst", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201).Text("id")
		for _, b := range []*pagetest.Browser{other, admin, reader} {
			if got := b.Get(shell.WebhooksPath).Want(200); strings.Contains(got.Body, "Meiner") {
				t.Error("an endpoint is in the list of somebody else")
			}
			for _, of := range []string{"", "/delete", "/tests/evt_01m7zy33qhee2tp82pq92dhq4k"} {
				b.Get(path + of).Want(404)
			}
		}
		for _, act := range []string{"", "/test", "/enable", "/resend", "/rotate", "/delete"} {
			token := other.Get(shell.WebhooksPath + "/new").Fields(shell.WebhooksPath + "/new")
			token.Set("failed", "1")
			other.Do("POST", path+act, token).Want(404)
		}
		service2 := shell.WebhooksPath + "/" + ofService
		other.Get(service2).Want(404)
		admin.Get(shell.WebhooksPath).Want(200, "Dienst", "Abgleich")
		shown := admin.Get(service2).Want(200, "Abgleich", service2+"/resend", service2+"/rotate", "nur das Dienstkonto selbst")
		shown.Send(service2+"/resend", "failed", "1").Want(303)
		fields := admin.Get(service2).Fields(service2 + "/resend")
		admin.Do("POST", service2+"/test", fields).Want(404)
		shown.Send(service2, "name", "Abgleich nachts").Want(303)
		admin.Get(service2).Want(200, "Abgleich nachts").Send(service2+"/rotate").Want(200, "whsec_")
		for _, act := range []string{"", "/rotate", "/delete"} {
			reader.Do("POST", service2+act, reader.Get("/settings/profile").Fields("/settings/profile")).Want(404)
			other.Do("POST", service2+act, other.Get(shell.WebhooksPath+"/new").Fields(shell.WebhooksPath+"/new")).Want(404)
		}
		admin.Get(service2 + "/delete").Want(200).Send(service2 + "/delete").Want(303)
		admin.Get(service2).Want(404)
		// People without the scope to write cannot create endpoints.
		reader.Get(shell.WebhooksPath + "/new").Want(403)
		if got := reader.Get(shell.WebhooksPath).Want(200); strings.Contains(got.Body, shell.WebhooksPath+"/new") {
			t.Error("a viewer is offered what is refused")
		}
		owner.Get("/go/" + path[len(shell.WebhooksPath)+1:]).Want(303)
	})
}

// TestWebhookForm checks that the form shows the errors of the API, and accepts values of a link.
func TestWebhookForm(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := pagetest.Open(t, o, access.Member)
	form := b.Get(shell.WebhooksPath + "/new?types=contact.created,contact.lost").Want(200)
	if got := form.Fields(shell.WebhooksPath + "/new"); got.Get("environment") != "test" || strings.Join(got["types"], " ") != "contact.created" {
		t.Errorf("the link chooses %v", got)
	}
	form.Send(shell.WebhooksPath+"/new").Want(422, `href="#f-name"`, `href="#f-url"`)
	form.Send(shell.WebhooksPath+"/new", "environment", "staging").Want(422, "Wählen Sie eine Umgebung")
	form.Send(shell.WebhooksPath+"/new", "name", "A", "url", "http://a.example.com").Want(422, "https-Adresse")
	b.Get(shell.WebhooksPath+"/new").Send(shell.WebhooksPath+"/new", "name", "A", "url", "https://a.example.com").Want(422, `href="#f-eventTypes"`)
}

// hours matches the bars of the drawing: the height of each, and the cross of a failure.
var hours = regexp.MustCompile(`<rect class="(failed)?" x="(\d+)" y="\d+" width="4" height="(\d+)"></rect>\s*(<path d="M(\d+) )?`)

// TestStripOf24Hours checks the drawing of attempts in three hours. Bars have the position of their
// hour, hours with failures have a cross, and the title has the same numbers. Two hours later, the
// oldest of them is no longer in the drawing.
func TestStripOf24Hours(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		owner := o.User(access.Member)
		b := pagetest.OpenAt(t, o, "https://kartei.example")
		b.Cookie = o.Session(owner)
		path := pagetest.Hook(b, "env=test&name=CRM&types=*&url=https://crm.example.com/hook")
		attempts := func(after time.Duration, succeeded, failed int) {
			t.Helper()
			o.Clock.Advance(after)
			for range succeeded {
				attempted(t, o, path, "evt_01m7zy33qhee2tp82pq92dhq4k", "succeeded", 204, "")
			}
			for range failed {
				attempted(t, o, path, "evt_01m7zy33qhee2tp82pq92dhq4k", "failed", 503, "HTTP_STATUS")
			}
		}
		attempts(0, 3, 0)
		attempts(5*time.Hour+59*time.Minute, 1, 2)
		attempts(18*time.Hour, 1, 0)
		b.Cookie = o.Session(owner)
		// The height is the logarithm of the number of attempts, and 1 if there are none.
		shows := func(words string, want map[int]string) {
			t.Helper()
			for _, at := range []string{shell.WebhooksPath, path} {
				page := b.Get(at).Want(200, `aria-label="`+words+`"`, "p95 87 ms")
				bars := hours.FindAllStringSubmatch(page.Main(), -1)
				if len(bars) != 24 {
					t.Fatalf("%s: %d hours: %s", at, len(bars), page.Main())
				}
				for hour, bar := range bars {
					got := strings.TrimSpace(bar[3] + " " + bar[1])
					if bar[2] != strconv.Itoa(hour*6) || got != cmp.Or(want[hour], "1") || (bar[1] != "") != (bar[5] == bar[2]) {
						t.Errorf("%s: hour %d is %q, want %q", at, hour, bar[0], cmp.Or(want[hour], "1"))
					}
				}
			}
		}
		shows("24 Stunden: 5 zugestellt, 2 gescheitert; gescheitert in den Stunden ab 15:00", map[int]string{0: "10", 5: "10 failed", 23: "5"})
		o.Clock.Advance(2 * time.Hour)
		shows("24 Stunden: 2 zugestellt, 2 gescheitert; gescheitert in den Stunden ab 15:00", map[int]string{3: "10 failed", 21: "5"})
	})
}
