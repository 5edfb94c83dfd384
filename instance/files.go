package instance

import (
	"context"
	"net/http"

	"kartei/api"
	"kartei/app"
	"kartei/blob"
	"kartei/document"
	"kartei/job"
	"kartei/rest"
	"kartei/upload"
)

// takeFiles says which files are taken, and who takes them.
func (i *Instance) takeFiles() {
	i.files = app.Files{Store: i.Blobs, MaxSize: int64(i.config.Server.MaxFileSize), Taken: func(string) bool { return true }}
	i.receiver = &upload.Receiver{DB: i.DB, Clock: i.clock, Store: i.Blobs}
}

// work runs what goes on after calls, and by itself, until ctx ends.
func (i *Instance) work(ctx context.Context) {
	maker := &document.Maker{Clock: i.clock, Store: i.Blobs, Families: api.Families}
	handlers := append(maker.Handlers(), i.receiver.Handlers()...)
	job.NewRunner(i.DB, i.clock, handlers, job.Options{Logger: i.logger}).Run(ctx)
}

// uploads takes the files of upload sessions on local storage; nil where they
// go to a bucket.
func (i *Instance) uploads() http.Handler {
	local, is := i.Blobs.(*blob.Local)
	if !is {
		return nil
	}
	return &rest.Uploads{
		Verify:  func(token string) (blob.Upload, error) { return local.Verify(token, i.clock.Now()) },
		Receive: i.receiver.Receive,
		API:     i.API,
	}
}
