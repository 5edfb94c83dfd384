package keys

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"kartei/api"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/i18n"
	"kartei/record/lookup"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// callChange is one change that a call made, with its event and the deliveries of the event.
type callChange struct {
	event.CallEvent
	// title is the title of the record. It is empty if the person cannot see the record, or if the
	// record is deleted.
	title string
	// sandbox says that the record is in the sandbox.
	sandbox    bool
	deliveries []webhook.EventDelivery
}

// followed is the maximum number of events whose deliveries a page shows. A call outside of a batch
// changes one record and the records that refer to it.
const followed = 20

// inSandbox reports whether the call was made to the sandbox.
func inSandbox(v *shell.Request, c *loggedCall) bool {
	return c.OrganizationID != v.Session.Organization.ID
}

// readChain returns the changes that a call made, with the deliveries of their events. It returns
// nil for reads and for calls that failed.
func readChain(v *shell.Request, c *loggedCall) ([]callChange, error) {
	if !c.good() || c.Method == "GET" || c.RequestID == "" {
		return nil, nil
	}
	sandbox := inSandbox(v, c)
	found, err := shell.Ask(v, lookup.ListCaused, lookup.CausedInput{Request: c.RequestID}, shell.InSandbox(sandbox))
	if err != nil {
		return nil, err
	}
	var ids []string
	titles := map[string]string{}
	for i := range found.Data {
		ids = append(ids, found.Data[i].Data.ID)
	}
	if err := v.TitlesIn(sandbox, ids, titles); err != nil {
		return nil, err
	}
	chain := make([]callChange, len(found.Data))
	for i, e := range found.Data {
		chain[i] = callChange{CallEvent: e, title: titles[e.Data.ID], sandbox: sandbox}
		if i >= followed {
			continue
		}
		went, err := shell.Ask(v, webhook.DeliveriesOf, webhook.EventInput{ID: e.ID}, shell.InSandbox(sandbox))
		if err != nil {
			return nil, err
		}
		chain[i].deliveries = went.Data
	}
	return chain, nil
}

// href returns the address of the page of the record or of the operation.
func (e *callChange) href() templ.SafeURL {
	place := "/" + e.Data.Object + "s/"
	if f := records.FamilyOf(e.Data.Object); f != nil {
		place = "/" + f.Name + "/"
	}
	if e.sandbox {
		place = shell.SandboxPath + place
	}
	return templ.SafeURL(place + e.Data.ID)
}

// what returns what happened to the record, with the labels of the changed members.
func (e *callChange) what(v *shell.Request) string {
	_, verb, _ := strings.Cut(e.Type, ".")
	text, known := verbs[verb]
	if !known {
		return e.Type
	}
	what := v.Words.Say(text)
	if f := records.FamilyOf(e.Data.Object); f != nil && len(e.Members) > 0 {
		what += ": " + records.Labels(v, f, e.Members)
	}
	return what
}

// kind returns the name of the record's family.
func (e *callChange) kind(v *shell.Request) string {
	if f := records.FamilyOf(e.Data.Object); f != nil {
		return v.Words.Say(f.One)
	}
	return v.Words.Say("Operation [of the audit log]")
}

// verbs has the texts for the last part of an event type.
var verbs = map[string]i18n.Text{
	"created":   "created",
	"updated":   "changed",
	"completed": "completed",
	"deleted":   "deleted",
}

// deliveryState returns the state of a delivery as a badge: its last attempt, and the time of the
// next attempt if there is one.
func deliveryState(v *shell.Request, d *webhook.EventDelivery) (kind ui.Kind, text string) {
	if len(d.Attempts) == 0 {
		return ui.Info, v.Words.Say("not sent yet")
	}
	last := d.Attempts[0]
	if last.Status == string(webhook.Succeeded) {
		return ui.OK, v.Words.Say("%s in %s ms", strconv.Itoa(last.ResponseStatus), strconv.FormatInt(last.ResponseTimeMs, 10))
	}
	why := cmp.Or(string(last.ErrorCode), "HTTP_STATUS")
	if last.ResponseStatus > 0 {
		why = strconv.Itoa(last.ResponseStatus)
	}
	text = v.Words.Say("attempt %s/10: %s", strconv.Itoa(last.Attempt), why)
	if d.DueAt > 0 {
		return ui.Warn, v.Words.Say("%s, the next %s", text, v.Words.Time(d.DueAt.Time()))
	}
	return ui.Bad, text
}

// resend sends an event of a call to a webhook endpoint again.
func resend(v *shell.Request) shell.View {
	back := shell.RequestsPath + "/" + v.PathValue("id")
	in := webhook.ResendInput{ID: v.Sent.Get("endpoint"), Event: v.Sent.Get("event")}
	if _, err := shell.Ask(v, webhook.Resend, in, shell.Once, shell.InSandbox(v.Sent.Get("sandbox") != "")); err != nil {
		return v.Failed(err)
	}
	return v.Saved(back, "resent")
}

// curl returns a curl command that repeats the call. The log has no query and no body, so the
// command lacks them. The result is empty if the operation is unknown, or if a browser made the
// call.
func (p *requestPage) curl(v *shell.Request) string {
	i := slices.IndexFunc(api.Operations, func(o api.Operation) bool { return o.ID == p.call.Operation })
	if i < 0 || p.call.bySession() {
		return ""
	}
	o := &api.Operations[i]
	path, revision := o.Path, int64(0)
	for _, e := range p.chain {
		if f := records.FamilyOf(e.Data.Object); f != nil && strings.HasPrefix(o.ID, f.Name+".") {
			path, revision = strings.Replace(path, "{id}", e.Data.ID, 1), e.Revision
		}
	}
	command := shell.Curl(o.ID)
	if o.Method != "GET" {
		command += " -X " + o.Method
		switch {
		case o.Conditional() && revision > 0:
			command += ` -H 'If-Match: "r` + strconv.FormatInt(revision, 10) + `"'`
		case o.Conditional():
			command += ` -H 'If-Match: "r1"'`
		case o.Creates():
			command += ` -H "Idempotency-Key: $(uuidgen)"`
		}
		if o.HasBody() {
			command += ` -H 'Content-Type: application/json' -d '{}'`
		}
	}
	return command + " " + shell.Quoted(v.Site.BaseURL+"/v1"+path)
}
