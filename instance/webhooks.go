package instance

import (
	"context"

	"kartei/api"
	"kartei/egress"
	"kartei/webhook"
)

// takeCourier makes what delivers to webhook endpoints.
func (i *Instance) takeCourier() error {
	options, err := i.config.Server.Egress()
	if err != nil {
		return err
	}
	i.guard = egress.New(options)
	i.sender = webhook.NewSender(i.guard, i.clock)
	i.courier = webhook.NewCourier(webhook.Options{
		DB: i.DB, Clock: i.clock, Vault: i.keys.Vault(webhook.SecretsPurpose), Families: api.Families,
		Send: i.sender.Attempt, Notices: i.notices, Logger: i.logger,
	})
	return nil
}

// deliver delivers until ctx ends.
func (i *Instance) deliver(ctx context.Context) {
	i.courier.Run(ctx)
	i.sender.Close()
}
