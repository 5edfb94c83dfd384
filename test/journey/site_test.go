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

// visitor is a person with a browser without scripts, which reads pages and sends forms. It is an
// HTTP client and not a real browser.
type visitor struct {
	*Office
	// cookie is the session cookie. It is nil for a person who is not signed in.
	cookie    *http.Cookie
	principal string
}

func (o *Office) visitor(principal string) *visitor {
	return &visitor{o, o.Cookie(principal), principal}
}

// got is a response to a visitor. Body is empty unless the response is HTML.
type got struct {
	Status int
	Header http.Header
	Body   string
}

// page reports whether the response is a whole page, and not a fragment.
func (g got) page() bool { return strings.Contains(g.Body, "<html") }

// visiting is an HTTP client that follows no redirects.
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
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") { // a stream of events does not end
		body, err := io.ReadAll(a.Body)
		if err != nil {
			v.Fatalf("%s %s: %v", method, path, err)
		}
		g.Body = string(body)
	}
	return g
}

func (v *visitor) get(path string) got { v.Helper(); return v.do("GET", path, nil) }

// token returns a new form token of the visitor from the page of contacts. Each page has one, in
// the form for signing out.
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

// site has the pages that a person can find: for each page, the first URL to which a link leads,
// and its first form. The keys are methods and paths as in app.Pages.
type site struct {
	addresses map[string]string
	forms     map[string]webtest.Form
}

// perPage is the maximum number of URLs of the same page that explore reads.
const perPage = 8

// explore follows the links from the start page and returns what it has found. It also reads the
// pages in known.
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

// pageAt returns the method and path in app.Pages for the page at a path. It is empty if there is
// none.
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

// tokenField is the name of the form field with the form token.
const tokenField = "form-token"

// known returns the URL of a page that can be found without a link. Its path has no variables, or
// known can fill them in. It returns "" for other pages.
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
		return "" // the forms of the list lead to this page
	}
	if strings.HasPrefix(p.Path, "/settings/data/{id}") {
		v.imported()
		return "" // the links of the list lead to this page
	}
	if strings.HasPrefix(p.Path, "/changes/{id}") {
		v.changed()
		return "" // the links of the list lead to this page
	}
	if strings.HasPrefix(p.Path, "/duplicates/merged/{id}") {
		v.merged()
		return "" // the forms of the list lead to this page
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

// ownKey returns the id of an API key of the visitor. It creates one if there is none.
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

// anApplication is the client_id of an OAuth client that has registered itself.
const anApplication = "cli_01m7xt6sane2a9hpasvbmaayqz"

// asking returns the path and query of an authorization request. It stores the client if needed.
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

// connected stores a grant of the visitor, and requests to approve two applications. It also stores
// two applications of a service account, one of them disabled.
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
	for _, approved := range []clock.Micros{0, now} { // one still waits for an admin
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

// aTable is a CSV file. It has two rows for the same contact and a row with an invalid email
// address. Another row is refused because it has no name.
const aTable = "Nachname;Vorname;E-Mail;Lieblingsfarbe\r\nUmzügler;Anna;anna@umzug.example;Änni\r\nFalsch;Otto;kein-at;\r\nUmzügler;Anna;ANNA@umzug.example;\r\n;;;Otto\r\n"

// imported creates imports of the visitor: one in each state that waits for a person, and one that
// has ended. The last has created, refused and duplicate contacts.
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
		// The check reports duplicates.
		if text := said(v.get(page).Body); strings.Count(text, "Zeile ")+strings.Count(text, "Line ") < least {
			v.Fatalf("%s shows fewer than %d entries with a note: %s", page, least, text)
		}
	}
}

// uploaded uploads a table and returns the path of the import's page.
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

// checked uploads a table and runs the check. It returns the path of the import's page.
func (v *visitor) checked(name, table string) string {
	v.Helper()
	page := v.uploaded(name, table)
	v.fill(page, page+"/columns", nil)
	v.awaitWork()
	return page
}

// changed stores bulk changes of the visitor in the states that the page can show.
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

// merged merges two new contacts of the visitor, so that the list of merges has one that can be undone.
func (v *visitor) merged() {
	v.Helper()
	if len(dbtest.Texts(v.TB, v.DB, `select id from merges where principal = $1`, v.principal)) > 0 {
		return
	}
	var paths []string
	for _, name := range []string{"Xanten", "Xylander"} {
		made := v.do("POST", "/contacts/new", url.Values{tokenField: {v.token()}, "lastName": {name}})
		paths = append(paths, made.Header.Get("Location"))
	}
	if !strings.HasPrefix(paths[0], "/contacts/") || !strings.HasPrefix(paths[1], "/contacts/") {
		v.Fatalf("the new contacts are at %q", paths)
	}
	form := url.Values{tokenField: {v.token()}, "with": {strings.TrimPrefix(paths[1], "/contacts/")}, "revision": {"1"}, "with-revision": {"1"}}
	if g := v.do("POST", paths[0]+"/merge", form); g.Status != 303 {
		v.Fatalf("a merge: %d\n%s", g.Status, g.Body)
	}
	v.awaitWork()
}

// awaitWork waits until no job for an import, a bulk change or a merge is due within an hour. The job that
// removes the data for an undo is due later.
func (o *Office) awaitWork() {
	o.Helper()
	for watch := waittest.New(); ; time.Sleep(10 * time.Millisecond) {
		left := dbtest.Texts(o.TB, o.DB, `select id from jobs where kind in ('imports.work', 'imports.forget', 'bulk.work', 'merges.move') and due_at < $1`, clock.Now(o.Clock)+clock.Hour)
		if len(left) == 0 {
			return
		}
		if watch.IsStuck(left) {
			o.Fatalf("the jobs %v do not end", left)
		}
	}
}

// ownEndpoint returns the id of a webhook endpoint of the visitor. It stores one if there is none.
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

// serviceAccount returns the id of a service account in the visitor's organization. It creates one
// if there is none.
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

// operation makes the visitor the owner of a long-running operation and returns its id. Other
// people cannot see the operation.
func (v *visitor) operation() string {
	v.Helper()
	mine := `from operations where organization = (select number from organizations where id = '` + v.OrganizationID + `')`
	dbtest.Run(v.TB, v.DB, `update operations set principal = $1 where id = (select min(id) `+mine+`)`, v.principal)
	return dbtest.Texts(v.TB, v.DB, `select min(id) `+mine)[0]
}

// nobodys is an id without its prefix. No object has this id.
const nobodys = "_01m7xt6sane2a9hpasvbmaayqz"

// aboutNothing returns a URL in which the last id is replaced by one that does not exist.
func aboutNothing(address string) string {
	about := strings.LastIndexByte(address, '_')
	if about < 0 || len(address) < about+len(nobodys) {
		return address
	}
	return address[:about] + nobodys + address[about+len(nobodys):]
}

// families are the names of the families of records.
var families = []string{"contacts", "companies", "tasks", "documents"}

// linksOf returns all paths of this site in the attributes of a page, except the targets of forms.
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

// newOffice creates another organization and returns the id of an admin there.
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
