package settings

import (
	"context"
	"maps"

	"kartei/app"
	"kartei/kit/fault"
	"kartei/requestlog"
)

// FlushRequests writes pending entries of the request log, so that every
// answered call is found. It needs no transaction.
func FlushRequests[In any](ctx context.Context, c *app.Call, _ In) (struct{}, error) {
	if c.Services.Settings.Flush == nil {
		return struct{}{}, nil
	}
	return struct{}{}, c.Services.Settings.Flush(ctx)
}

// ListRequests returns calls of the request log, the newest first. Callers who do not
// administer the organization name one of their own keys and see its calls.
func ListRequests(ctx context.Context, c *app.Call, in requestlog.QueryInput, _ struct{}) (requestlog.QueryOutput, error) {
	if !administers(c) {
		if in.Key == "" {
			return requestlog.QueryOutput{}, fault.BadRequest(fault.Field{Name: "key", Code: fault.Required})
		}
		k, err := keyByID(ctx, c, in.Key)
		if err != nil {
			return requestlog.QueryOutput{}, err
		}
		in.Organization, in.Key = k.OrganizationID, k.ID
	}
	ids, err := logged(ctx, c, in.Organization)
	if err != nil {
		return requestlog.QueryOutput{}, err
	}
	return in.Find(ctx, c.Tx, ids)
}

// ListVersions returns which keys use which version of the API.
func ListVersions(ctx context.Context, c *app.Call, in requestlog.VersionsInput, _ struct{}) (requestlog.VersionsOutput, error) {
	ids, err := logged(ctx, c, in.Organization)
	if err != nil {
		return requestlog.VersionsOutput{}, err
	}
	return in.Find(ctx, c.Tx, ids)
}

// logged returns the organizations of a list: ids by number. It is the named
// organization. Without a name it is all for the operator, and otherwise the
// caller's own. Only the operator sees calls with unknown credentials.
func logged(ctx context.Context, c *app.Call, name string) (map[int64]string, error) {
	if !isOperator(c) {
		o, err := Organization(ctx, c, name)
		return map[int64]string{o.Number: o.ID}, err
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
