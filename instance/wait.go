package instance

import (
	"context"
	"math/rand/v2"
	"time"

	"kartei/api"
	"kartei/limit"
	"kartei/store/db"
)

const (
	// firstTry is how long a start waits before it asks a data base again that
	// was away; then twice as long each time, up to lastTry.
	firstTry = 100 * time.Millisecond
	lastTry  = 2 * time.Second
	// sayAgain is how often the log is told that it still waits.
	sayAgain = time.Minute
)

// patient carries out a step of the start again and again while the data base
// is away, where the configuration asks for it. Meanwhile calls are answered
// 503 INSTANCE_PENDING, and /readyz tells the reason.
func (i *Instance) patient(step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := step(ctx)
		if err == nil || !i.config.Wait || !db.Away(err) {
			return err
		}
		i.away.Store(&err)
		if err := i.listen(ctx); err != nil {
			return err
		}
		if err := i.stand(); err != nil {
			return err
		}
		began := i.clock.Now()
		said := began.Add(-sayAgain)
		for wait := firstTry; db.Away(err); wait = min(2*wait, lastTry) {
			i.away.Store(&err)
			if now := i.clock.Now(); now.Sub(said) >= sayAgain {
				said = now
				i.logger.Warn("the database cannot be used yet: calls are refused until it can",
					"error", err, "waiting", now.Sub(began).Round(time.Second), "operator", i.OperatorURL)
			}
			select {
			case <-i.clock.After(wait/2 + rand.N(wait/2)): // replicas start together
			case <-ctx.Done():
				return ctx.Err()
			}
			err = step(ctx)
		}
		if err == nil {
			i.away.Store(nil)
			i.logger.Info("the database can be used", "after", i.clock.Now().Sub(began).Round(time.Millisecond))
		}
		return err
	}
}

// stand answers calls while there is no data base with which the parts could
// be put together.
func (i *Instance) stand() (err error) {
	if i.public == nil || i.API != nil {
		return nil
	}
	limits, err := i.config.Server.Limits()
	if err != nil {
		return err
	}
	if i.API, err = i.newAPI(api.Options{Limiter: limit.Open(limits, i.clock, limit.Options{Logger: i.logger})}); err != nil {
		return err
	}
	pages, err := i.doors()
	if err != nil {
		return err
	}
	i.public.Serve(pages)
	return nil
}
