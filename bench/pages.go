package main

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/integration/event"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/people/account"
	"kartei/people/notify"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	documents "kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/store/replay"
	"kartei/web/app"
	"kartei/web/shell"
)

const (
	// pageClients is the number of browsers that ask at the same time, without a pause.
	// They keep both processors of a small machine busy, which shows what a page costs.
	pageClients = 4
	// fewClients is their number for the budgets. They ask for some 250 pages a second;
	// 50 people who each open one every five seconds ask for 10.
	fewClients = 2
	// maxCallRatio is the highest time of a page, relative to its operations.
	maxCallRatio = 3
	// signIns is how often the clerk signs in, signInBudget the time of 95 of 100 in
	// milliseconds, and signingIn its name among the pages.
	signIns, signInBudget = 10, 250
	signingIn             = "sign-in"
	// firstVisit and nextVisit bound the bytes over the wire, in KB.
	firstVisit, nextVisit = 56, 12
)

// measuredPage is a page of the application, and the operations that it makes.
type measuredPage struct {
	name string
	// line is the line of the page in app.Pages.
	line string
	// query follows the address.
	query string
	// limit is the budget of 95 of 100 answers in milliseconds, or 0.
	limit float64
	// calls are rows of its line, with what the page hands them.
	calls []pageCall
}

type pageCall struct {
	o    op.Any
	with func(*visitor) api.Arguments
}

// measuredPages are the pages of a clerk's day, and the pages of somebody who looks
// after interfaces.
var measuredPages = []measuredPage{
	{
		"today",
		"GET /",
		"",
		0,
		[]pageCall{
			whoAmI,
			{task.List, asks("status", "open", "sort", "dueAt", "limit", "21", "assigneeId", me)},
			{lookup.Recent, recent},
			{record.Changes, sinceMidnight},
			colleagues,
		},
	},
	{
		"contacts by name",
		"GET /contacts",
		"",
		20,
		[]pageCall{whoAmI, {contact.List, asks("limit", "50", "sort", "name")}, {contact.Count, asks()}, colleagues},
	},
	{
		"contacts by change",
		"GET /contacts",
		"?sort=-updatedAt",
		20,
		[]pageCall{whoAmI, {contact.List, asks("limit", "50", "sort", "-updatedAt")}, {contact.Count, asks()}, colleagues},
	},
	{"contact", "GET /contacts/{id}", "", 20,
		[]pageCall{whoAmI, {contact.Get, one}, {contact.List, asks("limit", "50", "sort", "name")},
			{contact.Count, asks()}, colleagues,
			{record.History, about}, {task.List, asks("contactId", it, "sort", "dueAt", "limit", "10", "status", "open")},
			{documents.List, asks("contactId", it, "sort", "name", "limit", "10")}}},
	{"search while one types", "GET /search", "?part=hits&q=m%C3%BCll", 50, []pageCall{whoAmI, {lookup.Find, finds(5)}}},
	{"search", "GET /search", "?q=m%C3%BCll", 0, []pageCall{whoAmI, {lookup.Find, finds(20)}}},
	{"form", "GET /contacts/{id}/edit", "", 20, []pageCall{whoAmI, {contact.Get, one}, colleagues}},
	{"save", "POST /contacts/{id}", "", 30, []pageCall{whoAmI, {contact.Update, nil}}},
	{
		"companies",
		"GET /companies",
		"",
		20,
		[]pageCall{whoAmI, {company.List, asks("limit", "50", "sort", "name")}, {company.Count, asks()}, colleagues},
	},
	{"tasks", "GET /tasks", "", 20, []pageCall{whoAmI,
		{task.List, asks("limit", "50", "sort", "dueAt", "status", "open", "assigneeId", me)},
		{task.Count, asks("status", "open", "assigneeId", me)}, {task.Count, asks("status", "open", "assigneeId", me)},
		{task.Count, asks("status", "open")}, {task.Count, asks("status", "completed")}}},
	{
		"documents",
		"GET /documents",
		"",
		20,
		[]pageCall{whoAmI, {documents.List, asks("limit", "50", "sort", "name")}, {documents.Count, asks()}, colleagues},
	},
	{"new contact", "GET /contacts/new", "", 0, []pageCall{whoAmI, colleagues}},
	{"company", "GET /companies/{id}", "", 20,
		[]pageCall{whoAmI, {company.Get, one}, {company.List, asks("limit", "50", "sort", "name")},
			{company.Count, asks()}, colleagues,
			{record.History, about}, {contact.List, asks("companyId", it, "sort", "name", "limit", "10")},
			{task.List, asks("companyId", it, "sort", "dueAt", "limit", "10", "status", "open")},
			{documents.List, asks("companyId", it, "sort", "name", "limit", "10")}}},
	{
		"task",
		"GET /tasks/{id}",
		"",
		20,
		[]pageCall{
			whoAmI,
			{task.Get, one},
			colleagues,
			{record.History, about},
			{documents.List, asks("taskId", it, "sort", "name", "limit", "10")},
		},
	},
	{"a call comes in", "GET /call", "?number=0151+23456789", 50, []pageCall{whoAmI, {lookup.Find, callsFrom}}},
	{
		"bell",
		"GET /bell",
		"",
		0,
		[]pageCall{whoAmI, {notify.ListBell, func(*visitor) api.Arguments { return api.Arguments{} }}},
	},
	{"settings: API keys", "GET /settings/interfaces/keys", "", 20, []pageCall{whoAmI, {key.List, body("limit", 20)}}},
	{
		"settings: form of a key",
		"GET /settings/interfaces/keys/new",
		"",
		20,
		[]pageCall{whoAmI, {key.GetTerms, body()}, {contact.Count, asks()}},
	},
	{
		"settings: request log",
		"GET /settings/interfaces/requests",
		"",
		20,
		[]pageCall{whoAmI, {requestlog.List, body("door", "programs", "limit", 50)}, {key.List, body("limit", 200)}},
	},
	{
		"settings: refused calls",
		"GET /settings/interfaces/requests",
		"?status=401",
		20,
		[]pageCall{
			whoAmI,
			{requestlog.List, body("door", "programs", "limit", 50, "status", "401")},
			{key.List, body("limit", 200)},
		},
	},
	{
		"settings: usage",
		"GET /settings/interfaces/usage",
		"?days=30",
		20,
		[]pageCall{whoAmI, {usage.Get, body("days", 30)}, {key.List, body("limit", 200)}},
	},
	{
		"settings: events",
		"GET /settings/interfaces/events",
		"?env=test",
		20,
		[]pageCall{whoAmI, {event.Read, body("limit", 50)}, colleagues},
	},
	{"settings: people", "GET /settings/people", "", 20, []pageCall{whoAmI, {principal.FindNames, body("limit", 50)}}},
}

// body returns the members of a body.
func body(pairs ...any) func(*visitor) api.Arguments {
	members := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		members[pairs[i].(string)] = pairs[i+1]
	}
	return func(*visitor) api.Arguments { return api.Arguments{Body: members} }
}

// me and it stand for the visitor and the record of the page.
const me, it = "{me}", "{it}"

var (
	whoAmI     = pageCall{account.GetSession, func(*visitor) api.Arguments { return api.Arguments{} }}
	colleagues = pageCall{
		principal.ResolveNames,
		func(v *visitor) api.Arguments { return api.Arguments{Body: map[string]any{"ids": v.users}} },
	}
	one   = func(v *visitor) api.Arguments { return api.Arguments{ID: v.record} }
	about = func(v *visitor) api.Arguments {
		return api.Arguments{Body: map[string]any{"id": v.record, "limit": 10}}
	}
)

func recent(*visitor) api.Arguments { return api.Arguments{Body: map[string]any{"limit": 6}} }

func sinceMidnight(*visitor) api.Arguments {
	y, m, d := time.Now().Date()
	return api.Arguments{
		Body: map[string]any{"since": clock.FromTime(time.Date(y, m, d, 0, 0, 0, 0, time.Local)).String(), "limit": 60},
	}
}

// asks returns the parameters of a list or a count.
func asks(pairs ...string) func(*visitor) api.Arguments {
	return func(v *visitor) api.Arguments {
		q := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], strings.NewReplacer(me, v.users[1], it, v.record).Replace(pairs[i+1]))
		}
		return api.Arguments{Query: q}
	}
}

func callsFrom(*visitor) api.Arguments {
	return api.Arguments{Body: map[string]any{"q": "0151 23456789", "limit": 20}}
}

func finds(limit int) func(*visitor) api.Arguments {
	return func(*visitor) api.Arguments {
		return api.Arguments{Body: map[string]any{"q": "müll", "limit": limit, "counts": limit > 5}}
	}
}

// record returns a record of the family of the page: another one for each number.
func (p measuredPage) record(ids map[string][]string, n int) string {
	_, path, _ := strings.Cut(p.line, " /")
	family, _, _ := strings.Cut(path, "/")
	list := ids[family]
	if len(list) == 0 {
		list = ids["contacts"]
	}
	return list[n%len(list)]
}

// visitor is one browser, or one caller of bare operations.
type visitor struct {
	base, cookie string
	client       *http.Client
	record       string
	users        []string
	api          *api.API
}

// onPages measures pages of the application against the operations that they make. The
// server of the pages is the real program, with a session from the form that signs in;
// the operations go along the path in this process, afterwards and with the same session,
// and one answer over HTTP has the bodies of all of them. Both answers are compressed.
func (b *bench) onPages(ctx context.Context) error {
	pages, err := choose(measuredPages, func(p measuredPage) string { return p.name }, b.only)
	if err != nil {
		return err
	}
	if err := namedInTheirLines(pages); err != nil {
		return err
	}
	root := filepath.Join(b.data, "lookup") // the same office with all families
	kept := keptOffice
	if b.postgres {
		k, err := startKept(root)
		if err != nil {
			return err
		}
		defer k.Stop()
		kept = k.office
	}
	o, err := kept(ctx, root, b.records)
	if err != nil {
		return err
	}
	c, err := hired(ctx, o, b.records)
	if err != nil {
		return err
	}
	taken, bare := map[string]spans{}, map[string]spans{}
	var weights []figure
	for range b.runs {
		cookie, w, err := b.visit(ctx, o, c, pages, taken)
		if err != nil {
			return err
		}
		weights = w
		if err := b.call(ctx, o, cookie, c, pages, bare); err != nil {
			return err
		}
	}
	var list []figure
	for _, p := range pages {
		list = append(list, pageFigures(p, taken, bare[p.name])...)
	}
	list = append(list, withinBudget("signing in with a password, one after the other", signInBudget, taken[signingIn]))
	return b.write(os.Stdout, append(list, weights...))
}

// namedInTheirLines fails unless each page has a line that names its operations.
func namedInTheirLines(pages []measuredPage) error {
	for _, p := range pages {
		i := slices.IndexFunc(app.Pages, func(l shell.Page) bool { return l.Method+" "+l.Path == p.line })
		if i < 0 {
			return fmt.Errorf("there is no page %s", p.line)
		}
		for _, c := range p.calls {
			if c.o != whoAmI.o && !app.Pages[i].Uses.Has(c.o) {
				return fmt.Errorf("the line of %s does not name %s", p.line, c.o.About().ID)
			}
		}
	}
	return nil
}

// clerk is a member of the office with an account, and the records that its pages show.
type clerk struct {
	email, password string
	users           []string
	// ids are the ids of records, by family.
	ids map[string][]string
}

// hired fills the office if necessary, and gives a member an account with a password.
func hired(ctx context.Context, o *office, n int) (c clerk, err error) {
	d, f, err := found(ctx, o.url, db.Options{})
	if err != nil {
		return c, err
	}
	defer d.Close()
	if err := f.furnish(ctx, n/10); err != nil {
		return c, err
	}
	if err := f.called(ctx, loggedCalls); err != nil {
		return c, err
	}
	if c, err = f.hire(ctx); err != nil {
		return c, err
	}
	c.ids = map[string][]string{"contacts": o.ids}
	return c, d.Read(ctx, func(tx db.Tx) (err error) {
		for _, family := range []string{"companies", "tasks", "documents"} {
			c.ids[family], err = db.List(ctx, tx,
				func(row db.Row) (id string, err error) { err = row.Scan(&id); return id, err },
				"select id from "+family+" where organization = $1 order by id limit 400", f.actor.Org())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// hire gives a member an account with a password.
func (f *founder) hire(ctx context.Context) (c clerk, err error) {
	now := clock.Now(clock.System)
	c = clerk{email: fmt.Sprintf("bench-%d@example.com", now), password: rand.Text(), users: f.office.Users}
	hash, err := signin.NewHasher().Hash(ctx, c.password)
	if err != nil {
		return c, err
	}
	return c, f.db.Write(ctx, func(tx db.Tx) error {
		name, err := account.Create(ctx, tx, now, c.email)
		if err != nil {
			return err
		}
		// the sessions of the account of an earlier run, which is nobody's now
		if _, err = tx.Exec(ctx, `delete from sessions where principal_id = $1`, c.users[1]); err != nil {
			return err
		}
		if err = principal.Join(ctx, tx, c.users[1], name); err != nil {
			return err
		}
		return account.Provide(ctx, tx, now, c.users[1], c.email, hash)
	})
}

// loggedCalls is the number of calls in the log, for the pages about interfaces.
const loggedCalls = 200_000

// called fills the request log with n calls of the member's key over 30 days, as far as
// they are missing: one in fifty is refused.
func (f *founder) called(ctx context.Context, n int) error {
	var have int
	if err := f.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from request_log where organization = $1`, f.actor.Org()).Scan(&have)
	}); err != nil || have >= n {
		return err
	}
	log := requestlog.New(f.db, clock.System)
	defer log.Close(context.WithoutCancel(ctx))
	now, span := clock.Now(clock.System), 30*24*time.Hour
	for i := have; i < n; i++ {
		e := requestlog.Entry{
			At: now.Add(-span + span*time.Duration(i)/time.Duration(n)), RequestID: id.New(id.Request),
			Organization: f.actor.Org(),
			KeyID:        f.actor.Credential().ID, KidShort: "bench", PrincipalID: f.actor.PrincipalID(),
			Operation: "contacts.get", Method: "GET",
			Status: http.StatusOK, Duration: time.Duration(i%100) * time.Millisecond,
			Address: netip.MustParseAddr("127.0.0.1"), Version: release.Versions[0].Name, Door: "rest", Points: 1, Records: 1,
		}
		if i%50 == 0 {
			e.Status, e.Code, e.Reason, e.Records = http.StatusUnauthorized, string(fault.Unauthenticated), "address", 0
		}
		log.Add(e)
		if i%(requestlog.Waiting/4) == 0 {
			if err := log.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return log.Flush(ctx)
}

// visit measures the pages, and what a browser loads.
func (b *bench) visit(
	ctx context.Context, o *office, c clerk, pages []measuredPage, taken map[string]spans,
) (cookie string, weights []figure, err error) {
	s, err := serve(ctx, b.program, o.dir, o.url, b.profile != "")
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	first := &visitor{base: "http://" + s.address, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: pageClients},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for range signIns {
		first.cookie = ""
		begin := time.Now()
		if err := first.signIn(ctx, c.email, c.password); err != nil {
			return "", nil, err
		}
		taken[signingIn] = append(taken[signingIn], time.Since(begin))
	}
	for _, p := range pages {
		if b.profile != "" {
			if err := s.profile(filepath.Join(b.profile, strings.ReplaceAll(p.name, " ", "-")+".pprof")); err != nil {
				return "", nil, err
			}
		}
		for _, group := range []struct {
			name    string
			clients int
		}{{p.name, pageClients}, {p.name + few, fewClients}} {
			some, err := side(ctx, group.clients, b.seconds, func(client, i int) (time.Duration, error) {
				v := *first
				v.record = p.record(c.ids, i*group.clients+client)
				return v.page(ctx, p)
			})
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", p.name, err)
			}
			taken[group.name] = append(taken[group.name], some...)
		}
		if b.profile != "" {
			if err := s.profile(""); err != nil {
				return "", nil, err
			}
		}
	}
	_, token, _ := strings.Cut(first.cookie, "=")
	weights, err = first.weigh(ctx, o.ids[0])
	return token, weights, err
}

// call measures the operations of the pages.
func (b *bench) call(
	ctx context.Context, o *office, token string, c clerk, pages []measuredPage, bare map[string]spans,
) error {
	store, f, err := found(ctx, o.url, db.Options{})
	if err != nil {
		return err
	}
	d := &desk{db: store, cookie: api.Cookie(token, true)}
	defer d.end()
	key, err := masterkey.Load(filepath.Join(o.dir, "master.key")) // the server made it
	if err != nil {
		return err
	}
	if err := d.open(f, masterkey.Ring{Current: key}.Vault(replay.Purpose)); err != nil {
		return err
	}
	for _, p := range pages {
		answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := &visitor{record: r.URL.Query().Get("record"), users: c.users, api: d.api}
			if err := v.operations(r.Context(), w, d, p, r.Header["If-Match"]); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}))
		caller := &visitor{
			base:   answers.URL,
			client: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: pageClients}},
		}
		some, err := side(ctx, pageClients, b.seconds, func(client, i int) (time.Duration, error) {
			return caller.ask(ctx, d, p.record(c.ids, i*pageClients+client), p)
		})
		answers.Close()
		if err != nil {
			return fmt.Errorf("operations of %s: %w", p.name, err)
		}
		bare[p.name] = append(bare[p.name], some...)
	}
	return nil
}

// spans are the times of answers.
type spans []time.Duration

// few marks the times of a page with fewClients.
const few = ", two browsers"

// side runs a function by several clients at the same time, after a warm-up.
func side(
	ctx context.Context, clients int, seconds float64, do func(client, i int) (time.Duration, error),
) (all spans, err error) {
	begin := time.Now().Add(warmUp)
	end := begin.Add(time.Duration(seconds * float64(time.Second)))
	var mu sync.Mutex
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
				took, failed := do(client, i)
				mu.Lock()
				if failed != nil {
					err = failed
				} else if time.Now().After(begin) {
					all = append(all, took)
				}
				stop := err != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	running.Wait()
	if err != nil {
		return all, errors.Join(err, ctx.Err())
	}
	if len(all) == 0 {
		err = errors.New("no answer in time")
	}
	return all, errors.Join(err, ctx.Err())
}

var (
	fieldTags = regexp.MustCompile(`<input [^>]*>`)
	tagNames  = regexp.MustCompile(` (name|value|type)="([^"]*)"`)
	assetTags = regexp.MustCompile(`(?:href|src)="(/static/[^"]*)"`)
)

// request sends a request as a browser does, and returns the answer and its body as it
// went over the wire.
func (v *visitor) request(
	ctx context.Context, method, path string, form url.Values, packed bool,
) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if packed {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	if v.cookie != "" {
		r.Header.Set("Cookie", v.cookie)
	}
	answer, err := v.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, body, err
}

// signIn sends the form that signs in.
func (v *visitor) signIn(ctx context.Context, email, password string) error {
	_, body, err := v.request(ctx, "GET", "/signin", nil, false)
	if err != nil {
		return err
	}
	form := hidden(string(body), "/signin")
	form.Set("email", email)
	form.Set("password", password)
	answer, body, err := v.request(ctx, "POST", "/signin", form, false)
	if err != nil {
		return err
	}
	for _, c := range answer.Cookies() {
		if strings.Contains(c.Name, "kartei") && !strings.HasSuffix(c.Name, "-device") && c.Value != "" {
			v.cookie = c.Name + "=" + c.Value
		}
	}
	if v.cookie == "" {
		return fmt.Errorf("signing in: %s: %s", answer.Status, body)
	}
	return nil
}

// hidden returns the fields with a value of the form for an address.
func hidden(page, action string) url.Values {
	_, form, _ := strings.Cut(page, `action="`+action+`"`)
	form, _, _ = strings.Cut(form, "</form>")
	values := url.Values{}
	for _, tag := range fieldTags.FindAllString(form, -1) {
		a := map[string]string{}
		for _, m := range tagNames.FindAllStringSubmatch(tag, -1) {
			a[m[1]] = html.UnescapeString(m[2])
		}
		if a["name"] != "" && a["type"] != "checkbox" && a["type"] != "radio" {
			values.Set(a["name"], a["value"])
		}
	}
	return values
}

// page asks for a page and returns the time of its answer. A form is read before, which
// is not counted.
func (v *visitor) page(ctx context.Context, p measuredPage) (time.Duration, error) {
	method, path, _ := strings.Cut(p.line, " ")
	path = strings.Replace(path, "{id}", v.record, 1) + p.query
	if !strings.HasPrefix(path, "/settings") { // which show both environments
		path = "/sandbox" + path
	}
	var form url.Values
	want := http.StatusOK
	if method == "POST" {
		_, body, err := v.request(ctx, "GET", path+"/edit", nil, false)
		if err != nil {
			return 0, err
		}
		form, want = hidden(string(body), path), http.StatusSeeOther
		form.Set("jobTitle", "Nr. "+strconv.FormatInt(time.Now().UnixNano(), 36))
	}
	begin := time.Now()
	answer, body, err := v.request(ctx, method, path, form, true)
	took := time.Since(begin)
	if err != nil {
		return took, err
	}
	if answer.StatusCode != want {
		return took, fmt.Errorf("%s %s: %s, %d bytes", method, path, answer.Status, len(body))
	}
	return took, nil
}

// ask asks for the operations of a page about a record, and returns the time of the
// answer. The revision of a change is read before, which is not counted.
func (v *visitor) ask(ctx context.Context, d *desk, record string, p measuredPage) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/?record="+record, http.NoBody)
	if err != nil {
		return 0, err
	}
	if strings.HasPrefix(p.line, "POST") {
		read, err := api.Send(ctx, d.api, d.caller(nil), contact.Get, api.Arguments{ID: record})
		if err != nil {
			return 0, err
		}
		r.Header["If-Match"] = read.Header["ETag"]
	}
	begin := time.Now()
	answer, err := v.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	took := time.Since(begin)
	if err != nil {
		return took, err
	}
	if answer.StatusCode != http.StatusOK {
		return took, fmt.Errorf("%s: %s", answer.Status, body)
	}
	return took, nil
}

// caller returns a caller with the cookie of the desk, for a change of the record with
// an ETag.
func (d *desk) caller(match []string) api.Caller {
	header := map[string][]string{"Accept-Language": {"de"}}
	if match != nil {
		header["If-Match"], header["Idempotency-Key"] = match, []string{rand.Text()}
	}
	return api.Caller{Door: api.Web, Credential: d.cookie, Address: netip.MustParseAddr("127.0.0.1"), Header: header}
}

// operations makes the calls of a page one after the other, and writes their answers,
// compressed.
func (v *visitor) operations(
	ctx context.Context, w http.ResponseWriter, d *desk, p measuredPage, match []string,
) error {
	w.Header().Set("Content-Encoding", "gzip")
	packed := gzip.NewWriter(w)
	for _, c := range p.calls {
		with, by := api.Arguments{ID: v.record, Body: map[string]any{"jobTitle": rand.Text()}}, d.caller(match)
		if c.with != nil {
			with, by = c.with(v), d.caller(nil)
		}
		r, err := api.Send(ctx, v.api, by, c.o, with)
		if err != nil {
			return err
		}
		if r.Status >= 300 {
			return fmt.Errorf("%s: %d %s", c.o.About().ID, r.Status, r.Body)
		}
		if _, err = packed.Write(r.Body); err != nil {
			return err
		}
	}
	return packed.Close()
}

// weigh returns what a browser loads at its first visit, and at the next page.
func (v *visitor) weigh(ctx context.Context, contact string) ([]figure, error) {
	_, page, err := v.request(ctx, "GET", "/sandbox/contacts", nil, false)
	if err != nil {
		return nil, err
	}
	addresses := []string{"/sandbox/contacts"}
	for _, m := range assetTags.FindAllStringSubmatch(string(page), -1) {
		if !slices.Contains(addresses, m[1]) {
			addresses = append(addresses, m[1])
		}
	}
	sum := func(addresses []string) (n float64, err error) {
		for _, a := range addresses {
			answer, body, err := v.request(ctx, "GET", a, nil, true)
			if err != nil || answer.StatusCode != http.StatusOK {
				return 0, errors.Join(err, fmt.Errorf("%s: %v", a, answer))
			}
			n += float64(len(body)) / 1000
		}
		return n, nil
	}
	first, err := sum(addresses)
	if err != nil {
		return nil, err
	}
	next, err := sum([]string{"/sandbox/contacts/" + contact})
	kb := func(what string, n, limit float64) figure {
		return figure{
			What: what, Goal: fmt.Sprintf("≤ %.0f KB", limit), Measured: fmt.Sprintf("%.1f KB", n),
			Value: n / limit, Reached: n <= limit,
		}
	}
	return []figure{
		kb("bytes of the first visit, compressed", first, firstVisit),
		kb("bytes of the next page", next, nextVisit),
	}, err
}

// pageFigures returns the rows about a page: against its operations, and its budget.
func pageFigures(p measuredPage, taken map[string]spans, bare spans) []figure {
	all := taken[p.name]
	slices.Sort(all)
	slices.Sort(bare)
	ratio := all.rate() / bare.rate()
	list := []figure{{
		What: p.name, Goal: fmt.Sprintf("≤ %d %%", maxCallRatio*100),
		Measured: fmt.Sprintf("%s/s (p95 %.2f ms)", number(all.rate()), all.at(0.95)),
		Limit:    fmt.Sprintf("%d operations: %s/s (p95 %.2f ms)", len(p.calls), number(bare.rate()), bare.at(0.95)),
		Value:    1 / ratio, Reached: 1/ratio <= maxCallRatio,
	}}
	if p.limit > 0 {
		list = append(list, withinBudget(p.name+few, p.limit, taken[p.name+few]))
	}
	return list
}

// withinBudget returns the row about the time that 95 of 100 answers stay below.
func withinBudget(name string, limit float64, taken spans) figure {
	slices.Sort(taken)
	p95 := taken.at(0.95)
	return figure{
		What: name + ", p95", Goal: fmt.Sprintf("< %.0f ms", limit),
		Measured: fmt.Sprintf("%.2f ms (p50 %.2f ms)", p95, taken.at(0.5)),
		Value:    p95 / limit, Reached: p95 < limit,
	}
}

// rate returns the answers in a second by all clients.
func (s spans) rate() float64 {
	var sum time.Duration
	for _, t := range s {
		sum += t
	}
	return float64(len(s)*pageClients) / max(sum.Seconds(), 1e-9)
}

// at returns a quantile of the times in milliseconds, for example the median for 0.5. The
// spans must be sorted.
func (s spans) at(share float64) float64 {
	return float64(s[int(share*float64(len(s)-1))].Microseconds()) / 1000
}
