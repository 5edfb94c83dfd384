package op

import (
	"context"
	"log/slog"
	"slices"

	"kartei/store/db"
)

// Services are shared by all calls of an instance: what every noun may need, and what a noun
// declares as a Service of its own.
type Services struct {
	// Cursors seals and opens paging cursors.
	Cursors *Cursors
	// Families are the kinds of record that this release serves.
	Families []Family
	// Versions are the API versions that a key may pin, the current one first.
	Versions []string
	// DocsBase is the address below which /problems/{CODE} is found.
	DocsBase string
	// BaseURL is the address of the instance for people. It is empty if it is
	// unknown, as without a server.
	BaseURL string
	// Logger receives messages for the operator.
	Logger *slog.Logger
	// Read runs a function on a connection that cannot write. Long reads use it
	// before the transaction begins.
	Read func(ctx context.Context, f func(db.Tx) error) error

	provided map[any]any
}

// Service is a service that a noun declares and the instance provides.
type Service[T any] struct {
	name string // a value without a size might have the address of another one
}

// needed are the services that nouns declare, by their names.
var needed = map[any]string{}

// Need declares a service, as a variable of its package. The name is for the message that
// nobody provides it.
func Need[T any](name string) *Service[T] {
	s := &Service[T]{name}
	needed[s] = name
	return s
}

// Missing returns the names of the services that nobody provides, sorted.
func (s *Services) Missing() (names []string) {
	for service, name := range needed {
		if _, has := s.provided[service]; !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ServiceValue is a service with its value.
type ServiceValue struct{ service, value any }

// Is provides the service.
func (s *Service[T]) Is(value T) ServiceValue { return ServiceValue{s, value} }

// Of returns the service, or the zero value if nobody provides it.
func (s *Service[T]) Of(all *Services) T {
	value, _ := all.provided[s].(T)
	return value
}

// In returns the service of a call.
func (s *Service[T]) In(c *Call) T { return s.Of(c.Services) }

// With returns the services and some more.
func (s Services) With(more ...ServiceValue) *Services {
	all := make(map[any]any, len(s.provided)+len(more))
	for service, value := range s.provided {
		all[service] = value
	}
	for _, p := range more {
		all[p.service] = p.value
	}
	s.provided = all
	return &s
}
