// Package auditlog owns the operation by which people and operators read the audit log.
package auditlog

import (
	"context"

	"kartei/api/op"
	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/people/audit"
)

// Input is the input of List. An empty member does not restrict the result.
type Input struct {
	Organization string `json:"organizationId,omitempty"`
	// Who is the id of a user or a service account, or the word operator.
	Who string `json:"who,omitempty"`
	// Word is the word of an act, for example key.create, or its part before the dot, for example
	// key.
	Word string `json:"word,omitempty"`
	// Target is the id of the target.
	Target string       `json:"target,omitempty"`
	Since  clock.Micros `json:"since,omitempty"`
	Until  clock.Micros `json:"until,omitempty"`
	// Before is the id of the last line of the previous page.
	Before string `json:"before,omitempty"`
	// Limit is the maximum number of lines, from 1 to 1,000. Zero means 100.
	Limit int `json:"limit,omitempty"`
}

// List is the operation that returns lines of the audit log, the newest first.
var List = op.New("audit.list", op.Read, list, op.By(op.Admin|op.Operator))

func list(ctx context.Context, c *op.Call, in Input) (op.Entries[audit.Line], error) {
	limit, err := op.PageSize(in.Limit, 100)
	if err != nil {
		return op.Entries[audit.Line]{}, err
	}
	ids, err := requestlog.Reached(ctx, c, in.Organization)
	if err != nil {
		return op.Entries[audit.Line]{}, err
	}
	lines, err := audit.Query(ctx, c.Tx, ids, audit.Filter{
		Who: in.Who, Word: in.Word, Target: in.Target, Since: in.Since, Until: in.Until, Before: in.Before, Limit: limit + 1,
	})
	return op.PageOf(lines, limit), err
}
