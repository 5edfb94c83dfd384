package settings

import (
	"context"
	"maps"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/requestlog"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// FlushRequests writes pending entries of the request log, so that every
// answered call is found. It needs no transaction.
func FlushRequests[In any](ctx context.Context, c *op.Call, _ In) (struct{}, error) {
	if Flush.In(c) == nil {
		return struct{}{}, nil
	}
	return struct{}{}, Flush.In(c)(ctx)
}

// ListRequests is ReadRequests as an operation.
var ListRequests = op.NewPrefetched("requests.list", op.Read, FlushRequests, ReadRequests, op.By(op.Self|op.Operator))

// ReadRequests returns calls of the request log, the newest first. Callers who do not
// administer the organization see the calls of their own keys, and of applications that
// act for them. By its id they also see a call of their own session.
func ReadRequests(ctx context.Context, c *op.Call, in requestlog.QueryInput, _ struct{}) (requestlog.QueryOutput, error) {
	ids, err := logged(ctx, c, in.Organization)
	if err != nil {
		return requestlog.QueryOutput{}, err
	}
	if Administers(c) {
		return in.Find(ctx, c.Tx, ids)
	}
	own, err := ownCredentials(ctx, c, in.Key)
	if err == nil && in.Request != "" {
		out, err := in.Find(ctx, c.Tx, ids)
		out.Data = slices.DeleteFunc(out.Data, func(l requestlog.Line) bool {
			return l.PrincipalID != c.Actor.PrincipalID() && !slices.Contains(own, l.KeyID)
		})
		return out, err
	}
	if err != nil || len(own) == 0 {
		return requestlog.QueryOutput{Data: []requestlog.Line{}}, err
	}
	return in.Find(ctx, c.Tx, ids, own...)
}

// ownCredentials returns the ids of the caller's keys and grants: the named one, or all.
func ownCredentials(ctx context.Context, c *op.Call, name string) ([]string, error) {
	if name != "" && !id.Valid(id.Grant, name) {
		k, err := keyByID(ctx, c, name)
		return []string{k.ID}, err
	}
	own, err := CredentialIDs(ctx, c.Tx, c.Actor.PrincipalID())
	if name != "" {
		own = slices.DeleteFunc(own, func(s string) bool { return s != name })
	}
	return own, err
}

// CredentialIDs returns the ids of a principal's keys and grants. Expired and ended ones
// count too, since programs may still try them.
func CredentialIDs(ctx context.Context, tx db.Tx, principal string) ([]string, error) {
	return db.Values[string](ctx, tx, selectCredentialIDs, principal)
}

// ListVersions returns which keys use which version of the API.
var ListVersions = op.NewPrefetched("requests.versions", op.Read, FlushRequests, listVersions, op.By(op.Admin|op.Operator))

func listVersions(ctx context.Context, c *op.Call, in requestlog.VersionsInput, _ struct{}) (requestlog.VersionsOutput, error) {
	ids, err := logged(ctx, c, in.Organization)
	if err != nil {
		return requestlog.VersionsOutput{}, err
	}
	return in.Find(ctx, c.Tx, ids)
}

// logged returns the organizations of a list: ids by number. It is the named
// organization. Without a name it is all for the operator, and otherwise the
// caller's own with its sandbox. Only the operator sees calls with unknown credentials.
func logged(ctx context.Context, c *op.Call, name string) (map[int64]string, error) {
	if !IsOperator(c) {
		o, err := Organization(ctx, c, name)
		ids := map[int64]string{o.Number: o.ID}
		if err == nil && name == "" && o.SandboxID != "" {
			o, err = access.OrganizationIn(ctx, c.Tx, o.SandboxID)
			ids[o.Number] = o.ID
		}
		return ids, err
	}
	ids, err := requestlog.Organizations(ctx, c.Tx)
	if err != nil || name == "" {
		return ids, err
	}
	maps.DeleteFunc(ids, func(_ int64, id string) bool { return id != name })
	if len(ids) == 0 {
		return nil, fault.BadRequest(fault.Field{Name: "organizationId", Code: fault.FieldNotFound})
	}
	return ids, nil
}
