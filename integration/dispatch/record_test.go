package dispatch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"kartei/integration/event"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// TestNothingBeginsBeforeGoneIsStored checks that no attempt starts after a 410 until the 410 is
// recorded. This also holds if earlier attempts are recorded first.
func TestNothingBeginsBeforeGoneIsStored(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		disp := New(o.options(d))
		q := disp.queueOf(o.At(o.Endpoint()))
		ended := func(outcome Outcome) *try {
			q.running, q.tenant.running, disp.running = q.running+1, q.tenant.running+1, disp.running+1
			q.tenant.endpoints, disp.held = q.running, disp.held+1
			made := disp.newTry(&delivery{queue: q, event: event.Event{ID: id.New(id.Event)}, claim: firstClaim})
			made.outcome = outcome
			disp.attemptEnded(made)
			return made
		}
		q.running, q.tenant.running, disp.running = 1, 1, 1 // another attempt keeps running
		before := ended(Outcome{Status: 500, Code: webhook.HTTPStatus})
		q.tenant.unrecorded = nil // the try is being recorded
		last := ended(Outcome{Status: 410, Code: webhook.HTTPStatus})
		disp.recordingEnded(q.tenant, []*try{before}, map[*endpointQueue]endState{q: {status: webhook.Active}}, nil)
		q.ready = []*delivery{{queue: q, leaseEnd: before.began.Add(time.Hour), checkedAt: before.began, target: &target{}}}
		q.size = maxWindow
		if disp.beginNext(q, before.began) || !q.gone || len(q.ready) != 1 {
			t.Error("a delivery begins although the 410 is not stored")
		}
		disp.recordingEnded(q.tenant, []*try{last}, map[*endpointQueue]endState{q: {status: webhook.Disabled}}, nil)
		if q.gone {
			t.Error("it is held up although the 410 is stored")
		}
	})
}

// TestOneEndBeginsOneQueue checks that the end of an attempt lets one parked queue start, no matter
// how many queues are parked. Queues without deliveries, and queues that need a poll, do not block
// the others.
func TestOneEndBeginsOneQueue(t *testing.T) {
	fake := clock.NewFake(endpointtest.Begin)
	now := clock.Now(fake)
	disp := New(Options{Clock: fake})
	add := func(name string, asked clock.Micros, n int) *endpointQueue {
		q := disp.queueOf(webhook.Address{Organization: 1, ID: name})
		for range n {
			q.ready = append(q.ready, &delivery{queue: q, checkedAt: asked, leaseEnd: now.Add(time.Hour), target: &target{}})
		}
		disp.held += n
		return q
	}
	// The organization has as many running attempts as it may have.
	busy := add("busy", now, 0)
	busy.size, busy.running, busy.tenant.running, disp.running = maxPerTenant+
		1, maxPerTenant+1, maxPerTenant+1, maxPerTenant+1
	busy.tenant.endpoints, disp.held = 1, maxPerTenant+1
	var parked []*endpointQueue
	for _, name := range []string{"empty", "old", "1", "2", "3"} {
		q := add(name, now, 1)
		// The first attempt of each queue runs.
		q.size, q.running = 2, 1
		q.tenant.running, q.tenant.endpoints, disp.running, disp.held = q.tenant.running+
			1, q.tenant.endpoints+1, disp.running+1, disp.held+1
		if disp.beginNext(q, now) || q.tenant.parked.len() != len(parked)+1 {
			t.Fatalf("%s does not wait", name)
		}
		parked = append(parked, q)
	}
	parked[0].ready = nil
	parked[1].ready[0].checkedAt = now - 2*clock.Second
	for i, waiting := range []int{2, 1, 0} {
		ended := disp.newTry(&delivery{queue: busy, event: event.Event{ID: id.New(id.Event)}, claim: firstClaim})
		ended.outcome = Outcome{Status: 200}
		disp.attemptEnded(ended)
		if n := busy.tenant.parked.len(); n != waiting || disp.runnable.len() != i+2 { // and the queue for a poll
			t.Errorf("after %d ends %d wait, and %d try again", i+1, n, disp.runnable.len())
		}
	}
}

// TestBeginsWhatCanBeRecorded checks the number of attempts that start if the database records
// slowly. All their outcomes can be recorded within their leases. Parked queues start once other
// outcomes are recorded.
func TestBeginsWhatCanBeRecorded(t *testing.T) {
	fake := clock.NewFake(endpointtest.Begin)
	now := clock.Now(fake)
	disp := New(Options{Clock: fake, Send: func(context.Context, Message) Outcome { return Outcome{Status: 200} }})
	var queues []*endpointQueue
	for n := range 30 {
		q := disp.queueOf(webhook.Address{Organization: 1, ID: fmt.Sprint(n)})
		q.ready = []*delivery{{queue: q, checkedAt: now, leaseEnd: now.Add(time.Hour), target: &target{}}}
		queues, disp.held = append(queues, q), disp.held+1
	}
	office := queues[0].tenant
	office.stored(smallBatch, smallBatch*leaseMargin/2/20) // recording twenty tries takes half of the margin
	for _, q := range queues {
		disp.beginNext(q, now)
	}
	if office.running != 21 || office.parked.len() != 9 {
		t.Fatalf("%d attempts run and %d wait, want 21 and 9", office.running, office.parked.len())
	}
	for range office.running {
		(<-disp.inbox)()
	}
	if office.parked.len() != 9 || len(office.unrecorded) != 21 {
		t.Errorf("before anything is recorded %d wait and %d are unrecorded, want 9 and 21", office.parked.len(),
			len(office.unrecorded))
	}
	tries := office.unrecorded
	office.unrecorded = nil
	office.stored(len(tries), time.Second)
	disp.recordingEnded(office, tries, nil, nil)
	if office.parked.len() != 0 || disp.runnable.len() != 9 {
		t.Errorf("after they are recorded %d wait and %d may begin, want 0 and 9", office.parked.len(), disp.runnable.len())
	}
}

// TestAttemptsAreCounted checks that each attempt with a result is counted once in its hour, even
// if its recording is repeated.
func TestAttemptsAreCounted(t *testing.T) {
	disp := New(Options{Clock: clock.NewFake(endpointtest.Begin), Usage: usage.NewCounter()})
	q := disp.queueOf(webhook.Address{Organization: 1, ID: "whe_a"})
	for _, outcome := range []Outcome{
		{Status: 204, Took: time.Millisecond},
		{Status: 500, Code: webhook.HTTPStatus},
		{Code: webhook.ProtocolError},
		{Interrupted: true},
	} {
		made := disp.newTry(&delivery{queue: q, event: event.Event{ID: id.New(id.Event)}, claim: firstClaim})
		made.outcome = outcome
		q.running, q.tenant.running, disp.running, q.tenant.endpoints = 1, 1, 1, 1
		disp.attemptEnded(made)
		disp.recordingEnded(q.tenant, []*try{made}, nil, context.Canceled)
	}
	got := disp.Usage.Pending(clock.Now(disp.clock)).Total()
	if want := (usage.Counts{Calls: 3, Failed: 2, Took: got.Took}); got != want || got.Took[2] != 1 {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}
