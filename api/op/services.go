package op

import (
	"context"
	"log/slog"
	"slices"

	"kartei/store/db"
)

// Services has the services for the operations of an instance. Some are fields, because many
// packages need them. The others are declared by the packages that need them (see Need).
type Services struct {
	// Cursors seals and opens paging cursors.
	Cursors *Cursors
	// Families are the kinds of record that this release serves.
	Families []Family
	// Versions are the versions that a key may pin, the current one first.
	Versions []string
	// DocsBase is the address to which the path /problems/{CODE} is relative.
	DocsBase string
	// BaseURL is the address of the instance for people. It is empty if it is not known, as in the
	// command line without a server.
	BaseURL string
	// Logger receives messages for the operator.
	Logger *slog.Logger
	// Read runs a function with a connection that cannot write. Long reads use it before the
	// transaction begins.
	Read func(ctx context.Context, f func(db.Tx) error) error

	provided map[any]any
}

// Service is a service that a package declares and the instance provides.
type Service[T any] struct {
	name string // without a field, two services could have the same address
}

// needed maps each declared service to its name.
var needed = map[any]string{}

// Need declares a service. Its result is a variable of the package that uses the service. The name
// is for the error if the instance does not provide it.
func Need[T any](name string) *Service[T] {
	s := &Service[T]{name}
	needed[s] = name
	return s
}

// Missing returns the names of the declared services that the instance does not provide, sorted.
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

// Is returns the service with this value, for Services.With.
func (s *Service[T]) Is(value T) ServiceValue { return ServiceValue{s, value} }

// Of returns the value of the service, or the zero value if the instance does not provide it.
func (s *Service[T]) Of(all *Services) T {
	value, _ := all.provided[s].(T)
	return value
}

// In returns the value of the service for a call.
func (s *Service[T]) In(c *Call) T { return s.Of(c.Services) }

// With returns a copy of the services with more values.
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
