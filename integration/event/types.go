package event

import (
	"kartei/api/op"
	"kartei/kit/id"
)

// Type is a type of event.
type Type struct {
	// Name is the name in events, for example contact.created.
	Name string
	// Object and Prefix describe the subject of the event.
	Object, Prefix string
}

// Test is a type that an endpoint receives on demand only, whatever it
// subscribed to.
const Test = "webhook.test"

// Types is the catalogue in the order of the contract ('Event catalog'). Types
// are added over time, and receivers must ignore unknown ones.
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

// Subscribable returns the types that an endpoint can subscribe to.
func Subscribable() (names []string) {
	for _, t := range Types {
		if t.Name != Test {
			names = append(names, t.Name)
		}
	}
	return names
}

// ReadScope returns the scope for reading the records behind a type. It is
// empty if none is needed, for example for one's own operations.
func ReadScope(name string, families []op.Family) string {
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
