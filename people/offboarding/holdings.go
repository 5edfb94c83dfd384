package offboarding

import (
	"context"

	"kartei/api/op"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/principal"
	"kartei/store/db"
)

// Holdings are what a principal has in the organization and its sandbox. Shared records are not
// counted here, but by the hand-over.
type Holdings struct {
	// Keys counts the API keys that are active or paused. Sessions counts the sessions of the web
	// application. Applications counts the applications that may act for the person.
	Keys         int64 `json:"keys"`
	Sessions     int64 `json:"sessions"`
	Applications int64 `json:"applications"`
	// OpenTasks is the number of assigned tasks that are not completed. It counts at most 10,000 in
	// each organization.
	OpenTasks int64 `json:"openTasks"`
	// PrivateRecords has the numbers of private records by family. Each number counts at most
	// 10,000 in each organization.
	PrivateRecords map[string]int64 `json:"privateRecords"`
	// Endpoints are the webhook endpoints. They receive no events while their owner is disabled.
	Endpoints []HeldEndpoint `json:"endpoints"`
}

// HeldEndpoint is a webhook endpoint with the events that it misses once its owner is disabled.
type HeldEndpoint struct {
	Endpoint
	URL        string   `json:"url"`
	EventTypes []string `json:"eventTypes"`
	// Waiting is the number of pending deliveries, up to 10,000. MissedSince is a time before the
	// first event that was never tried. It is null if there is no such event.
	Waiting     int64        `json:"waiting"`
	MissedSince clock.Micros `json:"missedSince"`
	// Missed counts the events that never arrived. It is null if no event was missed.
	Missed *webhook.Tally `json:"missed"`
}

const (
	countKeys         = `select count(*) from api_keys where principal_id = $1 and revoked_at = 0 and expires_at > $2`
	countSessions     = `select count(*) from sessions where principal_id = $1 and ended_at = 0 and expires_at > $2 and last_seen_at + idle > $2`
	countApplications = `select count(distinct client_id) from oauth_grants where principal_id = $1 and ended_at = 0 and expires_at > $2`
	countOpenTasks    = `select count(*) from (select 1 from tasks
		where organization = $1 and assignee_id = $2 and status = 'open' and deleted = false limit $3) as t`
)

// HoldingsInput is the input of Holds.
type HoldingsInput struct {
	ID string `json:"id"`
	// EndpointsOnly leaves out all counts.
	EndpointsOnly bool `json:"endpointsOnly,omitempty"`
}

// Holds is the operation that returns what a user or a service account has.
var Holds = op.New("people.holdings", op.Read, holds, op.By(op.Admin|op.Operator))

func holds(ctx context.Context, c *op.Call, in HoldingsInput) (h Holdings, err error) {
	p, err := principal.Find(ctx, c, "", in.ID)
	if err != nil {
		return h, err
	}
	tenants, err := tenantsOf(ctx, c.Tx, p)
	if err != nil {
		return h, err
	}
	h = Holdings{PrivateRecords: map[string]int64{}, Endpoints: []HeldEndpoint{}}
	for _, t := range tenants {
		if err := h.addEndpoints(ctx, c, t, p.ID); err != nil {
			return h, err
		}
	}
	if in.EndpointsOnly {
		return h, nil
	}
	for statement, n := range map[string]*int64{
		countKeys: &h.Keys, countSessions: &h.Sessions, countApplications: &h.Applications,
	} {
		if err := c.Tx.QueryRow(ctx, statement, p.ID, c.Now).Scan(n); err != nil {
			return h, err
		}
	}
	for _, t := range tenants {
		var tasks int64
		if err := c.Tx.QueryRow(ctx, countOpenTasks, t.number, p.ID, countMost).Scan(&tasks); err != nil {
			return h, err
		}
		h.OpenTasks += tasks
	}
	h.PrivateRecords, err = countPrivate(ctx, c.Tx, tenants, p.ID)
	return h, err
}

// countPrivate returns the numbers of a principal's private records, by family.
func countPrivate(ctx context.Context, tx db.Tx, tenants []tenant, principal string) (map[string]int64, error) {
	counts := map[string]int64{}
	for _, t := range tenants {
		for _, f := range families {
			n, err := f.CountPrivate(ctx, tx, t.number, principal, countMost)
			if err != nil {
				return nil, err
			}
			counts[f.plural] += n
		}
	}
	return counts, nil
}

// addEndpoints adds the webhook endpoints of a principal in one organization.
func (h *Holdings) addEndpoints(ctx context.Context, c *op.Call, t tenant, principal string) error {
	endpoints, err := webhook.Of(ctx, c.Tx, t.number, principal)
	if err != nil {
		return err
	}
	for i := range endpoints {
		e, err := webhook.Inform(ctx, c, &endpoints[i], false)
		if err != nil {
			return err
		}
		held := HeldEndpoint{Endpoint{t.id, e.ID, e.Name, e.Status}, e.URL, e.EventTypes, e.Waiting, e.MissedSince, nil}
		if e.Status == webhook.Disabled || e.MissedSince != 0 {
			if held.Missed, err = endpoints[i].Missed(ctx, c); err != nil {
				return err
			}
		}
		h.Endpoints = append(h.Endpoints, held)
	}
	return nil
}
