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
	retention.Keep("request_log", requestlog.Age, "at", "at, request_id").OrNobodys().
		Says("calls of programs, and changes on the pages: time, operation, outcome, key or person, address", "the call"),
	retention.Keep("usage_hours", usage.Age, "hour", "hour, kind, subject, writer").
		Says("counts of the calls of each key and of the deliveries to each endpoint, by the hour", "the hour"),
	retention.Keep("events", event.Retention.Sub(0), "tick", "tick").
		Says("events of the feed: which record changed, when, and which members", "the change"),
	// The age is twice the longest window of a limit.
	retention.Keep("limits", 2*day, "updated_at", "subject").
		Says("how much of each limit was used", "the last call"),
	retention.Keep("notices", notify.Age, "created_at", "principal, id").
		Says("entries of the bell", "the entry"),
	retention.Keep("idempotency", replay.Lifetime, "created_at", "principal, key").
		Says("answers that are stored for a repetition of the call", "the call"),
	// A stored response loses its secret earlier, and its row stays.
	{
		Name: "idempotency", Age: replay.SecretLifetime, Due: replay.Secrets.Due, Delete: replay.Secrets.Erase,
		What: "a new secret in such an answer", From: "the call",
	},
	// An event operation.completed is visible only with its operation. So operations are kept a day
	// longer than events.
	retention.Keep("operations", 31*day, "finished_at", "id", "finished_at > 0").
		Says("long-running operations and their results", "the end of the operation"),
	retention.Keep("webhook_attempts", webhook.LogAge.Sub(0), "attempted_at", "id").
		Says("attempts at webhook deliveries", "the attempt"),
	retention.Keep("audit_lines", audit.Age, "at", "id").OrNobodys().
		Says("the audit log: who administered, exported, imported or checked what", "the act"),
	retention.Keep("invitations", 0, "expires_at", "id").
		Says("invitations: email address, role", "the end of the link"),
	retention.Keep("sessions", 0, "expires_at", "id").
		Says("sessions on the pages: browser, address", "the end of the session"),
	// The request log shows the grant of each call. So grants are kept as long as the request log.
	retention.Keep("oauth_tokens", 7*day, "expires_at", "kid", "(kind <> 'refresh' or used_at = 0)").
		Says("tokens of applications, as hashes", "the end of the token"),
	retention.Keep("oauth_grants", requestlog.Age, "expires_at", "id").
		Says("connections of applications that have ended", "the end of the connection"),
	retention.Keep("oauth_approvals", 30*day, "asked_at", "id", "approved_at = 0").
		Says("requests to approve an application that no admin answered", "the request"),
	retention.Keep("handovers", 90*day, "finished_at", "id", "finished_at > 0").
		Says("counts of a hand-over of records to another person", "the end of the hand-over"),
	retention.Keep("imports", 90*day, "forgotten_at", "id", "forgotten_at > 0").
		Says("the counts of an import", "the deletion of its file"),
	retention.Keep("jobs", 30*day, "due_at", "id", "state = 'failed'").OrNobodys().
		Says("background work that failed", "the last attempt"),
}
