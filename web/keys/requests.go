package keys

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/web/shell"
	"kartei/web/ui"
)

// loggedCall is a call of the request log, with the texts for its pages.
type loggedCall requestlog.Line

// good reports whether the call succeeded.
func (c *loggedCall) good() bool { return c.Status < http.StatusBadRequest }

// title returns the operation, or else the method if the API has no such path.
func (c *loggedCall) title() string { return cmp.Or(c.Operation, c.Method) }

// outcome returns the status, and the error code if there is one.
func (c *loggedCall) outcome() string { return shell.Joined(" ", strconv.Itoa(c.Status), c.Code) }

// took returns the duration of the call on the server.
func (c *loggedCall) took(v *shell.Request) string {
	return v.Words.Decimal(float64(c.DurationMicros)/1000, 1) + " ms"
}

// older returns the time before which the next page of calls begins. It is zero if there are no
// more calls.
func older(found *requestlog.QueryOutput) clock.Micros {
	switch {
	case !found.HasMore:
		return 0
	case found.Through != 0:
		return found.Through
	}
	return found.Data[len(found.Data)-1].Time
}

// requestsPage has the data of the list of calls.
type requestsPage struct {
	found requestlog.QueryOutput
	keys  []key.Info
	// applications has the names of applications by the ids of their grants.
	applications map[string]string
	// filter has the query parameters that filter the list.
	filter url.Values
	period shell.Period
	pages  ui.Pages
	// follows says that the page shows new calls as they arrive.
	follows bool
}

const requestsShown = 50

// requestFilters are the names of the query parameters that filter the list.
var requestFilters = append([]string{"key", "status", "operation", "reason"}, shell.PeriodFilters...)

// statuses are the options of the filter by status: classes, and single statuses that the API uses.
var statuses = []shell.Option{
	shell.NewOption("", "all results"),
	shell.NewOption("2xx", "successful (2xx)"),
	shell.NewOption("4xx", "refused (4xx)"),
	shell.NewOption("400", "invalid request (400)"),
	shell.NewOption("401", "access refused (401)"),
	shell.NewOption("403", "right missing (403)"),
	shell.NewOption("404", "not found (404)"),
	shell.NewOption("409", "conflict (409)"),
	shell.NewOption("412", "changed meanwhile (412)"),
	shell.NewOption("413", "too large (413)"),
	shell.NewOption("415", "unknown format (415)"),
	shell.NewOption("422", "invalid field (422)"),
	shell.NewOption("428", "condition missing (428)"),
	shell.NewOption("429", "too many (429)"),
	shell.NewOption("5xx", "faults of the server (5xx)"),
	shell.NewOption("503", "not available (503)"),
}

// isStatus matches a status or a class of statuses.
var isStatus = regexp.MustCompile(`^[1-5](xx|\d\d)$`)

// statusOptions returns the options of the filter by status. It adds the chosen status if the
// options lack it.
func statusOptions(v *shell.Request, chosen string) []ui.Option {
	list := shell.OptionList(v, statuses)
	if chosen != "" && shell.Offered(statuses, chosen) == "" {
		list = append(list, ui.Option{Value: chosen, Text: chosen})
	}
	return list
}

// periods are the options of the filter by time.
var periods = []shell.Option{
	shell.NewOption("", "30 days"),
	shell.NewOption("1h", "last hour"),
	shell.NewOption("24h", "last 24 hours"),
	shell.NewOption("168h", "last 7 days"),
}

// reasonOptions returns the options of the filter by reason, sorted by their texts.
func reasonOptions(v *shell.Request) []ui.Option {
	list := []ui.Option{}
	for reason, text := range reasons {
		list = append(list, ui.Option{Value: reason, Text: v.Words.Say(text)})
	}
	slices.SortFunc(list, func(a, b ui.Option) int { return strings.Compare(a.Text, b.Text) })
	return append([]ui.Option{{Text: v.Words.Say("all reasons")}}, list...)
}

// showRequests serves the request log.
func showRequests(v *shell.Request) shell.View {
	q := v.URL.Query()
	if id := strings.TrimSpace(q.Get("id")); id != "" {
		return shell.Redirect{To: shell.RequestsPath + "/" + url.PathEscape(id)}
	}
	p := requestsPage{filter: url.Values{}, follows: Follows(v)}
	if !isStatus.MatchString(q.Get("status")) {
		q.Del("status")
	}
	p.period = v.PeriodIn(q, periods)
	if _, known := reasons[q.Get("reason")]; !known {
		q.Del("reason")
	}
	for _, name := range requestFilters {
		if value := strings.TrimSpace(q.Get(name)); value != "" {
			p.filter.Set(name, value)
		}
	}
	in := requestlog.QueryInput{
		Key: p.filter.Get("key"), Status: p.filter.Get("status"), Operation: p.filter.Get("operation"), Reason: p.filter.Get("reason"),
		Door: requestlog.Programs, Limit: requestsShown, Since: p.period.Since, Until: p.period.Until,
	}
	if before, err := clock.Parse(q.Get("until")); err == nil && (p.period.Until == 0 || before < p.period.Until) {
		in.Until = before
		p.pages.Newer = ui.Own(p.at("until", ""))
	}
	err := shell.Together(
		func() (err error) { p.found, err = shell.Ask(v, requestlog.List, in); return err },
		func() error {
			found, err := shell.Ask(v, key.List, offeredKeys)
			p.keys = found.Data
			return err
		},
	)
	if fault.Is(err, fault.NotFound) { // no such key, or another person's
		return shell.Redirect{To: shell.RequestsPath}
	}
	if err != nil {
		return v.Failed(err)
	}
	applications := []string{}
	for i := range p.found.Data {
		if c := (*loggedCall)(&p.found.Data[i]); c.byApplication() {
			applications = append(applications, c.KeyID)
		}
	}
	p.applications = map[string]string{}
	if err := v.NamesOf(applications, p.applications); err != nil {
		return v.Failed(err)
	}
	if before := older(&p.found); before != 0 {
		p.pages.Older = ui.Own(p.at("until", before.String()))
	}
	return v.Settings(shell.RequestsPath, requestsTitle(v), requestsView(v, p))
}

// offeredKeys is the query for the keys that the filter offers.
var offeredKeys = key.FindInput{Page: op.Page{Limit: 200}}

func requestsTitle(v *shell.Request) string { return v.Words.Say("API calls") }

// Follows reports whether the page shows new calls as they arrive. A page of calls before some time
// does not.
func Follows(v *shell.Request) bool {
	q := v.URL.Query()
	return v.Page.Path == shell.RequestsPath && q.Has("follow") && !q.Has("until")
}

// at returns the address of the list with its filters and one more parameter.
func (p *requestsPage) at(name, value string) string {
	q := maps.Clone(p.filter)
	if value != "" {
		q.Set(name, value)
	}
	if len(q) == 0 {
		return shell.RequestsPath
	}
	return shell.RequestsPath + "?" + q.Encode()
}

// keyOptions returns the options of a filter by key.
func keyOptions(v *shell.Request, keys []key.Info) []ui.Option {
	list := []ui.Option{{Text: v.Words.Say("all keys")}}
	for i := range keys {
		k := (*KeyInfo)(&keys[i])
		list = append(list, ui.Option{Value: k.ID, Text: shell.Joined(" · ", k.Title(), k.Environment)})
	}
	return list
}

// title returns the name of the key or application that made the call.
func (p *requestsPage) title(c *loggedCall) string {
	if c.byApplication() {
		return p.applications[c.KeyID]
	}
	if i := slices.IndexFunc(p.keys, func(k key.Info) bool { return k.ID == c.KeyID }); i >= 0 {
		return (*KeyInfo)(&p.keys[i]).Title()
	}
	return c.KidShort
}

// requestPage has the data of the page of one call.
type requestPage struct {
	call loggedCall
	// parts are the calls of a batch.
	parts []requestlog.Line
	// key is the name of the key. It is empty if the person cannot open the key's page. application
	// is the name of the application, if an application made the call.
	key, application, owner string
	// made says who created the key.
	made    string
	keyInfo KeyInfo
	// chain has the changes that the call made.
	chain []callChange
}

// showRequest serves the page of a call.
func showRequest(v *shell.Request) shell.View {
	id, names := v.PathValue("id"), map[string]string{}
	answer, err := shell.Ask(v, requestlog.List, requestlog.QueryInput{Request: id, Limit: requestsShown})
	found := answer.Data
	if fault.Is(err, fault.InvalidRequest) || err == nil && len(found) == 0 {
		return v.Settings(shell.RequestsPath, v.Words.Say("No such call"), noRequestView(v)).WithStatus(http.StatusNotFound)
	}
	if err != nil {
		return v.Failed(err)
	}
	var p requestPage
	for _, c := range found {
		if c.RequestID == id {
			p.call = loggedCall(c)
		} else {
			p.parts = append(p.parts, c)
		}
	}
	if p.call.RequestID == "" { // the log has only the parts of the batch
		p.call, p.parts = loggedCall(found[0]), found[1:]
	}
	if p.call.KeyID != "" && strings.HasPrefix(p.call.KeyID, "key_") {
		k, err := shell.Ask(v, key.Get, op.ByID{ID: p.call.KeyID})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return v.Failed(err)
		}
		if k.ID != "" {
			p.keyInfo = KeyInfo(k)
			p.key = p.keyInfo.Title()
		}
	}
	if err := v.NamesOf(append(shell.Present(p.keyInfo.MadeBy), p.call.PrincipalID, p.call.KeyID), names); err != nil {
		return v.Failed(err)
	}
	if p.key != "" {
		p.made = p.keyInfo.madeBy(v, names)
	}
	p.owner, p.application = names[p.call.PrincipalID], names[p.call.KeyID]
	if p.chain, err = readChain(v, &p.call); err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.RequestsPath, p.call.title(), requestView(v, p))
}
