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

// endpoint is a webhook endpoint, and where it is.
type endpoint struct {
	webhook.Info
	// sandbox says in which environment it is.
	sandbox bool
}

// TallyText is a number of events in words.
func TallyText(v *shell.Request, t webhook.Tally) string {
	if t.More {
		return v.Words.Say("at least %s", v.Words.Plural(t.Events, "one event", "%d events"))
	}
	return v.Words.Plural(t.Events, "one event", "%d events")
}

// path is the address of the page of an endpoint.
func (e *endpoint) path() string { return shell.WebhooksPath + "/" + e.ID }

// environment is the word of the endpoint's environment, as keys have it.
func (e *endpoint) environment() string { return environmentWord(e.sandbox) }

// environmentWord is the word of the sandbox, or of the organization.
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

// manages reports whether the person may change and delete the endpoint. An admin may also
// change and delete the endpoints of service accounts.
func (e *endpoint) manages(v *shell.Request) bool {
	return e.mine(v) || v.Session.Administers && id.Valid(id.ServiceAccount, e.PrincipalID) && v.Session.May(managesEndpoints)
}

// managesEndpoints is the right to have webhook endpoints.
const managesEndpoints = "webhook_endpoints:write"

// disabledAfter is the time without a success after which an endpoint is disabled.
const disabledAfter = 72 * clock.Hour

// badge is the state of an endpoint in a word.
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

// disabledFor reports whether the endpoint was disabled for a reason.
func (e *endpoint) disabledFor(why webhook.Reason) bool {
	return e.DisabledReason != nil && *e.DisabledReason == why
}

// state says what is wrong with an endpoint, and what happens next. It is empty if all
// is well.
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

// missed says how much a disabled endpoint missed, and since when.
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

// backlog says what waits, empty if nothing does.
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

// hourly are the attempts of each hour, in the order of time.
type hourly []webhook.Hour

// sums are the attempts of all hours. more says that some hours have more.
func (all hourly) sums() (succeeded, failed int64, more bool) {
	for _, h := range all {
		succeeded, failed = succeeded+h.Succeeded, failed+h.Failed
		more = more || h.Succeeded+h.Failed >= webhook.MaxCounted
	}
	return succeeded, failed, more
}

// text says what the strip shows.
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

// when says in which hours attempts failed.
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

// bar is an hour of the strip, in units of its picture.
type bar struct {
	x, y, height int
	failed       bool
}

// The size of the strip in units: each hour has six, of which two are the gap.
const (
	stripHeight = 24
	// stripBars is the height of bars. The rest is for crosses.
	stripBars = 17
	stripHour = 6
	stripBar  = 4
)

// bars are the hours of the strip. The heights are logarithms, so that a few attempts are
// seen beside thousands. A cross marks an hour with failures.
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

// endpointAt returns an endpoint of the organization or of its sandbox.
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

// webhooksPage is the list of endpoints.
type webhooksPage struct {
	endpoints []endpoint
	names     map[string]string
	pages     ui.Pages
}

// webhooksShown is the number of endpoints that a page shows of each environment.
const webhooksShown = 40

// showWebhooks serves the list: the endpoints of the organization, and then its
// sandbox's endpoints.
func showWebhooks(v *shell.Request) shell.View {
	q := v.URL.Query()
	p, next, paged := webhooksPage{names: map[string]string{}}, url.Values{}, q.Has("live") || q.Has("test")
	for _, sandbox := range []bool{false, true} {
		from := environmentWord(sandbox)
		after := q.Get(from)
		if paged && after == "" {
			continue // the pages before have all of this environment
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

// total is the line above the list.
func (p *webhooksPage) total(v *shell.Request) string {
	var all hourly
	var waiting int64
	for _, e := range p.endpoints {
		all = append(all, e.Recent.Hours...)
		waiting += e.Waiting
	}
	return v.Words.Say("%s · backlog %s", all.text(v), v.Number(waiting))
}

// arrived reports whether the receiver confirmed the event.
func arrived(a *webhook.Attempt) bool { return a.Status == string(webhook.Succeeded) }

// maxAttempts is the number of attempts in a series.
const maxAttempts = 10

// cameBack is what came back, and how long it took.
func cameBack(v *shell.Request, a *webhook.Attempt) string {
	result := string(a.ErrorCode)
	if a.ResponseStatus != 0 {
		result = strconv.Itoa(a.ResponseStatus)
	}
	return shell.Joined(" · ", result, strconv.FormatInt(a.ResponseTimeMs, 10)+" ms",
		v.Words.Say("attempt %s of %s", strconv.Itoa(a.Attempt), strconv.Itoa(maxAttempts)))
}

// nextAttempt says when the next attempt is made, or that none is.
func nextAttempt(v *shell.Request, a *webhook.Attempt) string {
	switch {
	case arrived(a):
		return ""
	case a.NextAttemptAt != 0:
		return v.Words.Say("Next attempt %s.", v.Words.Time(a.NextAttemptAt.Time()))
	}
	return v.Words.Say("No attempt follows by itself.")
}

// failures say why an attempt failed and what helps, by the code of the log.
var failures = map[webhook.Code]i18n.Text{
	webhook.Timeout:        "No answer within 10 seconds. The receiver should answer 2xx at once, and work afterwards.",
	webhook.NameError:      "The host name does not resolve. Check the URL and the DNS record.",
	webhook.ConnectError:   "Nobody accepts the connection. Is the receiver running, and does the firewall permit port 443?",
	webhook.TLSError:       "The certificate is not valid, or the receiver speaks no TLS. Check its host name, its expiry and the intermediate certificates.",
	webhook.BlockedAddress: "The name leads to an address to which this server does not send. The receiver needs a public one.",
	webhook.ProtocolError:  "The connection ended without an HTTP answer. Often the receiver has crashed: look at its log.",
}

// whyFailed says why an attempt failed and what helps, empty if it succeeded.
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

// webhookPage is the page of one endpoint.
type webhookPage struct {
	endpoint endpoint
	owner    string
	attempts []webhook.Attempt
	// failed says that only failures are shown.
	failed bool
	pages  ui.Pages
	// sent says how many events are sent again, or is nil.
	sent *sentAgain
	form webhookForm
	// since and until are what was typed of a range, and wrong what is wrong with it.
	since, until, wrong string
}

// sentAgain is the outcome of a resend. Rests says that it waits until the organization
// is open and its API is on.
type sentAgain struct {
	webhook.Tally
	Rests bool
}

// text says what happens.
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

// read reads a page of the delivery log.
func (p *webhookPage) read(v *shell.Request, q url.Values) error {
	in := webhook.LogInput{ID: p.endpoint.ID, Limit: attemptsShown}
	at := url.Values{}
	if p.failed {
		in.Result = string(webhook.Failed)
		at.Set("status", "failed")
	}
	in.Before = q.Get("before")
	if from := q.Get("from"); from != "" {
		in.Before = from + "~" // the named attempt comes first
	}
	if in.Before != "" {
		p.pages.Newer = ui.Own(p.endpoint.path() + "?" + at.Encode() + "#log")
	}
	found, err := shell.Ask(v, webhook.ListAttempts, in, shell.InSandbox(p.endpoint.sandbox))
	p.attempts = found.Data
	if err == nil && found.HasMore {
		at.Set("before", p.attempts[len(p.attempts)-1].ID)
		p.pages.Older = ui.Own(p.endpoint.path() + "?" + at.Encode() + "#log")
	}
	return err
}

// The parameters with which a page says how many events are sent again.
const (
	sentField  = "sent"
	moreField  = "more"
	restsField = "rests"
)

// sentIn returns the outcome of a resend in the address of a page.
func sentIn(q url.Values) *sentAgain {
	n, err := strconv.Atoi(q.Get(sentField))
	if err != nil || n < 0 {
		return nil
	}
	return &sentAgain{webhook.Tally{Events: n, More: q.Has(moreField)}, q.Has(restsField)}
}

// query is the outcome in an address.
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

// sentBy is what the page says about a resend.
func sentBy(r *webhook.ResendOutput) *sentAgain {
	return &sentAgain{webhook.Tally{Events: r.Events + r.Found.Events, More: r.Found.More}, r.Rests}
}

// enableWebhook enables an endpoint, and sends what it missed if the person says so.
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

// resendTo sends events to an endpoint again: one, all that failed, or a range.
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
		in.Since, in.Until = since-1, until // the operation means the time after Since
	}
	sent, err := shell.Ask(v, webhook.Resend, in, shell.Once, shell.InSandbox(e.sandbox))
	if err != nil {
		return v.Failed(err)
	}
	return shell.Redirect{To: records.Back(v, e.path()) + "?" + sentBy(&sent).query()}
}

// cross is the path of the mark of an hour with failures, at the top of the strip.
func cross(x int) string {
	left, right := strconv.Itoa(x), strconv.Itoa(x+stripBar)
	return "M" + left + " 1L" + right + " 5M" + right + " 1L" + left + " 5"
}

// stateTone is the tone of the banner about a state.
func stateTone(v *shell.Request, e *endpoint) ui.Kind {
	tone, _ := e.badge(v)
	return tone
}

// cause is why the latest attempt failed, if the page shows it.
func (p *webhookPage) cause(v *shell.Request) string {
	if len(p.attempts) == 0 || arrived(&p.attempts[0]) || p.pages.Newer != "" {
		return ""
	}
	return v.Words.Say("Lately: %s", whyFailed(v, &p.attempts[0]))
}

// overlap says until when the former secret signs too.
func overlap(v *shell.Request, until clock.Micros) string {
	return v.Words.Say("Until %s the former secret signs too. Install the new one at the receiver by then.", v.Words.Time(until.Time()))
}

// testWord says in a word what came of a test.
func testWord(v *shell.Request, a *webhook.Attempt) string {
	if arrived(a) {
		return v.Words.Say("The test has arrived")
	}
	return v.Words.Say("The test has failed")
}

// testWait is the part of a page that waits for the result of a test.
type testWait struct {
	Endpoint string
	// Event is the id of the test, empty before the first one.
	Event string
	// Asked is how often the page has asked.
	Asked   int
	Attempt *webhook.Attempt
}

// testAsks bounds how often a page asks for the result, once a second. An attempt takes
// ten seconds at most, and waits behind others.
const testAsks = 120

// again is the address at which the part asks again.
func (w *testWait) again() string {
	return shell.WebhooksPath + "/" + w.Endpoint + "/tests/" + w.Event + "?asked=" + strconv.Itoa(w.Asked)
}

// testWebhook sends a test to an endpoint of the person.
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

// rotateWebhook gives an endpoint a new secret, and shows it once.
func rotateWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err != nil {
		return v.Failed(err)
	}
	return webhookMade(v, shell.Do(v, webhook.RotateByPerson, webhook.One{ID: e.ID}, shell.Once, shell.InSandbox(e.sandbox)),
		v.Words.Say("The endpoint has a new secret"))
}

// saveWebhook changes what the person changed of an endpoint.
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

// askToDeleteWebhook asks whether an endpoint is to be deleted, which cannot be undone.
func askToDeleteWebhook(v *shell.Request) shell.View {
	e, err := endpointAt(v, v.PathValue("id"), false)
	if err == nil && !e.manages(v) {
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
