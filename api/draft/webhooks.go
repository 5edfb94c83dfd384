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
	data := object{{"object", t.Object}, {"id", t.Prefix + exampleSuffix}, {"revision", nil}, {"changed", []string{}}}
	switch _, verb, _ := strings.Cut(t.Name, "."); {
	case verb == "updated":
		data.set("revision", 3)
		data.set("changed", []string{"note"})
	case t.Name == "task.completed":
		data.set("revision", 3)
		data.set("changed", []string{"status", "completedAt", "completedBy"})
	case verb == "created":
		data.set("revision", 1)
	case t.Object == "operation":
		example.set("requestId", nil)
	}
	example.set("data", data)
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
