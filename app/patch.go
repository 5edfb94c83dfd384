package app

import (
	"reflect"

	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
)

// Patch is a JSON merge patch (RFC 7396) for a T: members that are absent
// leave, null clears, objects merge, everything else replaces. The path has
// checked it against the frozen schema before an operation sees it.
type Patch[T any] struct{ raw []byte }

// SetRaw takes the JSON text; the path calls it.
func (p *Patch[T]) SetRaw(raw []byte) { p.raw = raw }

// Apply merges the patch into v, whose nullable members must be pointers.
// That is exactly what decoding into a value that is already filled does:
// null sets a pointer to nil, a missing member is left alone, a nested
// struct merges, a slice is replaced.
func (p Patch[T]) Apply(v *T) error { return json.Unmarshal(p.raw, v) }

// Wrong applies the rules of T, if it has any, to the members that were sent.
func (p Patch[T]) Wrong(s *Services, sent Sent) []fault.Field {
	v := new(T)
	ruled, is := any(v).(Ruled)
	if !is || p.Apply(v) != nil {
		return nil
	}
	return ruled.Wrong(s, sent)
}

// Type returns T; the OpenAPI draft learns from it what a patch may hold.
func (Patch[T]) Type() reflect.Type { return reflect.TypeFor[T]() }
