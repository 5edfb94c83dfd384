package api

import (
	"fmt"
	"reflect"

	"kartei/api/schema"
	"kartei/kit/clock"
)

// binding maps the fields of an input type to their sources. It is built once
// for each row; a call only sets fields.
type binding struct {
	input reflect.Type
	// path is the index of the field tagged `path:"id"`, or -1.
	path int
	// query maps the name of a parameter to its field, which may be in an
	// embedded struct.
	query map[string][]int
	// body is the index of the field tagged `body:"..."`, or -1.
	body int
	// whole is true outside of the contract: the body is the whole input.
	whole bool
}

// bindingFor reads the tags of an input type. It panics if a field has no
// source: that is a mistake in the table, found at the start.
func bindingFor(t reflect.Type) *binding {
	b := &binding{input: t, path: -1, body: -1, query: map[string][]int{}}
	for _, f := range reflect.VisibleFields(t) {
		switch {
		case f.Anonymous:
		case f.Tag.Get("query") != "":
			b.query[f.Tag.Get("query")] = f.Index
		case len(f.Index) == 1 && f.Tag.Get("path") != "":
			b.path = f.Index[0]
		case len(f.Index) == 1 && f.Tag.Get("body") != "":
			b.body = f.Index[0]
		default:
			panic(fmt.Sprintf("api: %s.%s says not where it comes from", t, f.Name))
		}
	}
	return b
}

// fill builds an input from its parts and returns a pointer to it.
func (b *binding) fill(id string, parameters []schema.Parameter) reflect.Value {
	in := reflect.New(b.input)
	v := in.Elem()
	if b.path >= 0 {
		v.Field(b.path).SetString(id)
	}
	for _, p := range parameters {
		f := v.FieldByIndex(b.query[p.Name])
		switch value := p.Value.(type) {
		case string:
			f.SetString(value)
		case int64:
			f.SetInt(value)
		case bool:
			f.SetBool(value)
		case clock.Micros:
			f.SetInt(int64(value))
		}
	}
	return in
}
