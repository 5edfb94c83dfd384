package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/instance/config"
	"kartei/instance/files"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/audit"
	"kartei/record/document"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/db/move"
)

// BackupInput is the input of the act backup.
type BackupInput struct {
	// File is the absolute path of the copy of the database on the server's machine.
	File string `json:"file"`
	// Files is the absolute path of the folder for the files of documents. If it is empty, no files
	// are copied.
	Files string `json:"files,omitempty"`
	// Recipients are the recipients for whom the copy of the database is encrypted. Without
	// recipients, the copy is not encrypted.
	Recipients []string `json:"recipients,omitempty"`
}

// BackupOutput is the output of the act backup.
type BackupOutput struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// Encrypted is the number of recipients of an encrypted copy, or zero.
	Encrypted int `json:"encryptedFor,omitempty"`
	// Files is the folder with the copied files. Copied has the counts of these files. Both are
	// unset if the input has no Files.
	Files  string           `json:"files,omitempty"`
	Copied *blob.CopyCounts `json:"filesCopied,omitempty"`
}

const (
	// holdTime is the time for which a backup stops the removal of files. The backup renews this
	// time after each third of it. If the process of the backup dies, removal continues after
	// holdTime at the latest.
	holdTime = 10 * time.Minute
	// holdRetry is the time after which a failed renewal is repeated.
	holdRetry = 5 * time.Second
)

// backupAct is the act backup: it copies the database and the files of documents. The removal of
// files stops before the database is copied, until all files are copied. So each document in the
// copy has its file.
func (i *Instance) backupAct(ctx context.Context, in BackupInput) (BackupOutput, error) {
	if in.Files == "" {
		return i.backupDatabase(ctx, in)
	}
	if err := in.checkFolders(); err != nil { // before NewLocal creates the folder of the files
		return BackupOutput{}, err
	}
	if len(in.Recipients) > 0 && i.config.Server.BlobEncryption == config.Encryption(blob.Never) {
		return BackupOutput{}, errPlainFiles
	}
	_, known := os.Stat(in.Files)
	to, err := blob.NewLocal(in.Files, blob.LocalOptions{
		Keys: i.keys, Plain: i.config.Server.BlobEncryption == config.Encryption(blob.Never),
	})
	if err != nil {
		return BackupOutput{}, err
	}
	defer to.Close()
	copying := false
	defer func() {
		if !copying && errors.Is(known, fs.ErrNotExist) {
			_ = os.RemoveAll(in.Files) // no file was copied yet
		}
	}()
	release, err := holdFiles(ctx, i.DB, i.clock)
	if err != nil {
		return BackupOutput{}, fmt.Errorf("the database cannot store that the removal of files waits for the backup: %w; --without-files copies the database alone", err)
	}
	defer func() { _ = release() }() // for the returns below; they report an earlier error
	out, err := i.backupDatabase(ctx, in)
	if err != nil {
		return out, err
	}
	copying = true
	copied, err := blob.Copy(ctx, i.Blobs, to, files.Rows{DB: i.DB})
	if err == nil {
		err = release()
	}
	if err != nil {
		return out, fmt.Errorf("the database was copied to %s, but not all files: %w", in.File, err)
	}
	out.Files, out.Copied = in.Files, &copied
	return out, nil
}

// checkFolders returns an error if the folder above the copy does not exist. Its disk may not be
// mounted. A new folder would be on the disk of the database, and would be lost with it.
func (in *BackupInput) checkFolders() error {
	for _, path := range []string{in.File, in.Files} {
		folder := filepath.Dir(path)
		if _, err := os.Stat(folder); path == "" || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return fmt.Errorf("there is no folder %s: is its disk mounted? If it is to be a new folder, make it first: mkdir -p %[1]s", folder)
	}
	return nil
}

// errPlainFiles is the error of an encrypted backup whose files would not be encrypted.
var errPlainFiles = errors.New("the files of documents would be copied without encryption, because --blob-encryption is off: leave them out with --without-files, or turn encryption on")

// backupDatabase copies the database. The copy contains the line of the audit log for this backup.
func (i *Instance) backupDatabase(ctx context.Context, in BackupInput) (BackupOutput, error) {
	if err := in.checkFolders(); err != nil {
		return BackupOutput{}, err
	}
	recipients, err := move.ParseRecipients(in.Recipients)
	if err != nil {
		return BackupOutput{}, err
	}
	if len(in.Recipients) > 0 && len(recipients) == 0 {
		return BackupOutput{}, errors.New("an encrypted backup needs a recipient, and none was named")
	}
	act{name: "backup", word: "instance.backup", target: in.File}.beginAnyway(ctx, i.DB, i.clock,
		audit.Change{Member: "files", From: "", To: in.Files},
		audit.Change{Member: "recipients", From: 0, To: len(recipients)})
	if err := move.BackupFor(ctx, i.DB, in.File, recipients); err != nil {
		return BackupOutput{}, err
	}
	info, err := os.Stat(in.File)
	if err != nil {
		return BackupOutput{}, err
	}
	return BackupOutput{File: in.File, Bytes: info.Size(), Encrypted: len(recipients)}, nil
}

// holdFiles stops the removal of files in all replicas until release is called. release returns
// errLapsed if the stop expired before. After release the stop still expires only at its time,
// since another backup may need it.
func holdFiles(ctx context.Context, d db.DB, c clock.Clock) (release func() error, err error) {
	var until clock.Micros // the end of the stop that was last stored
	var lapsed error
	renew := func() error {
		next := clock.Now(c).Add(holdTime)
		err := d.Write(ctx, func(tx db.Tx) error { return document.Hold(ctx, tx, next) })
		if until > 0 && clock.Now(c) > until {
			lapsed = errors.Join(errLapsed, err)
		}
		if err != nil {
			return err
		}
		until = next
		return nil
	}
	if err := renew(); err != nil {
		return nil, err
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for pause := holdTime / 3; ; {
			select {
			case <-ended:
				return
			case <-c.After(pause):
			}
			if pause = holdTime / 3; renew() != nil {
				pause = holdRetry
			}
		}
	}()
	return sync.OnceValue(func() error {
		close(ended)
		<-stopped
		if lapsed == nil && clock.Now(c) > until {
			lapsed = errLapsed
		}
		return lapsed
	}), nil
}

// errLapsed is the error of a backup if files may have been removed before they were copied.
var errLapsed = errors.New("for " + holdTime.String() + " the database could not store that files are being copied" +
	", so files of documents that were deleted meanwhile may be missing; make another backup into the same folder, which copies only new files")

// OpenBackup opens a database without migrating it, and its files. It returns an admin.Door with
// the act backup, and a function that closes both.
func OpenBackup(ctx context.Context, store *config.Store, s *config.Server) (_ *admin.Door, done func(), err error) {
	i := &Instance{config: Config{Store: *store, Server: *s}, clock: clock.System}
	var closeData, closeBlobs func()
	if i.DB, closeData, err = openData(ctx, store, begun); err != nil {
		return nil, nil, err
	}
	if closeBlobs, err = i.openFiles(ctx); err != nil {
		closeData()
		return nil, nil, err
	}
	return &admin.Door{Acts: socket.Acts{"backup": socket.Do(i.backupAct)}, Explain: Explain(i.DB.Writes().Refused)},
		func() { closeData(); closeBlobs() }, nil
}

// errNoKey is the error if the master key of the files is missing.
var errNoKey = errors.New("the files of documents are encrypted, and there is no master key: name it with --master-key-file, or leave the files out with --without-files")

// openFiles opens the store of files of an instance that does not run. It returns a function that
// closes the store, and errNoKey if the master key is missing.
func (i *Instance) openFiles(ctx context.Context) (done func(), err error) {
	s := &i.config.Server
	i.keys.Current, err = masterkey.Load(s.MasterKey(&i.config.Store))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoKey
	}
	if err != nil {
		return nil, err
	}
	if i.keys.Previous, err = previousKeys(s.PreviousMasterKeyFiles); err != nil {
		return nil, err
	}
	if err := i.openBlobs(ctx); err != nil {
		return nil, err
	}
	return func() { i.Blobs.Close() }, nil
}

// RestoreFiles copies the files of a backup from the folder dir to the store of the instance's
// files. It returns the numbers of the files.
func RestoreFiles(ctx context.Context, store *config.Store, s *config.Server, dir string) (blob.CopyCounts, error) {
	found, err := blob.Holds(dir)
	if err != nil || !found { // this check needs no key
		return blob.CopyCounts{Errors: []string{}}, err
	}
	i := &Instance{config: Config{Store: *store, Server: *s}, clock: clock.System}
	done, err := i.openFiles(ctx)
	if err != nil {
		return blob.CopyCounts{}, err
	}
	defer done()
	from, err := blob.NewLocal(dir, blob.LocalOptions{Keys: i.keys})
	if err != nil {
		return blob.CopyCounts{}, err
	}
	defer from.Close()
	return blob.Copy(ctx, from, i.Blobs, nil)
}
