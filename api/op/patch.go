package op

import (
	"reflect"

	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
)

// Patch is a JSON merge patch (RFC 7396) for a T. A missing member is unchanged, null clears a
// member, objects merge, and other values replace. It has already been checked by the frozen
// schema.
type Patch[T any] struct{ raw []byte }

// SetRaw sets the JSON text of the patch. Package schema calls it.
func (p *Patch[T]) SetRaw(raw []byte) { p.raw = raw }

// MarshalJSON returns the JSON text of the patch.
func (p Patch[T]) MarshalJSON() ([]byte, error) {
	if p.raw == nil {
		return []byte("{}"), nil
	}
	return p.raw, nil
}

// Apply merges the patch into v, whose nullable members must be pointers.
// Decoding into an existing value does that: null sets a pointer to nil, a
// missing member stays, a nested struct merges, a slice is replaced.
func (p Patch[T]) Apply(v *T) error { return json.Unmarshal(p.raw, v) }

// Wrong returns the faults of the patch by the rules of T, if T has any. Only the members of the
// patch are judged.
func (p Patch[T]) Wrong(s *Services, sent RuleScope) []fault.Field {
	v := new(T)
	ruled, is := any(v).(Checker)
	if !is || p.Apply(v) != nil {
		return nil
	}
	return ruled.Wrong(s, sent)
}

// Type returns the type T. The OpenAPI draft and the schema need it.
func (Patch[T]) Type() reflect.Type { return reflect.TypeFor[T]() }
