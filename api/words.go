package api

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/access"
	"kartei/integration/limit"
	"kartei/kit/fault"
	"kartei/kit/id"
)

// This file has the texts of faults that depend on the operation, the
// organization or the limit, and not only on the code.

// withDetail adds the expected prefix of ids to NOT_FOUND, because an id of
// another kind is a common mistake. The text is the same for every cause.
func (c *call) withDetail(f *fault.Fault) *fault.Fault {
	if f.Code != fault.NotFound || f.Detail != nil || c.op == nil || !c.op.Named() {
		return f
	}
	prefix := c.op.Prefix()
	if prefix == "" {
		return f
	}
	more := *f
	general := fault.NotFound.Entry().Detail
	more.Detail = &fault.Text{
		DE: general.DE + " Kennungen beginnen hier mit " + prefix + ".",
		EN: general.EN + " Ids begin with " + prefix + " here.",
	}
	return &more
}

// Prefix returns the id prefix of the operation's records.
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

// forbidden explains why an actor may not call an operation.
func forbidden(op *Operation, a *access.Actor) *fault.Fault {
	if a.OnlyReads() && op.Writes() {
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.LevelRead), Detail: &fault.Text{
			DE: "Die Organisation lässt über die API zurzeit nur Lesen zu.",
			EN: "The organization allows only reading through the API at present.",
		}}
	}
	return access.Lacking(op.Scope)
}

// policyWords describes what a limit counts; the amount and the window are
// added.
var policyWords = map[string]fault.Text{
	"key":         {DE: "Punkte dieses Schlüssels", EN: "points of this key"},
	"writes":      {DE: "schreibende Aufrufe mit diesem Schlüssel", EN: "writing calls with this key"},
	"concurrency": {DE: "gleichzeitige Aufrufe mit diesem Schlüssel", EN: "concurrent calls with this key"},
	"principal": {
		DE: "Punkte aller Schlüssel dieser Person oder dieses Dienstkontos",
		EN: "points of all keys of this person or service account",
	},
	"organization": {
		DE: "Punkte aller Schlüssel der Organisation (ein Schlüssel darf nur einen Teil davon verbrauchen)",
		EN: "points of all keys of the organization (one key may use only a part of them)",
	},
	"deletes":     {DE: "Löschungen mit diesem Schlüssel", EN: "deletions with this key"},
	"deletes-day": {DE: "Löschungen mit diesem Schlüssel", EN: "deletions with this key"},
	"outflow":     {DE: "gelesene Datensätze mit diesem Schlüssel", EN: "records read with this key"},

	"session-writes":      {DE: "Änderungen", EN: "changes"},
	"session-concurrency": {DE: "gleichzeitige Anfragen", EN: "concurrent requests"},
	"session-deletes":     {DE: "Löschungen", EN: "deletions"},
	"session-deletes-day": {DE: "Löschungen", EN: "deletions"},
	"session-outflow":     {DE: "angezeigte Datensätze", EN: "records shown"},
}

// windowWords describes the windows of policies.
var windowWords = map[time.Duration]fault.Text{
	time.Minute:    {DE: " in der Minute", EN: " a minute"},
	time.Hour:      {DE: " in der Stunde", EN: " an hour"},
	24 * time.Hour: {DE: " in 24 Stunden", EN: " in 24 hours"},
}

// limited describes the limits that refused a call. begun is the start of the
// call.
func limited(d *limit.Decision, begun time.Time) *fault.Text {
	wait := int64((d.RetryAfter + time.Second - 1) / time.Second)
	if d.Locked {
		until := begun.Add(time.Duration(wait) * time.Second).UTC().Format(time.RFC3339)
		return &fault.Text{
			DE: "Dieser Schlüssel ist bis " + until +
				" gesperrt, weil er in kurzer Zeit zu viele Antworten mit Status 429 bekam. Warten Sie so lange, und nach jeder Antwort 429 so lange, wie Retry-After angibt.",
			EN: "This key is locked until " + until +
				", because it got too many answers with status 429 in a short time. Wait until then, and after every 429 as long as Retry-After says.",
		}
	}
	var de, en []string
	for _, s := range d.Statuses {
		words, known := policyWords[s.Name]
		if !known || !slices.Contains(d.Violated, s.Name) {
			continue
		}
		n, window := strconv.FormatInt(s.Quota, 10), windowWords[s.Window]
		if s.Unit == limit.Calls {
			window = fault.Text{}
		}
		de, en = append(de, n+" "+words.DE+window.DE), append(en, n+" "+words.EN+window.EN)
	}
	if de == nil {
		return nil
	}
	seconds := strconv.FormatInt(wait, 10)
	return &fault.Text{
		DE: "Das Limit ist erreicht: " + strings.Join(de, "; ") + ". Wiederholen Sie den Aufruf frühestens nach " +
			seconds + " s.",
		EN: "The limit is reached: " + strings.Join(en, "; ") + ". Repeat the call after " + seconds + " s at the earliest.",
	}
}
