// Package acts owns the speed of long acts, and how long the calls of others take meanwhile.
package acts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"kartei/bench/browser"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
)

// atWork opens an office with --records contacts, signs in a person and writes the figures that do
// returns. If first is not nil, atWork calls first before the server of the office starts.
func atWork(
	ctx context.Context, b *measure.Bench, first func(context.Context, *data.Office) error,
	do func(context.Context, *measure.Bench, *data.Office, data.Clerk, *browser.Visitor) ([]report.Figure, error),
) error {
	root := filepath.Join(b.Data, "lookup")
	o, stop, err := data.OpenKept(ctx, root, b.Records, b.Postgres)
	if err != nil {
		return err
	}
	defer stop()
	c, err := data.Hired(ctx, o, b.Records)
	if err != nil {
		return err
	}
	if first != nil {
		err = first(ctx, o)
	}
	if err != nil {
		return err
	}
	p, err := b.Open(ctx, o, "--no-metered")
	if err != nil {
		return err
	}
	if b.Profile != "" {
		if err := p.Profile(filepath.Join(b.Profile, "work.pprof")); err != nil {
			return errors.Join(err, b.Close(p))
		}
	}
	v := browser.New("http://"+p.Address, others)
	var list []report.Figure
	if err = v.SignIn(ctx, c.Email, c.Password); err == nil {
		list, err = do(ctx, b, o, c, v)
	}
	if b.Profile != "" {
		err = errors.Join(err, p.Profile(""))
	}
	if err = errors.Join(err, b.Close(p)); err != nil {
		return err
	}
	return b.Write(os.Stdout, list)
}

// quiet returns how long the others wait while nothing else happens.
func quiet(ctx context.Context, b *measure.Bench, v *browser.Visitor) (map[string]browser.Spans, error) {
	return work(ctx, v, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(b.Time() * time.Duration(b.Runs)):
		}
		return nil
	})
}

// besides returns figures that compare the waiting times in busy with the waiting times in quiet.
func besides(quiet, busy map[string]browser.Spans, when string) (list []report.Figure, err error) {
	for _, call := range []string{"the list of contacts", "a new contact"} {
		before, meanwhile := quiet[call], busy[call]
		slices.Sort(before)
		slices.Sort(meanwhile)
		if len(before) == 0 || len(meanwhile) == 0 {
			return nil, fmt.Errorf("%s %s: nobody called", call, when)
		}
		ratio := meanwhile.At(0.95) / before.At(0.95)
		list = append(list, report.Figure{What: call + " " + when + ", of that without", Goal: fmt.Sprintf("<= %d x", besideOthers),
			Measured: fmt.Sprintf("%.2f x (%.1f of %.1f ms, 95 of 100)", ratio, meanwhile.At(0.95), before.At(0.95)),
			Value:    ratio, Reached: ratio <= besideOthers})
	}
	return list, nil
}

// work lets the others make calls until do has returned. It returns the times of their calls by
// name.
func work(
	ctx context.Context, v *browser.Visitor, do func(context.Context) error,
) (taken map[string]browser.Spans, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	taken = map[string]browser.Spans{}
	var mu sync.Mutex
	var running sync.WaitGroup
	for range others {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name, took, err := other(ctx, v, n)
				if err != nil && ctx.Err() == nil {
					stop(err)
					return
				}
				if err == nil {
					mu.Lock()
					taken[name] = append(taken[name], took)
					mu.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(otherPause):
				}
			}
		})
	}
	err = do(ctx)
	stop(nil)
	running.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return taken, err
}

// other makes a call of another person: it opens the list of contacts, or creates a contact at
// every third call.
func other(ctx context.Context, v *browser.Visitor, n int) (name string, took time.Duration, err error) {
	if n%3 != 0 {
		begin := time.Now()
		answer, _, err := v.Request(ctx, "GET", "/contacts", nil, true)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("the list: %s", answer.Status)
		}
		return "the list of contacts", time.Since(begin), err
	}
	_, body, err := v.Request(ctx, "GET", "/contacts/new", nil, false)
	if err != nil {
		return "", 0, err
	}
	form := browser.Hidden(string(body), "/contacts/new")
	form.Set("lastName", "Nebenher "+strconv.FormatInt(time.Now().UnixNano(), 36))
	begin := time.Now()
	answer, body, err := v.Request(ctx, "POST", "/contacts/new", form, false)
	if err == nil && answer.StatusCode != http.StatusSeeOther {
		err = fmt.Errorf("a new contact: %s %.300s", answer.Status, body)
	}
	return "a new contact", time.Since(begin), err
}

// besideOthers is the maximum ratio of the others' waiting times during a long act and without it.
// Both times are the 95th percentile.
const besideOthers = 2
