package webhooks

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// endpoint is a webhook endpoint and its environment.
type endpoint struct {
	webhook.Info
	// sandbox says that the endpoint belongs to the sandbox.
	sandbox bool
}

// TallyText returns a number of events as a text.
func TallyText(v *shell.Request, t webhook.Tally) string {
	if t.More {
		return v.Words.Say("at least %s", v.Words.Plural(t.Events, "one event", "%d events"))
	}
	return v.Words.Plural(t.Events, "one event", "%d events")
}

// path returns the path of the endpoint's page.
func (e *endpoint) path() string { return shell.WebhooksPath + "/" + e.ID }

// environment returns the environment of the endpoint: test or live.
func (e *endpoint) environment() string { return environmentWord(e.sandbox) }

// environmentWord returns test for the sandbox and live for the organization.
func environmentWord(sandbox bool) string {
	if sandbox {
		return "test"
	}
	return "live"
}

// mine reports whether the endpoint belongs to the person, who may then test it.
func (e *endpoint) mine(v *shell.Request) bool {
	return e.PrincipalID == v.Session.Principal.ID && v.Session.May(managesEndpoints)
}

// manages reports whether the person may change and delete the endpoint. An admin may also change
// and delete the endpoints of service accounts.
func (e *endpoint) manages(v *shell.Request) bool {
	return e.mine(v) || v.Session.Administers && id.Valid(id.ServiceAccount, e.PrincipalID) && v.Session.May(managesEndpoints)
}

// managesEndpoints is the scope that webhook endpoints require.
const managesEndpoints = "webhook_endpoints:write"

// disabledAfter is the time without a successful delivery after which an endpoint is disabled.
const disabledAfter = 72 * clock.Hour

// badge returns the state of the endpoint as a badge.
func (e *endpoint) badge(v *shell.Request) (ui.Kind, string) {
	say := v.Words.Say
	switch {
	case e.Status == webhook.Disabled:
		return ui.Bad, say("disabled [endpoint]")
	case e.Status == webhook.Failing:
		return ui.Warn, say("failing")
	case e.FailedSince != 0:
		return ui.Warn, say("failed lately")
	}
	return ui.OK, say("active")
}

// disabledFor reports whether the endpoint was disabled for the reason why.
func (e *endpoint) disabledFor(why webhook.Reason) bool {
	return e.DisabledReason != nil && *e.DisabledReason == why
}

// state returns what is wrong with the endpoint, and what will happen next. It is empty if
// deliveries succeed.
func (e *endpoint) state(v *shell.Request) string {
	say := v.Words.Say
	since := v.Words.Time(e.FailedSince.Time())
	switch {
	case e.Status == webhook.Disabled && e.disabledFor(webhook.Gone):
		return say("The receiver answered 410 Gone: it wants no more events.")
	case e.Status == webhook.Disabled && e.disabledFor(webhook.KeyRevoked):
		return say("The key that created the endpoint was revoked.")
	case e.Status == webhook.Disabled:
		return say("No delivery succeeded for 72 hours.")
	case e.Status == webhook.Failing:
		end := v.Words.Time((e.FailedSince + disabledAfter).Time())
		return say("No delivery has succeeded since %s. If none does, the endpoint will be disabled at %s.", since, end)
	case e.FailedSince != 0:
		return say("No delivery has succeeded since %s. Kartei goes on trying.", since)
	}
	return ""
}

// missed returns how many events the endpoint has missed, and since when. It is empty if there are
// none.
func (e *endpoint) missed(v *shell.Request) string {
	if e.Missed == nil || e.Missed.Events == 0 {
		return ""
	}
	since := ""
	if e.MissedSince != 0 {
		since = v.Words.Say(", the first since %s", v.Words.Time(e.MissedSince.Time()))
	}
	return v.Words.Say("Not delivered: %s%s.", TallyText(v, *e.Missed), since)
}

// backlog returns how many deliveries wait, and since when the endpoint is behind. It is empty if
// nothing waits.
func (e *endpoint) backlog(v *shell.Request) string {
	text := ""
	if e.Waiting > 0 {
		text = v.Words.Plural(int(e.Waiting), "one delivery waits", "%d deliveries wait")
	}
	if e.BehindSince != 0 {
		text = shell.Joined(" · ", text, v.Words.Say("behind since %s", v.Words.Time(e.BehindSince.Time())))
	}
	return text
}

// hourly has the numbers of delivery attempts in each hour, in the order of time.
type hourly []webhook.Hour

// sums returns the numbers of successful and failed attempts. more says that some hours had more
// attempts than were counted.
func (all hourly) sums() (succeeded, failed int64, more bool) {
	for _, h := range all {
		succeeded, failed = succeeded+h.Succeeded, failed+h.Failed
		more = more || h.Succeeded+h.Failed >= webhook.MaxCounted
	}
	return succeeded, failed, more
}

// text returns the numbers of attempts as a text.
func (all hourly) text(v *shell.Request) string {
	succeeded, failed, more := all.sums()
	if succeeded+failed == 0 {
		return v.Words.Say("24 hours: no attempt")
	}
	atLeast := ""
	if more {
		atLeast = v.Words.Say("at least ")
	}
	text := v.Words.Say("24 hours: %s%s delivered", atLeast, v.Number(succeeded))
	if failed > 0 {
		text = v.Words.Say("24 hours: %s%s delivered, %s failed", atLeast, v.Number(succeeded), v.Number(failed))
	}
	return text
}

// when returns the hours in which attempts failed.
func (all hourly) when(v *shell.Request) string {
	var times []string
	for _, h := range all {
		if h.Failed > 0 {
			times = append(times, v.Words.Clock(h.At.Time()))
		}
	}
	if len(times) == 0 {
		return ""
	}
	return v.Words.Say("; failed in the hours from %s", v.Words.List(times))
}

// bar is the bar of one hour, in units of the drawing.
type bar struct {
	x, y, height int
	failed       bool
}

// These are the sizes of the drawing in units. An hour has a width of stripHour. Its bar has a
// width of stripBar, and the rest is the gap.
const (
	stripHeight = 24
	// stripBars is the maximum height of bars. The space above is for crosses.
	stripBars = 17
	stripHour = 6
	stripBar  = 4
)

// bars returns the bars of all hours. The height is the logarithm of the number of attempts, so
// that a few attempts are visible beside thousands. An hour with failures has a cross.
func (all hourly) bars() (list []bar) {
	limit := int64(10)
	for _, h := range all {
		limit = max(limit, h.Succeeded+h.Failed)
	}
	for i, h := range all {
		b := bar{x: i * stripHour, failed: h.Failed > 0, height: 1}
		if n := h.Succeeded + h.Failed; n > 0 {
			b.height = int(math.Round(stripBars * math.Log(float64(n+1)) / math.Log(float64(limit+1))))
		}
		b.y = stripHeight - b.height
		list = append(list, b)
	}
	return list
}

// endpointAt returns the endpoint with the id, in the organization or in its sandbox. If full is
// set, it also reads the recent attempts and the missed events.
func endpointAt(v *shell.Request, id string, full bool) (e endpoint, err error) {
	for _, sandbox := range []bool{false, true} {
		e.sandbox = sandbox
		e.Info, err = shell.Ask(v, webhook.GetInfo, webhook.GetInput{One: webhook.One{ID: id}, Full: full}, shell.InSandbox(sandbox))
		if !fault.Is(err, fault.NotFound) {
			break
		}
	}
	return e, err
}

// webhooksPage has the data of the list of endpoints.
type webhooksPage struct {
	endpoints []endpoint
	names     map[string]string
	pages     ui.Pages
}

// webhooksShown is the maximum number of endpoints of each environment on a page.
const webhooksShown = 40

// showWebhooks serves the list of endpoints: first in the organization, then in its sandbox.
func showWebhooks(v *shell.Request) shell.View {
	q := v.URL.Query()
	p, next, paged := webhooksPage{names: map[string]string{}}, url.Values{}, q.Has("live") || q.Has("test")
	for _, sandbox := range []bool{false, true} {
		from := environmentWord(sandbox)
		after := q.Get(from)
		if paged && after == "" {
			continue // earlier pages have all endpoints of this environment
		}
		found, err := shell.Ask(v, webhook.ListInfos, webhook.FindInput{After: after, Limit: webhooksShown, Full: true}, shell.InSandbox(sandbox))
		if err != nil {
			return v.Failed(err)
		}
		for _, info := range found.Data {
			p.endpoints = append(p.endpoints, endpoint{info, sandbox})
		}
		if found.HasMore {
			next.Set(from, found.Data[len(found.Data)-1].ID)
		}
	}
	if paged {
		p.pages.Newer = ui.Own(shell.WebhooksPath)
	}
	if len(next) > 0 {
		p.pages.Older = ui.Own(shell.WebhooksPath + "?" + next.Encode())
	}
	if v.Session.Administers {
		var owners []string
		for _, e := range p.endpoints {
			if e.PrincipalID != v.Session.Principal.ID {
				owners = append(owners, e.PrincipalID)
			}
		}
		if err := v.NamesOf(owners, p.names); err != nil {
			return v.Failed(err)
		}
	}
	return v.Settings(shell.WebhooksPath, v.Words.Say("Webhooks"), webhooksView(v, p))
}

// total returns the line above the list: the attempts and the backlog of all endpoints.
func (p *webhooksPage) total(v *shell.Request) string {
	var all hourly
	var waiting int64
	for _, e := range p.endpoints {
		all = append(all, e.Recent.Hours...)
		waiting += e.Waiting
	}
	return v.Words.Say("%s · backlog %s", all.text(v), v.Number(waiting))
}

// arrived reports whether the attempt succeeded.
func arrived(a *webhook.Attempt) bool { return a.Status == string(webhook.Succeeded) }

// maxAttempts is the maximum number of attempts for one delivery.
const maxAttempts = 10

// cameBack returns the result of the attempt, its duration and its number.
func cameBack(v *shell.Request, a *webhook.Attempt) string {
	result := string(a.ErrorCode)
	if a.ResponseStatus != 0 {
		result = strconv.Itoa(a.ResponseStatus)
	}
	return shell.Joined(" · ", result, strconv.FormatInt(a.ResponseTimeMs, 10)+" ms",
		v.Words.Say("attempt %s of %s", strconv.Itoa(a.Attempt), strconv.Itoa(maxAttempts)))
}

// nextAttempt returns the time of the next attempt, or says that there is none. It is empty after a
// success.
func nextAttempt(v *shell.Request, a *webhook.Attempt) string {
	switch {
	case arrived(a):
		return ""
	case a.NextAttemptAt != 0:
		return v.Words.Say("Next attempt %s.", v.Words.Time(a.NextAttemptAt.Time()))
	}
	return v.Words.Say("No attempt follows by itself.")
}

// failures has, for each error code, the reason of the failure and what helps.
var failures = map[webhook.Code]i18n.Text{
	webhook.Timeout:        "No answer within 10 seconds. The receiver should answer 2xx at once, and work afterwards.",
	webhook.NameError:      "The host name does not resolve. Check the URL and the DNS record.",
	webhook.ConnectError:   "Nobody accepts the connection. Is the receiver running, and does the firewall permit port 443?",
	webhook.TLSError:       "The certificate is not valid, or the receiver speaks no TLS. Check its host name, its expiry and the intermediate certificates.",
	webhook.BlockedAddress: "The name leads to an address to which this server does not send. The receiver needs a public one.",
	webhook.ProtocolError:  "The connection ended without an HTTP answer. Often the receiver has crashed: look at its log.",
}

// whyFailed returns the reason why an attempt failed and what helps. It is empty after a success.
func whyFailed(v *shell.Request, a *webhook.Attempt) string {
	say := v.Words.Say
	if a.ErrorCode != webhook.HTTPStatus {
		return v.Words.Say(failures[a.ErrorCode])
	}
	switch status := a.ResponseStatus; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return say("The receiver refuses: it has the wrong secret, verifies other bytes than were sent, or its clock is wrong.")
	case status == http.StatusNotFound:
		return say("There is no receiver at this URL. Check the path.")
	case status == http.StatusGone:
		return say("410 means: never again. So the endpoint was disabled.")
	case status >= 300 && status < 400:
		return say("Redirects are not followed. Enter the URL to which it leads.")
	case status >= 500:
		return say("The receiver failed. Look at its log.")
	}
	return say("Only an answer of 2xx confirms an event.")
}

// webhookPage has the data of the page of one endpoint.
type webhookPage struct {
	endpoint endpoint
	owner    string
	attempts []webhook.Attempt
	// failed says that the list has only failed attempts.
	failed bool
	pages  ui.Pages
	// sent is the result of a resend, or nil.
	sent *sentAgain
	form webhookForm
	// since and until are the entered range of times. wrong is the error message for the range.
	since, until, wrong string
}

// sentAgain is the result of a resend. Rests says that the events wait until the organization is
// open and its API is on.
type sentAgain struct {
	webhook.Tally
	Rests bool
}

// text returns the message about the resend.
func (s *sentAgain) text(v *shell.Request) string {
	switch {
	case s.Rests:
		return v.Words.Say("They are sent once the API of the organization is on again and the organization is open.")
	case s.Events == 0 && !s.More:
		return v.Words.Say("There is nothing to send again.")
	case s.Events == 1 && !s.More:
		return v.Words.Say("One event is sent again. The log shows the result in a moment.")
	}
	n := TallyText(v, s.Tally)
	return v.Words.Say("%s%s are sent again. The results appear in the log one after another.", strings.ToUpper(n[:1]), n[1:])
}

const attemptsShown = 30

// showWebhook serves the page of an endpoint.
func showWebhook(v *shell.Request) shell.View { return drawWebhook(v, webhookPage{}, http.StatusOK) }

func drawWebhook(v *shell.Request, p webhookPage, status int) shell.View {
	id, q, names := v.PathValue("id"), v.URL.Query(), map[string]string{}
	var err error
	if p.endpoint, err = endpointAt(v, id, true); err != nil {
		return v.Failed(err)
	}
	if v.Method == http.MethodGet {
		p.sent = sentIn(q)
	}
	p.failed = q.Get("status") == "failed"
	if err := p.read(v, q); err != nil {
		return v.Failed(err)
	}
	if p.endpoint.PrincipalID != v.Session.Principal.ID {
		if err := v.NamesOf([]string{p.endpoint.PrincipalID}, names); err != nil {
			return v.Failed(err)
		}
	}
	p.owner = names[p.endpoint.PrincipalID]
	if p.form.typed == nil {
		p.form.typed, p.form.types = shell.Values{"name": p.endpoint.Name, "url": p.endpoint.URL}, p.endpoint.EventTypes
	}
	return v.Settings(shell.WebhooksPath, p.endpoint.Name, webhookView(v, p)).WithStatus(status)
}

// read reads one page of the delivery log.
func (p *webhookPage) read(v *shell.Request, q url.Values) error {
	in := webhook.LogInput{ID: p.endpoint.ID, Limit: attemptsShown}
	at := url.Values{}
	if p.failed {
		in.Result = string(webhook.Failed)
		at.Set("status", "failed")
	}
	in.Before = q.Get("before")
	if from := q.Get("from"); from != "" {
		in.Before = from + "~" // the page begins with this attempt
	}
	if in.Before != "" {
		p.pages.Newer = ui.Own(p.endpoint.path() + "?" + at.Encode() + "#log")
	}
	found, err := shell.Ask(v, webhook.ListAttempts, in, shell.InSandbox(p.endpoint.sandbox))
	p.attempts = found.Data
	if err != nil {
		return err
	}
	if found.HasMore {
		at.Set("before", p.attempts[len(p.attempts)-1].ID)
		p.pages.Older = ui.Own(p.endpoint.path() + "?" + at.Encode() + "#log")
	}
	return err
}

// These are the query parameters with the result of a resend.
const (
	sentField  = "sent"
	moreField  = "more"
	restsField = "rests"
)

// sentIn returns the result of a resend in the query. It is nil if the query has none.
func sentIn(q url.Values) *sentAgain {
	n, err := strconv.Atoi(q.Get(sentField))
	if err != nil || n < 0 {
		return nil
	}
	return &sentAgain{webhook.Tally{Events: n, More: q.Has(moreField)}, q.Has(restsField)}
}

// query returns the result as a query.
func (s *sentAgain) query() string {
	q := url.Values{sentField: {strconv.Itoa(s.Events)}}
	if s.More {
		q.Set(moreField, "1")
	}
	if s.Rests {
		q.Set(restsField, "1")
	}
	return q.Encode()
}

// sentBy returns the result of the resend operation for the page.
func sentBy(r *webhook.ResendOutput) *sentAgain {
	return &sentAgain{webhook.Tally{Events: r.Events + r.Found.Events, More: r.Found.More}, r.Rests}
}

// enableWebhook enables an endpoint. It also sends the missed events if the person chose that.
func enableWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	enabled, err := shell.Ask(v, webhook.Enable, webhook.EnableInput{One: webhook.One{ID: e.ID}, Missed: v.Sent.Get("missed") != ""}, shell.Once, shell.InSandbox(e.sandbox))
	switch {
	case err != nil:
		return v.Failed(err)
	case enabled.Sends == nil:
		return v.Saved(e.path(), "webhookOn")
	}
	return shell.Redirect{To: e.path() + "?" + sentBy(enabled.Sends).query()}
}

// resendTo sends events to an endpoint again: one event, all failed events, or the events in a
// range of times.
func resendTo(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	in := webhook.ResendInput{ID: e.ID}
	p := webhookPage{since: v.Sent.Text("since"), until: v.Sent.Text("until")}
	switch event := v.Sent.Text("event"); {
	case event != "":
		in.Event = event
	case v.Sent.Get("failed") != "":
		in.Failed = true
	default:
		since, wrong := v.Moment(p.since)
		until, alsoWrong := v.Moment(p.until)
		if wrong || since == 0 || alsoWrong || until != 0 && until <= since {
			p.wrong = v.Words.Say("Give a period: from when, and until when or until now.")
			return drawWebhook(v, p, http.StatusUnprocessableEntity)
		}
		in.Since, in.Until = since-1, until // the operation excludes the time Since
	}
	sent, err := shell.Ask(v, webhook.Resend, in, shell.Once, shell.InSandbox(e.sandbox))
	if err != nil {
		return v.Failed(err)
	}
	return shell.Redirect{To: records.Back(v, e.path()) + "?" + sentBy(&sent).query()}
}

// cross returns the SVG path of the cross above an hour with failures.
func cross(x int) string {
	left, right := strconv.Itoa(x), strconv.Itoa(x+stripBar)
	return "M" + left + " 1L" + right + " 5M" + right + " 1L" + left + " 5"
}

// stateTone returns the color of the banner about the endpoint's state.
func stateTone(v *shell.Request, e *endpoint) ui.Kind {
	tone, _ := e.badge(v)
	return tone
}

// cause returns why the latest attempt failed, if the page shows that attempt.
func (p *webhookPage) cause(v *shell.Request) string {
	if len(p.attempts) == 0 || arrived(&p.attempts[0]) || p.pages.Newer != "" {
		return ""
	}
	return v.Words.Say("Lately: %s", whyFailed(v, &p.attempts[0]))
}

// overlap returns the text that says how long the former secret remains valid.
func overlap(v *shell.Request, until clock.Micros) string {
	return v.Words.Say("Until %s the former secret signs too. Install the new one at the receiver by then.", v.Words.Time(until.Time()))
}

// testWord returns the result of a test as a text.
func testWord(v *shell.Request, a *webhook.Attempt) string {
	if arrived(a) {
		return v.Words.Say("The test has arrived")
	}
	return v.Words.Say("The test has failed")
}

// testWait is the part of a page that waits for the result of a test.
type testWait struct {
	Endpoint string
	// Event is the id of the test event.
	Event string
	// Asked is the number of times that the page has asked.
	Asked   int
	Attempt *webhook.Attempt
}

// testAsks is the maximum number of times that a page asks for the result, once a second. An
// attempt takes at most ten seconds, and may wait for other deliveries.
const testAsks = 120

// again returns the address of the next request for the part.
func (w *testWait) again() string {
	return shell.WebhooksPath + "/" + w.Endpoint + "/tests/" + w.Event + "?asked=" + strconv.Itoa(w.Asked)
}

// testWebhook sends a test event to an endpoint and redirects to the page of the test.
func testWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	sent, err := shell.Fetch[struct {
		EventID string `json:"eventId"`
	}](v, webhook.SendTest, shell.Arguments{ID: e.ID, Once: v.Sent.Token, Sandbox: e.sandbox})
	if err != nil {
		return v.Failed(err)
	}
	return shell.Redirect{To: e.path() + "/tests/" + sent.EventID}
}

// showTest serves the result of a test. A script polls it.
func showTest(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	w := testWait{Endpoint: e.ID, Event: v.PathValue("event")}
	found, err := shell.Ask(v, webhook.ListAttempts, webhook.LogInput{ID: e.ID, Event: w.Event, Limit: 1}, shell.InSandbox(e.sandbox))
	if err != nil {
		return v.Failed(err)
	}
	if len(found.Data) > 0 {
		w.Attempt = &found.Data[0]
	}
	if asked, err := strconv.Atoi(v.URL.Query().Get("asked")); err == nil {
		w.Asked = asked + 1
		return shell.HTML{Body: testView(v, w)}
	}
	return v.Settings(shell.WebhooksPath, v.Words.Say("Test: %s", e.Name), testPageView(v, e, w))
}

// rotateWebhook creates a new secret for an endpoint and shows it once.
func rotateWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	return webhookMade(v, shell.Do(v, webhook.RotateByPerson, webhook.One{ID: e.ID}, shell.Once, shell.InSandbox(e.sandbox)),
		v.Words.Say("The endpoint has a new secret"))
}

// saveWebhook stores the members of an endpoint that the person changed.
func saveWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	f := sentWebhook(v)
	nothing := webhook.ChangeInput{One: webhook.One{ID: e.ID}}
	in := nothing
	in.Name, in.URL = v.Changed(f.typed, "name"), v.Changed(f.typed, "url")
	if chosen := f.chosen(v); !slices.Equal(chosen, shell.Split(v.Sent.Was["types"])) {
		in.EventTypes = &chosen
	}
	if in == nothing {
		return shell.Redirect{To: e.path()}
	}
	a := shell.Do(v, webhook.ChangeByPerson, in, shell.Once, shell.InSandbox(e.sandbox))
	switch {
	case a.Is(fault.ValidationFailed):
		f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
		return drawWebhook(v, webhookPage{form: f}, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(e.path(), "webhook")
}

// askToDeleteWebhook serves the page that asks for a confirmation before an endpoint is deleted.
func askToDeleteWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	if !e.manages(v) {
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.WebhooksPath, v.Words.Say("Delete the endpoint"), deleteWebhookView(v, e))
}

// deleteWebhook deletes an endpoint.
func deleteWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	if a := shell.Do(v, webhook.DeleteByPerson, webhook.One{ID: e.ID}, shell.Once, shell.InSandbox(e.sandbox)); a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.WebhooksPath, "webhookGone")
}
