package instance

import (
	"slices"

	"kartei/api"
	"kartei/api/op"
	"kartei/instance/erasure"
	"kartei/integration/oauth"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/people/notify"
	"kartei/people/offboarding"
	"kartei/record/task"
	"kartei/store/job"
	"kartei/store/retention"
	"kartei/transfer/bulk"
	"kartei/transfer/imports"
	"kartei/transfer/merge"
	"kartei/transfer/process"
)

// runner returns the runner of background jobs. It combines the job handlers of all parts. An
// instance has one runner, which runs jobs of every kind.
func (i *Instance) runner() (*job.Runner, error) {
	maker, err := i.newMaker()
	if err != nil {
		return nil, err
	}
	worker := process.Worker{DB: i.DB, Clock: i.clock, Services: &op.Services{Families: api.Families}}
	teller := process.Worker{DB: i.DB, Clock: i.clock, Services: worker.Services.With(notify.Service.Is(i.notices))}
	handlers := slices.Concat(retention.New(i.DB, i.clock, erasure.Rules).Handlers(), maker.Handlers(), i.receiver.Handlers(),
		(&webhook.Resender{DB: i.DB, Clock: i.clock, Families: api.Families}).Handlers(),
		webhook.Eraser{Clock: i.clock}.Handlers(),
		(&offboarding.Worker{Worker: worker}).Handlers(), i.eraser().Handlers(),
		(&imports.Worker{
			Worker: worker, Secrets: i.keys.Vault(imports.SecretsPurpose), Decode: i.API.DecodeBody,
			Extractor: i.extractor,
		}).Handlers(),
		(&bulk.Worker{Worker: teller}).Handlers(), (&merge.Worker{Worker: worker}).Handlers(),
		i.notices.Handlers(), usage.Folder{DB: i.DB, Clock: i.clock}.Handlers(),
		(&task.Reminder{DB: i.DB, Clock: i.clock, Notices: i.notices}).Handlers(),
		(&oauth.Expirer{DB: i.DB, Clock: i.clock, Notices: i.notices, Logger: i.logger}).Handlers())
	return job.NewRunner(i.DB, i.clock, handlers, job.Options{
		Logger: i.logger, Observe: i.metrics.Jobs(), Tracer: i.tracer,
	}), nil
}
