package office

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"kartei/api"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/record/lookup"
	"kartei/web/ui"
)

// caused is a change of a call, with its event and where that went.
type caused struct {
	ID        string       `json:"id"`
	Type      string       `json:"type"`
	CreatedAt clock.Micros `json:"createdAt"`
	Data      struct {
		Object string `json:"object"`
		ID     string `json:"id"`
	} `json:"data"`
	Revision int64    `json:"revision"`
	Members  []string `json:"members"`

	// title is the name of the record, empty if the person does not see it, or if it is
	// gone.
	title string
	// sandbox says that the record is in the sandbox.
	sandbox    bool
	deliveries []delivered
}

// delivered is an event at an endpoint.
type delivered struct {
	EndpointID string `json:"endpointId"`
	Name       string `json:"name"`
	// Status is the endpoint's status.
	Status   string       `json:"status"`
	DueAt    clock.Micros `json:"dueAt"`
	Attempts []struct {
		Attempt        int          `json:"attempt"`
		Status         string       `json:"status"`
		ResponseStatus int          `json:"responseStatus"`
		ResponseTimeMs int64        `json:"responseTimeMs"`
		ErrorCode      string       `json:"errorCode"`
		AttemptedAt    clock.Micros `json:"attemptedAt"`
		NextAttemptAt  clock.Micros `json:"nextAttemptAt"`
	} `json:"attempts"`
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
	found, err := fetch[listOf[caused]](v, lookup.ListCaused, arguments{body: map[string]any{"requestId": c.RequestID}, sandbox: sandbox})
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
	for i := range found.Data {
		e := &found.Data[i]
		e.title, e.sandbox = titles[e.Data.ID], sandbox
		if i >= followed {
			continue
		}
		went, err := fetch[listOf[delivered]](v, webhook.DeliveriesOf, arguments{body: map[string]any{"id": e.ID}, sandbox: sandbox})
		if err != nil {
			return nil, err
		}
		e.deliveries = went.Data
	}
	return found.Data, nil
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

// said says how far a delivery came.
func (d *delivered) said(v *request) (kind ui.Kind, text string) {
	if len(d.Attempts) == 0 {
		return ui.Info, v.words.Say("steht noch aus", "not sent yet")
	}
	last := d.Attempts[0]
	if last.Status == "succeeded" {
		return ui.OK, strconv.Itoa(last.ResponseStatus) + v.words.Say(" in ", " in ") + strconv.FormatInt(last.ResponseTimeMs, 10) + " ms"
	}
	why := cmp.Or(last.ErrorCode, "HTTP_STATUS")
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
	if _, err := fetch[struct{}](v, webhook.Resend, arguments{once: v.form.token, sandbox: v.form.Get("sandbox") != "", body: map[string]any{
		"id": v.form.Get("endpoint"), "eventId": v.form.Get("event"),
	}}); err != nil {
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

// eventPage is the page of an event.
const eventPage = "/settings/interfaces/events/{id}"

// eventPath is the address of the page of an event.
func eventPath(id string) string { return strings.Replace(eventPage, "{id}", id, 1) }
