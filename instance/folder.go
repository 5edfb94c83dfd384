package instance

import (
	"context"
	"errors"
	"fmt"

	"kartei/access"
	"kartei/blob"
	"kartei/config"
	"kartei/db"
)

// folderSetting is the instance's setting that remembers in which folder the
// files of documents are: the mark that lies in it.
const folderSetting = "files-folder"

// errOtherFolder is returned where the files of documents are in another folder.
var errOtherFolder = errors.New("the files of this database's documents are in another folder")

// checkFolder has a data base remember the folder that its first server keeps
// files in, and fails where one comes with another: a replica that would not find
// the files of the first, or a server whose disk of files was not mounted.
func (i *Instance) checkFolder(ctx context.Context) error {
	local, is := i.Blobs.(*blob.Local)
	if !is {
		return nil
	}
	var known string
	err := i.DB.Read(ctx, func(tx db.Tx) (err error) {
		known, err = access.Setting(ctx, tx, folderSetting)
		return err
	})
	if err != nil {
		return err
	}
	var mark string
	if known == "" {
		mark, known, err = i.claimFolder(ctx, local)
	} else {
		mark, err = local.Mark(ctx, false)
	}
	if err != nil {
		return fmt.Errorf("--blob-url: %w", err)
	}
	if mark != known {
		return fmt.Errorf("%w than %s. Is its disk mounted? Name the folder with --blob-url file:PATH, or a bucket; replicas share one. "+
			"If this is the folder from now on, because its files were brought here, stop all servers and run 'kartei blobs forget-folder' once: the next server to start decides", errOtherFolder, i.config.Store.Blobs())
	}
	return nil
}

// errForeignFiles is returned where a folder has files that cannot be this data
// base's.
var errForeignFiles = errors.New("the folder holds files of documents, and this database has no documents: they are another database's, or nobody's. Name another folder, or move the files away")

// claimFolder has a data base that knows no folder remember this one, unless it
// is another data base's. It returns the mark of the folder, and the one that is
// remembered, which differs where somebody else was first.
func (i *Instance) claimFolder(ctx context.Context, local *blob.Local) (mark, known string, err error) {
	if err := i.checkForeign(ctx); err != nil {
		return "", "", err
	}
	if mark, err = local.Mark(ctx, true); err != nil {
		return "", "", err
	}
	err = i.DB.Write(ctx, func(tx db.Tx) (err error) {
		known, err = access.ClaimSetting(ctx, tx, folderSetting, mark)
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

// forgetFolder lets the next server that starts bring any folder.
func forgetFolder(d db.DB) func(context.Context, Nothing) (Nothing, error) {
	return func(ctx context.Context, _ Nothing) (Nothing, error) {
		return Nothing{}, d.Write(ctx, func(tx db.Tx) error { return access.PutSetting(ctx, tx, folderSetting, "") })
	}
}

// ForgetFolder has a data base that was just restored forget where the files
// were that it was copied from.
func ForgetFolder(ctx context.Context, store *config.Store) error {
	d, done, err := openData(ctx, store, begun)
	if err != nil {
		return err
	}
	defer done()
	_, err = forgetFolder(d)(ctx, Nothing{})
	return err
}
