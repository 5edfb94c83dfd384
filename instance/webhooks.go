package instance

import (
	"context"

	"kartei/api"
	"kartei/integration/dispatch"
	"kartei/integration/grant"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/egress"
)

// takeDispatcher creates the dispatcher of webhook deliveries, and the reader of the metadata
// documents of applications. Users choose the targets of both, so both use the same egress guard.
func (i *Instance) takeDispatcher() error {
	options, err := i.config.Server.Egress()
	if err != nil {
		return err
	}
	i.guard = egress.New(options)
	i.sender = dispatch.NewSender(i.guard, i.clock)
	if i.config.Server.ClientDocuments {
		var hosts []string
		for _, h := range i.config.Server.ClientHosts {
			hosts = append(hosts, string(h))
		}
		i.documents = grant.NewDocuments(i.guard, hosts, i.BaseURL)
	}
	attempted, waited := i.metrics.Webhooks()
	i.dispatcher = dispatch.New(dispatch.Options{
		DB: i.DB, Clock: i.clock, Vault: i.keys.Vault(webhook.SecretsPurpose), Families: api.Families,
		Send: i.sender.Attempt, Notices: i.notices, Logger: i.logger,
		Calls:     func() bool { return i.API.Busy() },
		Attempted: attempted, Waited: waited, Usage: i.Log.Usage(), Tracer: i.tracer,
	})
	return nil
}

// deliver runs the dispatcher of webhook deliveries until ctx ends.
func (i *Instance) deliver(ctx context.Context) {
	i.dispatcher.Run(ctx)
	i.sender.Close()
}

// measureWebhooks registers metrics with the numbers of webhook deliveries and endpoints in the
// database.
func (i *Instance) measureWebhooks() {
	look := lately(i, func(ctx context.Context) (dispatch.Figures, error) { return dispatch.Measure(ctx, i.DB) })
	age := func(since clock.Micros) float64 {
		if since == 0 {
			return 0
		}
		return max(0, clock.Now(i.clock).Sub(since).Seconds())
	}
	i.metrics.Gauge("kartei_webhook_deliveries_waiting",
		"Webhook deliveries that wait for an attempt or are under way, of all replicas.",
		func() float64 { return float64(look().Waiting) })
	i.metrics.Gauge("kartei_webhook_deliveries_oldest_seconds",
		"Age of the oldest waiting webhook delivery; 0 if there is none.", func() float64 { return age(look().Oldest) })
	i.metrics.Gauge("kartei_webhook_endpoints_behind", "Webhook endpoints with changes that have no deliveries yet.",
		func() float64 { return float64(look().Behind) })
	i.metrics.Gauge("kartei_webhook_behind_seconds",
		"Age of the oldest change that has no delivery yet for some endpoint; 0 if there is none.",
		func() float64 { return age(look().First) })
	i.metrics.Gauges("kartei_webhook_endpoints", "Webhook endpoints by status (active, failing, disabled).",
		[]string{"status"}, func(set func(value float64, labels ...string)) {
			for status, n := range look().Endpoints {
				set(float64(n), string(status))
			}
		})
}
