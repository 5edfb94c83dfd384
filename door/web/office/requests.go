package office

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kartei/api"
	"kartei/door/web/look"
	"kartei/kit/clock"
	"kartei/kit/fault"
)

// requestsPath is the page of the request log: a person sees the calls of their own keys,
// an admin all of the organization and of its sandbox.
const requestsPath = "/settings/interfaces/requests"

// loggedCall is a call as requests.list returns it.
type loggedCall struct {
	Time           clock.Micros `json:"time"`
	RequestID      string       `json:"requestId"`
	KeyID          string       `json:"keyId"`
	KidShort       string       `json:"kidShort"`
	PrincipalID    string       `json:"principalId"`
	Operation      string       `json:"operation"`
	Method         string       `json:"method"`
	Status         int          `json:"status"`
	Code           string       `json:"code"`
	DurationMicros int64        `json:"durationMicros"`
	Address        string       `json:"address"`
	Reason         string       `json:"reason"`
	Version        string       `json:"version"`
	Batch          string       `json:"batch"`
}

// good reports whether the call succeeded.
func (c *loggedCall) good() bool { return c.Status < http.StatusBadRequest }

// title is the operation, or the method of a path that the API does not have.
func (c *loggedCall) title() string { return first(c.Operation, c.Method) }

// outcome is the status, and the code of a problem.
func (c *loggedCall) outcome() string { return joined(" ", strconv.Itoa(c.Status), c.Code) }

// took says how long the server took.
func (c *loggedCall) took(v *request) string {
	return v.words.Decimal(float64(c.DurationMicros)/1000, 1) + " ms"
}

// calls returns calls of the request log, the newest first, and whether there are more.
func (v *request) calls(filter map[string]any) ([]loggedCall, bool, error) {
	found, err := ask[struct {
		Data    []loggedCall `json:"data"`
		HasMore bool         `json:"hasMore"`
	}](v, "requests.list", arguments{body: filter})
	return found.Data, found.HasMore, err
}

// requestsPage is the list of calls with its filters.
type requestsPage struct {
	calls       []loggedCall
	keys        []keyInfo
	key, status string
	pages       look.Pages
}

const requestsShown = 50

// statuses are the choices of the filter.
var statuses = []option{
	{"", text("alle Ergebnisse", "all results")},
	{"2xx", text("erfolgreich (2xx)", "successful (2xx)")},
	{"4xx", text("abgelehnt (4xx)", "refused (4xx)")},
	{"401", text("Schlüssel abgelehnt (401)", "key refused (401)")},
	{"403", text("Recht fehlt (403)", "right missing (403)")},
	{"429", text("zu viele (429)", "too many (429)")},
	{"5xx", text("Fehler des Servers (5xx)", "faults of the server (5xx)")},
}

// showRequests serves the request log.
func showRequests(v *request) view {
	q := v.URL.Query()
	if id := strings.TrimSpace(q.Get("id")); id != "" {
		return view{to: requestsPath + "/" + url.PathEscape(id)}
	}
	p := requestsPage{key: q.Get("key"), status: q.Get("status")}
	if !slices.ContainsFunc(statuses, func(o option) bool { return o.value == p.status }) {
		p.status = ""
	}
	filter := map[string]any{"key": p.key, "status": p.status, "door": string(api.REST), "limit": requestsShown}
	if until, err := clock.Parse(q.Get("until")); err == nil {
		filter["until"] = until
		p.pages.Newer = look.Own(p.at(""))
	}
	var more bool
	err := together(
		func() (err error) { p.calls, more, err = v.calls(filter); return err },
		func() error {
			found, err := ask[listOf[keyInfo]](v, "keys.list", arguments{body: map[string]any{"limit": keysOffered}})
			p.keys = found.Data
			return err
		},
	)
	if fault.Is(err, fault.NotFound) { // the key is not there, or not the person's
		return view{to: requestsPath}
	}
	if err != nil {
		return v.failed(err)
	}
	if more {
		p.pages.Older = look.Own(p.at(p.calls[len(p.calls)-1].Time.String()))
	}
	return v.settings(requestsPath, requestsTitle(v), requestsView(v, p))
}

// keysOffered is the number of keys that the filter offers.
const keysOffered = 200

func requestsTitle(v *request) string { return v.words.Say("Aufrufe der API", "API calls") }

// at is the address of the list with its filters, until a time.
func (p *requestsPage) at(until string) string {
	q := url.Values{}
	for name, value := range map[string]string{"key": p.key, "status": p.status, "until": until} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return requestsPath
	}
	return requestsPath + "?" + q.Encode()
}

// keyOptions are the choices of the filter by key.
func (p *requestsPage) keyOptions(v *request) []look.Option {
	list := []look.Option{{Text: v.words.Say("alle Schlüssel", "all keys")}}
	for _, k := range p.keys {
		list = append(list, look.Option{Value: k.ID, Text: joined(" · ", k.title(), k.Environment)})
	}
	return list
}

// title is the name of the key of a call.
func (p *requestsPage) title(c *loggedCall) string {
	if i := slices.IndexFunc(p.keys, func(k keyInfo) bool { return k.ID == c.KeyID }); i >= 0 {
		return p.keys[i].title()
	}
	return c.KidShort
}

// requestPage is the page of one call.
type requestPage struct {
	call loggedCall
	// parts are the calls of a batch.
	parts []loggedCall
	// key is the name of the key, empty if the person cannot open it.
	key, owner string
}

// showRequest serves the page of a call.
func showRequest(v *request) view {
	id, names := v.PathValue("id"), map[string]string{}
	found, _, err := v.calls(map[string]any{"requestId": id, "limit": requestsShown})
	if fault.Is(err, fault.InvalidRequest) || err == nil && len(found) == 0 {
		return v.settingsAs(http.StatusNotFound, requestsPath, v.words.Say("Kein solcher Aufruf", "No such call"), noRequestView(v))
	}
	if err != nil {
		return v.failed(err)
	}
	var p requestPage
	for _, c := range found {
		if c.RequestID == id {
			p.call = c
		} else {
			p.parts = append(p.parts, c)
		}
	}
	if p.call.RequestID == "" { // the batch itself is not in the log
		p.call, p.parts = found[0], found[1:]
	}
	if p.call.KeyID != "" && strings.HasPrefix(p.call.KeyID, "key_") {
		k, err := ask[keyInfo](v, "keys.get", arguments{body: map[string]any{"id": p.call.KeyID}})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return v.failed(err)
		}
		if k.ID != "" {
			p.key = k.title()
		}
	}
	if p.call.PrincipalID != "" {
		if err := v.namesOf([]string{p.call.PrincipalID}, names); err != nil {
			return v.failed(err)
		}
		p.owner = names[p.call.PrincipalID]
	}
	return v.settings(requestsPath, p.call.title(), requestView(v, p))
}
