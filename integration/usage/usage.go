// Package usage owns the counts of calls and deliveries by hour, which charts show without reading the logs.
//
// Each process counts in memory, and writes the sums of an hour into its own rows. A row has the
// sum so far, not a difference. So no replica waits for a row of another replica. A write whose
// commit is in doubt is repeated and counts nothing twice. After a day, a job folds the rows of all
// processes into one row for each hour.
package usage

import (
	"time"

	"kartei/kit/clock"
)

// Age is the time for which the counts of an hour are kept. It is the longest period of a chart.
// Older counts would only reveal when people's programs worked.
const Age = 92 * 24 * time.Hour

// Kind is the kind of counted event.
type Kind string

// The kinds.
const (
	// Calls are the calls of a key. Each line of the request log counts as a call: a batch is one
	// call, and so is each call in it.
	Calls Kind = "call"
	// Deliveries are the attempts at a webhook endpoint.
	Deliveries Kind = "delivery"
)

// Counts are the counts of an hour or a longer period. Each call is in Calls, and at most in one of
// the counts from Unauthenticated to Failed.
type Counts struct {
	Calls int64 `json:"calls"`
	// Unauthenticated, Forbidden and Limited count the calls that were refused with 401, 403 and
	// 429.
	Unauthenticated int64 `json:"unauthenticated"`
	Forbidden       int64 `json:"forbidden"`
	Limited         int64 `json:"limited"`
	// Rejected counts the calls with any other status of class 4xx.
	Rejected int64 `json:"rejected"`
	// Failed counts the calls with a status of class 5xx, and the failed deliveries.
	Failed int64 `json:"failed"`
	// Points is the number of charged points. Records is the number of returned records.
	Points  int64   `json:"points"`
	Records int64   `json:"records"`
	Took    Latency `json:"-"`
}

// wide is the number of columns with counts.
const wide = 8 + buckets

// fields returns pointers to the counts, in the order of columns.
func (c *Counts) fields() [wide]*int64 {
	f := [wide]*int64{
		&c.Calls, &c.Unauthenticated, &c.Forbidden, &c.Limited, &c.Rejected, &c.Failed, &c.Points, &c.Records,
	}
	for i := range c.Took {
		f[wide-buckets+i] = &c.Took[i]
	}
	return f
}

// Add adds the counts of another period.
func (c *Counts) Add(other *Counts) {
	from := other.fields()
	for i, n := range c.fields() {
		*n += *from[i]
	}
}

// subtract subtracts the counts of another period.
func (c *Counts) subtract(other *Counts) {
	from := other.fields()
	for i, n := range c.fields() {
		*n -= *from[i]
	}
}

// Call is a call or a delivery attempt that has ended.
type Call struct {
	Organization int64
	Kind         Kind
	// Subject is the id of the key or of the webhook endpoint.
	Subject string
	At      clock.Micros
	// Status is the status of the response. Zero means that a receiver did not respond.
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

// hourOf returns the beginning of the hour of t, in UTC.
func hourOf(t clock.Micros) clock.Micros { return t - t%clock.Hour }
