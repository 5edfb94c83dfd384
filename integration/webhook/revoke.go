package webhook

import (
	"context"
	"errors"

	"kartei/api/op"
	"kartei/integration/key"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
)

// The values of RevokeInput.Endpoints.
const (
	KeepEndpoints    = "keep"
	DisableEndpoints = "disable"
)

// RevokeInput is the input of RevokeKey.
type RevokeInput struct {
	ID string `json:"id"`
	// Endpoints says what happens to the webhook endpoints that the key created. They stay the same
	// (KeepEndpoints or empty) or are disabled (DisableEndpoints).
	Endpoints string `json:"endpoints,omitempty"`
}

// RevokedKey is the output of RevokeKey.
type RevokedKey struct {
	key.Info
	// Endpoints are the webhook endpoints that the key created, in their state after the call.
	Endpoints []Info `json:"endpoints"`
}

var keepOrDisable = i18n.Text("It must be keep or disable.")

// RevokeKey is the operation that revokes a key forever. It returns the webhook endpoints that the
// key created, and disables them if the input says so.
var RevokeKey = op.New("keys.revoke", op.Administer, revokeKey, op.By(op.Self|op.Operator), op.Always,
	op.Audited("key.revoke"))

func revokeKey(ctx context.Context, c *op.Call, in RevokeInput) (out RevokedKey, err error) {
	if in.Endpoints != "" && in.Endpoints != KeepEndpoints && in.Endpoints != DisableEndpoints {
		return out, fault.Invalid(fault.Field{Name: "endpoints", Code: fault.InvalidFormat, Text: keepOrDisable})
	}
	if out.Info, err = key.Revoke(ctx, c, op.ByID{ID: in.ID}); err != nil {
		return out, err
	}
	asked := FindInput{Organization: out.OrganizationID, Key: out.ID, Limit: MaxEndpoints}
	if in.Endpoints == DisableEndpoints {
		disabled, err := DisableOf(ctx, c, out.OrganizationID, out.ID)
		if err != nil {
			return out, err
		}
		c.Audit.Changed("disabledEndpoints", []string{}, disabled)
	}
	made, err := listInfos(ctx, c, asked)
	out.Endpoints = made.Data
	return out, err
}

// DisableOf disables the webhook endpoints that a key created, if the caller administers them. It
// returns their ids.
func DisableOf(ctx context.Context, c *op.Call, organization, key string) (disabled []string, err error) {
	made, err := FindInput{Organization: organization, Key: key, Limit: MaxEndpoints}.read(ctx, c, MaxEndpoints)
	if err != nil {
		return nil, err
	}
	return DisableAll(ctx, c, made)
}

// DisableOfGrant disables the webhook endpoints that an application created, and returns their ids.
// It does not check the caller, because a grant also ends without a person, for example when a
// token was stolen.
func DisableOfGrant(ctx context.Context, c *op.Call, organization int64, grant string) (disabled []string, err error) {
	made, err := db.List(ctx, c.Tx, scan, findEndpoints+` and key_id = $2 order by id limit $3`, organization, grant,
		MaxEndpoints)
	if err != nil {
		return nil, err
	}
	return DisableAll(ctx, c, made)
}

// DisableAll disables endpoints whose credential has ended, and returns their ids. It locks all of
// them before the first notice, because a notice takes the lock that orders jobs.
func DisableAll(ctx context.Context, c *op.Call, made []Row) (disabled []string, err error) {
	for _, r := range made {
		QueueHold(c.Tx, Address{r.Organization, r.ID})
	}
	disabled = []string{}
	for _, r := range made {
		if r.Status == Disabled {
			continue
		}
		err := Disable(ctx, c, Address{r.Organization, r.ID}, KeyRevoked)
		if errors.Is(err, db.ErrNoRows) { // the owner deleted the endpoint meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		disabled = append(disabled, r.ID)
	}
	return disabled, nil
}
