package instance

import (
	"context"
	"errors"
	"time"

	"kartei/api"
	"kartei/extract"
	"kartei/extract/clamd"
	"kartei/extract/filetype"
	"kartei/instance/config"
	"kartei/record/document"
	"kartei/record/upload"
	"kartei/store/blob"
)

// takeFiles sets the accepted types of files, and the parts of the instance that handle files.
func (i *Instance) takeFiles() (err error) {
	s := &i.config.Server
	i.types = filetype.Allow(s.UploadTypes...)
	texts := s.Texts(&i.config.Store)
	texts.Cold = func(why error) {
		i.logger.Warn("the PDF reader was not stored in the folder cache: until it is, each PDF takes some seconds more",
			"error", why)
	}
	if i.extractor, err = extract.New(texts); err != nil {
		return err
	}
	i.reader.ping = i.extractor.Confined
	i.Files = upload.Files{
		Store: i.Blobs, MaxSize: int64(s.MaxFileSize), MaxStaged: int64(s.MaxStaged), Declared: i.types.Declared,
		Types: i.types.Names(),
	}
	i.viewer = i.extractor.NewViewer()
	i.files.ping = i.place().Ping
	i.files.lost, i.files.back = "the files of documents cannot be reached or stored", "the files of documents can be reached again"
	i.receiver = &upload.Receiver{DB: i.DB, Clock: i.clock, Store: i.Blobs, Access: i.Directory}
	return nil
}

// newMaker returns the Maker of documents with the settings of the server.
func (i *Instance) newMaker() (m *document.Maker, err error) {
	s := &i.config.Server
	m = &document.Maker{
		Clock: i.clock, Store: i.Blobs, Types: i.types, RefuseUnscanned: s.ClamdAway == "refuse", Families: api.Families,
		Logger:    i.logger,
		Extractor: i.extractor,
		Ended:     i.metrics.Operations(), Budget: time.Duration(s.TextBudget),
	}
	if s.Clamd != "" {
		scanner, err := clamd.New(s.Clamd)
		if err != nil {
			return nil, err
		}
		m.Scanner = scanner
		i.scanner.ping = scanner.Ping
		i.scanner.lost, i.scanner.back = "clamd cannot be reached: no documents are made without it", "clamd can be reached again"
	}
	i.maker = m
	return m, nil
}

// checkReader logs a warning if the process that reads texts is not confined. One check at the
// start is enough, since the kernel and the container do not change at run time.
func (i *Instance) checkReader(ctx context.Context) {
	err := i.reader.ping(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	i.reader.away.Store(&err) // stored before the log entry, so that the metric never lags behind the log
	switch {
	case !errors.Is(err, extract.ErrUnconfined):
		i.logger.Error("the process that reads texts cannot be started", "error", err)
	case i.config.Server.ReaderConfinement == config.Require:
		i.logger.Warn("texts of documents are not read, so documents are found by their names only: --reader-confinement is require, and the system cannot confine the process that reads texts. "+unconfinedCure, "error", err)
	default:
		i.logger.Warn("the system does not confine the process that reads texts of documents: a malicious file that takes it over can reach everything that this user can. "+unconfinedCure+
			"; with --reader-confinement require no text is read instead", "error", err)
	}
}

// unconfinedCure is the advice in the messages of checkReader.
const unconfinedCure = "Use Linux 5.13 or later with Landlock on, on amd64 or arm64, and a container whose policy allows the calls landlock_* and seccomp"

// uploads returns the receiver of the files of upload sessions.
func (i *Instance) uploads() *api.Uploads {
	if local, is := i.Blobs.(*blob.Local); is {
		i.receiver.Addresses = local
	}
	return &api.Uploads{API: i.API, Receiver: i.receiver}
}
