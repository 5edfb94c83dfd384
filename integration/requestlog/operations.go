package requestlog

import (
	"context"
	"maps"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/usage"
	"kartei/kit/fault"
)

// FlushFirst writes the queued entries of the request log, so that a query finds every call that
// has its response. It needs no transaction.
func FlushFirst[In any](ctx context.Context, c *op.Call, _ In) (struct{}, error) {
	if usage.Flush.In(c) == nil {
		return struct{}{}, nil
	}
	return struct{}{}, usage.Flush.In(c)(ctx)
}

// List is the operation that runs Read.
var List = op.NewPrefetched("requests.list", op.Read, FlushFirst, Read, op.By(op.Self|op.Operator))

// Read returns calls of the request log, the newest first. A caller who does not administer the
// organization gets the calls of their own keys and of applications that act for them. With its
// Request-Id, they also get a call of their own sessions.
func Read(ctx context.Context, c *op.Call, in QueryInput, _ struct{}) (QueryOutput, error) {
	ids, err := Reached(ctx, c, in.Organization)
	if err != nil {
		return QueryOutput{}, err
	}
	if c.Administers() {
		return in.Find(ctx, c.Tx, ids)
	}
	own, err := key.OwnCredentials(ctx, c, in.Key)
	if err == nil && in.Request != "" {
		out, err := in.Find(ctx, c.Tx, ids)
		out.Data = slices.DeleteFunc(out.Data, func(l Line) bool {
			return l.PrincipalID != c.Actor.PrincipalID() && !slices.Contains(own, l.KeyID)
		})
		return out, err
	}
	if err != nil || len(own) == 0 {
		return QueryOutput{Data: []Line{}}, err
	}
	return in.Find(ctx, c.Tx, ids, own...)
}

// ListVersions is the operation that returns which keys use which versions of the API.
var ListVersions = op.NewPrefetched("requests.versions", op.Read, FlushFirst, listVersions, op.By(op.Admin|op.Operator))

func listVersions(ctx context.Context, c *op.Call, in VersionsInput, _ struct{}) (VersionsOutput, error) {
	ids, err := Reached(ctx, c, in.Organization)
	if err != nil {
		return VersionsOutput{}, err
	}
	return in.Find(ctx, c.Tx, ids)
}

// Reached returns the ids of organizations by their numbers. If name is not empty, it is the
// organization with this id. Otherwise the operator gets all organizations, and other callers get
// their own with its sandbox. Only the operator gets Nobody.
func Reached(ctx context.Context, c *op.Call, name string) (map[int64]string, error) {
	if !c.IsOperator() {
		o, err := c.FindOrganization(ctx, name)
		ids := map[int64]string{o.Number: o.ID}
		if err != nil {
			return ids, err
		}
		if name == "" && o.SandboxID != "" {
			o, err = access.OrganizationIn(ctx, c.Tx, o.SandboxID)
			ids[o.Number] = o.ID
		}
		return ids, err
	}
	ids, err := Organizations(ctx, c.Tx)
	if err != nil || name == "" {
		return ids, err
	}
	maps.DeleteFunc(ids, func(_ int64, id string) bool { return id != name })
	if len(ids) == 0 {
		return nil, fault.BadRequest(fault.Field{Name: "organizationId", Code: fault.FieldNotFound})
	}
	return ids, nil
}
