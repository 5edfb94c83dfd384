package webhook_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

const endpoints = "/webhook_endpoints"

// body returns the body of a create request. members replace the default members.
func body(members map[string]any) map[string]any {
	b := map[string]any{"name": "CRM", "url": "https://crm.example.com/hook", "eventTypes": []string{"contact.created"}}
	for name, v := range members {
		b[name] = v
	}
	return b
}

// create creates an endpoint and returns its path and its secret.
func create(c *apitest.Client, members map[string]any) (at, secret string) {
	c.Helper()
	made := c.Do("POST", endpoints, body(members)).Want(201)
	return endpoints + "/" + made.Text("id"), made.Text("secret")
}

// want checks members of the record in a response.
func want(t *testing.T, a *apitest.Answer, members map[string]any) {
	t.Helper()
	record := a.JSON()
	for name, value := range members {
		if fmt.Sprint(record[name]) != fmt.Sprint(value) {
			t.Errorf("%s is %v, want %v", name, record[name], value)
		}
	}
}

// row reads columns of an endpoint from the database into dest.
func row(o *apitest.Office, at, columns string, dest ...any) {
	o.Helper()
	_, name, _ := strings.Cut(at, endpoints+"/")
	err := o.DB.Read(o.Context(), func(tx db.Tx) error {
		return tx.QueryRow(o.Context(), `select `+columns+` from webhook_endpoints where id = $1`, name).Scan(dest...)
	})
	if err != nil {
		o.Fatal(err)
	}
}

// TestLife checks that an endpoint is created, read, changed and deleted. Each change adds one to
// its revision.
func TestLife(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		made := c.Do("POST", endpoints, body(map[string]any{
			"name":       " Büro\u0308  CRM ",
			"eventTypes": []string{"task.created", "contact.created", "task.created"},
		})).Want(201)
		name := made.Text("id")
		at := endpoints + "/" + name
		want(t, made, map[string]any{
			"object": "webhook_endpoint", "name": "Bürö  CRM", "url": "https://crm.example.com/hook",
			"eventTypes": "[task.created contact.created]",
			"status":     "active", "disabledReason": nil, "lastSuccessAt": nil, "lastFailureAt": nil,
			"previousSecretValidUntil": nil, "revision": 1,
		})
		if !id.Valid(id.WebhookEndpoint, name) || made.Text("createdAt") != made.Text("updatedAt") {
			t.Errorf("%s", made.Body)
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(made.Text("secret"), "whsec_"))
		if err != nil || len(key) != 32 || !strings.HasPrefix(made.Text("secret"), "whsec_") ||
			made.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("secret %q, %v", made.Text("secret"), made.Header)
		}
		read := c.Do("GET", at, nil).Want(200)
		if string(read.Body) != strings.Replace(string(made.Body), `,"secret":"`+made.Text("secret")+`"`, "", 1) {
			t.Errorf("made %s\nread %s", made.Body, read.Body)
		}
		if tag := read.Header.Get("ETag"); tag != `"r1"` {
			t.Errorf("ETag %s", tag)
		}
		c.Do("GET", at, nil, "If-None-Match", `"r1"`).Want(304)

		o.Clock.Advance(time.Minute)
		for _, same := range []string{
			`{}`, `{"name":" Bürö  CRM"}`, `{"eventTypes":["task.created","contact.created","contact.created"]}`,
			`{"url":" https://crm.example.com/hook "}`,
		} {
			if a := c.Do("PATCH", at, same, "If-Match", `"r1"`).Want(200); string(a.Body) != string(read.Body) {
				t.Errorf("%s changed %s", same, a.Body)
			}
		}
		changed := c.Do("PATCH", at, `{"name":"Neu","url":"https://müller.example/h?a=b","eventTypes":["operation.completed"]}`, "If-Match", `"r1"`).Want(200)
		want(t, changed, map[string]any{
			"name": "Neu", "url": "https://xn--mller-kva.example/h?a=b", "eventTypes": "[operation.completed]",
			"revision": 2, "createdAt": made.Text("createdAt"),
		})
		if changed.Text("updatedAt") <= made.Text("updatedAt") || strings.Contains(string(changed.Body), "whsec_") {
			t.Errorf("%s", changed.Body)
		}
		c.Do("PATCH", at, `{"name":"Alt"}`, "If-Match", `"r1"`).Want(412, "PRECONDITION_FAILED")
		c.Do("PATCH", at, `{"name":"Alt"}`).Want(428, "PRECONDITION_REQUIRED")
		c.Do("DELETE", at, nil, "If-Match", `"r1"`).Want(412, "PRECONDITION_FAILED")
		c.Do("DELETE", at, nil).Want(428, "PRECONDITION_REQUIRED")
		c.Do("DELETE", at, nil, "If-Match", `"r2"`).Want(204)
		for _, call := range []struct{ method, path string }{
			{"GET", ""}, {"PATCH", ""}, {"DELETE", ""}, {"POST", "/test"}, {"POST", "/rotate_secret"}, {"GET", "/deliveries"},
		} {
			var b any
			if call.method == "PATCH" {
				b = `{"name":"Weg"}`
			}
			c.Do(call.method, at+call.path, b, "If-Match", "*").Want(404, "NOT_FOUND")
		}
		if left := c.Do("GET", endpoints, nil).Want(200).Data(); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// TestWrong checks that a create with invalid members is refused with all errors at once. No
// endpoint is created.
func TestWrong(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, _ := create(c, nil)
		for _, test := range []struct {
			members map[string]any
			fields  []string
		}{
			{map[string]any{"name": nil}, []string{"name INVALID_TYPE"}},
			{map[string]any{"name": " "}, []string{"name INVALID_FORMAT"}},
			{map[string]any{"name": "CRM\u202egnp.exe"}, []string{"name INVALID_FORMAT"}},
			{map[string]any{"name": "a\u2066b"}, []string{"name INVALID_FORMAT"}},
			{map[string]any{"name": "a\u200fb"}, []string{"name INVALID_FORMAT"}},
			{
				map[string]any{"name": "a\u200fb", "url": "http://crm.example.com/"},
				[]string{"name INVALID_FORMAT", "url INVALID_FORMAT"},
			},
			{map[string]any{"name": "a\u200fb", "eventTypes": "x"}, []string{"eventTypes INVALID_TYPE", "name INVALID_FORMAT"}},
			{map[string]any{"name": strings.Repeat("x", 201)}, []string{"name TOO_LONG"}},
			{map[string]any{"url": nil}, []string{"url INVALID_TYPE"}},
			{map[string]any{"url": "https://crm.example.com/" + strings.Repeat("x", 2048)}, []string{"url TOO_LONG"}},
			{map[string]any{"eventTypes": nil}, []string{"eventTypes INVALID_TYPE"}},
			{map[string]any{"eventTypes": []string{}}, []string{"eventTypes TOO_SHORT"}},
			{map[string]any{"eventTypes": "contact.created"}, []string{"eventTypes INVALID_TYPE"}},
			{map[string]any{"eventTypes": []string{"contact.created", event.Test}}, []string{"eventTypes[1] NOT_IN_ENUM"}},
			{
				map[string]any{"eventTypes": []string{"contact.merged", "*"}},
				[]string{"eventTypes[0] NOT_IN_ENUM", "eventTypes[1] NOT_IN_ENUM"},
			},
			{map[string]any{"status": "active"}, []string{"status READ_ONLY"}},
			{map[string]any{"name": "", "eventTypes": []string{"x"}}, []string{"eventTypes[0] NOT_IN_ENUM", "name TOO_SHORT"}},
		} {
			for _, a := range []*apitest.Answer{
				c.Do("POST", endpoints, body(test.members)), c.Do("PATCH", at, test.members, "If-Match", "*"),
			} {
				if got := a.Want(422, "VALIDATION_FAILED").Fields(); !slices.Equal(slices.Sorted(slices.Values(got)), test.fields) {
					t.Errorf("%v: %q, want %q", test.members, got, test.fields)
				}
			}
		}
		for _, url := range []string{
			"http://crm.example.com/", "ftp://crm.example.com/", "crm.example.com", "https://crm.example.com:8443/",
			"https://crm.example.com:80/",
			"https://u@crm.example.com/", "https://u:p@crm.example.com/", "https://crm.example.com/#a",
			"https://crm.example.com/#", "https://",
			"https://127.0.0.1/", "https://10.1.2.3/", "https://[::1]/", "https://[fe80::1%25eth0]/",
			"https://169.254.169.254/latest", "https://2130706433/", "https://0x7f.1/",
			"https://[::ffff:10.0.0.1]/", "https://crm.example.com\\@10.0.0.1/",
		} {
			for _, a := range []*apitest.Answer{
				c.Do("POST", endpoints, body(map[string]any{"url": url})),
				c.Do("PATCH", at, map[string]any{"url": url}, "If-Match", "*"),
			} {
				if got := a.Want(422, "WEBHOOK_URL_INVALID").Fields(); !slices.Equal(got, []string{"url INVALID_FORMAT"}) {
					t.Errorf("%s: %q", url, got)
				}
			}
		}
		for _, url := range []string{
			"https://crm.example.com:443/", "HTTPS://crm.example.com", "https://93.184.215.14/a?b=c",
			"https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
		} {
			if got := c.Do("PATCH", at, map[string]any{"url": url}, "If-Match", "*").Want(200).Text("url"); got != url {
				t.Errorf("%s became %s", url, got)
			}
		}
		if n := len(c.Do("GET", endpoints, nil).Want(200).Data()); n != 1 {
			t.Errorf("%d endpoints are there", n)
		}
		german := c.Do("POST", endpoints, body(map[string]any{"url": "http://crm.example.com"}), "Accept-Language",
			"de").Want(422)
		english := c.Do("POST", endpoints, body(map[string]any{"url": "http://crm.example.com"}), "Accept-Language",
			"en").Want(422)
		if message := func(a *apitest.Answer) any {
			return a.JSON()["errors"].([]any)[0].(map[string]any)["message"]
		}; message(german) == message(english) {
			t.Errorf("%v in both languages", message(german))
		}
	})
}

// TestMostOfAPrincipal checks that exactly sixteen of many concurrent creates of a principal
// succeed, over two replicas. Other principals and other organizations have their own limits.
func TestMostOfAPrincipal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(2))
		c, colleague := o.As(access.Member), o.As(access.Member)
		var mu sync.Mutex
		var sending sync.WaitGroup
		said := map[string]int{}
		for range 40 {
			sending.Go(func() {
				a := c.Do("POST", endpoints, body(nil))
				mu.Lock()
				defer mu.Unlock()
				said[fmt.Sprint(a.Status, a.Text("code"))]++
			})
		}
		sending.Wait()
		if said["201"] != webhook.MaxEndpoints || said["409WEBHOOK_ENDPOINT_LIMIT_REACHED"] != 40-webhook.MaxEndpoints {
			t.Errorf("%v", said)
		}
		list := c.Do("GET", endpoints+"?limit=100", nil).Want(200).Data()
		if len(list) != webhook.MaxEndpoints {
			t.Errorf("%d endpoints", len(list))
		}
		create(colleague, nil)
		// A deletion makes room. The URL is checked before the limit.
		c.Do("POST", endpoints, body(map[string]any{"url": "http://crm.example.com"})).Want(422, "WEBHOOK_URL_INVALID")
		c.Do("DELETE", endpoints+"/"+list[3]["id"].(string), nil, "If-Match", "*").Want(204)
		create(c, nil)
		c.Do("POST", endpoints, body(nil)).Want(409, "WEBHOOK_ENDPOINT_LIMIT_REACHED")
	})
}

// TestList checks that the pages of any size contain each endpoint once, the newest first. A cursor
// is only valid for its own list.
func TestList(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, colleague := o.As(access.Member), o.As(access.Admin)
		var want []string
		for range 5 {
			at, _ := create(c, nil)
			want = append(want, strings.TrimPrefix(at, endpoints+"/"))
			create(colleague, nil)
		}
		slices.Reverse(want)
		cursor := ""
		for _, limit := range []int{1, 2, 4, 5, 6, 100} {
			var got []string
			next := ""
			for more := true; more; {
				a := c.Do("GET", fmt.Sprintf("%s?limit=%d%s", endpoints, limit, next), nil).Want(200)
				for _, e := range a.Data() {
					got = append(got, e["id"].(string))
				}
				if more = a.JSON()["hasMore"] == true; more {
					cursor = a.Text("nextCursor")
					next = "&cursor=" + cursor
				} else if a.JSON()["nextCursor"] != nil {
					t.Errorf("limit=%d: %s", limit, a.Body)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit=%d: %q, want %q", limit, got, want)
			}
		}
		c.Do("GET", endpoints+"?cursor="+cursor, nil).Want(200)
		colleague.Do("GET", endpoints+"?cursor="+cursor, nil).Want(400, "CURSOR_MISMATCH")
		c.Do("GET", endpoints+"/"+want[0]+"/deliveries?cursor="+cursor, nil).Want(400, "CURSOR_MISMATCH")
		c.Do("GET", endpoints+"?cursor="+cursor+"A", nil).Want(400, "CURSOR_MISMATCH")
		o.Clock.Advance(24*time.Hour + time.Second)
		c.Do("GET", endpoints+"?cursor="+cursor, nil).Want(400, "CURSOR_MISMATCH")
	})
}

// signing returns the secrets that sign the deliveries of an endpoint at present, the current one
// first.
func signing(o *apitest.Office, at string) (list []string) {
	o.Helper()
	var sealed, previous, where string
	var until clock.Micros
	row(o, at, "secret, previous_secret, previous_until, organization || '|' || id", &sealed, &previous, &until, &where)
	all := []string{sealed}
	if clock.Now(o.Clock) < until {
		all = append(all, previous)
	}
	for _, s := range all {
		secret, _, err := apitest.Keys.Vault(webhook.SecretsPurpose).Open(s, where)
		if err != nil {
			o.Fatalf("the secret of %s: %v", at, err)
		}
		list = append(list, webhook.Secret(secret).Reveal())
	}
	return list
}

// sealedOnly checks that the database and the log contain no secret in plain text.
func sealedOnly(o *apitest.Office, secrets []string) {
	o.Helper()
	for _, query := range []string{
		"select secret || previous_secret from webhook_endpoints", "select body from idempotency",
	} {
		err := o.DB.Read(o.Context(), func(tx db.Tx) error {
			texts, err := db.Values[string](o.Context(), tx, query)
			for _, s := range secrets {
				if strings.Contains(strings.Join(texts, " "), strings.TrimPrefix(s, "whsec_")) {
					o.Errorf("%s: a secret in plain", query)
				}
			}
			return err
		})
		if err != nil {
			o.Fatalf("%s: %v", query, err)
		}
	}
	if strings.Contains(o.Logged.String(), "whsec_") {
		o.Error("a secret is in the log")
	}
}

// TestRotate checks that the previous secret signs for a day, and that a second rotation ends it at
// once. No secret is stored in plain text.
func TestRotate(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, first := create(c, nil)
		secrets := []string{first}
		rotate := func(headers ...string) *apitest.Answer {
			t.Helper()
			a := c.Do("POST", at+"/rotate_secret", nil, headers...).Want(200)
			if a.Header.Get("Cache-Control") != "no-store" || slices.Contains(secrets, a.Text("secret")) ||
				!strings.HasPrefix(a.Text("secret"), "whsec_") {
				t.Errorf("%v %s", a.Header, a.Body)
			}
			secrets = append(secrets, a.Text("secret"))
			return a
		}
		check := func(step string, want ...string) {
			t.Helper()
			if got := signing(o, at); !slices.Equal(got, want) {
				t.Errorf("%s: %q sign, want %q", step, got, want)
			}
		}
		check("created", secrets[0])
		second := rotate()
		want(t, second, map[string]any{"revision": 2, "previousSecretValidUntil": "2026-11-03T09:00:00.000000Z"})
		if second.Header.Get("ETag") != `"r2"` {
			t.Errorf("ETag %s", second.Header.Get("ETag"))
		}
		check("rotated", secrets[1], secrets[0])
		o.Clock.Advance(24*time.Hour - time.Microsecond)
		want(t, c.Do("GET", at, nil).Want(200), map[string]any{"previousSecretValidUntil": "2026-11-03T09:00:00.000000Z"})
		check("at the end of the day", secrets[1], secrets[0])
		o.Clock.Advance(time.Microsecond)
		want(t, c.Do("GET", at, nil).Want(200), map[string]any{"previousSecretValidUntil": nil, "revision": 2})
		check("a day later", secrets[1])
		c.Do("POST", at+"/rotate_secret", nil, "If-Match", `"r1"`).Want(412, "PRECONDITION_FAILED")
		rotate("If-Match", `"r2"`)
		o.Clock.Advance(time.Hour)
		again := rotate("If-Match", "*")
		want(t, again, map[string]any{"previousSecretValidUntil": "2026-11-04T10:00:00.000000Z", "revision": 4})
		check("twice within a day", secrets[3], secrets[2])
		// A replay returns the same secret and does not rotate again.
		replay := c.Do("POST", at+"/rotate_secret", nil, "Idempotency-Key", "once").Want(200)
		if a := c.Do("POST", at+"/rotate_secret", nil, "Idempotency-Key",
			"once").Want(200); string(a.Body) != string(replay.Body) || a.Header.Get("Idempotent-Replayed") != "true" ||
			a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v %s", a.Header, a.Body)
		}
		secrets = append(secrets, replay.Text("secret"))
		check("replayed", secrets[4], secrets[3])
		// The first change after the day erases the previous secret.
		for _, name := range []string{"within", "after"} {
			c.Do("PATCH", at, map[string]any{"name": name}, "If-Match", "*").Want(200)
			var previous string
			if row(o, at, "previous_secret", &previous); (previous == "") != (name == "after") {
				t.Errorf("%s the day: %q is kept", name, previous)
			}
			o.Clock.Advance(24 * time.Hour)
		}
		sealedOnly(o, secrets)
	})
}

// TestSecretOnce checks that only the response to the create, and its replay, have the secret.
func TestSecretOnce(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		made := c.Do("POST", endpoints, body(nil), "Idempotency-Key", "once").Want(201)
		again := c.Do("POST", endpoints, body(nil), "Idempotency-Key", "once").Want(201)
		if string(again.Body) != string(made.Body) || again.Header.Get("Idempotent-Replayed") != "true" ||
			again.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v %s", again.Header, again.Body)
		}
		at := endpoints + "/" + made.Text("id")
		for _, a := range []*apitest.Answer{
			c.Do("GET", at, nil), c.Do("GET", endpoints, nil), c.Do("PATCH", at, `{"name":"x"}`, "If-Match", "*"),
			c.Do("POST", at+"/test", nil),
			c.Do("GET", at+"/deliveries", nil), c.Do("GET", "/events", nil),
		} {
			if strings.Contains(string(a.Body), "whsec_") || a.Status != 200 ||
				a.Header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
			}
		}
		// A key without the read scope may rotate, and the response reveals the secret.
		writer := &apitest.Client{
			Office: o, Principal: c.Principal,
			Key: o.Key(c.Principal, "webhook_endpoints:write", "contacts:read"),
		}
		if a := writer.Do("POST", at+"/rotate_secret", nil).Want(200); !strings.HasPrefix(a.Text("secret"), "whsec_") {
			t.Errorf("%s", a.Body)
		}
		writer.Do("PATCH", at, `{"name":"y"}`, "If-Match", "*").Want(204)
	})
}

// TestTest checks that only the endpoint's principal sees a test event in the event feed. The event
// is delivered only to this endpoint, regardless of its event types.
func TestTest(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, admin := o.As(access.Member), o.As(access.Admin)
		at, _ := create(c, nil)
		other, _ := create(c, nil)
		a := c.Do("POST", at+"/test", nil, "Idempotency-Key", "once").Want(200)
		name := a.Text("eventId")
		want(t, a, map[string]any{"object": "webhook_test"})
		if again := c.Do("POST", at+"/test", nil, "Idempotency-Key", "once").Want(200).Text("eventId"); again != name {
			t.Errorf("the replay wrote %s, not %s", again, name)
		}
		e := c.Do("GET", "/events/"+name, nil).Want(200)
		want(t, e, map[string]any{
			"object": "event",
			"type":   "webhook.test",
			"data": map[string]any{
				"object": "webhook_endpoint", "id": strings.TrimPrefix(at, endpoints+"/"), "revision": nil, "changed": []any{},
			},
			"requestId": a.Header.Get("Request-Id"),
		})
		if got := c.Do("GET", "/events", nil).Want(200).Data(); len(got) != 1 || got[0]["id"] != name {
			t.Errorf("the feed: %v", got)
		}
		admin.Do("GET", "/events/"+name, nil).Want(404, "NOT_FOUND")
		if got := admin.Do("GET", "/events", nil).Want(200).Data(); len(got) != 0 {
			t.Errorf("an admin's feed: %v", got)
		}
		err := o.DB.Read(t.Context(), func(tx db.Tx) error {
			deliveries, err := db.Values[string](t.Context(), tx,
				`select endpoint || ' ' || event_id || ' ' || type || ' ' || object || ' ' || record_id || ' ' || attempts || ' ' || due_at from webhook_deliveries`)
			e := strings.TrimPrefix(at, endpoints+"/")
			if want := fmt.Sprint(e, " ", name, " webhook.test webhook_endpoint ", e, " 0 ",
				int64(clock.Now(o.Clock))); err == nil && !slices.Equal(deliveries, []string{want}) {
				t.Errorf("deliveries %q, want %q", deliveries, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var due, later clock.Micros
		if row(o, at, "due_at", &due); due != clock.Now(o.Clock) {
			t.Errorf("due at %d", due)
		}
		if row(o, other, "due_at", &later); later != 0 {
			t.Errorf("the other is due at %d", later)
		}
		// A later test does not postpone the first one.
		o.Clock.Advance(time.Second)
		c.Do("POST", at+"/test", nil).Want(200)
		if row(o, at, "due_at", &later); later != due {
			t.Errorf("due at %d, then at %d", due, later)
		}
		// The deletion of the endpoint also deletes its events.
		c.Do("DELETE", at, nil, "If-Match", "*").Want(204)
		c.Do("GET", "/events/"+name, nil).Want(404, "NOT_FOUND")
	})
}

// attempt writes a row of the delivery log, as the dispatcher does.
func attempt(o *apitest.Office, at string, n int, status int, code string, next time.Duration) {
	o.Helper()
	result, now := "succeeded", clock.Now(o.Clock)
	if code != "" {
		result = "failed"
	}
	following := clock.Micros(0)
	if next > 0 {
		following = now.Add(next)
	}
	err := o.DB.Write(o.Context(), func(tx db.Tx) error {
		var organization int64
		e := strings.TrimPrefix(at, endpoints+"/")
		if err := tx.QueryRow(o.Context(), `select organization from webhook_endpoints where id = $1`,
			e).Scan(&organization); err != nil {
			return err
		}
		tx.Queue(`insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
			values ($1, $2, $3, 'evt_01jb2z5k3xf0q8r9s7t6v5w4y3', 'contact.created', $4, $5, $6, 7, $7, $8, $9)`,
			organization, id.New(id.Delivery), e, n, result, status, code, now, following)
		return nil
	})
	if err != nil {
		o.Fatal(err)
	}
}

// TestLog checks that the attempts at an endpoint can be read for 30 days. They come in pages, the
// newest first.
func TestLog(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, _ := create(c, nil)
		other, _ := create(c, nil)
		if a := c.Do("GET", at+"/deliveries", nil).Want(200); !strings.HasPrefix(string(a.Body),
			`{"data":[],"hasMore":false,"nextCursor":null`) {
			t.Errorf("%s", a.Body)
		}
		attempt(o, at, 1, 0, "TIMEOUT", time.Minute)
		attempt(o, other, 1, 200, "", 0)
		o.Clock.Advance(time.Minute)
		attempt(o, at, 2, 503, "HTTP_STATUS", time.Hour)
		o.Clock.Advance(time.Hour)
		attempt(o, at, 3, 204, "", 0)
		list := c.Do("GET", at+"/deliveries", nil).Want(200).Data()
		if len(list) != 3 {
			t.Fatalf("%v", list)
		}
		for i, members := range []map[string]any{
			{
				"attempt": 3, "status": "succeeded", "responseStatus": 204, "errorCode": nil,
				"attemptedAt": "2026-11-02T10:01:00.000000Z", "nextAttemptAt": nil,
			},
			{
				"attempt": 2, "status": "failed", "responseStatus": 503, "errorCode": "HTTP_STATUS",
				"nextAttemptAt": "2026-11-02T10:01:00.000000Z",
			},
			{
				"attempt": 1, "status": "failed", "responseStatus": nil, "errorCode": "TIMEOUT",
				"responseTimeMs": 7, "object": "webhook_delivery", "eventType": "contact.created",
			},
		} {
			for name, v := range members {
				if fmt.Sprint(list[i][name]) != fmt.Sprint(v) {
					t.Errorf("%d: %s is %v, want %v", i, name, list[i][name], v)
				}
			}
		}
		first := c.Do("GET", at+"/deliveries?limit=2", nil).Want(200)
		next := c.Do("GET", at+"/deliveries?limit=2&cursor="+first.Text("nextCursor"), nil).Want(200)
		if got := append(first.Data(), next.Data()...); fmt.Sprint(got) != fmt.Sprint(list) ||
			next.JSON()["hasMore"] != false {
			t.Errorf("in pages: %v", got)
		}
		c.Do("GET", other+"/deliveries?cursor="+first.Text("nextCursor"), nil).Want(400, "CURSOR_MISMATCH")
		o.Clock.Advance(30*24*time.Hour - time.Hour - time.Microsecond)
		c = &apitest.Client{Office: o, Principal: c.Principal, Key: o.Key(c.Principal)}
		for _, want := range []int{2, 1} {
			if got := c.Do("GET", at+"/deliveries", nil).Want(200).Data(); len(got) != want {
				t.Errorf("%d attempts are shown, want %d", len(got), want)
			}
			o.Clock.Advance(time.Microsecond)
			if want == 1 {
				break
			}
			o.Clock.Advance(time.Hour - 2*time.Microsecond)
		}
	})
}

// TestErase checks that the log and the pending deliveries of an endpoint are deleted with it, even
// if there are many. Other endpoints keep their rows.
func TestErase(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, _ := create(c, nil)
		other, _ := create(c, nil)
		attempt(o, other, 1, 200, "", 0)
		c.Do("POST", other+"/test", nil).Want(200)
		c.Do("POST", at+"/test", nil).Want(200)
		for range 1100 / 100 {
			many(o, at, 100)
		}
		c.Do("DELETE", at, nil, "If-Match", "*").Want(204)
		for left, watch := 1, waittest.New(); ; {
			ended, waits := o.Ended(), o.Clock.Waited()
			o.Clock.Advance(time.Second)
			err := o.DB.Read(t.Context(), func(tx db.Tx) error {
				return tx.QueryRow(t.Context(), `select (select count(*) from webhook_attempts where endpoint = $1) + (select count(*) from webhook_deliveries where endpoint = $1) + (select count(*) from jobs where kind = $2)`,
					strings.TrimPrefix(at, endpoints+"/"), webhook.EraseKind).Scan(&left)
			})
			if err != nil {
				t.Fatal(err)
			}
			if left == 0 {
				break
			}
			select {
			case <-ended:
			case <-waits: // the job waits between two pieces
			case <-watch.Stuck(left):
				t.Fatalf("%d rows are left", left)
			}
		}
		if n := len(c.Do("GET", other+"/deliveries", nil).Want(200).Data()); n != 1 {
			t.Errorf("%d attempts of the other are left", n)
		}
		var due clock.Micros
		if row(o, other, "due_at", &due); due == 0 {
			t.Error("the other's test is gone")
		}
	})
}

// many writes n rows of the delivery log and n deliveries.
func many(o *apitest.Office, at string, n int) {
	o.Helper()
	err := o.DB.Write(o.Context(), func(tx db.Tx) error {
		e := strings.TrimPrefix(at, endpoints+"/")
		for range n {
			tx.Queue(`insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
				select organization, $1, id, 'evt_a', 'contact.created', 1, 'succeeded', 204, 1, '', 1, 0 from webhook_endpoints where id = $2`, id.New(id.Delivery), e)
			tx.Queue(`insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at)
				select organization, id, $1, 1, 'contact.created', 'contact', 'con_a', 0, 1, 0, 1 from webhook_endpoints where id = $2`, id.New(id.Event), e)
		}
		return nil
	})
	if err != nil {
		o.Fatal(err)
	}
}

// TestChangesAtOnce checks concurrent changes of an endpoint. Each successful change has its own
// revision. With If-Match, only one change of a revision succeeds.
func TestChangesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, _ := create(c, nil)
		const senders = 12
		var mu sync.Mutex
		var sending sync.WaitGroup
		revisions, secrets, firsts := map[any]bool{}, map[string]bool{}, 0
		for i := range senders {
			sending.Go(func() {
				renamed := c.Do("PATCH", at, fmt.Sprintf(`{"name":"CRM %d"}`, i), "If-Match", `"r1"`)
				rotated := c.Do("POST", at+"/rotate_secret", nil).Want(http.StatusOK)
				mu.Lock()
				defer mu.Unlock()
				if renamed.Status == 200 {
					firsts++
					revisions[renamed.JSON()["revision"]] = true
				}
				revisions[rotated.JSON()["revision"]] = true
				secrets[rotated.Text("secret")] = true
			})
		}
		sending.Wait()
		last := c.Do("GET", at, nil).Want(200).JSON()["revision"].(float64)
		if firsts > 1 || len(secrets) != senders || len(revisions) != senders+firsts || last != float64(1+senders+firsts) {
			t.Errorf("%d renamed r1, %d secrets, %d revisions, the last is r%v", firsts, len(secrets), len(revisions), last)
		}
	})
}

// TestOwner checks that only its principal can use an endpoint, with any of its keys.
func TestOwner(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, _ := create(c, nil)
		c.Do("POST", at+"/test", nil).Want(200)
		away, _ := o.Organization("Kanzlei Abendroth")
		stranger := o.User(access.Admin, away)
		for who, other := range map[string]*apitest.Client{
			"admin": o.As(access.Admin), "member": o.As(access.Member),
			"stranger": {Office: o, Principal: stranger, Key: o.Key(stranger)},
		} {
			for _, call := range []struct {
				method, path string
				body         any
			}{
				{"GET", "", nil},
				{"PATCH", "", `{"name":"Meins"}`},
				{"DELETE", "", nil},
				{"POST", "/test", nil},
				{"POST", "/rotate_secret", nil},
				{"GET", "/deliveries", nil},
			} {
				if a := other.Do(call.method, at+call.path, call.body, "If-Match", `"r1"`); a.Status != 404 ||
					a.Text("code") != "NOT_FOUND" {
					t.Errorf("%s: %s %s: %d", who, call.method, call.path, a.Status)
				}
			}
			if n := len(other.Do("GET", endpoints, nil).Want(200).Data()); n != 0 {
				t.Errorf("%s: %d endpoints", who, n)
			}
		}
		second := &apitest.Client{Office: o, Principal: c.Principal, Key: o.Key(c.Principal, "webhook_endpoints:read")}
		want(t, second.Do("GET", at, nil).Want(200), map[string]any{"name": "CRM", "revision": 1})
	})
}

// TestPatchOfEachMember checks that each member of Fields can be changed alone.
func TestPatchOfEachMember(t *testing.T) {
	others := map[string]any{"name": "ERP", "url": "https://erp.example.com/hook", "eventTypes": []any{"task.created"}}
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for field := range reflect.TypeFor[webhook.Fields]().Fields() {
			name := field.Tag.Get("json")
			other, known := others[name]
			if !known {
				t.Fatalf("another value of %s is missing here", name)
			}
			at, _ := create(c, nil)
			changed := map[string]any{name: other, "revision": 2}
			want(t, c.Do("PATCH", at, map[string]any{name: other}, "If-Match", `"r1"`).Want(200), changed)
			want(t, c.Do("GET", at, nil).Want(200), changed)
		}
	})
}
