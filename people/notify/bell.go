package notify

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
)

// ListBell is the operation that returns entries of bells, the newest first. A person gets the
// entries of their own bell, and the operator gets all entries.
var ListBell = op.New("bell.list", op.Read, listBell, op.By(op.Self|op.Operator))

func listBell(ctx context.Context, c *op.Call, in BellInput) (op.Entries[Entry], error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return op.Entries[Entry]{}, err
	}
	if !c.IsOperator() {
		in.Principal = c.Actor.PrincipalID()
	}
	return Service.In(c).Bell(ctx, c.Tx, o.Live, in)
}

// ReadInput is the input of ReadBell.
type ReadInput struct {
	Organization string `json:"organizationId,omitempty"`
	// Principal is the owner of the bell. Only the operator sets it.
	Principal string `json:"principalId,omitempty"`
	// Entry is the id of one entry. Empty means all entries.
	Entry string `json:"id,omitempty"`
}

// ReadOutput has the number of entries that were unread before.
type ReadOutput struct {
	Read int64 `json:"read"`
}

// ReadBell is the operation that marks entries of a bell as read.
var ReadBell = op.New("bell.read", op.Administer, readBell, op.By(op.Self|op.Operator))

func readBell(ctx context.Context, c *op.Call, in ReadInput) (out ReadOutput, err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return out, err
	}
	if !c.IsOperator() {
		in.Principal = c.Actor.PrincipalID()
	}
	user, err := access.PrincipalIn(ctx, c.Tx, access.UserPrincipal, in.Principal)
	if err != nil {
		return out, err
	}
	if user.Home != o.Live {
		err = fault.Unknown("There is no user with this id.")
	}
	if err != nil {
		return out, err
	}
	notices := Service.In(c)
	if in.Entry != "" {
		has := id.Valid(id.Notice, in.Entry)
		if has {
			if has, err = notices.Has(ctx, c.Tx, o.Live, user.ID, in.Entry); err != nil {
				return out, err
			}
		}
		if !has {
			return out, &fault.Fault{Code: fault.NotFound, Detail: noEntry}
		}
	}
	out.Read, err = notices.MarkRead(ctx, c.Tx, o.Live, user.ID, in.Entry, c.Now)
	return out, err
}

var noEntry = i18n.Text("There is no entry with this id.")
