package main

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
)

// atWork measures something at an office with --records contacts, where a clerk has signed
// in. If first is not nil, it changes the office before its server starts.
func (b *bench) atWork(
	ctx context.Context, first func(context.Context, *office) error,
	measure func(context.Context, *bench, *office, clerk, *visitor) ([]figure, error),
) error {
	root := filepath.Join(b.data, "lookup")
	o, stop, err := openKept(ctx, root, b.records, b.postgres)
	if err != nil {
		return err
	}
	defer stop()
	c, err := hired(ctx, o, b.records)
	if err != nil {
		return err
	}
	if first != nil {
		err = first(ctx, o)
	}
	if err != nil {
		return err
	}
	s, err := serve(ctx, b.program, o.dir, o.url, b.profile != "", "--no-metered")
	if err != nil {
		return err
	}
	if b.profile != "" {
		if err := s.profile(filepath.Join(b.profile, "work.pprof")); err != nil {
			return errors.Join(err, s.end())
		}
	}
	v := newVisitor("http://"+s.address, others)
	var list []figure
	if err = v.signIn(ctx, c.email, c.password); err == nil {
		list, err = measure(ctx, b, o, c, v)
	}
	if b.profile != "" {
		err = errors.Join(err, s.profile(""))
	}
	if err = errors.Join(err, s.end()); err != nil {
		return err
	}
	return b.write(os.Stdout, list)
}

// quiet is what the others wait while nothing else happens.
func (b *bench) quiet(ctx context.Context, v *visitor) (map[string]spans, error) {
	return v.work(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(b.time() * time.Duration(b.runs)):
		}
		return nil
	})
}

// besides compares what the others wait while something happens with what they wait
// without it.
func besides(quiet, busy map[string]spans, when string) (list []figure, err error) {
	for _, call := range []string{"the list of contacts", "a new contact"} {
		before, meanwhile := quiet[call], busy[call]
		slices.Sort(before)
		slices.Sort(meanwhile)
		if len(before) == 0 || len(meanwhile) == 0 {
			return nil, fmt.Errorf("%s %s: nobody called", call, when)
		}
		ratio := meanwhile.at(0.95) / before.at(0.95)
		list = append(list, figure{What: call + " " + when + ", of that without", Goal: fmt.Sprintf("<= %d x", besideOthers),
			Measured: fmt.Sprintf("%.2f x (%.1f of %.1f ms, 95 of 100)", ratio, meanwhile.at(0.95), before.at(0.95)),
			Value:    ratio, Reached: ratio <= besideOthers})
	}
	return list, nil
}

// work lets the others work until do has ended.
func (v *visitor) work(ctx context.Context, do func(context.Context) error) (taken map[string]spans, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	taken = map[string]spans{}
	var mu sync.Mutex
	var running sync.WaitGroup
	for range others {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name, took, err := v.other(ctx, n)
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

// other does one thing that the others of an office do.
func (v *visitor) other(ctx context.Context, n int) (name string, took time.Duration, err error) {
	if n%3 != 0 {
		begin := time.Now()
		answer, _, err := v.request(ctx, "GET", "/contacts", nil, true)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("the list: %s", answer.Status)
		}
		return "the list of contacts", time.Since(begin), err
	}
	_, body, err := v.request(ctx, "GET", "/contacts/new", nil, false)
	if err != nil {
		return "", 0, err
	}
	form := hidden(string(body), "/contacts/new")
	form.Set("lastName", "Nebenher "+strconv.FormatInt(time.Now().UnixNano(), 36))
	begin := time.Now()
	answer, body, err := v.request(ctx, "POST", "/contacts/new", form, false)
	if err == nil && answer.StatusCode != http.StatusSeeOther {
		err = fmt.Errorf("a new contact: %s %.300s", answer.Status, body)
	}
	return "a new contact", time.Since(begin), err
}

// besideOthers is the highest time of the calls of others while an import or a
// hand-over runs, relative to that without one, for 95 of 100.
const besideOthers = 2
