package lookup

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/record/operation"
	"kartei/record/search"
)

// Thing is an object with an id that is not a record, for example a call, a key or a person.
type Thing struct {
	// Object is the kind of the object: request, event, operation, delivery, webhookEndpoint,
	// key, user or serviceAccount.
	Object string `json:"object"`
	ID     string `json:"id"`
	// Title is a short text about the object: a name, a type, or an operation with its status.
	Title string `json:"title"`
	// OrganizationID is the organization of a call, which may be the sandbox. It is empty for
	// other objects.
	OrganizationID string `json:"organizationId,omitempty"`
	// Of is the id of another object on whose page this one is shown. For a delivery, it is the
	// endpoint.
	Of string `json:"of,omitempty"`
}

// idIn returns the first id in a text, for example in a pasted URL or a log line. It returns ""
// if there is no id.
func idIn(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
	for _, w := range words {
		if prefix, _, is := strings.Cut(w, "_"); is && (things[prefix+"_"] != nil || familyOfID(w) != nil) &&
			id.Valid(prefix+"_", w) {
			return w
		}
	}
	return ""
}

// familyOfID returns the family whose prefix an id has, or nil.
func familyOfID(name string) *family {
	i := slices.IndexFunc(families, func(f family) bool { return strings.HasPrefix(name, f.Prefix) })
	if i < 0 {
		return nil
	}
	return &families[i]
}

// byID adds the record or the object with an id to out, if the caller may see it.
func (out *FindOutput) byID(ctx context.Context, c *op.Call, name string) error {
	f := familyOfID(name)
	if f == nil {
		thing, err := things[name[:4]](ctx, c, name)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.ValidationFailed) || fault.Is(err, fault.Forbidden) {
			return nil
		}
		if err != nil {
			return err
		}
		if thing.Object != "" {
			thing.ID = name
			out.Thing, out.Best = &thing, name
		}
		return nil
	}
	if !c.Actor.May(f.ReadScope()) {
		return nil
	}
	found, err := f.look(ctx, c, []string{name})
	if err != nil || len(found) == 0 {
		return err
	}
	titles, err := titlesFor(ctx, c, found)
	if err != nil {
		return err
	}
	found[0].Exact = true
	out.Best = name
	out.Groups = []Group{{Family: f.Plural, Hits: []Hit{found[0].finish(search.Marker{}, titles)}}}
	return nil
}

// things has, for each prefix of ids, the function that finds an object. The function returns the
// zero Thing if the caller may not open the object's page.
var things map[string]func(context.Context, *op.Call, string) (Thing, error)

func init() {
	things = map[string]func(context.Context, *op.Call, string) (Thing, error){
		id.Request:         findRequest,
		id.Event:           findEvent,
		id.Operation:       findOperation,
		id.WebhookEndpoint: findEndpoint,
		id.Delivery:        findDelivery,
		id.Key:             findKey,
		id.User:            findPrincipal,
		id.ServiceAccount:  findPrincipal,
	}
}

// findRequest finds a call that the caller may see in the request log. A call with a refused key
// has no principal.
func findRequest(ctx context.Context, c *op.Call, name string) (Thing, error) {
	found, err := requestlog.Read(ctx, c, requestlog.QueryInput{Request: name}, struct{}{})
	for _, l := range found.Data {
		if l.RequestID == name {
			return Thing{
				Object: "request", Title: l.Operation + " " + strconv.Itoa(l.Status),
				OrganizationID: l.OrganizationID,
			}, err
		}
	}
	return Thing{}, err
}

func findEvent(ctx context.Context, c *op.Call, name string) (Thing, error) {
	e, err := event.Find(ctx, c, op.ByID{ID: name})
	return Thing{Object: "event", Title: e.Type}, err
}

func findOperation(ctx context.Context, c *op.Call, name string) (Thing, error) {
	o, err := operation.Find(ctx, c, op.ByID{ID: name})
	return Thing{Object: "operation", Title: o.Type + " " + string(o.Status)}, err
}

func findEndpoint(ctx context.Context, c *op.Call, name string) (Thing, error) {
	e, err := webhook.ReadInfo(ctx, c, webhook.GetInput{One: webhook.One{ID: name}})
	return Thing{Object: "webhookEndpoint", Title: e.Name}, err
}

func findDelivery(ctx context.Context, c *op.Call, name string) (Thing, error) {
	endpoint, title, err := webhook.AttemptOf(ctx, c, name)
	return Thing{Object: "delivery", Title: title, Of: endpoint}, err
}

func findKey(ctx context.Context, c *op.Call, name string) (Thing, error) {
	k, err := key.Read(ctx, c, op.ByID{ID: name})
	return Thing{Object: "key", Title: k.Name}, err
}

func findPrincipal(ctx context.Context, c *op.Call, name string) (Thing, error) {
	found, err := principal.ReadNames(ctx, c, principal.NamesInput{IDs: []string{name}})
	if err != nil || len(found.Data) == 0 {
		return Thing{}, err
	}
	return Thing{Object: string(found.Data[0].Type), Title: found.Data[0].Name}, nil
}
