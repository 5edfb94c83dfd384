package draft

import (
	"strings"

	"kartei/api/schema/pattern"
	"kartei/integration/event"
)

// webhookTag is the OpenAPI tag of the requests to webhook endpoints. No operation has this tag. If
// the requests had the tag events, generated clients would have them in place of the event
// operations.
const webhookTag = "webhooks"

// webhooks describes the requests to webhook endpoints, one request for each event type.
func (d *drafter) webhooks() (object, error) {
	var out object
	for _, t := range event.Types {
		body, err := d.delivered(t)
		if err != nil {
			return nil, err
		}
		out.set(t.Name, object{{"post", object{
			{"operationId", t.Name},
			{"tags", []string{webhookTag}},
			{"summary", d.say(t.Name + ".summary")},
			{"description", d.say(t.Name + ".description")},
			{"security", []object{{}}},
			{"parameters", d.deliveryHeaders()},
			{"requestBody", object{
				{"description", d.say("delivery.request")},
				{"required", true},
				{"content", object{{"application/json", body}}},
			}},
			{"responses", d.receiverAnswers()},
		}}})
	}
	return out, nil
}

// eventExamples are the reasons in the examples of events. A key is a verb, or the name of a type
// that differs from others with its verb.
var eventExamples = map[string]struct {
	// revision is nil if the record has none.
	revision any
	changed  []string
	// byJob says that a job makes the change.
	byJob bool
}{
	"created":             {revision: 1},
	"document.created":    {revision: 1, byJob: true},
	"updated":             {revision: 3, changed: []string{"note"}},
	"task.completed":      {revision: 3, changed: []string{"status", "completedAt", "completedBy"}},
	"operation.completed": {byJob: true},
}

// delivered describes the body of a request to a webhook endpoint: an event of the type t.
func (d *drafter) delivered(t event.Type) (object, error) {
	schema, err := d.structSchema(eventType, answering)
	if err != nil {
		return nil, err
	}
	value, err := valueExample(eventType)
	if err != nil {
		return nil, err
	}
	example := value.(object)
	example.set("type", t.Name)
	_, verb, _ := strings.Cut(t.Name, ".")
	x, own := eventExamples[t.Name]
	if !own {
		x = eventExamples[verb]
	}
	if x.byJob {
		example.set("requestId", nil)
	}
	example.set("data", object{
		{"object", t.Object}, {"id", t.Prefix + exampleSuffix}, {"revision", x.revision}, {"changed", append([]string{}, x.changed...)},
	})
	return object{
		{"schema", schema},
		{"examples", object{{"example", object{{"summary", d.say(t.Name + ".summary")}, {"value", example}}}}},
	}, nil
}

// deliveryHeaders returns the request headers of Standard Webhooks 1.0.0, and User-Agent.
func (d *drafter) deliveryHeaders() []object {
	header := func(component, name, example string, schema object) object {
		return d.share("parameters", component, object{
			{"name", name}, {"in", "header"}, {"required", true}, {"description", d.say("parameter." + component)},
			{"schema", schema}, {"example", example},
		})
	}
	return []object{
		header("WebhookId", "webhook-id",
			"evt_"+exampleSuffix, matching("^evt"+pattern.IDShape, idLength)),
		header("WebhookTimestamp", "webhook-timestamp",
			"1793525400", matching("^[0-9]+$", 20)),
		header("WebhookSignature", "webhook-signature",
			"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
			matching("^v1,[0-9A-Za-z+/=]{44}( v1,[0-9A-Za-z+/=]{44})?$", 200)),
		header("WebhookUserAgent", "User-Agent", "Kartei-Webhooks/1.0", matching("^Kartei-Webhooks/", 100)),
	}
}

// receiverAnswers describes the responses that a webhook endpoint may return. It has 10 seconds for
// a response.
func (d *drafter) receiverAnswers() object {
	return object{
		{"2XX", object{{"description", d.say("delivery.accepted")}}},
		{"default", object{{"description", d.say("delivery.failed")}}},
	}
}
