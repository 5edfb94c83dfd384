package instance

import (
	"context"
	"math/rand/v2"
	"time"

	"kartei/api"
	"kartei/integration/limit"
	"kartei/store/db/open"
)

const (
	// firstPause is the first pause before a start tries an unavailable database again. The pause
	// doubles up to longestPause.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	// logEvery is the interval of the log entries while a start waits.
	logEvery = time.Minute
)

// patient returns a step for Start. If Config.Wait is set, the step calls step again while the
// database or the disk of the files is unavailable. Meanwhile the API answers 503 INSTANCE_PENDING,
// and /readyz has the reason. what is the name of the unavailable part in the log.
func (i *Instance) patient(what string, step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := step(ctx)
		if err == nil || !i.config.Wait || !open.Away(err) {
			return err
		}
		i.away.Store(&err)
		if err := i.listen(ctx); err != nil {
			return err
		}
		if err := i.answerPending(); err != nil {
			return err
		}
		began := i.clock.Now()
		said := began.Add(-logEvery)
		for wait := firstPause; open.Away(err); wait = min(2*wait, longestPause) {
			i.away.Store(&err)
			if now := i.clock.Now(); now.Sub(said) >= logEvery {
				said = now
				i.logger.Warn(what+" cannot be used yet; until then calls are refused",
					"error", err, "waiting", now.Sub(began).Round(time.Second), "operator", i.OperatorURL)
			}
			select {
			case <-i.clock.After(wait/2 + rand.N(wait/2)): // jitter, since replicas may start at the same time
			case <-ctx.Done():
				return ctx.Err()
			}
			err = step(ctx)
		}
		if err != nil {
			return err
		}
		i.away.Store(nil)
		i.logger.Info(what+" can be used", "after", i.clock.Now().Sub(began).Round(time.Millisecond))
		return nil
	}
}

// answerPending begins to answer calls with 503 INSTANCE_PENDING while the database is still
// unavailable.
func (i *Instance) answerPending() (err error) {
	if i.public == nil || i.API != nil {
		return nil
	}
	limits, err := i.config.Server.Limits()
	if err != nil {
		return err
	}
	if i.API, err = i.newAPI(api.Options{
		Limiter: limit.Open(limits, i.clock, limit.Options{Logger: i.logger}),
	}); err != nil {
		return err
	}
	pages, err := i.doors()
	if err != nil {
		return err
	}
	i.public.Serve(pages)
	return nil
}
