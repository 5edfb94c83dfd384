// Package pages owns what pages of the web application cost beside their operations, and finding beside the lists.
package pages

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	"kartei/bench/browser"
	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/integration/event"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/account"
	"kartei/people/notify"
	"kartei/people/principal"
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
	// pageClients is the number of browsers that request pages at the same time, without pauses.
	// They keep both processors of a small machine busy.
	pageClients = 4
	// fewClients is the number of browsers when the budgets are measured. They request some 250
	// pages a second. Fifty people who each open a page every five seconds request 10.
	fewClients = 2
	// maxCallRatio is the maximum ratio of the time of a page and the time of its operations.
	maxCallRatio = 3
	// signIns is the number of sign-ins that are measured. signInBudget is the maximum 95th
	// percentile of their times in milliseconds. signingIn is the name of the sign-in among the
	// pages.
	signIns, signInBudget = 10, 250
	signingIn             = "sign-in"
	// firstVisit and nextVisit are the maximum numbers of transferred bytes, in KB.
	firstVisit, nextVisit = 56, 12
)

// page is a page of the web application with the operations that it calls.
type page struct {
	name string
	// line is the method and path of the page in app.Pages.
	line string
	// query is appended to the path.
	query string
	// limit is the maximum 95th percentile of response times in milliseconds. Zero means no limit.
	limit float64
	// calls are the operations that the page calls, with their arguments.
	calls []call
}

type call struct {
	o    op.Any
	with func(*caller) api.Arguments
}

// measured are the pages that people of an office use in a day, and the pages of a person who
// manages API keys and webhooks.
var measured = []page{
	{
		"today",
		"GET /",
		"",
		0,
		[]call{
			whoAmI,
			{task.List, asks("status", "open", "sort", "dueAt", "limit", "21", "assigneeId", me)},
			{lookup.Recent, recent},
			{lookup.Changes, sinceMidnight},
			colleagues,
		},
	},
	{
		"contacts by name",
		"GET /contacts",
		"",
		20,
		[]call{whoAmI, {contact.List, asks("limit", "50", "sort", "name")}, {contact.Count, asks()}, colleagues},
	},
	{
		"contacts by change",
		"GET /contacts",
		"?sort=-updatedAt",
		20,
		[]call{whoAmI, {contact.List, asks("limit", "50", "sort", "-updatedAt")}, {contact.Count, asks()}, colleagues},
	},
	{"contact", "GET /contacts/{id}", "", 20,
		[]call{whoAmI, {contact.Get, one}, {contact.List, asks("limit", "50", "sort", "name")},
			{contact.Count, asks()}, colleagues,
			{lookup.History, about}, {task.List, asks("contactId", it, "sort", "dueAt", "limit", "10", "status", "open")},
			{documents.List, asks("contactId", it, "sort", "name", "limit", "10")}}},
	{"search while one types", "GET /search", "?part=hits&q=m%C3%BCll", 50, []call{whoAmI, {lookup.Find, finds(5)}}},
	{"search", "GET /search", "?q=m%C3%BCll", 0, []call{whoAmI, {lookup.Find, finds(20)}}},
	{"form", "GET /contacts/{id}/edit", "", 20, []call{whoAmI, {contact.Get, one}, colleagues}},
	{"save", "POST /contacts/{id}", "", 30, []call{whoAmI, {contact.Update, nil}}},
	{
		"companies",
		"GET /companies",
		"",
		20,
		[]call{whoAmI, {company.List, asks("limit", "50", "sort", "name")}, {company.Count, asks()}, colleagues},
	},
	{"tasks", "GET /tasks", "", 20, []call{whoAmI,
		{task.List, asks("limit", "50", "sort", "dueAt", "status", "open", "assigneeId", me)},
		{task.Count, asks("status", "open", "assigneeId", me)}, {task.Count, asks("status", "open", "assigneeId", me)},
		{task.Count, asks("status", "open")}, {task.Count, asks("status", "completed")}}},
	{
		"documents",
		"GET /documents",
		"",
		20,
		[]call{whoAmI, {documents.List, asks("limit", "50", "sort", "name")}, {documents.Count, asks()}, colleagues},
	},
	{"new contact", "GET /contacts/new", "", 0, []call{whoAmI, colleagues}},
	{"company", "GET /companies/{id}", "", 20,
		[]call{whoAmI, {company.Get, one}, {company.List, asks("limit", "50", "sort", "name")},
			{company.Count, asks()}, colleagues,
			{lookup.History, about}, {contact.List, asks("companyId", it, "sort", "name", "limit", "10")},
			{task.List, asks("companyId", it, "sort", "dueAt", "limit", "10", "status", "open")},
			{documents.List, asks("companyId", it, "sort", "name", "limit", "10")}}},
	{
		"task",
		"GET /tasks/{id}",
		"",
		20,
		[]call{
			whoAmI,
			{task.Get, one},
			colleagues,
			{lookup.History, about},
			{documents.List, asks("taskId", it, "sort", "name", "limit", "10")},
		},
	},
	{"a call comes in", "GET /call", "?number=0151+23456789", 50, []call{whoAmI, {lookup.Find, callsFrom}}},
	{
		"bell",
		"GET /bell",
		"",
		0,
		[]call{whoAmI, {notify.ListBell, func(*caller) api.Arguments { return api.Arguments{} }}},
	},
	{"settings: API keys", "GET /settings/interfaces/keys", "", 20, []call{whoAmI, {key.List, body("limit", 20)}}},
	{
		"settings: form of a key",
		"GET /settings/interfaces/keys/new",
		"",
		20,
		[]call{whoAmI, {key.GetTerms, body()}, {contact.Count, asks()}},
	},
	{
		"settings: request log",
		"GET /settings/interfaces/requests",
		"",
		20,
		[]call{whoAmI, {requestlog.List, body("door", "programs", "limit", 50)}, {key.List, body("limit", 200)}},
	},
	{
		"settings: refused calls",
		"GET /settings/interfaces/requests",
		"?status=401",
		20,
		[]call{
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
		[]call{whoAmI, {usage.Get, body("days", 30)}, {key.List, body("limit", 200)}},
	},
	{
		"settings: events",
		"GET /settings/interfaces/events",
		"?env=test",
		20,
		[]call{whoAmI, {event.Read, body("limit", 50)}, colleagues},
	},
	{"settings: people", "GET /settings/people", "", 20, []call{whoAmI, {principal.FindNames, body("limit", 50)}}},
}

// body returns a function for the arguments of a call with a body. pairs are the names and values
// of its members.
func body(pairs ...any) func(*caller) api.Arguments {
	members := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		members[pairs[i].(string)] = pairs[i+1]
	}
	return func(*caller) api.Arguments { return api.Arguments{Body: members} }
}

// me and it are placeholders for the visitor and the record of the page.
const me, it = "{me}", "{it}"

var (
	whoAmI     = call{account.GetSession, func(*caller) api.Arguments { return api.Arguments{} }}
	colleagues = call{
		principal.ResolveNames,
		func(v *caller) api.Arguments { return api.Arguments{Body: map[string]any{"ids": v.users}} },
	}
	one   = func(v *caller) api.Arguments { return api.Arguments{ID: v.record} }
	about = func(v *caller) api.Arguments {
		return api.Arguments{Body: map[string]any{"id": v.record, "limit": 10}}
	}
)

func recent(*caller) api.Arguments { return api.Arguments{Body: map[string]any{"limit": 6}} }

func sinceMidnight(*caller) api.Arguments {
	y, m, d := time.Now().Date()
	return api.Arguments{
		Body: map[string]any{"since": clock.FromTime(time.Date(y, m, d, 0, 0, 0, 0, time.Local)).String(), "limit": 60},
	}
}

// asks returns a function for the arguments of a list or a count. pairs are the names and values of
// the query parameters.
func asks(pairs ...string) func(*caller) api.Arguments {
	return func(v *caller) api.Arguments {
		q := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], strings.NewReplacer(me, v.users[1], it, v.record).Replace(pairs[i+1]))
		}
		return api.Arguments{Query: q}
	}
}

func callsFrom(*caller) api.Arguments {
	return api.Arguments{Body: map[string]any{"q": "0151 23456789", "limit": 20}}
}

func finds(limit int) func(*caller) api.Arguments {
	return func(*caller) api.Arguments {
		return api.Arguments{Body: map[string]any{"q": "müll", "limit": limit, "counts": limit > 5}}
	}
}

// record returns the id of a record of the page's family. Each number n gives another record.
func (p page) record(ids map[string][]string, n int) string {
	_, path, _ := strings.Cut(p.line, " /")
	family, _, _ := strings.Cut(path, "/")
	list := ids[family]
	if len(list) == 0 {
		list = ids["contacts"]
	}
	return list[n%len(list)]
}

// caller is a browser that requests pages, or a caller of operations.
type caller struct {
	*browser.Visitor
	record string
	users  []string
	api    *api.API
}

// Measure compares pages of the web application with the operations that they call. The real
// program serves the pages, after a sign-in with the form. The operations are called afterwards in
// this process, with the same session. One HTTP response has the bodies of all operations of a
// page. All responses are compressed.
func Measure(ctx context.Context, b *measure.Bench) error {
	pages, err := measure.Choose(measured, func(p page) string { return p.name }, b.Only)
	if err != nil {
		return err
	}
	if err := namedInTheirLines(pages); err != nil {
		return err
	}
	root := filepath.Join(b.Data, "lookup") // the office that has records of all families
	o, stop, err := data.OpenKept(ctx, root, b.Records, b.Postgres)
	if err != nil {
		return err
	}
	defer stop()
	c, err := data.Hired(ctx, o, b.Records)
	if err != nil {
		return err
	}
	taken, bare := map[string]browser.Spans{}, map[string]browser.Spans{}
	var weights []report.Figure
	for range b.Runs {
		cookie, w, err := visit(ctx, b, o, c, pages, taken)
		if err != nil {
			return err
		}
		weights = w
		if err := callAll(ctx, b, o, cookie, c, pages, bare); err != nil {
			return err
		}
	}
	var list []report.Figure
	for _, p := range pages {
		list = append(list, pageFigures(p, taken, bare[p.name])...)
	}
	list = append(list, withinBudget("signing in with a password, one after the other", signInBudget, taken[signingIn]))
	return b.Write(os.Stdout, append(list, weights...))
}

// namedInTheirLines returns an error unless each page is in app.Pages and declares its operations
// there.
func namedInTheirLines(pages []page) error {
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

// visit measures the pages, and the bytes that a browser loads.
func visit(
	ctx context.Context, b *measure.Bench, o *data.Office, c data.Clerk, pages []page, taken map[string]browser.Spans,
) (cookie string, weights []report.Figure, err error) {
	at, err := b.Open(ctx, o)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, b.Close(at)) }()
	first := &caller{Visitor: browser.New("http://"+at.Address, pageClients)}
	for range signIns {
		first.Cookie = ""
		begin := time.Now()
		if err := first.SignIn(ctx, c.Email, c.Password); err != nil {
			return "", nil, err
		}
		taken[signingIn] = append(taken[signingIn], time.Since(begin))
	}
	for _, p := range pages {
		if b.Profile != "" {
			if err := at.Profile(filepath.Join(b.Profile, strings.ReplaceAll(p.name, " ", "-")+".pprof")); err != nil {
				return "", nil, err
			}
		}
		for _, group := range []struct {
			name    string
			clients int
		}{{p.name, pageClients}, {p.name + few, fewClients}} {
			some, err := side(ctx, group.clients, b.Seconds, func(client, i int) (time.Duration, error) {
				v := *first
				v.record = p.record(c.IDs, i*group.clients+client)
				return v.page(ctx, p)
			})
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", p.name, err)
			}
			taken[group.name] = append(taken[group.name], some...)
		}
		if b.Profile != "" {
			if err := at.Profile(""); err != nil {
				return "", nil, err
			}
		}
	}
	_, token, _ := strings.Cut(first.Cookie, "=")
	weights, err = first.weigh(ctx, o.IDs[0])
	return token, weights, err
}

// callAll measures the operations of the pages.
func callAll(
	ctx context.Context, b *measure.Bench, o *data.Office, token string, c data.Clerk, pages []page, bare map[string]browser.Spans,
) error {
	store, f, err := data.Found(ctx, o.URL, db.Options{})
	if err != nil {
		return err
	}
	d := &desk{db: store, cookie: api.Cookie(token, true)}
	defer d.end()
	key, err := masterkey.Load(filepath.Join(o.Dir, "master.key")) // the server created the master key
	if err != nil {
		return err
	}
	if err := d.open(f, masterkey.Ring{Current: key}.Vault(replay.Purpose)); err != nil {
		return err
	}
	for _, p := range pages {
		answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := &caller{record: r.URL.Query().Get("record"), users: c.Users, api: d.api}
			if err := v.operations(r.Context(), w, d, p, r.Header["If-Match"]); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}))
		asker := &caller{Visitor: browser.New(answers.URL, pageClients)}
		some, err := side(ctx, pageClients, b.Seconds, func(client, i int) (time.Duration, error) {
			return asker.ask(ctx, d, p.record(c.IDs, i*pageClients+client), p)
		})
		answers.Close()
		if err != nil {
			return fmt.Errorf("operations of %s: %w", p.name, err)
		}
		bare[p.name] = append(bare[p.name], some...)
	}
	return nil
}

// few is appended to the name of a page for its times with fewClients.
const few = ", two browsers"

// side calls a function in several clients at the same time. It returns the times after a warm-up.
func side(
	ctx context.Context, clients int, seconds float64, do func(client, i int) (time.Duration, error),
) (all browser.Spans, err error) {
	begin := time.Now().Add(load.WarmUp)
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
	assetTags = regexp.MustCompile(`(?:href|src)="(/static/[^"]*)"`)
)

// page requests a page and returns the time until the response. The time to load a form before is
// not counted.
func (v *caller) page(ctx context.Context, p page) (time.Duration, error) {
	method, path, _ := strings.Cut(p.line, " ")
	path = strings.Replace(path, "{id}", v.record, 1) + p.query
	if !strings.HasPrefix(path, "/settings") { // pages below /settings are for both environments
		path = "/sandbox" + path
	}
	var form url.Values
	want := http.StatusOK
	if method == "POST" {
		_, body, err := v.Request(ctx, "GET", path+"/edit", nil, false)
		if err != nil {
			return 0, err
		}
		form, want = browser.Hidden(string(body), path), http.StatusSeeOther
		form.Set("jobTitle", "Nr. "+strconv.FormatInt(time.Now().UnixNano(), 36))
	}
	begin := time.Now()
	answer, body, err := v.Request(ctx, method, path, form, true)
	took := time.Since(begin)
	if err != nil {
		return took, err
	}
	if answer.StatusCode != want {
		return took, fmt.Errorf("%s %s: %s, %d bytes", method, path, answer.Status, len(body))
	}
	return took, nil
}

// ask requests the operations of a page about a record, and returns the time until the response.
// The time to read a record's revision before a change is not counted.
func (v *caller) ask(ctx context.Context, d *desk, record string, p page) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.Base+"/?record="+record, http.NoBody)
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
	answer, err := v.Client.Do(r)
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

// caller returns an api.Caller with the cookie of the desk. match is the ETag for a change of a
// record, or nil.
func (d *desk) caller(match []string) api.Caller {
	header := map[string][]string{"Accept-Language": {"de"}}
	if match != nil {
		header["If-Match"], header["Idempotency-Key"] = match, []string{rand.Text()}
	}
	return api.Caller{Door: api.Web, Credential: d.cookie, Address: netip.MustParseAddr("127.0.0.1"), Header: header}
}

// operations makes the calls of a page one after another, and writes their compressed response
// bodies to w.
func (v *caller) operations(
	ctx context.Context, w http.ResponseWriter, d *desk, p page, match []string,
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

// weigh returns figures of the bytes that a browser loads at its first visit, and for the next
// page.
func (v *caller) weigh(ctx context.Context, contact string) ([]report.Figure, error) {
	_, page, err := v.Request(ctx, "GET", "/sandbox/contacts", nil, false)
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
			answer, body, err := v.Request(ctx, "GET", a, nil, true)
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
	kb := func(what string, n, limit float64) report.Figure {
		return report.Figure{
			What: what, Goal: fmt.Sprintf("≤ %.0f KB", limit), Measured: fmt.Sprintf("%.1f KB", n),
			Value: n / limit, Reached: n <= limit,
		}
	}
	return []report.Figure{
		kb("bytes of the first visit, compressed", first, firstVisit),
		kb("bytes of the next page", next, nextVisit),
	}, err
}

// pageFigures returns two kinds of figures of a page: its time in relation to the time of its
// operations alone, and its use of its budget.
func pageFigures(p page, taken map[string]browser.Spans, bare browser.Spans) []report.Figure {
	all := taken[p.name]
	slices.Sort(all)
	slices.Sort(bare)
	ratio := throughput(all) / throughput(bare)
	list := []report.Figure{{
		What: p.name, Goal: fmt.Sprintf("≤ %d %%", maxCallRatio*100),
		Measured: fmt.Sprintf("%s/s (p95 %.2f ms)", report.Number(throughput(all)), all.At(0.95)),
		Limit:    fmt.Sprintf("%d operations: %s/s (p95 %.2f ms)", len(p.calls), report.Number(throughput(bare)), bare.At(0.95)),
		Value:    1 / ratio, Reached: 1/ratio <= maxCallRatio,
	}}
	if p.limit > 0 {
		list = append(list, withinBudget(p.name+few, p.limit, taken[p.name+few]))
	}
	return list
}

// withinBudget returns the figure of a 95th percentile, which must be below limit milliseconds.
func withinBudget(name string, limit float64, taken browser.Spans) report.Figure {
	slices.Sort(taken)
	p95 := taken.At(0.95)
	return report.Figure{
		What: name + ", p95", Goal: fmt.Sprintf("< %.0f ms", limit),
		Measured: fmt.Sprintf("%.2f ms (p50 %.2f ms)", p95, taken.At(0.5)),
		Value:    p95 / limit, Reached: p95 < limit,
	}
}

// throughput returns the responses per second of all clients together.
func throughput(s browser.Spans) float64 {
	var sum time.Duration
	for _, t := range s {
		sum += t
	}
	return float64(len(s)*pageClients) / max(sum.Seconds(), 1e-9)
}
