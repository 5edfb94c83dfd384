package instance

import (
	"context"
	"errors"
	"fmt"

	"kartei/access"
	"kartei/config"
	"kartei/store/blob"
	"kartei/store/db"
)

// placeSetting is the instance's setting that remembers in which folder or bucket
// the files of documents are: the mark that lies in it.
const placeSetting = "files-folder"

// errOtherPlace is returned where the files of documents are in another folder or
// bucket.
var errOtherPlace = errors.New("the files of this database's documents are in another place")

// checkPlace has a data base remember the folder or bucket that its first server
// keeps files in, and fails where one comes with another: a replica that would not
// find the files of the first, or a server whose disk of files was not mounted.
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
		return fmt.Errorf("%w than %s. %s; replicas share one. If this is the place from now on, because the files were brought here, "+
			"stop all servers and run 'kartei blobs forget-place' once: the next server to start decides", errOtherPlace, i.config.Store.Blobs(), hint)
	}
	return nil
}

// beginPlace is checkPlace at the start. A bucket that is away does not keep a
// server from starting: then the watch asks it when it comes back, and until then
// it is not used.
func (i *Instance) beginPlace(ctx context.Context) error {
	bucket, is := i.Blobs.(*held)
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

// pingFiles fails where files cannot be kept, and where they would go to the
// wrong bucket.
func (i *Instance) pingFiles(ctx context.Context) error {
	if err := i.Blobs.Ping(ctx); err != nil {
		return err
	}
	if bucket, is := i.Blobs.(*held); is && bucket.unknown.Load() {
		if err := i.checkPlace(ctx); err != nil {
			return err
		}
		bucket.unknown.Store(false)
	}
	return nil
}

// placed has an act look first whether the files are this data base's: all of
// another one would be orphans.
func placed[In, Out any](i *Instance, act func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		if err := i.checkPlace(ctx); err != nil {
			return out, err
		}
		return act(ctx, in)
	}
}

// errForeignFiles is returned where a folder or bucket has files that cannot be
// this data base's.
var errForeignFiles = errors.New("there are files of documents, and this database has no documents: they are another database's, or nobody's. Name another folder or bucket, or move the files away")

// claimPlace has a data base that knows no place remember this one, unless it
// is another data base's. It returns the mark of the place, and the one that is
// remembered, which differs where somebody else was first.
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

// checkForeign fails where a data base that has no documents, nor makes or erases
// any of these files, comes to a folder with files.
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

// forgetPlace lets the next server that starts bring any folder or bucket.
func forgetPlace(d db.DB) func(context.Context, Nothing) (Nothing, error) {
	return func(ctx context.Context, _ Nothing) (Nothing, error) {
		return Nothing{}, d.Write(ctx, func(tx db.Tx) error { return access.PutSetting(ctx, tx, placeSetting, "") })
	}
}

// ForgetPlace has a data base that was just restored forget where the files
// were that it was copied from.
func ForgetPlace(ctx context.Context, store *config.Store) error {
	d, done, err := openData(ctx, store, begun)
	if err != nil {
		return err
	}
	defer done()
	_, err = forgetPlace(d)(ctx, Nothing{})
	return err
}
