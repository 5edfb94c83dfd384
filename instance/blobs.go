package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"kartei/access"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/instance/config"
	"kartei/instance/erasure"
	"kartei/instance/files"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/signin"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/replay"
	"kartei/transfer/imports"
	"kartei/transfer/merge"
)

const (
	// sweepEvery is the interval of the searches for the remains of uploads whose process was
	// killed.
	sweepEvery = 15 * time.Minute
	// sweepAfter is the time after the last write from which an unfinished file counts as a remain.
	// A client that sends nothing is disconnected after half a minute, see package rest.
	sweepAfter = time.Hour
)

// openBlobs opens the store of the files of documents and sets i.Blobs. If it returns an error,
// i.Blobs is not set.
func (i *Instance) openBlobs(ctx context.Context) error {
	store, err := blob.Open(ctx, i.config.Store.Blobs(), blob.Options{
		Keys: i.keys, Encryption: blob.Encryption(i.config.Server.BlobEncryption), BaseURL: i.BaseURL,
		MaxSize: int64(i.config.Server.MaxFileSize), Now: i.clock.Now,
	})
	if err != nil {
		return fmt.Errorf("--blob-url: %w", err)
	}
	i.Blobs = files.Guard(store)
	return nil
}

// previousKeys reads the previous master keys from their files.
func previousKeys(paths []config.File) ([]*masterkey.Key, error) {
	var keys []*masterkey.Key
	for _, path := range paths {
		k, err := masterkey.Load(string(path))
		if err != nil {
			return nil, fmt.Errorf("--previous-master-key-files: %w", err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// sweepFolder removes the remains of killed uploads from a local folder when the server starts. It
// does so only with SQLite: since the database is locked, no other process can be writing to the
// folder.
func (i *Instance) sweepFolder(ctx context.Context) {
	if _, folder := i.Blobs.(*blob.Local); folder && i.DB.Dialect().Name == "sqlite" {
		i.sweep(ctx, i.clock.Now())
	}
}

// sweep removes the remains of uploads that were last written before since.
func (i *Instance) sweep(ctx context.Context, since time.Time) {
	removed, err := i.Blobs.Sweep(ctx, since)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		i.logger.Error("the remains of killed uploads were not removed", "error", err)
	case removed > 0:
		i.logger.Info("removed the remains of killed uploads", "files", removed)
	}
}

// sweepBlobs removes the remains of killed uploads every sweepEvery until ctx ends.
func (i *Instance) sweepBlobs(ctx context.Context) {
	for {
		i.sweep(ctx, i.clock.Now().Add(-sweepAfter))
		select {
		case <-ctx.Done():
			return
		case <-i.clock.After(sweepEvery):
		}
	}
}

// RotateOutput is the output of the act blobs.rotate.
type RotateOutput struct {
	// Looked is the number of all files, and Changed the number of files that were encrypted again.
	Looked  int `json:"looked"`
	Changed int `json:"changed"`
	// Failed is the number of files with an error. Errors has the first messages, up to maxErrors.
	// It includes messages about secrets.
	Failed int      `json:"failed"`
	Errors []string `json:"errors"`
	// Secrets is the number of webhook endpoints whose secrets were encrypted again.
	Secrets int `json:"secrets"`
	// Factors is the number of TOTP secrets that were encrypted again.
	Factors int `json:"factors"`
	// Answers is the number of stored API responses that were encrypted again.
	Answers int `json:"answers"`
	// Imports is the number of imports whose keys were encrypted again.
	Imports int `json:"imports"`
	// Merges is the number of merges whose copies were encrypted again.
	Merges int `json:"merges"`
	// Unreadable is the number of webhook endpoints, accounts, imports and merges whose secret cannot
	// be decrypted with any master key.
	Unreadable int `json:"unreadableSecrets"`
}

// maxErrors is the maximum number of messages in the output of an act.
const maxErrors = 20

// rotateBlobs returns the act blobs.rotate. It encrypts all secrets, all stored API responses and
// all files with the current master key. If it is interrupted, the next run continues.
func rotateBlobs(
	d db.DB, s blob.Store, keys masterkey.Ring, c clock.Clock,
) func(context.Context, Nothing) (RotateOutput, error) {
	return func(ctx context.Context, _ Nothing) (out RotateOutput, err error) {
		out.Errors = []string{}
		if err := (act{name: "blobs.rotate", word: "files.rotate", target: files.PlaceSetting}).begin(ctx, d, c); err != nil {
			return out, err
		}
		changed, unreadable, err := webhook.Reseal(ctx, d, keys.Vault(webhook.SecretsPurpose), clock.Now(c))
		if err != nil {
			return out, err
		}
		if out.Answers, err = (replay.Vault{Vault: keys.Vault(replay.Purpose)}).Reseal(ctx, d); err != nil {
			return out, err
		}
		factors, more, err := signin.Reseal(ctx, d, keys.Vault(signin.SecretsPurpose))
		if err != nil {
			return out, err
		}
		unreadable = append(unreadable, more...)
		if out.Imports, more, err = imports.Reseal(ctx, d, keys.Vault(imports.SecretsPurpose)); err != nil {
			return out, err
		}
		unreadable = append(unreadable, more...)
		if out.Merges, more, err = merge.Reseal(ctx, d, keys.Vault(merge.SecretsPurpose)); err != nil {
			return out, err
		}
		unreadable = append(unreadable, more...)
		out.Secrets, out.Factors, out.Unreadable = changed, factors, len(unreadable)
		for _, reason := range unreadable[:min(len(unreadable), maxErrors)] {
			out.Errors = append(out.Errors, reason.Error())
		}
		for info, err := range s.List(ctx, "") {
			if err != nil {
				return out, err
			}
			out.Looked++
			changed, err := s.Rotate(ctx, info.Name)
			switch {
			case ctx.Err() != nil:
				return out, ctx.Err()
			case errors.Is(err, blob.ErrFull), errors.Is(err, blob.ErrUnavailable):
				return out, err
			case err != nil:
				if out.Failed++; len(out.Errors) < maxErrors {
					out.Errors = append(out.Errors, err.Error())
				}
			case changed:
				out.Changed++
			}
		}
		return out, nil
	}
}

// OpenBlobDoor opens the store of files and the database of an instance that does not run. It
// returns an admin.Door with the acts on both, and a function that closes both.
func OpenBlobDoor(ctx context.Context, store *config.Store, s *config.Server) (_ *admin.Door, done func(), err error) {
	i := &Instance{config: Config{Store: *store, Server: *s}, clock: clock.System}
	if i.keys.Current, err = masterkey.Load(s.MasterKey(store)); err != nil {
		return nil, nil, err
	}
	if i.keys.Previous, err = previousKeys(s.PreviousMasterKeyFiles); err != nil {
		return nil, nil, err
	}
	if err := i.openBlobs(ctx); err != nil {
		return nil, nil, err
	}
	closeBlobs := func() {
		if err := i.Blobs.Close(); err != nil {
			slog.Error("files of documents not closed", "error", err)
		}
	}
	var closeData func()
	if i.DB, closeData, err = openData(ctx, store, migrated); err != nil {
		closeBlobs()
		return nil, nil, err
	}
	done = func() { closeData(); closeBlobs() }
	a, err := offline(i.DB, store, upload.Files{Store: i.Blobs})
	if err != nil {
		done()
		return nil, nil, err
	}
	return &admin.Door{API: a, Acts: i.blobActs(), Explain: Explain(i.DB.Writes().Refused)}, done, nil
}

// blobActs returns the acts that use the store of files.
func (i *Instance) blobActs() socket.Acts {
	return socket.Acts{
		"blobs.rotate": socket.Do(placed(i, rotateBlobs(i.DB, i.Blobs, i.keys, i.clock))),
		"blobs.check":  socket.Do(placed(i, i.checkBlobs)),
		"org.erase":    socket.Do(placed(i, i.eraser().Erase)),
	}
}

// eraser returns the eraser of an instance. The instance need not run.
func (i *Instance) eraser() *erasure.Eraser {
	e := &erasure.Eraser{DB: i.DB, Store: i.Blobs, Directory: i.Directory, Clock: i.clock, Logger: i.logger}
	if e.Directory == nil { // the instance does not run
		e.Directory = access.NewDirectory(i.DB, i.clock, accessOptions(&i.config.Store, &i.config.Server))
	}
	if e.Logger == nil {
		e.Logger = slog.Default()
	}
	return e
}

// checkBlobs is the act blobs.check. If it removes files, it first appends a line to the audit log.
func (i *Instance) checkBlobs(ctx context.Context, in files.CheckInput) (files.CheckOutput, error) {
	if in.Remove {
		removal := act{name: "blobs.check", word: "files.removeOrphans", target: files.PlaceSetting}
		if err := removal.begin(ctx, i.DB, i.clock); err != nil {
			return files.CheckOutput{Findings: []blob.Finding{}}, err
		}
	}
	return files.Check(ctx, i.DB, i.Blobs, i.clock, in)
}

// place returns the place of the files. The instance need not run.
func (i *Instance) place() files.Place {
	return files.Place{DB: i.DB, Store: i.Blobs, Location: i.config.Store.Blobs()}
}

// placed returns an act that first checks whether the files belong to this database. Without the
// check, all files of another database would look like orphans.
func placed[In, Out any](
	i *Instance, act func(context.Context, In) (Out, error),
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		if err := i.place().Check(ctx); err != nil {
			return out, err
		}
		return act(ctx, in)
	}
}

// forgetPlace returns the act blobs.forget-place. After it, the next server that starts may use any
// folder or bucket for the files.
func forgetPlace(d db.DB, c clock.Clock) func(context.Context, Nothing) (Nothing, error) {
	forgets := act{name: "blobs.forget-place", word: "files.forgetPlace", target: files.PlaceSetting}
	return forget(d, c, files.PlaceSetting, forgets)
}
