package webhook

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"kartei/clock"
	"kartei/db"
	"kartei/dbtest"
	"kartei/fault"
	"kartei/job"
)

// desk returns what the command line asks, with a runner of its jobs; wait
// returns when n of these have ended.
func (o *office) desk() (d *Desk, wait func(n int)) {
	o.Helper()
	d = &Desk{DB: o.db, Clock: o.clock, Families: families}
	ended := make(chan string, 100)
	r := job.NewRunner(o.db, o.clock, d.Handlers(), job.Options{
		Logger:  slog.New(slog.NewTextHandler(o.Output(), nil)),
		Observe: func(_, outcome string, _ time.Duration) { ended <- outcome },
	})
	running, cancel := context.WithCancel(ctx)
	var ground sync.WaitGroup
	ground.Go(func() { r.Run(running) })
	o.Cleanup(func() { cancel(); ground.Wait() })
	return d, func(n int) {
		o.Helper()
		for range n {
			select {
			case outcome := <-ended:
				if outcome != job.Finished {
					o.Fatalf("a job ended as %s", outcome)
				}
			case <-time.After(20 * time.Second):
				o.Fatal("a job does not end")
			}
		}
	}
}

func TestEnableAndResend(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, wait := o.desk()
		c, _ := o.courier()
		o.idle(c)
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: HTTPStatus} }
		failed := o.event()
		o.idle(c)
		missed := o.events(3)
		o.idle(c)
		o.answer = nil
		o.received()

		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Event: missed[0]})
		if f := fault.From(err); f.Code != fault.ValidationFailed || f.Fields[0].Name != "id" {
			t.Errorf("resending to a disabled endpoint: %v", err)
		}
		info, err := desk.Enable(ctx, One{o.info.ID, name})
		must(t, err)
		if info.Status != Active || info.DisabledReason != nil || info.Failures != 0 || info.FailedSince != 0 || info.Revision != 3 {
			t.Errorf("enabled: %+v", info)
		}
		o.idle(c)
		if got := o.received(); got != nil {
			t.Errorf("enabling sent %v", got)
		}
		out, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Event: missed[0]})
		must(t, err)
		o.idle(c)
		if got := o.received(); out.Events != 1 || !slices.Equal(got, missed[:1]) {
			t.Errorf("one event: %+v, %v", out, got)
		}
		out, err = desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Failed: true})
		must(t, err)
		wait(1)
		o.idle(c)
		if got := o.received(); !out.Going || !slices.Equal(got, []string{failed}) {
			t.Errorf("what failed: %+v, %v, not %v", out, got, failed)
		}
		o.clock.Advance(time.Minute)
		later := o.event()
		o.idle(c)
		o.received()
		_, err = desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Since: clock.FromTime(begin) - 1, Until: clock.Now(o.clock) - clock.Second})
		must(t, err)
		wait(1)
		o.idle(c)
		got := slices.Sorted(slices.Values(o.received()))
		if want := append([]string{failed}, missed...); !slices.Equal(got, want) {
			t.Errorf("a range: %v, not %v (nor %v)", got, want, later)
		}
		for _, in := range []ResendInput{
			{Event: missed[0], Failed: true}, {}, {Event: "evt_01jb2z5k3xf0q8r9s7t6v5w4y3"}, {Event: "x"},
		} {
			in.Organization, in.ID = o.info.ID, name
			if _, err := desk.Resend(ctx, in); !fault.Is(err, fault.ValidationFailed) {
				t.Errorf("%+v: %v", in, err)
			}
		}
		if _, err := desk.Show(ctx, One{o.info.ID, "whe_01jb2z5k3xf0q8r9s7t6v5w4y3"}); !fault.Is(err, fault.NotFound) {
			t.Errorf("an unknown endpoint: %v", err)
		}
	})
}

// A long range goes in pieces, each event once, and no more wait at a time than
// a bound.
func TestResendInPieces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, wait := o.desk()
		ids := o.events(2*resendPiece + 50)
		o.exec(`update webhook_endpoints set cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization)
		_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Since: clock.FromTime(begin) - 1})
		must(t, err)
		wait(3)
		c, _ := o.courier()
		o.idle(c)
		if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, ids) {
			t.Errorf("%d received of %d", len(got), len(ids))
		}
		log, err := desk.Log(ctx, LogInput{Organization: o.info.ID, ID: name, Limit: 100})
		must(t, err)
		if len(log.Data) != 100 || !log.HasMore || log.Data[0].Status != "succeeded" || log.Data[0].Attempt != 1 {
			t.Errorf("the log: %d, %+v", len(log.Data), log.Data[0])
		}
		list, err := desk.Find(ctx, FindInput{Organization: o.info.ID})
		must(t, err)
		if len(list.Data) != 1 || list.Data[0].ID != name || list.Data[0].Waiting != 0 || list.Data[0].PrincipalID != o.owner {
			t.Errorf("the list: %+v", list)
		}
	})
}

// Enabling wakes the couriers: what happens next needs not wait for the sweep.
func TestEnableTells(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		desk, _ := o.desk()
		told := make(chan string, 10)
		defer d.Hear(Topic, func(word string) { told <- word })()
		o.exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'gone' where organization = $1`, o.organization)
		_, err := desk.Enable(ctx, One{o.info.ID, name})
		must(t, err)
		select {
		case word := <-told:
			if word != strconv.FormatInt(o.organization, 10) {
				t.Errorf("told %q", word)
			}
		case <-time.After(20 * time.Second):
			t.Error("nobody was told")
		}
	})
}
