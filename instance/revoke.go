package instance

import (
	"context"
	"fmt"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/webhook"
)

// What RevokeInput.Endpoints may say.
const (
	KeepEndpoints    = "keep"
	DisableEndpoints = "disable"
)

// RevokeInput is what the act key.revoke takes.
type RevokeInput struct {
	ID string `json:"id"`
	// Endpoints says what becomes of the webhook endpoints that the key made: they
	// go on (KeepEndpoints, or empty), or are disabled.
	Endpoints string `json:"endpoints,omitempty"`
}

// RevokedKey is what the act key.revoke answers.
type RevokedKey struct {
	access.KeyInfo
	// Endpoints are the webhook endpoints that the key made, as they are now.
	Endpoints []webhook.Info `json:"endpoints"`
}

var keepOrDisable = fault.Text{DE: "Möglich sind keep und disable.", EN: "It must be keep or disable."}

// revokeKey ends a key for ever, and tells of the webhook endpoints that it made
// or disables them. If it fails behind the key's end, it can be repeated.
func revokeKey(dir *access.Directory, desk *webhook.Desk) func(context.Context, RevokeInput) (RevokedKey, error) {
	return func(ctx context.Context, in RevokeInput) (out RevokedKey, err error) {
		if in.Endpoints != "" && in.Endpoints != KeepEndpoints && in.Endpoints != DisableEndpoints {
			return out, fault.Invalid(fault.Field{Name: "endpoints", Code: fault.InvalidFormat, Text: &keepOrDisable})
		}
		if out.KeyInfo, err = dir.RevokeKey(ctx, access.ByID{ID: in.ID}); err != nil {
			return out, err
		}
		made, err := desk.Find(ctx, webhook.FindInput{Organization: out.OrganizationID, Key: out.ID, Limit: webhook.MaxEndpoints})
		if err != nil {
			return out, fmt.Errorf("the key is revoked; its webhook endpoints were not looked up: %w", err)
		}
		out.Endpoints = made.Data
		if in.Endpoints != DisableEndpoints {
			return out, nil
		}
		for i, e := range out.Endpoints {
			if e.Status == webhook.Disabled {
				continue
			}
			now, err := desk.Disable(ctx, webhook.One{Organization: e.OrganizationID, ID: e.ID}, webhook.KeyRevoked)
			switch {
			case fault.Is(err, fault.NotFound): // its owner deleted it meanwhile
			case err != nil:
				return out, fmt.Errorf("the key is revoked; its webhook endpoints are not all disabled: %w", err)
			default:
				out.Endpoints[i] = now
			}
		}
		return out, nil
	}
}
