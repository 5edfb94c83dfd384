package instance

import (
	"net/http"
	"path/filepath"

	"kartei/api"
	"kartei/app"
	"kartei/blob"
	"kartei/document"
	"kartei/extract"
	"kartei/rest"
	"kartei/upload"
)

// takeFiles says which files are taken, and who takes them.
func (i *Instance) takeFiles() {
	s := &i.config.Server
	i.types = extract.Allow(s.UploadTypes...)
	i.Files = app.Files{Store: i.Blobs, MaxSize: int64(s.MaxFileSize), MaxStaged: int64(s.MaxStaged), Declared: i.types.Declared, Types: i.types.Names()}
	i.files.ping = i.pingFiles
	i.files.lost, i.files.back = "the files of documents cannot be reached or stored", "the files of documents can be reached again"
	i.receiver = &upload.Receiver{DB: i.DB, Clock: i.clock, Store: i.Blobs}
}

// maker makes documents as the settings have it.
func (i *Instance) maker() (m *document.Maker, err error) {
	s := &i.config.Server
	m = &document.Maker{
		Clock: i.clock, Store: i.Blobs, Types: i.types, RefuseUnscanned: s.ClamdAway == "refuse", Families: api.Families, Logger: i.logger,
		Ended: i.metrics.Operations(),
	}
	if s.Clamd != "" {
		scanner, err := extract.NewScanner(s.Clamd)
		if err != nil {
			return nil, err
		}
		m.Scanner = scanner
		i.scanner.ping = scanner.Ping
		i.scanner.lost, i.scanner.back = "clamd cannot be reached: no documents are made without it", "clamd can be reached again"
	}
	m.Extractor, err = extract.New(extract.Options{
		Limits: extract.Limits{Text: s.TextSize}, Cache: filepath.Join(string(i.config.Store.DataDir), "cache"),
		Cold: func(why error) {
			i.logger.Warn("reader of PDF not kept in the folder cache: until it is, each PDF takes seconds more", "error", why)
		},
	})
	return m, err
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
