package erasure

import (
	"time"

	"kartei/integration/event"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/people/audit"
	"kartei/people/notify"
	"kartei/store/replay"
	"kartei/store/retention"
)

const day = 24 * time.Hour

// Rules say how long the rows of each table are kept (contract, 'Other constants'; open points,
// 'Preconditions and idempotency').
var Rules = []retention.Rule{
	retention.Keep("request_log", requestlog.Age, "at", "at, request_id").OrNobodys(),
	retention.Keep("usage_hours", usage.Age, "hour", "hour, kind, subject, writer"),
	retention.Keep("events", event.Retention.Sub(0), "tick", "tick"),
	retention.Keep("limits", 2*day, "updated_at", "subject"), // twice the longest window of a limit
	retention.Keep("notices", notify.Age, "created_at", "principal, id"),
	retention.Keep("idempotency", replay.Lifetime, "created_at", "principal, key"),
	// A stored response loses its secret earlier, and its row stays.
	{Name: "idempotency", Age: replay.SecretLifetime, Due: replay.Secrets.Due, Delete: replay.Secrets.Erase},
	// An event operation.completed is visible only with its operation. So operations are kept a day
	// longer than events.
	retention.Keep("operations", 31*day, "finished_at", "id", "finished_at > 0"),
	retention.Keep("webhook_attempts", webhook.LogAge.Sub(0), "attempted_at", "id"),
	retention.Keep("audit_lines", audit.Age, "at", "id").OrNobodys(),
	retention.Keep("invitations", 0, "expires_at", "id"),
	retention.Keep("sessions", 0, "expires_at", "id"),
	// The request log shows the grant of each call. So grants are kept as long as the request log.
	retention.Keep("oauth_tokens", 7*day, "expires_at", "kid", "(kind <> 'refresh' or used_at = 0)"),
	retention.Keep("oauth_grants", requestlog.Age, "expires_at", "id"),
	retention.Keep("oauth_approvals", 30*day, "asked_at", "id", "approved_at = 0"),
	retention.Keep("handovers", 90*day, "finished_at", "id", "finished_at > 0"),
	retention.Keep("imports", 90*day, "forgotten_at", "id", "forgotten_at > 0"),
	retention.Keep("jobs", 30*day, "due_at", "id", "state = 'failed'").OrNobodys(),
}
