package journey

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"kartei/instance/sample"
	"kartei/integration/oauth"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/people/notify"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// payloads are texts that an attacker stores in fields. If a page took one for markup, it would
// call the function stolen or send a request to /stolen.
var payloads = []string{
	`"><img src=x onerror=stolen()>`,
	`<script>stolen()</script>`,
	`'><svg onload=stolen()>`,
	`<a hx-get=/stolen hx-trigger=load>`,
	`<b hx-on:load=stolen()>`,
	`</title><script>stolen()</script>`,
	`{{stolen()}}${stolen()}`,
	"javascript:stolen()",
}

// poisoned returns a change for each family. The change stores a payload in each member that
// accepts any text.
func poisoned(payload string) map[string]map[string]any {
	short := payload[:min(len(payload), 50)] // phone numbers are shorter
	address := map[string]any{
		"street": payload, "postalCode": "50667", "city": payload, "region": payload, "country": "DE",
	}
	return map[string]map[string]any{
		"contacts": {
			"title": payload, "firstName": payload, "lastName": payload, "phone": short, "mobile": short, "jobTitle": payload,
			"note": payload + "\n" + payload, "address": address, "tags": []string{short}, "externalId": payload,
		},
		"companies": {
			"name": payload, "legalForm": payload, "phone": short, "vatId": payload, "registerNumber": payload,
			"note": payload, "address": address,
			"tags": []string{short}, "externalId": payload,
		},
		"tasks":     {"title": payload, "description": payload, "tags": []string{short}},
		"documents": {"name": noPath.Replace(payload) + ".pdf", "tags": []string{short}},
	}
}

// noPath removes the characters that the name of a file must not contain.
var noPath = strings.NewReplacer("/", "", `\`, "")

// TestStoredPayloads checks that no page runs a payload or sends a request for it. The payloads are
// in all fields of a record of each family, in the name of a person, and in the name of the office.
func TestStoredPayloads(t *testing.T) {
	whole(t)
	o := Open(t, dbtest.SQLiteURL(t), Documents())
	tab := o.SignedIn(o.Helene(), webtest.View{Width: 1280})
	pages := o.sheets(t, o.visitor(o.Helene()))
	ids := map[string]string{}
	for family := range poisoned("") {
		ids[family] = o.First(family)
	}
	for _, payload := range payloads {
		o.poison(ids, payload)
		for _, p := range pages {
			address := p.address
			tab.Open(o.BaseURL + address)
			harmless(t, tab, address, payload)
		}
	}
}

// harmless fails the test if a page has done more with a payload than show it.
func harmless(t *testing.T, tab *webtest.Tab, address, payload string) {
	t.Helper()
	if said := tab.Console(); len(said) > 0 {
		t.Errorf("%s with %q: the console says %q", address, payload, said)
	}
	for _, file := range tab.Transfers() {
		if strings.Contains(file.Name, "stolen") && !strings.Contains(file.Name, "q=") {
			t.Errorf("%s with %q: it loads %s", address, payload, file.Name)
		}
	}
	if n := webtest.Eval[int](tab, `document.querySelectorAll("main [onerror], main [onload], main script, main [hx-get='/stolen'], main [href^='javascript']").length`); n > 0 {
		t.Errorf("%s with %q: %d elements of the payload are in the page", address, payload, n)
	}
}

// TestStoredPayloadsOfSettings checks payloads in the names of keys, webhook endpoints, service
// accounts and applications. It also checks the URLs of endpoints, and the file, the columns and
// the cells of an import. All pages must show these texts exactly as they were typed.
func TestStoredPayloadsOfSettings(t *testing.T) {
	whole(t)
	o := Open(t, dbtest.SQLiteURL(t), Contacts(5))
	helene := o.visitor(o.Helene())
	tab := o.SignedIn(o.Helene(), webtest.View{Width: 1280, Language: "de"})
	helene.connected()
	key, endpoint, account := o.keyOf(o.Helene(), sample.Loopback, "contacts:read"), o.Disabled(), helene.serviceAccount()
	grant := dbtest.Texts(t, o.DB, `select id from oauth_grants where principal_id = $1`, o.Helene())[0]
	byKey, _ := o.program(t, key.Key, "GET", "/contacts", "", 200)
	byGrant, _ := o.program(t, key.Key, "GET", "/contacts", "", 200)
	dbtest.Run(t, o.DB, `update request_log set key_id = $1 where request_id = $2`, grant, byGrant)
	var number int64
	dbtest.Get(t, o.DB, []any{&number}, `select number from organizations where id = $1`, o.OrganizationID)
	for kind, subject := range map[usage.Kind]string{usage.Calls: key.ID, usage.Deliveries: endpoint} {
		apitest.Used(t, o.DB, usage.Call{
			Organization: number, Kind: kind, Subject: subject, At: clock.Now(o.Clock), Status: 200,
			Took: time.Millisecond, Points: 1,
		})
	}
	for kind, facts := range map[notify.Kind]string{
		notify.QuotaLow:   `{"key":"` + key.ID + `","policy":"deletes-day"}`,
		webhook.IsFailing: `{"organizationId":"` + o.OrganizationID + `","endpointId":"` + endpoint + `"}`,
		oauth.TokenReused: `{"grantId":"` + grant + `"}`,
	} {
		dbtest.Run(t, o.DB, `insert into notices (organization, principal, id, created_at, kind, data, read_at, mailing, mail_at, mailed_at) values ($1, $2, $3, $4, $5, $6, 0, false, 0, 0)`,
			number, o.Helene(), id.New(id.Notice), clock.Now(o.Clock), string(kind), facts)
	}
	const ofKeys, ofHooks, ofApplications, ofAccounts = "/settings/interfaces/keys", "/settings/interfaces/webhooks", "/settings/interfaces/applications", "/settings/service-accounts"
	for _, payload := range payloads {
		renamed := helene.fill(ofKeys+"/"+key.ID, ofKeys+"/"+key.ID, url.Values{"name": {payload}})
		if renamed.Status != 303 {
			t.Fatalf("a key named %q: status %d", payload, renamed.Status)
		}
		o.Call("PATCH", "/webhook_endpoints/"+endpoint,
			map[string]any{"name": payload, "url": "https://archiv.example.com/kartei"}, nil)
		dbtest.Run(t, o.DB, `update webhook_endpoints set url = $1 where id = $2`, "https://archiv.example.com/"+payload,
			endpoint)
		dbtest.Run(t, o.DB, `update principals set name = $1 where id = $2`, payload, account)
		dbtest.Run(t, o.DB, `update oauth_clients set name = $1`, payload)
		o.Directory.Forget()
		file, cell := noPath.Replace(payload)+".csv", `"`+strings.ReplaceAll(payload, `"`, `""`)+`"`
		table := "Nachname;E-Mail;" + cell + "\r\n" + cell + ";kein-at;" + cell + "\r\n" + cell + ";;\r\n" + cell + ";;\r\n"
		mapping, checked := helene.uploaded(file, table), helene.checked(file, table)
		for address, texts := range map[string][]string{
			ofKeys: {payload}, ofKeys + "/" + key.ID: {payload}, ofKeys + "/" + key.ID + "/revoke": {payload},
			ofKeys + "/new": {payload}, ofKeys + "/new?owner=" + account: {payload},
			ofHooks: {payload}, ofHooks + "/" + endpoint: {payload, "archiv.example.com/" + payload},
			ofHooks + "/" + endpoint + "/delete": {payload},
			ofApplications:                       {payload}, helene.asking(): {payload},
			ofAccounts: {payload}, ofAccounts + "/" + account: {payload},
			"/settings/audit?target=" + key.ID: {payload}, "/settings/audit?target=" + account: {payload},
			"/settings/audit?target=" + endpoint: nil, "/settings/audit": {payload},
			"/settings/interfaces/requests": {payload}, "/settings/interfaces/requests/" + byKey: {payload},
			"/settings/interfaces/requests/" + byGrant: {payload},
			"/settings/interfaces/usage":               {payload}, "/settings/interfaces/usage?key=" + key.ID: {payload},
			"/settings/interfaces/events": nil, "/bell": {payload},
			"/settings/data": {file}, mapping: {file, payload}, checked: {file}, checked + "?columns": {file, payload},
		} {
			tab.Open(o.BaseURL + address)
			harmless(t, tab, address, payload)
			shown := webtest.Eval[string](tab, `document.querySelector("main").textContent.replaceAll("\u00ad", "")`)
			for _, text := range texts {
				if !strings.Contains(shown, text) {
					t.Errorf("%s does not show %q as text", address, text)
				}
			}
		}
	}
}

// poison stores a payload in the records and in the names of the person and the office.
func (o *Office) poison(ids map[string]string, payload string) {
	o.Helper()
	for family, change := range poisoned(payload) {
		o.Call("PATCH", "/"+family+"/"+ids[family], change, nil)
	}
	dbtest.Run(o.TB, o.DB, `update principals set name = $1 where id = $2`, payload, o.Helene())
	dbtest.Run(o.TB, o.DB, `update organizations set name = $1 where id = $2`, payload, o.OrganizationID)
	o.Directory.Forget()
}
