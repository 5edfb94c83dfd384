package instance

import (
	"context"
	"errors"
	"fmt"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/blob"
	"kartei/store/db"
)

// placeSetting is the setting that identifies the folder or bucket of the files
// of documents. Its value is the mark stored there.
const placeSetting = "files-folder"

// errOtherPlace is returned if the files of documents are in another folder or
// bucket.
var errOtherPlace = errors.New("the files of this database's documents are in another place")

// checkPlace stores the place of the first server's files in the database, and
// fails for a server with another place. Such a server may be a replica that
// would miss the files of the first one, or its disk may not be mounted.
func (i *Instance) checkPlace(ctx context.Context) error {
	var known, mark string
	err := i.DB.Read(ctx, func(tx db.Tx) (err error) {
		known, err = access.Setting(ctx, tx, placeSetting)
		return err
	})
	if err != nil {
		return err
	}
	if known == "" {
		mark, known, err = i.claimPlace(ctx)
	} else {
		mark, err = i.Blobs.Mark(ctx, false)
	}
	if err != nil {
		return fmt.Errorf("--blob-url: %w", err)
	}
	if mark != known {
		hint := "Name the bucket with --blob-url"
		if _, folder := i.Blobs.(*blob.Local); folder {
			hint = "Is its disk mounted? Name the folder with --blob-url file:PATH, or the bucket"
		}
		return fmt.Errorf("%w than %s. %s; replicas share one. If the files were moved here, "+
			"stop all servers and run 'kartei blobs forget-place' once: the next server to start decides", errOtherPlace,
			i.config.Store.Blobs(), hint)
	}
	return nil
}

// beginPlace is checkPlace at the start. A server starts even if its bucket is
// unreachable. The bucket is then not used until the watch has reached and
// checked it.
func (i *Instance) beginPlace(ctx context.Context) error {
	bucket, is := i.Blobs.(*heldBucket)
	if !is {
		return i.checkPlace(ctx)
	}
	asking, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	err := i.checkPlace(asking)
	if ctx.Err() == nil && (errors.Is(err, blob.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)) {
		bucket.unknown.Store(true)
		return nil
	}
	return err
}

// pingFiles fails if files cannot be stored, or if they would go to the wrong
// bucket.
func (i *Instance) pingFiles(ctx context.Context) error {
	if err := i.Blobs.Ping(ctx); err != nil {
		return err
	}
	if bucket, is := i.Blobs.(*heldBucket); is && bucket.unknown.Load() {
		if err := i.checkPlace(ctx); err != nil {
			return err
		}
		bucket.unknown.Store(false)
	}
	return nil
}

// placed makes an act check first whether the files belong to this database.
// Files of another one would all look like orphans.
func placed[In, Out any](
	i *Instance, act func(context.Context, In) (Out, error),
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		if err := i.checkPlace(ctx); err != nil {
			return out, err
		}
		return act(ctx, in)
	}
}

// errForeignFiles is returned if a folder or bucket has files that cannot
// belong to this database.
var errForeignFiles = errors.New("the folder or bucket contains files of documents, but this database has no documents: the files belong to another database, or to none. Name another folder or bucket, or move the files away")

// claimPlace stores this place in a database without one, unless the files
// belong to another database. It returns the mark of the place and the stored
// mark. They differ if another server was first.
func (i *Instance) claimPlace(ctx context.Context) (mark, known string, err error) {
	if err := i.checkForeign(ctx); err != nil {
		return "", "", err
	}
	if mark, err = i.Blobs.Mark(ctx, true); err != nil {
		return "", "", err
	}
	err = i.DB.Write(ctx, func(tx db.Tx) (err error) {
		known, err = access.ClaimSetting(ctx, tx, placeSetting, mark)
		return err
	})
	return mark, known, err
}

// checkForeign fails if a place has files but the database has no documents and
// is neither creating nor erasing one of the files.
func (i *Instance) checkForeign(ctx context.Context) error {
	mine, foreign := files{i.DB}, error(nil)
	for _, err := range mine.Wanted(ctx) {
		return err
	}
	for info, err := range i.Blobs.List(ctx, blob.Kept) {
		if err != nil {
			return err
		}
		if pending, err := mine.Pending(ctx, info.Name); err != nil || pending {
			return err
		}
		foreign = errForeignFiles
	}
	return foreign
}

// forgetPlace makes the database accept any folder or bucket from the next
// server that starts.
func forgetPlace(d db.DB, c clock.Clock) func(context.Context, Nothing) (Nothing, error) {
	return forget(d, c, placeSetting, act{name: "blobs.forget-place", word: "files.forgetPlace", target: placeSetting})
}
