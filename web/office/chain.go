package office

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"kartei/api"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/record/lookup"
	"kartei/web/ui"
)

// caused is a change of a call, with its event and where that went.
type caused struct {
	event.Caused
	// title is the name of the record, empty if the person does not see it, or if it is
	// gone.
	title string
	// sandbox says that the record is in the sandbox.
	sandbox    bool
	deliveries []webhook.EventDelivery
}

// followed bounds the events whose deliveries a page shows. A call outside of a batch
// changes one record, and what refers to it.
const followed = 20

// inSandbox reports whether a call was one to the sandbox.
func (v *request) inSandbox(c *loggedCall) bool { return c.OrganizationID != v.session.Organization.ID }

// chain returns what a call changed, and where the events of that went.
func (v *request) chain(c *loggedCall) ([]caused, error) {
	if !c.good() || c.Method == "GET" || c.RequestID == "" {
		return nil, nil
	}
	sandbox := v.inSandbox(c)
	found, err := ask(v, lookup.ListCaused, lookup.CausedInput{Request: c.RequestID}, inSandbox(sandbox))
	if err != nil {
		return nil, err
	}
	var ids []string
	titles := map[string]string{}
	for i := range found.Data {
		ids = append(ids, found.Data[i].Data.ID)
	}
	if err := v.titlesIn(sandbox, ids, titles); err != nil {
		return nil, err
	}
	chain := make([]caused, len(found.Data))
	for i, e := range found.Data {
		chain[i] = caused{Caused: e, title: titles[e.Data.ID], sandbox: sandbox}
		if i >= followed {
			continue
		}
		went, err := ask(v, webhook.DeliveriesOf, webhook.EventInput{ID: e.ID}, inSandbox(sandbox))
		if err != nil {
			return nil, err
		}
		chain[i].deliveries = went.Data
	}
	return chain, nil
}

// href is the address of the record, or of the operation.
func (e *caused) href() templ.SafeURL {
	place := "/" + e.Data.Object + "s/"
	if f := familyOf(e.Data.Object); f != nil {
		place = "/" + f.name + "/"
	}
	if e.sandbox {
		place = sandboxPath + place
	}
	return templ.SafeURL(place + e.Data.ID)
}

// what says what happened to the record.
func (e *caused) what(v *request) string {
	_, verb, _ := strings.Cut(e.Type, ".")
	text, known := verbs[verb]
	if !known {
		return e.Type
	}
	what := text.In(v.words.Language)
	if f := familyOf(e.Data.Object); f != nil && len(e.Members) > 0 {
		what += ": " + v.labels(f, e.Members)
	}
	return what
}

// kind is the name of the record's kind.
func (e *caused) kind(v *request) string {
	if f := familyOf(e.Data.Object); f != nil {
		return f.one.In(v.words.Language)
	}
	return v.words.Say("Vorgang", "Operation")
}

// verbs are the last parts of the types of events.
var verbs = map[string]fault.Text{
	"created":   text("angelegt", "created"),
	"updated":   text("geändert", "changed"),
	"completed": text("erledigt", "completed"),
	"deleted":   text("gelöscht", "deleted"),
}

// deliveryState says how far a delivery came.
func deliveryState(v *request, d *webhook.EventDelivery) (kind ui.Kind, text string) {
	if len(d.Attempts) == 0 {
		return ui.Info, v.words.Say("steht noch aus", "not sent yet")
	}
	last := d.Attempts[0]
	if last.Status == string(webhook.Succeeded) {
		return ui.OK, strconv.Itoa(last.ResponseStatus) + v.words.Say(" in ", " in ") + strconv.FormatInt(last.ResponseTimeMs, 10) + " ms"
	}
	why := cmp.Or(string(last.ErrorCode), "HTTP_STATUS")
	if last.ResponseStatus > 0 {
		why = strconv.Itoa(last.ResponseStatus)
	}
	text = v.words.Say("Versuch ", "attempt ") + strconv.Itoa(last.Attempt) + "/10: " + why
	if d.DueAt > 0 {
		return ui.Warn, text + v.words.Say(", der nächste ", ", the next ") + v.words.Time(d.DueAt.Time())
	}
	return ui.Bad, text
}

// resend sends an event of a call to an endpoint once more.
func resend(v *request) view {
	back := requestsPath + "/" + v.PathValue("id")
	in := webhook.ResendInput{ID: v.form.Get("endpoint"), Event: v.form.Get("event")}
	if _, err := ask(v, webhook.Resend, in, once, inSandbox(v.form.Get("sandbox") != "")); err != nil {
		return v.failed(err)
	}
	return v.saved(back, "resent")
}

// curl is the call again as a command, as far as the log knows it: it keeps neither the
// query nor the body.
func (p *requestPage) curl(v *request) string {
	i := slices.IndexFunc(api.Operations, func(o api.Operation) bool { return o.ID == p.call.Operation })
	if i < 0 || p.call.bySession() {
		return ""
	}
	o := &api.Operations[i]
	path, revision := o.Path, int64(0)
	for _, e := range p.chain {
		if f := familyOf(e.Data.Object); f != nil && strings.HasPrefix(o.ID, f.name+".") {
			path, revision = strings.Replace(path, "{id}", e.Data.ID, 1), e.Revision
		}
	}
	command := `curl -H "Authorization: Bearer $KEY"` + previewOf(o.ID)
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
	return command + " " + quoted(v.office.BaseURL+"/v1"+path)
}
