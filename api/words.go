package api

import (
	"slices"
	"time"

	"kartei/access"
	"kartei/integration/limit"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
)

// This file has the texts of faults that depend on the operation, the
// organization or the limit, and not only on the code.

// withDetail adds the expected prefix of ids to the text of NOT_FOUND, because an id of another
// kind is a common mistake. The text is the same for every cause.
func (c *call) withDetail(f *fault.Fault) *fault.Fault {
	if f.Code != fault.NotFound || f.Detail != "" || c.op == nil || !c.op.Named() {
		return f
	}
	prefix := c.op.Prefix()
	if prefix == "" {
		return f
	}
	more := *f
	more.Detail = i18n.Join(" ", fault.NotFound.Entry().Detail, i18n.Format("Ids begin with %s here.", prefix))
	return &more
}

// Prefix returns the prefix of the ids of the operation's family. It is empty if the family has
// none.
func (o *Operation) Prefix() string {
	for _, f := range Families {
		if f.Plural == o.Family {
			return f.Prefix
		}
	}
	return map[string]string{
		"events": id.Event, "operations": id.Operation, "webhook_endpoints": id.WebhookEndpoint,
	}[o.Family]
}

// forbidden returns the fault for an actor who lacks the scope of an operation, or whose
// organization allows only reading.
func forbidden(op *Operation, a *access.Actor) *fault.Fault {
	if a.OnlyReads() && op.Writes() {
		return &fault.Fault{
			Code:   fault.Forbidden,
			Reason: string(access.LevelRead),
			Detail: "The organization allows only reading through the API at present.",
		}
	}
	return access.Lacking(op.Scope)
}

// policyWords says for each limit what it counts. The amount and the window are added to the text.
var policyWords = map[string]i18n.Text{
	"key":          "points of this key",
	"writes":       "writing calls with this key",
	"concurrency":  "concurrent calls with this key",
	"principal":    "points of all keys of this person or service account",
	"organization": "points of all keys of the organization (one key may use only a part of them)",
	"deletes":      "deletions with this key",
	"deletes-day":  "deletions with this key",
	"outflow":      "records read with this key",

	"session-writes":      "changes",
	"session-concurrency": "concurrent requests",
	"session-deletes":     "deletions",
	"session-deletes-day": "deletions",
	"session-outflow":     "records shown",
}

// windowWords has the text for an amount in each window of a limit.
var windowWords = map[time.Duration]i18n.Text{
	time.Minute:    "%d %s a minute",
	time.Hour:      "%d %s an hour",
	24 * time.Hour: "%d %s in 24 hours",
}

// limited returns a text about the limits that refused a call. begun is the start of the call.
func limited(d *limit.Decision, begun time.Time) i18n.Text {
	wait := int64((d.RetryAfter + time.Second - 1) / time.Second)
	if d.Locked {
		until := begun.Add(time.Duration(wait) * time.Second).UTC().Format(time.RFC3339)
		return i18n.Format("This key is locked until %s, because it got too many answers with status 429 in a short "+
			"time. Wait until then, and after every 429 as long as Retry-After says.", until)
	}
	var reached []i18n.Text
	for _, s := range d.Statuses {
		words, known := policyWords[s.Name]
		if !known || !slices.Contains(d.Violated, s.Name) {
			continue
		}
		amount, known := windowWords[s.Window]
		if !known || s.Unit == limit.Calls {
			amount = "%d %s"
		}
		reached = append(reached, i18n.Format(amount, s.Quota, words))
	}
	if reached == nil {
		return ""
	}
	return i18n.Format("The limit is reached: %s. Repeat the call after %d s at the earliest.",
		i18n.Join("; ", reached...), wait)
}
