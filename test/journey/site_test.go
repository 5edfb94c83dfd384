package journey

import (
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
	"kartei/transfer/bulk"
	"kartei/web/app"
	"kartei/web/shell"
)

// visitor is a person with a browser that has no script and no window: it reads
// pages, and sends forms.
type visitor struct {
	*Office
	// cookie is the principal's session cookie. A stranger has none.
	cookie    *http.Cookie
	principal string
}

func (o *Office) visitor(principal string) *visitor {
	return &visitor{o, o.Cookie(principal), principal}
}

// got is an answer to a visitor. Body is empty unless it is HTML.
type got struct {
	Status int
	Header http.Header
	Body   string
}

// page reports whether the answer is a whole page, and no part of one.
func (g got) page() bool { return strings.Contains(g.Body, "<html") }

// visiting sends requests and follows no redirect.
var visiting = &http.Client{
	Timeout: 2 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (v *visitor) do(method, path string, form url.Values, headers ...string) got {
	v.Helper()
	r, err := http.NewRequest(method, v.BaseURL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := visiting.Do(r)
	if err != nil {
		v.Fatalf("%s %s: %v", method, path, err)
	}
	defer a.Body.Close()
	g := got{Status: a.StatusCode, Header: a.Header}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") { // a stream of events has no end
		body, err := io.ReadAll(a.Body)
		if err != nil {
			v.Fatalf("%s %s: %v", method, path, err)
		}
		g.Body = string(body)
	}
	return g
}

func (v *visitor) get(path string) got { v.Helper(); return v.do("GET", path, nil) }

// token returns a new form token of the visitor, from the first form of the page of contacts. Every
// page has a form to sign out.
func (v *visitor) token() string {
	v.Helper()
	for by := v; ; by = v.visitor(v.principal) { // a form may have ended the session
		for _, f := range webtest.Forms(by.get("/contacts").Body) {
			if t := f.Fields.Get(tokenField); t != "" {
				return t
			}
		}
		if by != v {
			break
		}
	}
	v.Fatal("no page has a form with a token")
	return ""
}

// site is what one person finds in the application: for each page, the first address
// that a link leads to, and its first form. The keys are methods and paths of
// app.Pages.
type site struct {
	addresses map[string]string
	forms     map[string]webtest.Form
}

// perPage is how many addresses of the same page are looked at for links.
const perPage = 8

// explore follows the links from the start page, and returns what it found. Pages
// whose address is known without a link are looked at too.
func (v *visitor) explore() site {
	v.Helper()
	s := site{addresses: map[string]string{}, forms: map[string]webtest.Form{}}
	looked, queued, queue := map[string]int{}, map[string]bool{}, []string{}
	add := func(method, address string) {
		path, _, _ := strings.Cut(address, "?")
		pattern := pageAt(method, path)
		if pattern == "" {
			return
		}
		if s.addresses[pattern] == "" {
			s.addresses[pattern] = address
		}
		if method == "GET" && !queued[address] && looked[pattern] < perPage {
			looked[pattern]++
			queued[address] = true
			queue = append(queue, address)
		}
	}
	for _, p := range app.Pages {
		if known := v.known(p); known != "" {
			add(p.Method, known)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		body := v.get(queue[0]).Body
		for _, address := range linksOf(body) {
			add("GET", address)
		}
		for _, f := range webtest.Forms(body) {
			pattern := pageAt("POST", f.Action)
			if _, known := s.forms[pattern]; pattern != "" && !known {
				s.forms[pattern] = f
				add("POST", f.Action)
			}
		}
	}
	return s
}

// pageAt returns the method and path of the page at an address, as app.Pages has
// them, or an empty text.
func pageAt(method, path string) string {
	r := &http.Request{Method: method, URL: &url.URL{Path: path}}
	_, pattern := patterns.Handler(r)
	return strings.TrimSuffix(pattern, "{$}")
}

var patterns = func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, p := range app.Pages {
		path := p.Path
		if strings.HasSuffix(path, "/") {
			path += "{$}"
		}
		mux.Handle(p.Method+" "+path, http.NotFoundHandler())
	}
	return mux
}()

// tokenField is the name of the field with the token of a form.
const tokenField = "form-token"

// known returns the address of a page as far as it follows from its path: there is
// nothing to fill in, or the id of a record. Other addresses are found by links.
func (v *visitor) known(p shell.Page) string {
	v.Helper()
	if address := map[string]string{
		"/search":       "/search?q=m%C3%BCller",
		"/call":         "/call?number=%2B49221987",
		"/go/{id}":      "/go/" + v.First("contacts"),
		"/choices/{of}": "/choices/companies",
		"/news/{id}":    "/news/" + v.First("contacts"),
	}[p.Path]; address != "" {
		return address
	}
	if p.Path == "/settings/interfaces/keys/{id}/first" {
		return "/settings/interfaces/keys/" + v.ownKey() + "/first?since=2026-01-01T00:00:00Z"
	}
	if p.Path == "/oauth/authorize" {
		return v.asking()
	}
	if strings.HasPrefix(p.Path, "/settings/interfaces/applications/{id}") {
		v.connected()
		return "" // forms of the list lead there
	}
	if strings.HasPrefix(p.Path, "/settings/data/{id}") {
		v.imported()
		return "" // links of the list lead there
	}
	if strings.HasPrefix(p.Path, "/changes/{id}") {
		v.changed()
		return "" // links of the list lead there
	}
	if strings.HasPrefix(p.Path, "/settings/interfaces/webhooks/{id}") && p.Method == "GET" {
		return strings.NewReplacer("{id}", v.ownEndpoint(), "{event}", "evt"+nobodys).Replace(p.Path)
	}
	if strings.HasPrefix(p.Path, "/settings/service-accounts/{id}") && p.Method == "GET" {
		return strings.Replace(p.Path, "{id}", v.serviceAccount(), 1)
	}
	if p.Path == "/operations/{id}" {
		return "/operations/" + v.operation()
	}
	address := p.Path
	if p.Uses != nil && slices.Contains(families, p.Uses[0].About().Family) {
		family := p.Uses[0].About().Family
		address = strings.Replace(address, "{id}", v.First(family), 1)
	}
	if strings.Contains(address, "{") {
		return ""
	}
	return address
}

// ownKey returns the id of a key of the visitor.
func (v *visitor) ownKey() string {
	v.Helper()
	if ids := dbtest.Texts(v.TB, v.DB, `select id from api_keys where principal_id = $1 order by id`,
		v.principal); len(ids) > 0 {
		return ids[0]
	}
	made, err := v.Operator().CreateKey(v.Context(), key.New{
		Organization: v.OrganizationID,
		Principal:    v.principal,
		Environment:  access.Test,
		Scopes:       []string{"contacts:read"},
	})
	if err != nil {
		v.Fatal(err)
	}
	return made.ID
}

// anApplication is an application that registered itself, and its client_id.
const anApplication = "cli_01m7xt6sane2a9hpasvbmaayqz"

// asking returns the address to which an application sends the visitor.
func (v *visitor) asking() string {
	v.Helper()
	if len(dbtest.Texts(v.TB, v.DB, `select id from oauth_clients where id = $1`, anApplication)) == 0 {
		dbtest.Run(v.TB, v.DB, `insert into oauth_clients (id, kind, client_id, name, redirect_uris, auth_method, created_at, last_used_at)
			values ($1, 'registered', $1, 'Fristenkalender', '["http://127.0.0.1/callback"]', 'none', 1, 1)`, anApplication)
	}
	return "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {anApplication}, "redirect_uri": {"http://127.0.0.1:53076/callback"},
		"state": {"x"},
		// RFC 7636, appendix B
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
	}.Encode()
}

// connected gives the visitor an application, and their organization two of a service
// account, of which one is switched off.
func (v *visitor) connected() {
	v.Helper()
	v.asking()
	if len(dbtest.Texts(v.TB, v.DB, `select id from oauth_grants where principal_id = $1`, v.principal)) > 0 {
		return
	}
	const of = ` from organizations where id = $3`
	now := clock.Now(v.Clock)
	dbtest.Run(v.TB, v.DB, `insert into oauth_grants (id, client_id, organization, principal_id, scopes, audience, created_at, expires_at, renewal)
		select $1, '`+anApplication+`', number, $2, '["contacts:read"]', 'v1', cast($4 as bigint), cast($5 as bigint), cast($6 as bigint)`+of,
		id.New(id.Grant), v.principal, v.OrganizationID, now, now.Add(grant.Renewal), grant.Renewal.Microseconds())
	for _, approved := range []clock.Micros{0, now} { // one waits for an admin
		name := id.New(id.Client)
		dbtest.Run(v.TB, v.DB, `insert into oauth_clients (id, kind, client_id, name, redirect_uris, auth_method, created_at, last_used_at)
			values ($1, 'registered', $1, 'Posteingang', '["https://mail.example.com/back"]', 'none', 1, 1)`, name)
		dbtest.Run(v.TB, v.DB, `insert into oauth_approvals (organization, id, client_id, principal, asked_by, asked_at, approved_at)
			select number, $1, $2, $4, $5, cast($6 as bigint), cast($7 as bigint)`+of, id.New(id.Approval), name,
			v.OrganizationID, v.Jonas(), `["`+v.Jonas()+`"]`, now, approved)
	}
	account := v.serviceAccount()
	for _, disabled := range []bool{false, true} {
		dbtest.Run(v.TB, v.DB, `insert into oauth_clients (id, kind, client_id, name, redirect_uris, auth_method, organization, principal_id, scopes, disabled, created_at, last_used_at)
			select $1, 'admin', $1, 'Fax', '[]', 'client_secret_basic', number, $2, '["contacts:read"]', cast($4 as boolean), 1, 1`+of, id.New(id.Client), account, v.OrganizationID, disabled)
	}
}

// aTable has two entries of the same contact, one whose email is none, and one that is
// refused, since it has no name.
const aTable = "Nachname;Vorname;E-Mail;Lieblingsfarbe\r\nUmzügler;Anna;anna@umzug.example;Änni\r\nFalsch;Otto;kein-at;\r\nUmzügler;Anna;ANNA@umzug.example;\r\n;;;Otto\r\n"

// imported gives the visitor imports in the states that wait for somebody, and one that has
// ended: of contacts that were created, refused, and there twice.
func (v *visitor) imported() {
	v.Helper()
	if len(dbtest.Texts(v.TB, v.DB, `select id from imports where principal = $1`, v.principal)) > 0 {
		return
	}
	v.uploaded("Spalten.csv", aTable)
	checked := v.checked("Prüfung.csv", aTable)
	stopped := v.checked("Angehalten.csv", aTable)
	dbtest.Run(v.TB, v.DB, `update imports set state = 'stopped' where id = $1`,
		stopped[strings.LastIndex(stopped, "/")+1:])
	finished := v.checked("Umzug.csv", aTable)
	v.fill(finished, finished+"/run", nil)
	v.awaitWork()
	for page, least := range map[string]int{checked: 2, stopped: 2, finished: 1} {
		// what is there twice is noted by the check
		if text := said(v.get(page).Body); strings.Count(text, "Zeile ")+strings.Count(text, "Line ") < least {
			v.Fatalf("%s shows fewer than %d entries with a note: %s", page, least, text)
		}
	}
}

// uploaded uploads a table, and returns the page of its import.
func (v *visitor) uploaded(name, table string) string {
	v.Helper()
	var body strings.Builder
	w := multipart.NewWriter(&body)
	if err := w.WriteField(tokenField, v.token()); err != nil {
		v.Fatal(err)
	}
	file, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(file, table)
	}
	if err != nil || w.Close() != nil {
		v.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, v.BaseURL+"/settings/data/new", strings.NewReader(body.String()))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.AddCookie(v.cookie)
	a, err := visiting.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer a.Body.Close()
	page := a.Header.Get("Location")
	if !strings.HasPrefix(page, "/settings/data/imp_") {
		v.Fatalf("the upload of %q: status %d, and leads to %q", name, a.StatusCode, page)
	}
	v.awaitWork()
	return page
}

// checked uploads a table, and has it checked. It returns the page of its import.
func (v *visitor) checked(name, table string) string {
	v.Helper()
	page := v.uploaded(name, table)
	v.fill(page, page+"/columns", nil)
	v.awaitWork()
	return page
}

// changed gives the visitor changes of whole lists in the states that a page shows.
func (v *visitor) changed() {
	v.Helper()
	if len(dbtest.Texts(v.TB, v.DB, `select id from bulk_acts where principal = $1`, v.principal)) > 0 {
		return
	}
	for _, state := range []string{"finished", "stopped", "undone"} {
		dbtest.Run(v.TB, v.DB, `insert into bulk_acts (organization, id, principal, state, reason, content, progress, requested_by, kind, door, request_id, created_at, began_at, expires_at)
			select number, cast($1 as text), cast($2 as text), cast($3 as text), '', '{"family":"contacts","kind":"tag","value":"Messe"}', '{"collected":true,"records":2,"done":2,"counts":{"changed":1,"refused":1}}',
			cast($2 as text), '', '', '', 1, 1, cast($4 as bigint) from organizations where id = '`+v.OrganizationID+`'`,
			id.New(id.BulkAct), v.principal, state, clock.Now(v.Clock).Add(bulk.Age))
	}
}

// awaitWork waits until no job works on an import or a whole list. What an import keeps to be
// undone is forgotten much later.
func (o *Office) awaitWork() {
	o.Helper()
	for watch := waittest.New(); ; time.Sleep(10 * time.Millisecond) {
		left := dbtest.Texts(o.TB, o.DB, `select id from jobs where kind in ('imports.work', 'imports.forget', 'bulk.work') and due_at < $1`, clock.Now(o.Clock)+clock.Hour)
		if len(left) == 0 {
			return
		}
		if watch.IsStuck(left) {
			o.Fatalf("the jobs %v do not end", left)
		}
	}
}

// ownEndpoint returns the id of a webhook endpoint of the visitor.
func (v *visitor) ownEndpoint() string {
	v.Helper()
	find := `select id from webhook_endpoints where principal = $1 order by id`
	if ids := dbtest.Texts(v.TB, v.DB, find, v.principal); len(ids) > 0 {
		return ids[0]
	}
	dbtest.Run(v.TB, v.DB, `insert into webhook_endpoints (organization, id, principal, name, url, event_types, status, disabled_reason, secret, previous_secret, previous_until,
			revision, created_at, updated_at, cursor, due_at, failed_since, failures, last_success_at, last_failure_at, missed_since)
		select number, $1, $2, 'CRM', 'https://crm.example.com/hook', '["contact.created"]', 'active', '', '', '', 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 from organizations where id = $3`,
		id.New(id.WebhookEndpoint), v.principal, v.OrganizationID)
	return dbtest.Texts(v.TB, v.DB, find, v.principal)[0]
}

// serviceAccount returns the id of a service account of the visitor's organization.
func (v *visitor) serviceAccount() string {
	v.Helper()
	find := `select id from principals where id like 'svc_%' and organization = (select number from organizations where id = $1) order by id`
	if ids := dbtest.Texts(v.TB, v.DB, find, v.OrganizationID); len(ids) > 0 {
		return ids[0]
	}
	helene := v.visitor(v.Helene())
	if g := helene.do("POST", "/settings/service-accounts/new", url.Values{
		tokenField: {helene.token()},
		"name":     {"Abgleich"},
		"role":     {"member"},
	}); g.Status != http.StatusSeeOther {
		v.Fatalf("a service account: status %d", g.Status)
	}
	return dbtest.Texts(v.TB, v.DB, find, v.OrganizationID)[0]
}

// operation returns the id of a long operation that the visitor has begun. Nobody
// else sees it.
func (v *visitor) operation() string {
	v.Helper()
	mine := `from operations where organization = (select number from organizations where id = '` + v.OrganizationID + `')`
	dbtest.Run(v.TB, v.DB, `update operations set principal = $1 where id = (select min(id) `+mine+`)`, v.principal)
	return dbtest.Texts(v.TB, v.DB, `select min(id) `+mine)[0]
}

// nobodys is an id behind its prefix, of something that is not there.
const nobodys = "_01m7xt6sane2a9hpasvbmaayqz"

// aboutNothing returns an address with the id of nothing in place of the last one.
func aboutNothing(address string) string {
	about := strings.LastIndexByte(address, '_')
	if about < 0 || len(address) < about+len(nobodys) {
		return address
	}
	return address[:about] + nobodys + address[about+len(nobodys):]
}

// families are the families of records, as they begin the names of rows.
var families = []string{"contacts", "companies", "tasks", "documents"}

// linksOf returns the addresses of this site that a page names anywhere.
func linksOf(body string) (list []string) {
	for n := range webtest.Elements(body) {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") && a.Key != "action" && a.Key != "hx-post" &&
				a.Key != "formaction" {
				address, _, _ := strings.Cut(a.Val, "#")
				list = append(list, address)
			}
		}
	}
	return list
}

// newOffice makes another organization, and returns a member of it.
func (o *Office) newOffice(name string) (member string) {
	o.Helper()
	made, err := o.Operator().CreateOrganization(o.Context(), organization.New{
		Name: name, Module: "on", Secrecy: "declared", Level: access.On,
	})
	if err != nil {
		o.Fatal(err)
	}
	person, err := o.Operator().CreateUser(o.Context(), principal.New{
		Organization: made.ID, Name: "Fremde Person", Email: "fremd@example.com", Role: access.Admin,
	})
	if err != nil {
		o.Fatal(err)
	}
	return person.ID
}
