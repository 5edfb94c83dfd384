package office_test

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
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// webhookPath is the page of an endpoint, and hookSecrets are the secrets of endpoints.
var ()

// attempted writes an attempt into the log of an endpoint.
func attempted(t *testing.T, o *apitest.Office, path, event, status string, response int, code string) {
	t.Helper()
	endpoint := path[len(webhooksPath)+1:]
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
			select organization, $1, id, $2, 'contact.created', 3, $3, $4, 87, $5, $6, 0 from webhook_endpoints where id = $7`,
			id.At(id.Delivery, o.Clock.Now()), event, status, int64(response), code, o.Clock.Now().UnixMicro(), endpoint)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// setHook sets columns of an endpoint.
func setHook(t *testing.T, o *apitest.Office, path, set string) {
	t.Helper()
	if err := o.DB.Write(context.Background(), func(tx db.Tx) error {
		_, err := tx.Exec(context.Background(), `update webhook_endpoints set `+set+` where id = $1`, path[len(webhooksPath)+1:])
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestWebhooksOnPages makes an endpoint, changes it, renews its secret and deletes it.
func TestWebhooksOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		b.get(webhooksPath).want(200, "Noch kein Endpunkt", "Inhalte stehen nicht darin", "Ein Empfänger zum Kopieren", "standardwebhooks")
		form := b.get(webhooksPath+"/new?env=live&name=CRM&types=contact.*,task.completed&url=https://10.0.0.1/").want(200, `value="CRM"`, `value="live" checked`)
		refused := form.send(webhooksPath+"/new").want(422, "Rechnername", `value="https://10.0.0.1/"`, `aria-invalid="true"`)
		made := refused.send(webhooksPath+"/new", "url", "https://crm.example.com/hook").want(200, "nur jetzt", "standardwebhooks", "Node.js", "Testen")
		secret, path := hookSecrets.FindString(made.Body), webhookPath.FindString(made.Body)
		if secret == "" || path == "" {
			t.Fatalf("the secret %q, the page %q", secret, path)
		}
		list := b.get(webhooksPath).want(200, "CRM", "live", "aktiv", "Kontakte, Aufgabe erledigt", "24 Stunden: kein Versuch")
		one := b.get(path).want(200, "https://crm.example.com/hook", "Noch keine", "Testen")
		for _, shown := range []*page{list, one} {
			if hookSecrets.MatchString(shown.Body) {
				t.Error("a page shows the secret again")
			}
		}
		one.send(path, "name", "").want(422, `aria-invalid="true"`)
		one.send(path, "name", "Buchhaltung").want(303)
		rotated := b.get(path).want(200, "Buchhaltung").send(path+"/rotate").want(200, "unterschreibt auch das bisherige")
		if again := hookSecrets.FindString(rotated.Body); again == "" || again == secret {
			t.Errorf("the new secret is %q", again)
		}
		b.get(path).want(200, "unterschreibt auch das bisherige")

		// What lets events or a secret out needs a recent sign-in, and nothing else does.
		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.get(path).send(path, "name", "Archiv").want(303)
		b.get(path).send(path, "url", "https://thief.example.com/").want(403, "bestätigen")
		b.get(path).send(path+"/rotate").want(403, "bestätigen")
		b.get(webhooksPath+"/new").send(webhooksPath+"/new", "name", "A", "url", "https://a.example.com", "types", "*").want(403, "bestätigen")
		b.get(path+"/delete").want(200, "nicht zurücknehmen").send(path + "/delete").want(303)
		b.get(path).want(404)
		b.get(webhooksPath).want(200, "Noch kein Endpunkt")
	})
}

// TestWebhookTest tests an endpoint: the page waits for the result and then shows it.
func TestWebhookTest(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		path := hook(b, "env=test&name=CRM&types=*&url=https://crm.example.com/hook")
		result := b.get(path).send(path + "/test").want(303).Location
		event := result[strings.LastIndex(result, "/")+1:]
		b.get(result).want(200, "unterwegs", "Neu laden")
		b.get(result+"?asked=4").want(200, "asked=5", `id="test"`)
		b.get(result+"?asked=119").want(200, "Noch kein Ergebnis")
		attempted(t, o, path, event, "failed", 0, "DNS")
		if part := b.get(result+"?asked=4").want(200, "gescheitert", "lässt sich nicht auflösen"); strings.Contains(part.Body, "asked=") || strings.Contains(part.Body, "<html") {
			t.Errorf("the part: %s", part.Body)
		}
		attempted(t, o, path, event, "succeeded", 204, "")
		b.get(result).want(200, "Der Test ist angekommen", "204 · 87 ms · Versuch 3 von 10")
	})
}

// TestDisabledWebhook shows why an endpoint is disabled, enables it with what it missed,
// and sends events again.
func TestDisabledWebhook(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		path := hook(b, "env=live&name=CRM&types=*&url=https://crm.example.com/hook")
		setHook(t, o, path, `failed_since = 1795000000000000, failures = 3`)
		b.get(path).want(200, "zuletzt gescheitert", "Kartei versucht es weiter")
		setHook(t, o, path, `status = 'failing'`)
		b.get(webhooksPath).want(200, "scheitert", "wird der Endpunkt am")
		attempted(t, o, path, "evt_01m7zy33qhee2tp82pq92dhq4k", "failed", 410, "HTTP_STATUS")
		setHook(t, o, path, `status = 'disabled', disabled_reason = 'gone', missed_since = cursor`)
		for _, name := range []string{"Anna", "Bernd", "Carla"} {
			b.get("/contacts/new").send("/contacts/new", "lastName", name).want(303)
		}
		b.get(webhooksPath).want(200, "abgeschaltet", "410 Gone", "Nicht zugestellt: 3 Ereignisse", "Einschalten und nachsenden", "1 gescheitert")
		shown := b.get(path).want(200, "Nicht zugestellt: 3 Ereignisse", "410 · 87 ms · Versuch 3 von 10", "Es folgt kein Versuch von selbst")
		if strings.Contains(shown.Body, path+`/resend`) {
			t.Error("a disabled endpoint offers to send again, which is refused")
		}
		on := shown.send(path+"/enable", "missed", "1").want(303).Location
		b.get(on).want(200, "3 Ereignisse werden nachgesendet", "aktiv")
		b.get(path).send(path+"/resend", "event", "", "failed", "1").want(303)
		b.get(b.get(path).send(path+"/resend", "event", "", "since", "2020-01-01T00:00", "until", "2020-01-02T00:00").want(303).Location).want(200, "nichts nachzusenden")
		b.get(path).send(path+"/resend", "event", "", "since", "gestern").want(422, "Geben Sie einen Zeitraum an", `value="gestern"`)
		b.get(path).send(path+"/resend", "event", "evt_01m7zy33qhee2tp82pq92dhq4k").want(422)
		b.get(path+"?status=failed").want(200, "410")
		b.get(path+"?status=failed&before=dlv_0").want(200, "Kein Versuch ist gescheitert")
		// Without what was missed.
		setHook(t, o, path, `status = 'disabled', disabled_reason = 'no_success', missed_since = cursor`)
		b.get(b.get(path).send(path+"/enable").want(303).Location).want(200, "bekommt wieder Ereignisse")
	})
}

// TestOtherPeoplesWebhooks opens endpoints of others. An admin sees the endpoints of service
// accounts, may enable them, send again, change them and delete them, and tests nothing.
func TestOtherPeoplesWebhooks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		service, err := operator.Run(t.Context(), o.Operator, settings.CreateServiceAccount, settings.NewPrincipal{Organization: o.ID, Name: "Abgleich"})
		if err != nil {
			t.Fatal(err)
		}
		owner, other, admin, reader := open(t, o, access.Member), open(t, o, access.Member), open(t, o, access.Admin), open(t, o, access.Viewer)
		path := hook(owner, "env=test&name=Meiner&types=*&url=https://crm.example.com/hook")
		ofService := (&apitest.Client{Office: o, Principal: service.ID, Key: o.Key(service.ID)}).Do("POST", "/webhook_endpoints",
			map[string]any{"name": "Dienst", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201).Text("id")
		for _, b := range []*browser{other, admin, reader} {
			if got := b.get(webhooksPath).want(200); strings.Contains(got.Body, "Meiner") {
				t.Error("an endpoint is in the list of somebody else")
			}
			for _, of := range []string{"", "/delete", "/tests/evt_01m7zy33qhee2tp82pq92dhq4k"} {
				b.get(path + of).want(404)
			}
		}
		for _, act := range []string{"", "/test", "/enable", "/resend", "/rotate", "/delete"} {
			token := other.get(webhooksPath + "/new").fields(webhooksPath + "/new")
			token.Set("failed", "1")
			other.do("POST", path+act, token).want(404)
		}
		service2 := webhooksPath + "/" + ofService
		other.get(service2).want(404)
		admin.get(webhooksPath).want(200, "Dienst", "Abgleich")
		shown := admin.get(service2).want(200, "Abgleich", service2+"/resend", service2+"/rotate", "nur das Dienstkonto selbst")
		shown.send(service2+"/resend", "failed", "1").want(303)
		fields := admin.get(service2).fields(service2 + "/resend")
		admin.do("POST", service2+"/test", fields).want(404)
		shown.send(service2, "name", "Abgleich nachts").want(303)
		admin.get(service2).want(200, "Abgleich nachts").send(service2+"/rotate").want(200, "whsec_")
		for _, act := range []string{"", "/rotate", "/delete"} {
			reader.do("POST", service2+act, reader.get("/settings/profile").fields("/settings/profile")).want(404)
			other.do("POST", service2+act, other.get(webhooksPath+"/new").fields(webhooksPath+"/new")).want(404)
		}
		admin.get(service2 + "/delete").want(200).send(service2 + "/delete").want(303)
		admin.get(service2).want(404)
		// Who may only read has none.
		reader.get(webhooksPath + "/new").want(403)
		if got := reader.get(webhooksPath).want(200); strings.Contains(got.Body, webhooksPath+"/new") {
			t.Error("a viewer is offered what is refused")
		}
		owner.get("/go/" + path[len(webhooksPath)+1:]).want(303)
	})
}

// TestWebhookForm refuses what the API refuses, and takes what a link chooses.
func TestWebhookForm(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := open(t, o, access.Member)
	form := b.get(webhooksPath + "/new?types=contact.created,contact.lost").want(200)
	if got := form.fields(webhooksPath + "/new"); got.Get("environment") != "test" || strings.Join(got["types"], " ") != "contact.created" {
		t.Errorf("the link chooses %v", got)
	}
	form.send(webhooksPath+"/new").want(422, `href="#f-name"`, `href="#f-url"`)
	form.send(webhooksPath+"/new", "environment", "staging").want(422, "Wählen Sie eine Umgebung")
	form.send(webhooksPath+"/new", "name", "A", "url", "http://a.example.com").want(422, "https-Adresse")
	b.get(webhooksPath+"/new").send(webhooksPath+"/new", "name", "A", "url", "https://a.example.com").want(422, `href="#f-eventTypes"`)
}

// hours are the bars of a strip: the height of each, and whether it has the mark of a failure.
var hours = regexp.MustCompile(`<rect class="(failed)?" x="(\d+)" y="\d+" width="4" height="(\d+)"></rect>\s*(<path d="M(\d+) )?`)

// TestStripOf24Hours makes attempts in three hours of a day. Their bars stand at their hours,
// those with failures are marked, and the words say the same. A day is over an hour later.
func TestStripOf24Hours(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		owner := o.User(access.Member)
		b := openAt(t, o, "https://kartei.example")
		b.cookie = o.Session(owner)
		path := hook(b, "env=test&name=CRM&types=*&url=https://crm.example.com/hook")
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
		b.cookie = o.Session(owner)
		// The height is the logarithm of the attempts, and 1 where there is none.
		shows := func(words string, want map[int]string) {
			t.Helper()
			for _, at := range []string{webhooksPath, path} {
				page := b.get(at).want(200, `aria-label="`+words+`"`, "p95 87 ms")
				bars := hours.FindAllStringSubmatch(page.main(), -1)
				if len(bars) != 24 {
					t.Fatalf("%s: %d hours: %s", at, len(bars), page.main())
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
