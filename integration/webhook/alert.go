package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/people/notify"
	"kartei/store/db"
)

// The kinds of notices about endpoints.
const (
	// IsFailing says that no attempt succeeded for 24 hours.
	IsFailing notify.Kind = "webhook_failing"
	// WasDisabled says that the endpoint was disabled (see Reason).
	WasDisabled notify.Kind = "webhook_disabled"
)

// AlertFacts are the data of a notice about an endpoint.
type AlertFacts struct {
	Organization string       `json:"organizationId"`
	Endpoint     string       `json:"endpointId"`
	Reason       Reason       `json:"reason,omitempty"`
	Since        clock.Micros `json:"since"` // the time of the first failed attempt
	At           clock.Micros `json:"at"`
}

// Forms maps each kind of notice about endpoints to its form.
var Forms = map[notify.Kind]notify.Form{
	IsFailing: {
		Words: alertWords(failingWords), Mail: alertMail(failingWords), Page: alertPage,
		Farewell: alertFarewell,
	},
	WasDisabled: {
		Words: alertWords(disabledWords), Mail: alertMail(disabledWords), Page: alertPage,
		Farewell: alertFarewell,
	},
}

// alertPage returns a link to the page of the endpoint, which has the delivery log. On that page a
// person can enable the endpoint and resend events.
func alertPage(_ string, data []byte) (notify.Page, error) {
	var f AlertFacts
	err := json.Unmarshal(data, &f)
	return notify.Page{
		Path: "/settings/interfaces/webhooks/" + f.Endpoint,
		Name: "View the endpoint",
	}, err
}

// alert posts a notice that a locked endpoint fails or was disabled. The notice is part of the
// transaction that changes the status, so only one of several replicas posts it.
func (k *StateStore) alert(ctx context.Context, tx db.Tx, h *LockedEndpoint, now clock.Micros) error {
	kind := IsFailing
	switch h.Status {
	case Active:
		return nil
	case Disabled:
		kind = WasDisabled
	}
	live, users, err := access.Owners(ctx, tx, h.Organization, h.principal)
	if err != nil || len(users) == 0 {
		return err
	}
	facts := AlertFacts{Endpoint: h.ID, Reason: h.Reason, Since: h.FailedSince, At: now}
	if facts.Organization, err = access.OrganizationID(ctx, tx, h.Organization); err != nil {
		return err
	}
	return k.Notices.Post(ctx, tx, live, users, kind, facts)
}

// alertWords returns a function that returns the words of a notice. The words have the present name
// of the endpoint.
func alertWords(words func(AlertFacts, names) notify.Words) func(context.Context, db.Tx, []byte) (notify.Words, error) {
	return func(ctx context.Context, tx db.Tx, data []byte) (notify.Words, error) {
		var f AlertFacts
		if err := json.Unmarshal(data, &f); err != nil {
			return notify.Words{}, err
		}
		n, err := called(ctx, tx, f)
		return words(f, n), err
	}
}

// alertMail returns a function that returns the words of an email. The words have ids instead of
// names.
func alertMail(words func(AlertFacts, names) notify.Words) func([]byte) (notify.Words, error) {
	return func(data []byte) (notify.Words, error) {
		var f AlertFacts
		if err := json.Unmarshal(data, &f); err != nil {
			return notify.Words{}, err
		}
		return words(f, names{
			organization: f.Organization, endpoint: i18n.Format("%s of %s", f.Endpoint, f.Organization),
		}), nil
	}
}

// names are the names of an endpoint and its organization, as a notice shows them.
type names struct {
	organization string
	// endpoint is the name or the id of the endpoint, with its organization.
	endpoint i18n.Text
}

// called reads the present names of an endpoint and its organization.
func called(ctx context.Context, tx db.Tx, f AlertFacts) (names, error) {
	o, err := access.OrganizationIn(ctx, tx, f.Organization)
	if err != nil {
		return names{}, err
	}
	n := names{organization: o.Name, endpoint: i18n.Format("%s of %s", f.Endpoint, o.Name)}
	r, err := Find(ctx, tx, o.Number, f.Endpoint)
	switch {
	case err == nil:
		n.endpoint = i18n.Format("“%s” of %s", r.Name, o.Name)
	case !errors.Is(err, db.ErrNoRows): // a deleted endpoint has no name
		return names{}, err
	}
	return n, nil
}

func minute(t clock.Micros) string { return strings.Replace(t.String(), "T", " ", 1)[:16] }

func failingWords(f AlertFacts, n names) notify.Words {
	end := f.Since + disabledAfter
	return notify.Words{
		Title: i18n.Format("Webhook endpoint %s of %s: no delivery for 24 hours", f.Endpoint, n.organization),
		Text: i18n.Format("No delivery to the webhook endpoint %s has succeeded since %s (UTC). Further attempts follow; if none succeeds by %s (UTC), the endpoint will be disabled.\n\n"+
			"The delivery log of the endpoint shows why the attempts fail. As soon as a delivery succeeds, there is nothing more to do.",
			n.endpoint, minute(f.Since), minute(end)),
	}
}

func disabledWords(f AlertFacts, n names) notify.Words {
	why := i18n.Format("No delivery to the webhook endpoint %s has succeeded since %s (UTC). It was therefore disabled after 72 hours, at %s (UTC).",
		n.endpoint, minute(f.Since), minute(f.At))
	title := i18n.Text("72 hours without success")
	switch f.Reason {
	case KeyRevoked:
		why = i18n.Format("The API key or the application that created the webhook endpoint %s has no access any more, or somebody ended the endpoint under “Access”. So it was disabled, at %s (UTC).",
			n.endpoint, minute(f.At))
		title = "its key or application has no access any more"
	case Gone:
		why = i18n.Format("The receiver of the webhook endpoint %s answered 410 Gone at %s (UTC): it wants no more deliveries. The endpoint was therefore disabled at once.",
			n.endpoint, minute(f.At))
		title = "the receiver answers 410 Gone"
	}
	return notify.Words{
		Title: i18n.Format("Webhook endpoint %s of %s was disabled: %s", f.Endpoint, n.organization, title),
		Text: i18n.Join(" ", why, i18n.Format("Pending deliveries are not tried any more.\n\n"+
			"Nothing is lost: the event feed has all events for 30 days. Once the receiver is back, choose “Enable and resend” on the page of the endpoint. The operator of the instance does the same with:\n\nkartei webhook enable %s --org %s --missed",
			f.Endpoint, f.Organization)),
	}
}

var alertFarewell = i18n.Text("Kartei sent this message because the webhook endpoint is yours or because you administer the organization of its service account. You get one message for each such failure.")
