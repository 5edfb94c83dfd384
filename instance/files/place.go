package files

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/setting"
)

// PlaceSetting is the name of the setting that identifies the folder or bucket of the files of
// documents. The value is the mark that is stored in the folder or bucket.
const PlaceSetting = "files-folder"

// ErrOtherPlace is wrapped in the error if the files of this database are in another folder or
// bucket.
var ErrOtherPlace = errors.New("the files of this database's documents are in another place")

// ErrForeign is returned if a folder or bucket has files that do not belong to this database.
var ErrForeign = errors.New("the folder or bucket contains files of documents, but this database has no documents: the files belong to another database, or to none. Name another folder or bucket, or move the files away")

// Place is the folder or bucket of a database's files.
type Place struct {
	DB    db.DB
	Store blob.Store
	// Location is the URL of the store. It is used in errors.
	Location string
}

// Check compares the mark of the place with the mark in the database, and returns ErrOtherPlace if
// they differ. The server may be another replica without the files of the first, or its disk may
// not be mounted. If the database has no mark, Check stores the mark of this place.
func (p Place) Check(ctx context.Context) error {
	var known, mark string
	err := p.DB.Read(ctx, func(tx db.Tx) (err error) {
		known, err = setting.Get(ctx, tx, PlaceSetting)
		return err
	})
	if err != nil {
		return err
	}
	if known == "" {
		mark, known, err = p.claim(ctx)
	} else {
		mark, err = p.Store.Mark(ctx, false)
	}
	if err != nil {
		return fmt.Errorf("--blob-url: %w", err)
	}
	if mark != known {
		hint := "Name the bucket with --blob-url"
		if _, folder := p.Store.(*blob.Local); folder {
			hint = "Is its disk mounted? Name the folder with --blob-url file:PATH, or the bucket"
		}
		return fmt.Errorf("%w than %s. %s; replicas share one. If the files were moved here, "+
			"stop all servers and run 'kartei blobs forget-place' once: the next server to start decides", ErrOtherPlace,
			p.Location, hint)
	}
	return nil
}

// Begin calls Check at the start. If the bucket is unreachable, Begin returns nil, so that the
// server starts. The bucket is then not used until Ping has reached and checked it. patience is the
// maximum time for which Begin waits for a bucket.
func (p Place) Begin(ctx context.Context, patience time.Duration) error {
	held, is := p.Store.(*bucket)
	if !is {
		return p.Check(ctx)
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.Check(asking)
	if ctx.Err() == nil && (errors.Is(err, blob.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)) {
		held.unknown.Store(true)
		return nil
	}
	return err
}

// Ping returns an error if files cannot be stored, or if the bucket is the wrong one.
func (p Place) Ping(ctx context.Context) error {
	if err := p.Store.Ping(ctx); err != nil {
		return err
	}
	if held, is := p.Store.(*bucket); is && held.unknown.Load() {
		if err := p.Check(ctx); err != nil {
			return err
		}
		held.unknown.Store(false)
	}
	return nil
}

// claim stores the mark of this place in a database that has none. It fails if the files belong to
// another database. It returns the mark of the place and the mark in the database. They differ if
// another server was faster.
func (p Place) claim(ctx context.Context) (mark, known string, err error) {
	if err := p.checkForeign(ctx); err != nil {
		return "", "", err
	}
	if mark, err = p.Store.Mark(ctx, true); err != nil {
		return "", "", err
	}
	err = p.DB.Write(ctx, func(tx db.Tx) (err error) {
		known, err = setting.Claim(ctx, tx, PlaceSetting, mark)
		return err
	})
	return mark, known, err
}

// checkForeign returns ErrForeign if the place has files but the database has no documents. Files
// that an operation of this database is creating or erasing are allowed.
func (p Place) checkForeign(ctx context.Context) error {
	mine, foreign := Rows{p.DB}, error(nil)
	for _, err := range mine.Wanted(ctx) {
		return err
	}
	for info, err := range p.Store.List(ctx, blob.Kept) {
		if err != nil {
			return err
		}
		if pending, err := mine.Pending(ctx, info.Name); err != nil || pending {
			return err
		}
		foreign = ErrForeign
	}
	return foreign
}
