// Package usage owns the counts of calls and deliveries by hour: what a chart draws, without a look into the logs.
//
// Each process counts in memory, and writes the sums of an hour into rows of its
// own. A row holds the sum so far, not a difference. So replicas never wait for
// each other's rows, and a write whose commit was in doubt is repeated without
// counting anything twice. After a day a job folds the rows of all processes into
// one for each hour.
package usage

import (
	"time"

	"kartei/kit/clock"
)

// Age is how long the counts of an hour are kept. It is the longest time that a
// chart shows. To know when somebody's program worked is of no use after that.
const Age = 92 * 24 * time.Hour

// Kind is what is counted.
type Kind string

// The kinds.
const (
	// Calls are the calls of a key. Each line of the request log is one: a batch, and
	// each of its parts.
	Calls Kind = "call"
	// Deliveries are the attempts at a webhook endpoint.
	Deliveries Kind = "delivery"
)

// Counts are the counts of an hour, or of a longer time. The refused calls, those
// that failed, and those that succeeded are all of them.
type Counts struct {
	Calls int64 `json:"calls"`
	// Unauthenticated, Forbidden and Limited are refused calls: 401, 403 and 429.
	Unauthenticated int64 `json:"unauthenticated"`
	Forbidden       int64 `json:"forbidden"`
	Limited         int64 `json:"limited"`
	// Rejected are the calls with any other status of class 4xx.
	Rejected int64 `json:"rejected"`
	// Failed are the calls with a status of class 5xx, and failed deliveries.
	Failed int64 `json:"failed"`
	// Points are the points charged. Records are the records returned.
	Points  int64   `json:"points"`
	Records int64   `json:"records"`
	Took    Latency `json:"-"`
}

// wide is the number of counts.
const wide = 8 + buckets

// fields returns the counts in the order of their columns.
func (c *Counts) fields() [wide]*int64 {
	f := [wide]*int64{
		&c.Calls, &c.Unauthenticated, &c.Forbidden, &c.Limited, &c.Rejected, &c.Failed, &c.Points, &c.Records,
	}
	for i := range c.Took {
		f[wide-buckets+i] = &c.Took[i]
	}
	return f
}

// Add adds the counts of another time.
func (c *Counts) Add(other *Counts) {
	from := other.fields()
	for i, n := range c.fields() {
		*n += *from[i]
	}
}

// subtract is the opposite of Add.
func (c *Counts) subtract(other *Counts) {
	from := other.fields()
	for i, n := range c.fields() {
		*n -= *from[i]
	}
}

// Call is a call, or an attempt at a delivery, that has ended.
type Call struct {
	Organization int64
	Kind         Kind
	// Subject is the id of the key, or of the webhook endpoint.
	Subject string
	At      clock.Micros
	// Status is the status of the answer. Zero means that a receiver gave none.
	Status          int
	Took            time.Duration
	Points, Records int64
}

// count adds a call.
func (c *Counts) count(call *Call) {
	c.Calls++
	c.Points += call.Points
	c.Records += call.Records
	c.Took.Count(call.Took)
	switch status := call.Status; {
	case call.Kind == Deliveries:
		if status < 200 || status > 299 {
			c.Failed++
		}
	case status == 401:
		c.Unauthenticated++
	case status == 403:
		c.Forbidden++
	case status == 429:
		c.Limited++
	case status >= 500:
		c.Failed++
	case status >= 400:
		c.Rejected++
	}
}

// hourOf returns the beginning of the hour of a time, in UTC.
func hourOf(t clock.Micros) clock.Micros { return t - t%clock.Hour }
