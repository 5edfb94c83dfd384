package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// listenPause is the pause of Listen before it reconnects.
	listenPause = time.Second
	// listenAgain is the time without a notification after which Listen checks
	// the connection.
	listenAgain = 30 * time.Second
)

// Listen uses one connection. After a lost connection it reconnects and calls f, because
// notifications may be lost meanwhile.
func (d *DB) Listen(ctx context.Context, topic string, f func(word string)) {
	defer d.bus.Subscribe(topic, f)()
	if d.pooled { // only messages of this process; earlier ones may be missed
		f("")
		<-ctx.Done()
		return
	}
	for {
		if err := d.listen(ctx, topic, f); ctx.Err() == nil {
			d.opts.Logger.Debug("no notifications for now", "topic", topic, "error", err)
		}
		select {
		case <-d.opts.Clock.After(listenPause):
		case <-ctx.Done():
			return
		}
	}
}

// SubscribeLocal receives only messages of this process.
func (d *DB) SubscribeLocal(topic string, f func(string)) func() { return d.bus.Subscribe(topic, f) }

// listen listens on one connection until the connection is lost or ctx ends.
func (d *DB) listen(ctx context.Context, topic string, f func(word string)) error {
	config := d.config.Copy()
	config.ConnectTimeout = min(config.ConnectTimeout, d.opts.Wait)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{topic}.Sanitize()); err != nil {
		return err
	}
	f("")
	for {
		wait, cancel := context.WithTimeout(ctx, listenAgain)
		said, err := conn.WaitForNotification(wait)
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			f(said.Payload)
		case late && !conn.IsClosed():
			alive, cancel := context.WithTimeout(ctx, d.opts.Wait)
			err := conn.Ping(alive)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}
