package keys_test

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/shell"
)

// TestCures makes a key fail for each reason. It checks that the page has a link to the page that
// helps. Members get no link to pages of admins.
func TestCures(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		owner := o.As(access.Member)
		b, admin := pagetest.OpenAt(t, o, "https://kartei.example"), pagetest.Open(t, o, access.Admin)
		b.Cookie = o.Session(owner.Principal)
		made := b.Get(shell.KeysPath + "/new").Send(shell.KeysPath + "/new").Want(200)
		key := pagetest.KeyPath.FindString(made.Body)
		program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
		set := func(c organization.Change) {
			t.Helper()
			if c.ID = o.SandboxID; c.Secrecy != nil {
				c.ID = o.ID
			}
			if _, err := o.Operator.SetOrganization(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		disable := func(disabled bool) {
			t.Helper()
			if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: owner.Principal, Disabled: &disabled}); err != nil {
				t.Fatal(err)
			}
			b.Cookie = o.Session(owner.Principal)
		}
		sandbox := "/settings/organization?of=sandbox"
		for _, c := range []struct {
			reason       string
			status       int
			harm, mend   func()
			cure, member string
		}{
			{"Schlüssel ist pausiert", 401, func() { b.Get(key).Send(key + "/pause").Want(303) }, func() { b.Get(key).Send(key + "/resume").Want(303) }, `href="` + key + `"><span>Zum Fortsetzen`, ""},
			{"API der Organisation ist ausgeschaltet", 401, func() { set(organization.Change{Level: new(access.Off)}) }, func() { set(organization.Change{Level: new(access.On)}) },
				`href="` + sandbox + `"><span>Zum Schalter`, "Das kann die Administration ändern."},
			{"Modul ist für die Organisation ausgeschaltet", 403, func() { set(organization.Change{Module: new("off")}) }, func() { set(organization.Change{Module: new("on")}) },
				`href="` + sandbox + `"><span>Zum Schalter`, "Das kann die Administration ändern."},
			{"ist gesperrt", 401, func() { disable(true) }, func() { disable(false) }, `href="` + key + `"><span>Zum Schlüssel, der die Person nennt`, "Das kann die Administration ändern."},
			{"Schlüssel ist abgelaufen", 401, func() {
				o.Clock.Advance(31 * 24 * time.Hour)
				admin.Cookie, b.Cookie = o.Session(o.User(access.Admin)), o.Session(owner.Principal)
			},
				func() { b.Get(key).Send(key, "days", "30").Want(303) }, `href="` + key + `#change"><span>Länger gelten lassen`, ""},
		} {
			c.harm()
			refused := shell.RequestsPath + "/" + program.Do("GET", "/contacts", nil).Want(c.status).Header.Get("Request-Id")
			admin.Get(refused).Want(200, c.reason, c.cure)
			admin.Get(key).Want(200, `href="/settings/people/`+owner.Principal+`"`)
			c.mend()
			page := b.Get(refused).Want(200, c.reason, cmp.Or(c.member, c.cure))
			if c.member != "" {
				page.Without(c.cure)
			}
			program.Do("GET", "/contacts", nil).Want(200)
		}
	})
}

// TestCallsOfApplications checks the pages of calls by an application. They name the application,
// and explain refusals with texts about tokens.
func TestCallsOfApplications(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	who, c := o.As(access.Member), pagetest.NewClient(t, o, "Fristenkalender")
	b := pagetest.OpenAt(t, o, "https://kartei.example")
	b.Cookie = o.Session(who.Principal)
	connect := func() grant.Tokens { return o.Connect(&c, who.Principal, access.V1, "contacts:read") }
	tokens := connect()
	call := func(status int, method, path string) string {
		t.Helper()
		program := &apitest.Client{Office: o, Key: tokens.Access}
		return shell.RequestsPath + "/" + program.Do(method, path, nil).Want(status).Header.Get("Request-Id")
	}
	b.Get(call(200, "GET", "/contacts")).Want(200, `href="/settings/interfaces/applications"`, "Fristenkalender").Without("<dt>Schlüssel</dt>")
	b.Get(call(403, "GET", "/tasks")).Want(200, "Die Anwendung darf das nicht.", "Zu den Anwendungen")
	o.Clock.Advance(grant.AccessLifetime)
	b.Cookie = o.Session(who.Principal)
	b.Get(call(401, "GET", "/contacts")).Want(200, "Das Zugriffstoken ist abgelaufen.").Without("Zu den Anwendungen")
	tokens = connect()
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		if err := access.Changed(t.Context(), tx); err != nil {
			return err
		}
		_, err := grant.End(t.Context(), tx, clock.Now(o.Clock), tokens.Grant.ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	o.Directory.Forget()
	b.Get(call(401, "GET", "/contacts")).Want(200, "nicht mehr verbunden", "Zu den Anwendungen")
}

// TestRequestLog checks the list of calls, its filters and the pages of calls. A page shows the
// reason of a refusal, which the response did not contain.
func TestRequestLog(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other, admin := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Viewer), pagetest.Open(t, o, access.Admin)
		made := b.Get(shell.KeysPath + "/new?name=Spiegel").Send(shell.KeysPath + "/new").Want(200)
		key := pagetest.KeyPath.FindString(made.Body)
		program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
		ok := program.Do("GET", "/contacts", nil).Want(200).Header.Get("Request-Id")
		lacking := program.Do("DELETE", "/contacts/con_01m7xt6sane2a9hpasvbmaayqz", nil, "If-Match", "*").Want(403).Header.Get("Request-Id")
		b.Get(key).Want(200).Send(key, "networks", "198.51.100.7").Want(303)
		refused := program.Do("GET", "/contacts", nil).Want(401).Header.Get("Request-Id")

		all := b.Get(shell.RequestsPath).Want(200, "contacts.list", "Spiegel", "gehört zu keinem Netz", key+"?allow=192.0.2.1#change")
		for _, id := range []string{ok, lacking, refused} {
			if !strings.Contains(all.Body, shell.RequestsPath+"/"+id) {
				t.Errorf("the list lacks %s", id)
			}
		}
		if one := b.Get(shell.RequestsPath+"?status=401&"+"key="+strings.TrimPrefix(key, shell.KeysPath+"/")).Want(200, refused); strings.Contains(one.Body, ok) || strings.Contains(one.Body, lacking) {
			t.Error("the filters let other calls through")
		}
		b.Get(shell.RequestsPath+"/"+refused).Want(200, "401", "Dem Aufrufer wurde nur 401 gesagt", "Diese Adresse erlauben", key)
		b.Get(shell.RequestsPath+"/"+ok).Want(200, "contacts.list", "200", "192.0.2.1", "Spiegel")
		b.Get(shell.RequestsPath+"/"+lacking).Want(200, "403", "Der Schlüssel darf das nicht")
		if got := b.Get(shell.RequestsPath + "?id=" + ok); got.Status != 303 || got.Location != shell.RequestsPath+"/"+ok {
			t.Errorf("a Request-Id leads to %d %s", got.Status, got.Location)
		}
		for _, path := range []string{"/go/" + ok, "/sandbox/go/" + ok} {
			if got := b.Get(path); got.Location != shell.RequestsPath+"/"+ok {
				t.Errorf("%s leads to %s", path, got.Location)
			}
		}

		admin.Get(shell.RequestsPath).Want(200, ok, refused, "Spiegel")
		admin.Get(shell.RequestsPath+"/"+ok).Want(200, "contacts.list")
		if got := other.Get(shell.RequestsPath).Want(200, "Kein Aufruf"); strings.Contains(got.Body, "req_") && strings.Contains(got.Body, ok) {
			t.Error("a call of somebody else's key is in the list")
		}
		for _, id := range []string{ok, "req_01m7xt6sane2a9hpasvbmaayqz", "nichts", "%2e%2e"} {
			other.Get(shell.RequestsPath+"/"+id).Want(404, "Kein solcher Aufruf")
		}
		if got := other.Get(shell.RequestsPath + "?key=" + strings.TrimPrefix(key, shell.KeysPath+"/")); got.Status != 303 || got.Location != shell.RequestsPath {
			t.Errorf("the calls of somebody else's key: %d %s", got.Status, got.Location)
		}
	})
}

// TestRequestPages checks that the links of the list lead to all calls, and that the page of a
// batch lists its parts.
func TestRequestPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		made := b.Get(shell.KeysPath + "/new").Send(shell.KeysPath + "/new").Want(200)
		program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
		for range 60 {
			o.Clock.Advance(1000)
			program.Do("GET", "/me", nil).Want(200)
		}
		calls := regexp.MustCompile(shell.RequestsPath + `/req_[0-9a-z]+`)
		seen := map[string]bool{}
		next := shell.RequestsPath
		for page := 0; next != ""; page++ {
			got := b.Get(next).Want(200)
			for _, id := range calls.FindAllString(got.Body, -1) {
				seen[id] = true
			}
			next = ""
			if older := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(got.Body); older != nil && page < 5 {
				next = strings.ReplaceAll(older[1], "&amp;", "&")
			}
		}
		if len(seen) != 60 {
			t.Errorf("the pages have %d of 60 calls", len(seen))
		}
		batch, _ := program.Batch([]apitest.Part{{Method: "GET", Path: "/contacts"}, {Method: "GET", Path: "/tasks"}})
		batch.Want(200)
		b.Get(shell.RequestsPath+"/"+batch.Header.Get("Request-Id")).Want(200, "Die Teile", "contacts.list", "tasks.list")
	})
}

// TestRequestChain checks that the page of a call shows the changed record, its event and the
// event's delivery. It then resends the event from that page.
func TestRequestChain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Member)
		made := b.Get(shell.KeysPath+"/new").Send(shell.KeysPath+"/new", "may", "write", "networks", "192.0.2.1").Want(200)
		program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
		endpoint := program.Do("POST", "/webhook_endpoints", map[string]any{"name": "Buchhaltung", "url": "https://example.com/hook", "eventTypes": []string{"contact.updated"}}).Want(201).Text("id")
		contact := program.Do("POST", "/contacts", map[string]any{"lastName": "Haas"}).Want(201).Text("id")
		changed := program.Do("PATCH", "/contacts/"+contact, map[string]any{"lastName": "Hase", "note": "Geheimnis"}, "If-Match", "*").Want(200)
		call := shell.RequestsPath + "/" + changed.Header.Get("Request-Id")

		shown := b.Get(call).Want(200, "Was daraus wurde", `href="/sandbox/contacts/`+contact+`"`, "Hase", "geändert: ", "Stand r2", "contact.updated", "An keinen Ihrer Endpunkte",
			"curl -H", "-X PATCH", "r2", "/v1/contacts/"+contact)
		if strings.Contains(shown.Body, "Geheimnis") {
			t.Error("the page shows contents")
		}
		var event string
		err := d.Write(t.Context(), func(tx db.Tx) error {
			if err := tx.QueryRow(t.Context(), `select id from events where record_id = $1 and type = 'contact.updated'`, contact).Scan(&event); err != nil {
				return err
			}
			tx.Queue(`insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
				select organization, 'dlv_1', id, $2, 'contact.updated', 3, 'failed', 503, 38, 'HTTP_STATUS', 1, 0 from webhook_endpoints where id = $1`, endpoint, event)
			tx.Queue(`update webhook_endpoints set cursor = (select max(tick) from events) where id = $1`, endpoint) // as if delivered
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		page := b.Get(call).Want(200, "Buchhaltung", "Versuch 3/10: 503", "Erneut senden an Buchhaltung")
		got := page.Send(call+"/resend", "endpoint", endpoint, "event", event, "sandbox", "true").Want(303)
		b.Get(got.Location).Want(200, "Das Ereignis wird noch einmal gesendet.")

		dbtest.Run(t, d, `update webhook_endpoints set status = 'disabled' where id = $1`, endpoint)
		if disabled := b.Get(call).Want(200, "Der Endpunkt ist abgeschaltet."); strings.Contains(disabled.Body, "Erneut senden") {
			t.Error("a disabled endpoint gets nothing, and the page offers to send")
		}
		other.Get(call).Want(404)
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303)
		if err := o.Log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var saved string
		dbtest.Get(t, d, []any{&saved}, `select request_id from request_log where operation = 'contacts.create' and key_id like 'ses_%'`)
		ofSession := shell.RequestsPath + "/" + saved
		if shown := b.Get(ofSession).Want(200, "contacts.create", "im Browser"); strings.Contains(shown.Body, "$KEY") {
			t.Error("the call of a session can be repeated with a key")
		}
		other.Get(ofSession).Want(404)
		list := b.Get(shell.RequestsPath+"?operation=contacts.update&since=1h").Want(200, changed.Header.Get("Request-Id"))
		if strings.Contains(list.Body, "webhookEndpoints.create</a>") {
			t.Error("the filter by operation lets others through")
		}
		today := o.Clock.Now().Format(time.DateOnly)
		b.Get(shell.RequestsPath+"?status=200&from="+today+"&to="+today).Want(200, changed.Header.Get("Request-Id"), `value="200" selected`, `value="days" selected`)
		for _, none := range []string{"?status=404", "?to=2020-12-31", "?from=2099-01-01"} {
			b.Get(shell.RequestsPath+none).Want(200, "Kein Aufruf")
		}
		if followed := b.Get(shell.RequestsPath+"?follow=1").Want(200, "Nicht mehr mitlaufen", `data-live="requests"`); !strings.Contains(followed.Body, "data-underway") {
			t.Error("the page does not follow")
		}
	})
}

// TestRequestsByReason checks the filter by reason. It works together with other filters and on
// further pages, and an unknown reason is ignored.
func TestRequestsByReason(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		made := b.Get(shell.KeysPath + "/new").Send(shell.KeysPath + "/new").Want(200)
		key := pagetest.KeyPath.FindString(made.Body)
		program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
		call := func(status int, method string) string {
			t.Helper()
			return program.Do(method, "/contacts", nil).Want(status).Header.Get("Request-Id")
		}
		calls := map[string]string{"": call(200, "GET"), "scope": call(403, "POST")}
		b.Get(key).Send(key + "/pause").Want(303)
		calls["paused"] = call(401, "GET")
		b.Get(key).Send(key + "/resume").Want(303)
		b.Get(key).Send(key, "networks", "198.51.100.7").Want(303)
		for range 60 { // more than one page
			o.Clock.Advance(1000)
			calls["address"] = call(401, "GET")
		}
		shows := func(query string, want ...string) *pagetest.Page {
			t.Helper()
			list := b.Get(shell.RequestsPath + "?" + query).Want(200)
			for reason, id := range calls {
				if has := strings.Contains(list.Main(), shell.RequestsPath+"/"+id); has != slices.Contains(want, reason) {
					t.Errorf("%s shows the call of %q: %t", query, reason, has)
				}
			}
			return list
		}
		shows("reason=scope", "scope").Want(200, `<option value="scope" selected>Der Schlüssel darf das nicht.`, "403")
		shows("reason=paused", "paused").Want(200, "Der Schlüssel ist pausiert.", "Zum Fortsetzen")
		shows("reason=paused&status=401&operation=contacts.list&since=1h&key="+strings.TrimPrefix(key, shell.KeysPath+"/"), "paused")
		shows("reason=paused&status=403").Want(200, "Kein Aufruf")
		shows("reason=nonsense&status=403", "scope").Without(`value="nonsense"`)
		older := shows("reason=address", "address").Link("next")
		if !strings.Contains(older, "reason=address") {
			t.Fatalf("the page before is %s", older)
		}
		if rest := strings.Count(b.Get(older).Want(200).Main(), "gehört zu keinem Netz"); rest != 11 { // the filter has one more
			t.Errorf("the page before has %d lines", rest)
		}
	})
}
