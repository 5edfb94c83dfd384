package applications_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/integration/oauth"
	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/pagetest"
)

const consentPath = "/oauth/authorize"

// admits sets which applications people of the organization may connect.
func admits(t *testing.T, o *apitest.Office, which access.Applications) {
	t.Helper()
	if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, Applications: &which}); err != nil {
		t.Fatal(err)
	}
}

// asking returns the path and query of an authorization request of c. set has names and values of
// parameters to change. An empty value removes its parameter.
func asking(c *grant.Client, set ...string) string {
	sum := sha256.Sum256([]byte("x"))
	q := url.Values{
		"response_type": {"code"}, "client_id": {c.ClientID}, "redirect_uri": {c.RedirectURIs[0]}, "scope": {"contacts:read contacts:write webhook_endpoints:write openid"},
		"state": {"zu<stand>"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(set); i += 2 {
		if q.Set(set[i], set[i+1]); set[i+1] == "" {
			q.Del(set[i])
		}
	}
	return consentPath + "?" + q.Encode()
}

// backLink matches the link to the application on a page that does not ask for a consent.
var backLink = regexp.MustCompile(`href="(https://app\.example/callback[^"]*)"`)

// went returns the query of the redirect URI to which the browser is sent. It fails the test if the
// page sends the browser elsewhere.
func went(p *pagetest.Page) url.Values {
	p.T.Helper()
	to := p.Header.Get("Location")
	if link := backLink.FindStringSubmatch(p.Body); link != nil && p.Status != http.StatusSeeOther {
		to = html.UnescapeString(link[1])
	}
	u, err := url.Parse(to)
	if err != nil || !strings.HasPrefix(to, "https://app.example/callback?") || u.Query().Get("x") != "1" || u.Query().Get("state") != "zu<stand>" || u.Query().Get("iss") != apitest.BaseURL {
		p.T.Fatalf("%d: the browser goes to %q", p.Status, to)
	}
	return u.Query()
}

// TestConsent checks that the consent page names the application and its scopes. The person can
// leave scopes out, and can send the form only once.
func TestConsent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admits(t, o, access.AllApplications)
		b, c := pagetest.Open(t, o, access.Member), pagetest.NewClient(t, o, `Frist<b>"`)
		shown := b.Get(asking(&c)).Want(200, "Frist&lt;b&gt;&#34;", "Niemand hat geprüft", "app.example", "Kontakte lesen", "Kontakte ändern", "Sandbox", "nie mehr als Sie selbst", "Zulassen", "Ablehnen").Without("Aufgaben lesen").Without("<b>")
		fields := shown.Fields(consentPath)
		if got := strings.Join(fields["scopes"], " "); got != "" {
			t.Errorf("chosen is %q, of an application that nobody has checked", got)
		}
		if policy := shown.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "; form-action 'self' https://app.example; ") {
			t.Errorf("the policy is %q", policy)
		}
		fields.Set("decision", "deny")
		if q := went(b.Do("POST", consentPath, fields).Want(303)); q.Get("error") != "access_denied" || q.Has("code") {
			t.Errorf("%v", q)
		}
		b.Do("POST", consentPath, fields).Want(404, "abgelaufen")

		fields = b.Get(asking(&c)).Fields(consentPath)
		fields["scopes"], fields["environment"] = []string{"contacts:read", "tasks:write"}, []string{"test"} // one extra
		fields.Set("decision", "allow")
		other := pagetest.Open(t, o, access.Member)
		foreign := other.Get(asking(&c)).Fields(consentPath)
		foreign.Set("ticket", fields.Get("ticket"))
		foreign.Set("decision", "allow")
		other.Do("POST", consentPath, foreign).Want(404)
		q := went(b.Do("POST", consentPath, fields).Want(303))
		if !strings.HasPrefix(q.Get("code"), "kart_code_") {
			t.Fatalf("%v", q)
		}
		b.Do("POST", consentPath, fields).Want(404)
		list := b.Get("/settings/interfaces/applications").Want(200, "Keine Anwendung") // the code is not exchanged
		if strings.Contains(list.Body, "kart_") {
			t.Error("the page has a secret")
		}
		sum := "x"
		if err := d.Write(t.Context(), func(tx db.Tx) error {
			_, err := grant.Exchange(t.Context(), tx, clock.Now(o.Clock), &c, q.Get("code"), c.RedirectURIs[0], sum, "")
			return err
		}); err == nil {
			t.Error("a verifier of one character is accepted")
		}

		// The instance does not remember a consent, so the page asks again.
		b.Get(asking(&c)).Want(200, "Zulassen")
		// A consent without any scope is refused.
		none := b.Get(asking(&c)).Fields(consentPath)
		delete(none, "scopes")
		none.Set("decision", "allow")
		again := b.Do("POST", consentPath, none).Want(422, "nichts angekreuzt", "mindestens ein Recht", "Zulassen").Fields(consentPath)
		again.Set("decision", "deny")
		if q := went(b.Do("POST", consentPath, again).Want(303)); q.Get("error") != "access_denied" {
			t.Errorf("%v", q)
		}
	})
}

// TestConsentIsFresh checks that a consent needs a recent sign-in. After the confirmation, the page
// shows the person's choices again. A denial needs no confirmation.
func TestConsentIsFresh(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admits(t, o, access.AllApplications)
		b, c := pagetest.Invited(t, o, "ida@kanzlei.example"), pagetest.NewClient(t, o, "Fristenkalender")
		o.Clock.Advance(access.SignInFresh + time.Second)
		fields := b.Get(asking(&c)).Fields(consentPath)
		fields["scopes"], fields["environment"] = []string{"contacts:read"}, []string{"test"}
		fields.Set("decision", "allow")
		asked := b.Do("POST", consentPath, fields).Want(403, "bestätigen")
		if n := dbtest.Texts(t, d, `select id from oauth_grants`); len(n) > 0 {
			t.Errorf("the grants are %v", n)
		}
		again := asked.Send("/confirm", "password", pagetest.Password).Want(200, "Fristenkalender", "Zulassen").Fields(consentPath)
		if again.Get("scopes") != "contacts:read" || len(again["scopes"]) != 1 || again.Get("environment") != "test" {
			t.Errorf("after the confirmation the choice is %v", again)
		}
		again.Set("decision", "allow")
		if q := went(b.Do("POST", consentPath, again).Want(303)); !q.Has("code") {
			t.Errorf("%v", q)
		}
		o.Clock.Advance(access.SignInFresh + time.Second)
		late := b.Get(asking(&c)).Fields(consentPath)
		late.Set("decision", "deny")
		if q := went(b.Do("POST", consentPath, late).Want(303)); q.Get("error") != "access_denied" {
			t.Errorf("%v", q)
		}
	})
}

// TestConsentOfKnown checks the request for an application that is new to the organization. The
// admins are notified once. An admin can approve it for one person, and can withdraw the approval.
func TestConsentOfKnown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		const list = "/settings/interfaces/applications"
		b, colleague, admin, c := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Admin), pagetest.NewClient(t, o, "Fristenkalender")
		bells := func(kind notify.Kind) int {
			return len(dbtest.Texts(t, d, `select id from notices where kind = $1`, string(kind)))
		}
		for range 2 {
			if q := went(b.Get(asking(&c)).Want(200, "Fristenkalender", "Die Administration ist gefragt").Without("Zulassen")); q.Get("error") != "access_denied" {
				t.Errorf("%v", q)
			}
		}
		admins := bells(oauth.AskedFor)
		if admins == 0 || admins > 2 { // the organization may have another admin
			t.Errorf("there are %d notices for admins", admins)
		}
		// A wrong request notifies nobody, and does not redirect to an address that no admin has
		// approved.
		b.Get(asking(&c, "scope", "openid")).Want(400, "Zurück zu app.example")
		if n := bells(oauth.AskedFor); n != admins {
			t.Errorf("there are %d notices for admins", n)
		}
		link := pagetest.BellLink.FindStringSubmatch(admin.Get("/bell").Want(200, "wartet auf Ihre Freigabe").Body)
		if link == nil {
			t.Fatalf("the bell has no link: %s", admin.Get("/bell").Main())
		}
		b.Get(list).Want(200, "Warten auf Freigabe", "Fristenkalender").Without("Freigeben")
		colleague.Get(list).Want(200).Without("Fristenkalender")
		form := b.Get("/settings/profile").Fields("/settings/profile")
		b.Do("POST", link[1]+"/approve", form).Want(403)
		admin.Get(link[1]).Want(200, "Fristenkalender", "app.example", "Hat sich selbst angemeldet").Send(link[1] + "/approve").Want(303)
		if n := bells(oauth.Approved); n != 1 {
			t.Errorf("%d people are told of the approval", n)
		}
		b.Get("/bell").Want(200, "ist freigegeben")
		colleague.Get(asking(&c)).Want(200, "Die Administration ist gefragt") // the approval is for one person only
		fields := b.Get(asking(&c)).Want(200, "Zulassen").Without("wurde gefragt").Fields(consentPath)
		if len(fields["scopes"]) > 0 {
			t.Errorf("%v is ticked, of an application that registered itself", fields["scopes"])
		}
		fields["scopes"] = []string{"contacts:read"}
		fields.Set("decision", "allow")
		late := maps.Clone(fields)
		went(b.Do("POST", consentPath, fields).Want(303))
		if n := bells(oauth.Connected); n != 1+admins {
			t.Errorf("%d people are told of the connection", n)
		}
		late.Set("ticket", b.Get(asking(&c)).Fields(consentPath).Get("ticket"))
		admin.Get(link[1]).Send(link[1] + "/revoke").Want(303)
		if live := dbtest.Texts(t, d, `select id from oauth_grants where ended_at = 0`); len(live) > 0 {
			t.Errorf("the grants %v outlive the approval", live)
		}
		b.Do("POST", consentPath, late).Want(403, "freigeben") // this page was loaded before the approval was withdrawn
		admin.Get(link[1]).Want(404, "Freigabe ist widerrufen")
		words := dbtest.Texts(t, d, `select word from audit_lines where word like 'client.%' order by at`)
		if strings.Join(words, " ") != "client.approve client.disapprove" {
			t.Errorf("the audit log has %v", words)
		}
		// The page says that an admin who allows an application also approves it.
		own := admin.Get(asking(&c)).Want(200, "in Ihrem Büro neu", "Freigeben und zulassen").Fields(consentPath)
		own["scopes"] = []string{"contacts:read"}
		own.Set("decision", "allow")
		went(admin.Do("POST", consentPath, own).Want(303))
		if again := admin.Get(asking(&c)).Want(200, "Zulassen"); strings.Contains(again.Body, "Freigeben und zulassen") {
			t.Error("an approved application is approved again")
		}
	})
}

// TestConsentOff checks that an organization can disallow applications and allow them again.
// Meanwhile no application can be connected, and connected applications are suspended.
func TestConsentOff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		who, admin, c := o.As(access.Member), pagetest.Open(t, o, access.Admin), pagetest.NewClient(t, o, "Fristenkalender")
		b := pagetest.OpenAt(t, o, apitest.BaseURL)
		b.Cookie = o.Session(who.Principal)
		tokens := o.Connect(&c, who.Principal, access.V1, "contacts:read", "webhook_endpoints:write")
		program := &apitest.Client{Office: o, Key: tokens.Access}
		hook := program.Do("POST", "/webhook_endpoints", map[string]any{"name": "CRM", "url": "https://crm.example.com/hook", "eventTypes": []string{"contact.created"}},
			"Idempotency-Key", apitest.Fresh(), "Svc-Preview", "true").Want(201).Text("id")
		program.Do("GET", "/me", nil).Want(200)
		const page = "/settings/organization"
		set := func(which string) { admin.Get(page).Send(page, "applications", which).Want(303) }
		set("off")
		program.Do("GET", "/me", nil).Want(401)
		var status string
		if dbtest.Get(t, d, []any{&status}, `select status from webhook_endpoints where id = $1`, hook); status != "disabled" {
			t.Errorf("the endpoint is %s", status)
		}
		for _, by := range []*pagetest.Browser{b, admin} {
			if q := went(by.Get(asking(&c)).Want(403, "lässt keine Anwendungen zu").Without("Zulassen")); q.Get("error") != "access_denied" {
				t.Errorf("%v", q)
			}
		}
		b.Get("/settings/interfaces/applications").Want(200, "Verbundene Anwendungen ruhen", "Fristenkalender", "Trennen")
		set("known")
		program.Do("GET", "/me", nil).Want(200)
		admin.Get("/settings/audit").Want(200, "Anwendungen: keine → freigegebene")
		admin.Get(page + "?of=sandbox").Want(200).Without(`name="applications"`)
	})
}

// TestConsentErrors checks wrong and hostile authorization requests. The browser is not redirected
// to an address that is not registered for the application.
func TestConsentErrors(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	admits(t, o, access.AllApplications)
	b, c := pagetest.Open(t, o, access.Member), pagetest.NewClient(t, o, "Fristenkalender")
	for _, set := range [][]string{
		{"client_id", ""},
		{"client_id", "cli_00000000000000000000000000"},
		{"client_id", "https://evil.example/client"},
		{"redirect_uri", ""},
		{"redirect_uri", "https://evil.example/callback"},
		{"redirect_uri", "https://app.example/callback?x=1&y=2"},
		{"redirect_uri", "https://app.example/callback?x=1#y"},
		{"redirect_uri", "javascript:alert(1)"},
		{"redirect_uri", "http://127.0.0.1@evil.example/cb"},
		{"redirect_uri", "http://localhost.evil.example/cb"},
	} {
		if got := b.Get(asking(&c, set...)).Want(400, "kann nicht verbunden werden"); got.Header.Get("Location") != "" || got.Header.Get("Refresh") != "" {
			t.Errorf("%v: the browser is sent to %v", set, got.Header)
		}
	}
	for _, test := range []struct {
		code string
		set  []string
	}{
		{"unsupported_response_type", []string{"response_type", "token"}},
		{"unsupported_response_type", []string{"response_type", ""}},
		{"invalid_request", []string{"code_challenge", ""}},
		{"invalid_request", []string{"code_challenge", "short"}},
		{"invalid_request", []string{"code_challenge_method", "plain"}},
		{"invalid_request", []string{"code_challenge_method", ""}},
		{"invalid_scope", []string{"scope", "openid"}},
		{"invalid_target", []string{"resource", "https://evil.example/v1"}},
		{"invalid_target", []string{"resource", "https://kartei.example/v1#x"}},
	} {
		if q := went(b.Get(asking(&c, test.set...)).Want(303)); q.Get("error") != test.code || q.Has("code") {
			t.Errorf("%v: %v", test.set, q)
		}
	}
	if q := went(b.Get(asking(&c) + "&state=twice").Want(303)); q.Get("error") != "invalid_request" {
		t.Errorf("%v", q)
	}
	// A program on the person's computer gets the error by a redirect.
	local := b.Get(asking(&c, "redirect_uri", "http://127.0.0.1:53076/cb", "code_challenge", "")).Want(303).Header.Get("Location")
	if !strings.HasPrefix(local, "http://127.0.0.1:53076/cb?") || !strings.Contains(local, "error=invalid_request") {
		t.Errorf("the browser goes to %q", local)
	}
	if long := b.Get(asking(&c, "state", strings.Repeat("x", 2001))).Want(303).Header.Get("Location"); !strings.Contains(long, "error=invalid_request") || strings.Contains(long, "state=") {
		t.Error("a state of 2,001 characters is kept")
	}
	b.Get(asking(&c, "redirect_uri", "http://127.0.0.1:53076/cb")).Want(200, "Programm auf diesem Computer", "gerade selbst gestartet")
	b.Get(asking(&c, "scope", "", "resource", "https://kartei.example/v1/")).Want(200, "Dokumente lesen", "Aufgaben ändern")
	pagetest.Open(t, o, access.Viewer).Get(asking(&c)).Want(200, "Kontakte lesen").Without("Kontakte ändern")
	// Without a session, the person signs in first and then returns to the consent page.
	nobody := pagetest.OpenAt(t, o, apitest.BaseURL)
	if to := nobody.Get(asking(&c)).Want(303).Header.Get("Location"); !strings.HasPrefix(to, "/signin?next="+url.QueryEscape(consentPath+"?")) {
		t.Errorf("the browser goes to %q", to)
	}
}

// TestConsentOfTheOrganization checks a person with two organizations who switches to the other one
// before the decision. The application must not get access to an organization that the page did not
// name.
func TestConsentOfTheOrganization(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	admits(t, o, access.AllApplications)
	b, c := pagetest.Invited(t, o, "ida@kanzlei.example"), pagetest.NewClient(t, o, "Fristenkalender")
	other, _ := o.Organization("Notariat Abendrot")
	if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: other, Applications: new(access.AllApplications)}); err != nil {
		t.Fatal(err)
	}
	made, err := operator.Run(t.Context(), o.Operator, pagetest.InviteTo, pagetest.Invitation(other, "ida@kanzlei.example"))
	if err != nil {
		t.Fatal(err)
	}
	b.Get("/invitation").Send("/invitation", "token", made.Token, "name", "Ida Abend").Want(303)
	ticket := b.Get(asking(&c)).Want(200, "Kanzlei Morgenstern").Fields(consentPath).Get("ticket")
	b.Get("/signin/choose").Send("/switch").Want(303)
	fields := b.Get(asking(&c)).Want(200, "Notariat Abendrot").Fields(consentPath)
	own := fields.Get("ticket")
	fields.Set("decision", "allow")
	fields.Set("ticket", ticket)
	b.Do("POST", consentPath, fields).Want(404, "abgelaufen")
	fields = b.Get(asking(&c)).Fields(consentPath)
	fields.Set("decision", "allow")
	fields.Set("ticket", own)
	fields["scopes"] = []string{"contacts:read"}
	went(b.Do("POST", consentPath, fields).Want(303))
}

// TestConsentOnceMore connects an application more often than the limit, which ends the oldest
// connection. It checks that the webhooks created through that connection end too.
func TestConsentOnceMore(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admits(t, o, access.AllApplications)
		who, c := o.As(access.Member), pagetest.NewClient(t, o, "Fristenkalender")
		b := pagetest.OpenAt(t, o, apitest.BaseURL)
		b.Cookie = o.Session(who.Principal)
		verifier := strings.Repeat("v", 43)
		sum := sha256.Sum256([]byte(verifier))
		connect := func() string {
			t.Helper()
			fields := b.Get(asking(&c, "code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))).Fields(consentPath)
			fields["scopes"], fields["environment"] = []string{"contacts:read", "webhook_endpoints:write"}, []string{"test"}
			fields.Set("decision", "allow")
			return went(b.Do("POST", consentPath, fields).Want(303)).Get("code")
		}
		code, tokens := connect(), grant.Tokens{}
		if err := d.Write(t.Context(), func(tx db.Tx) (err error) {
			tokens, err = grant.Exchange(t.Context(), tx, clock.Now(o.Clock), &c, code, c.RedirectURIs[0], verifier, "")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		program := &apitest.Client{Office: o, Key: tokens.Access}
		hook := program.Do("POST", "/webhook_endpoints", map[string]any{"name": "CRM", "url": "https://crm.example.com/hook", "eventTypes": []string{"contact.created"}},
			"Idempotency-Key", apitest.Fresh(), "Svc-Preview", "true").Want(201).Text("id")
		status := func() (status string) {
			t.Helper()
			dbtest.Get(t, d, []any{&status}, `select status from webhook_endpoints where id = $1`, hook)
			return status
		}
		for range grant.MaxGrants - 1 {
			o.Clock.Advance(time.Second)
			connect()
		}
		if got := status(); got != "active" {
			t.Errorf("the endpoint is %s while its connection lasts", got)
		}
		connect()
		if got := status(); got != "disabled" {
			t.Errorf("the endpoint is %s after its connection has ended", got)
		}
		program.Do("GET", "/me", nil).Want(401)
	})
}

// TestConsentByDocument checks an application whose client id is the URL of a document. The
// instance fetches the document only for a signed-in person, and caches it on all replicas.
// Failures are not cached.
func TestConsentByDocument(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		const name = "https://example.com/oauth/client.json"
		came, status, about := 0, http.StatusInternalServerError, "Assistent"
		publisher := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			came++
			if cookies := r.Header.Get("Cookie") + r.Header.Get("Authorization"); cookies != "" || r.URL.Path != "/oauth/client.json" {
				t.Errorf("%s %v", r.URL, r.Header)
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "max-age=3600")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"client_id":%q,"client_name":%q,"redirect_uris":["https://app.example/callback?x=1","http://localhost/callback"]}`, name, about)
		}))
		t.Cleanup(publisher.Close)
		to, roots := netip.MustParseAddrPort(publisher.Listener.Addr().String()), x509.NewCertPool()
		roots.AddCert(publisher.Certificate())
		documents := grant.NewDocuments(egress.New(egress.Options{
			Allow: []netip.Prefix{netip.PrefixFrom(to.Addr(), 32)}, Roots: roots, Dial: []egress.Mapping{{Host: "example.com", To: to}},
		}), nil, apitest.BaseURL)
		t.Cleanup(documents.Close)
		o := apitest.New(t, d, apitest.Documents(documents), apitest.Replicas(2))
		admits(t, o, access.AllApplications)
		c := grant.Client{ClientID: name, RedirectURIs: []string{"https://app.example/callback?x=1"}}

		pagetest.OpenAt(t, o, apitest.BaseURL).Get(asking(&c)).Want(303)
		b := pagetest.Open(t, o, access.Member)
		for _, id := range []string{"https://example.com", "https://kartei.example/oauth/client.json", "https://u@example.com/oauth/client.json", "https://example.com:8443/oauth/client.json"} {
			b.Get(asking(&c, "client_id", id)).Want(400, "kann nicht verbunden werden")
		}
		if came != 0 {
			t.Fatalf("the document is read %d times for nobody, or for a wrong name", came)
		}
		b.Get(asking(&c)).Want(400, "war ihre Beschreibung nicht zu lesen")
		status = http.StatusOK
		b.Get(asking(&c)).Want(200, "Assistent", "example.com", "Zulassen").Without("Niemand hat geprüft")
		b.Get(asking(&c, "redirect_uri", "http://localhost:53076/callback")).Want(200, "Programm auf diesem Computer")
		if got := b.Get(asking(&c, "redirect_uri", "https://example.com/callback")).Want(400); got.Header.Get("Refresh") != "" {
			t.Error("the browser is sent to an address that the document does not have")
		}
		pagetest.Open(t, o, access.Member).Get(asking(&c)).Want(200)
		if came != 2 {
			t.Errorf("the document was read %d times", came)
		}
		// An admin approves the document for the whole organization. Its scopes are then checked in
		// advance.
		admits(t, o, access.KnownApplications)
		b.Get(asking(&c)).Want(200, "Die Administration ist gefragt")
		admin := pagetest.Open(t, o, access.Admin)
		own := admin.Get(asking(&c)).Want(200, "für alle in Ihrem Büro").Fields(consentPath)
		own["scopes"] = []string{"contacts:read"}
		own.Set("decision", "allow")
		went(admin.Do("POST", consentPath, own).Want(303))
		b.Get("/bell").Want(200, "ist freigegeben")
		fields := b.Get(asking(&c)).Want(200, "in Ihrem Büro freigegeben", "spätestens nach einem Jahr").Fields(consentPath)
		if got := strings.Join(fields["scopes"], " "); got != "contacts:read contacts:write" {
			t.Errorf("chosen is %q: webhooks send data elsewhere, and are not", got)
		}
		fields.Set("decision", "allow")
		if q := went(b.Do("POST", consentPath, fields).Want(303)); !strings.HasPrefix(q.Get("code"), "kart_code_") {
			t.Errorf("%v", q)
		}
		o.Clock.Advance(time.Hour)
		b.Get(asking(&c)).Want(200, "Assistent")
		if came != 3 {
			t.Errorf("the document was read %d times after an hour", came)
		}
		// A changed document needs a new approval.
		about = "Assistentin"
		o.Clock.Advance(time.Hour)
		b.Get(asking(&c)).Want(200, "Assistentin", "Die Administration ist gefragt")
		if came != 4 {
			t.Errorf("the document was read %d times after two hours", came)
		}
		// A person can cause at most ten requests a minute.
		status = http.StatusNotFound
		for i := range 10 {
			b.Get(asking(&c, "client_id", fmt.Sprintf("%s?%d", name, i)))
		}
		b.Get(asking(&c, "client_id", name+"?more")).Want(429, "Zu viel auf einmal")
		if came != 4+9 {
			t.Errorf("%d requests were sent", came)
		}
		o.Clock.Advance(time.Minute)
		b.Get(asking(&c, "client_id", name+"?more")).Want(400)
	})
}

// TestApplicationsOnPages checks that an admin can create, disable and enable an application of a
// service account, and can rotate its secret.
func TestApplicationsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		const list = "/settings/interfaces/applications"
		admin, member := pagetest.Open(t, o, access.Admin), pagetest.Open(t, o, access.Member)
		member.Get(list).Want(200, "Keine Anwendung verbunden").Without("Dienstkonten")
		member.Get(list + "/new").Want(403)
		admin.Get(list+"/new").Want(200, "Noch kein Dienstkonto")
		account, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{Organization: o.ID, Name: "Faxgerät", Role: access.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		refused := admin.Get(list+"/new").Send(list+"/new", "name", "Fax", "principalId", account.ID, "scopes", "contacts:write").Want(422, `value="Fax"`, "geht über die Rechte")
		made := refused.Send(list+"/new", "scopes", "contacts:read").Want(200, "nur jetzt", "grant_type=client_credentials", "kart_csec_")
		at := list + "/" + clientID(made.Body)
		admin.Get(list).Want(200, "Fax", "Faxgerät", "lesen: Kontakte").Without("kart_csec_")
		admin.Get(list).Send(at+"/rotate").Want(200, "kart_csec_")
		admin.Get(list).Send(at + "/disable").Want(303)
		admin.Get(list).Want(200, "gesperrt").Send(at + "/enable").Want(303)
		stranger := pagetest.Open(t, o, access.Member)
		form := stranger.Get("/settings/profile").Fields("/settings/profile")
		for _, act := range []string{"/rotate", "/disable", "/enable"} {
			stranger.Do("POST", at+act, form).Want(403)
		}
		o.Clock.Advance(access.SignInFresh + time.Second)
		admin.Get(list).Send(at+"/rotate").Want(403, "bestätigen")
		admin.Get(list).Send(at + "/disable").Want(303)
		admin.Get(list).Send(at+"/enable").Want(403, "bestätigen")
	})
}

// clientID returns the first client id in a page, or an empty string.
func clientID(body string) string {
	i := strings.Index(body, "cli_")
	if i < 0 {
		return ""
	}
	return body[i : i+len("cli_")+26]
}
