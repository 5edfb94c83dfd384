package instance

import (
	"context"
	"errors"

	"kartei/door/admin/socket"
)

// administer opens the administration socket and serves it until ctx ends. If the secret of the
// socket cannot be written, for example on a full disk, administer tries again later. The server
// works without the socket. Errors other than that, and a path that is too long, are returned.
func (i *Instance) administer(ctx context.Context) error {
	l, err := socket.Listen(string(i.config.Store.DataDir))
	switch {
	case err == nil:
		i.ground.Go(func() { i.report(socket.Serve(ctx, l, i.door())) })
	case errors.Is(err, socket.ErrPathTooLong):
		i.logger.Warn("the running server cannot be administered from the command line", "error", err)
	case errors.Is(err, socket.ErrNoSecret):
		i.logger.Warn("the running server cannot be administered from the command line yet", "error", err, "next", tryEvery)
		i.ground.Go(func() { i.administerLater(ctx) })
	default:
		return err
	}
	return nil
}

// administerLater tries to open the socket every tryEvery until that succeeds, and then serves it.
func (i *Instance) administerLater(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.clock.After(tryEvery):
		}
		if l, err := socket.Listen(string(i.config.Store.DataDir)); err == nil {
			i.logger.Info("the running server can be administered from the command line")
			i.report(socket.Serve(ctx, l, i.door()))
			return
		}
	}
}
