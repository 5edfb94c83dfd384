package event

import (
	"kartei/api/op"
	"kartei/kit/id"
)

// Type is a type of event.
type Type struct {
	// Name is the name of the type, for example contact.created.
	Name string
	// Object is the kind of record of the events, and Prefix is the prefix of its ids.
	Object, Prefix string
}

// Test is the type of test events. An endpoint receives them only on demand, and regardless of its
// subscription.
const Test = "webhook.test"

// Types are all types in the order of the contract ('Event catalog'). More types may be added, and
// receivers must ignore unknown ones.
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

// Subscribable returns the names of the types that an endpoint can subscribe to.
func Subscribable() (names []string) {
	for _, t := range Types {
		if t.Name != Test {
			names = append(names, t.Name)
		}
	}
	return names
}

// ReadScope returns the scope that permits reading the records of a type. It is empty if no scope
// is needed, for example for the events of operations.
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
