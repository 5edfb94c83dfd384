package api

import (
	"context"
	"sync"
	"sync/atomic"

	"kartei/integration/batch"
	"kartei/integration/limit"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

const (
	// readsAtOnce is the maximum number of concurrent reads of a batch. A key may run six batches
	// at a time, which must not take all connections. All writes start at once and queue with other
	// writes. So they share commits, which makes a batch fast (decision 23).
	readsAtOnce = 4
	// maxAnswered is a limit for the responses in a batch, in bytes. If they exceed it, parts that
	// have not started are refused. Twenty full pages of ordinary records have 4 MB. Twenty pages
	// of the largest possible records have 90 MB.
	maxAnswered = 16 << 20
)

// runBatch runs each part of a batch as a call along the path, as if it had arrived alone. Parts
// have the same rules as other calls. The caller is confirmed before the first part runs, because
// afterwards the batch cannot start again. It fails if the parts are invalid, or if ctx is done.
func runBatch(a *API, ctx context.Context, c *call, in batch.Input) (batch.Results, error) {
	if err := in.Calls.Check(a.services); err != nil {
		return batch.Results{}, err
	}
	if err := a.confirm(ctx, c, nil); err != nil {
		return batch.Results{}, err
	}
	parts, results := a.runParts(ctx, c, &in.Calls)
	a.showLimits(c, parts)
	return batch.Results{Results: results}, ctx.Err()
}

// runParts runs the parts, and returns when all parts that have started are done. If the client
// disconnects, no further part starts. The call and the result of such a part stay zero.
func (a *API) runParts(ctx context.Context, c *call, in *batch.Calls) ([]*call, []batch.Result) {
	calls, names := in.Calls, in.Names()
	parts, results := make([]*call, len(calls)), make([]batch.Result, len(calls))
	var answered atomic.Int64
	run := func(i int) {
		if ctx.Err() != nil {
			return
		}
		request := c.part(&calls[i])
		if answered.Load() > maxAnswered {
			request.Refusal = &fault.Fault{Code: fault.Overloaded, RetryAfter: fullRetry, Detail: tooMuch}
		}
		var r *Response
		r, parts[i] = a.do(ctx, request, nil)
		if calls[i].Method == "HEAD" {
			r.Body = nil
		}
		answered.Add(int64(len(r.Body)))
		results[i] = batch.ResultOf(names[i], r.Status, r.Header, r.Body)
	}
	var running sync.WaitGroup
	reads := make(chan int, len(calls))
	for i := range calls {
		if asGet(calls[i].Method) == "GET" {
			reads <- i
		} else {
			running.Go(func() { run(i) })
		}
	}
	close(reads)
	for range min(readsAtOnce, len(reads)) {
		running.Go(func() {
			for i := range reads {
				run(i)
			}
		})
	}
	running.Wait()
	return parts, results
}

var tooMuch = i18n.Text("The answers of the earlier parts already fill the answer of the batch. Send this part in a new batch.")

// inBatch reports whether a batch may contain a call with this method and path. It is true for
// unknown paths, because only their part is refused.
func (r routes) inBatch(method, path string) bool {
	at := r.find(path)
	return at.family == "" && (at.node == nil || at.node.inBatch(asGet(method)))
}

// asGet returns GET for HEAD, and other methods unchanged. The result of a HEAD part has no body.
func asGet(method string) string {
	if method == "HEAD" {
		return "GET"
	}
	return method
}

// inherited are the headers of a batch that also apply to its parts.
var inherited = [...]string{"Svc-Version", "Svc-Preview", "Svc-Organization", "Accept-Language"}

// part returns the request for one part of the batch c.
func (c *call) part(p *batch.Call) *Request {
	r := &Request{
		Method: asGet(p.Method), Header: make(map[string][]string, 8), HasBody: p.HasBody(), Door: c.Door,
		Credential: c.Credential, Address: c.Address, of: c,
	}
	r.Path, r.Query, _ = p.Target()
	for _, name := range inherited {
		if values, sent := c.Header[name]; sent {
			r.Header[name] = values
		}
	}
	r.Header["Content-Type"] = jsonType // the body of a part is always JSON
	p.Header(r.Header)
	if r.HasBody {
		r.Body = func() ([]byte, error) { return p.Body, nil }
	}
	return r
}

// showLimits sets the limits in the headers of a batch. They are the lowest remaining amounts of
// all limits that applied to the batch or to one of its parts.
func (a *API) showLimits(c *call, parts []*call) {
	var all limit.Charge
	decisions := []*limit.Decision{&c.decision}
	for _, p := range parts {
		if p == nil || p.decision.Statuses == nil {
			continue
		}
		decisions = append(decisions, &p.decision)
		all.Write, all.Delete, all.Reads = all.Write ||
			p.charged.Write, all.Delete || p.charged.Delete, all.Reads || p.charged.Reads
	}
	least := a.limiter.Declared(all)
	least.Least(decisions...)
	c.decision.Statuses, c.decision.PolicyHeader = least.Statuses, least.PolicyHeader
}
