package event

import (
	"kartei/app"
	"kartei/kit/id"
)

// Type is one kind of event.
type Type struct {
	// Name stands in events, for example contact.created.
	Name string
	// Object and Prefix are those of what it is about.
	Object, Prefix string
}

// Test is the type that an endpoint gets on demand only, whatever it subscribed to.
const Test = "webhook.test"

// Types is the catalogue (contract, 'Event catalog'), in its order. Types are
// added over time: receivers pass over those that they do not know.
var Types = []Type{
	{"contact.created", "contact", id.Contact},
	{"contact.updated", "contact", id.Contact},
	{"contact.deleted", "contact", id.Contact},
	{"company.created", "company", id.Company},
	{"company.updated", "company", id.Company},
	{"company.deleted", "company", id.Company},
	{"task.created", "task", id.Task},
	{"task.updated", "task", id.Task},
	{"task.completed", "task", id.Task},
	{"task.deleted", "task", id.Task},
	{"document.created", "document", id.Document},
	{"document.deleted", "document", id.Document},
	{"operation.completed", "operation", id.Operation},
	{Test, "webhook_endpoint", id.WebhookEndpoint},
}

// Subscribable names the types that an endpoint can subscribe to.
func Subscribable() (names []string) {
	for _, t := range Types {
		if t.Name != Test {
			names = append(names, t.Name)
		}
	}
	return names
}

// ReadScope returns the scope that reading the records takes which a type is
// about; empty for what needs none, such as one's own operations.
func ReadScope(name string, families []app.Family) string {
	for _, t := range Types {
		if t.Name != name {
			continue
		}
		for _, f := range families {
			if f.Object == t.Object {
				return f.ReadScope()
			}
		}
	}
	return ""
}
