package api

import (
	"context"
	"net/http"
	"reflect"

	"kartei/app"
)

// show leaves the record out of the answer to a change where the credential
// may write the family but not read it: 204 with the new ETag. Else a change
// of nothing would read any record whose id is known. A creation shows only
// what the caller sent.
func show(_ *API, _ context.Context, c *call) error {
	if c.op.ShowsRecord() && !c.actor.May(c.op.ReadScope()) {
		c.result.status, c.result.body = http.StatusNoContent, nil
	}
	return nil
}

// ShowsRecord reports whether the operation changes a record that was there
// before and answers with it. One that makes a secret is left out: its answer
// is the only one that tells it.
func (o *Operation) ShowsRecord() bool {
	return o.Revises() && !o.Run.Output.Implements(reflect.TypeFor[app.Secret]())
}

// Revises reports whether the operation makes the next revision of a record
// that was there before, and not another record.
func (o *Operation) Revises() bool {
	out := o.Run.Output
	return o.Writes() && o.Named() && out.Implements(reflect.TypeFor[app.Revised]()) && !out.Implements(reflect.TypeFor[app.Located]())
}

// ReadScope returns the scope for reading records of the operation's family.
func (o *Operation) ReadScope() string { return o.Family + ":read" }
