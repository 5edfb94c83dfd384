package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"kartei/config"
	"kartei/door/admin"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/replay"
	"kartei/webhook"
)

const (
	// sweepEvery is how often the store is looked through for what uploads of
	// processes that were killed have left behind.
	sweepEvery = 15 * time.Minute
	// sweepAfter is how long nobody must have written to it. Who sends and moves
	// nothing is given up after half a minute, see package rest.
	sweepAfter = time.Hour
)

// openBlobs opens where the bytes of documents are.
func (i *Instance) openBlobs(ctx context.Context) (err error) {
	i.Blobs, err = blob.Open(ctx, i.config.Store.Blobs(), blob.Options{
		Keys: i.keys, Encryption: blob.Encryption(i.config.Server.BlobEncryption), BaseURL: i.BaseURL,
		MaxSize: int64(i.config.Server.MaxFileSize), Now: i.clock.Now,
	})
	if err != nil {
		return fmt.Errorf("--blob-url: %w", err)
	}
	if _, folder := i.Blobs.(*blob.Local); !folder {
		i.Blobs = &held{Store: i.Blobs}
	}
	return nil
}

// previousKeys reads the master keys before the one in force.
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

// sweepFolder removes at the start whatever killed uploads have left behind in a
// folder, before there are new ones. An SQLite data base, which is locked by now,
// has no other process that might be writing there.
func (i *Instance) sweepFolder(ctx context.Context) {
	if _, folder := i.Blobs.(*blob.Local); folder && i.DB.Dialect().Name == "sqlite" {
		i.sweep(ctx, i.clock.Now())
	}
}

// sweep removes what killed uploads that wrote last before since have left
// behind.
func (i *Instance) sweep(ctx context.Context, since time.Time) {
	removed, err := i.Blobs.Sweep(ctx, since)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		i.logger.Error("what killed uploads left behind was not removed", "error", err)
	case removed > 0:
		i.logger.Info("removed what killed uploads left behind", "files", removed)
	}
}

// sweepBlobs removes what killed uploads have left behind, until ctx ends.
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

// RotateOutput is what the act blobs.rotate answers.
type RotateOutput struct {
	// Looked counts all files, Changed those that were sealed anew.
	Looked  int `json:"looked"`
	Changed int `json:"changed"`
	// Failed counts those that could not be, Errors says why of the first few,
	// endpoints included.
	Failed int      `json:"failed"`
	Errors []string `json:"errors"`
	// Secrets counts the webhook endpoints whose secrets were sealed anew.
	Secrets int `json:"secrets"`
	// Answers counts the stored answers that were sealed anew.
	Answers int `json:"answers"`
	// Unreadable counts the webhook endpoints whose secret no master key opens.
	Unreadable int `json:"unreadableSecrets"`
}

// maxErrors bounds what a run tells of.
const maxErrors = 20

// rotateBlobs seals the secrets of webhook endpoints, stored answers and everything in a store
// under the master key in force. It may be interrupted at any time: the next run
// goes on where this one ended.
func rotateBlobs(d db.DB, s blob.Store, keys masterkey.Ring, c clock.Clock) func(context.Context, Nothing) (RotateOutput, error) {
	return func(ctx context.Context, _ Nothing) (out RotateOutput, err error) {
		out.Errors = []string{}
		changed, unreadable, err := webhook.Reseal(ctx, d, keys.Vault(webhook.SecretsPurpose), clock.Now(c))
		if err != nil {
			return out, err
		}
		if out.Answers, err = (replay.Vault{Vault: keys.Vault(replay.Purpose)}).Reseal(ctx, d); err != nil {
			return out, err
		}
		out.Secrets, out.Unreadable = changed, len(unreadable)
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

// OpenBlobActs opens where the bytes of documents are, and the data base, and
// returns the acts on them, and how to close them.
func OpenBlobActs(ctx context.Context, store *config.Store, s *config.Server) (_ admin.Acts, done func(), err error) {
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
	return i.blobActs(), func() { closeData(); closeBlobs() }, nil
}

// blobActs are the acts on where the bytes of documents are.
func (i *Instance) blobActs() admin.Acts {
	return admin.Acts{
		"blobs.rotate": admin.Do(placed(i, rotateBlobs(i.DB, i.Blobs, i.keys, i.clock))),
		"blobs.check":  admin.Do(placed(i, checkBlobs(i.DB, i.Blobs, i.clock))),
		"org.erase":    admin.Do(placed(i, i.eraser().act)),
	}
}
