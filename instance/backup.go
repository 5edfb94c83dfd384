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
	// File is the absolute path of the copy, on the server's machine.
	File string `json:"file"`
	// Files is the absolute path of the folder for the files of documents. If
	// it is empty, no files are copied.
	Files string `json:"files,omitempty"`
	// Recipients are the only ones who can open the copy of the database.
	// Without recipients it is not encrypted.
	Recipients []string `json:"recipients,omitempty"`
}

// BackupOutput is the output of the act backup.
type BackupOutput struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// Encrypted is the number of recipients of an encrypted copy.
	Encrypted int `json:"encryptedFor,omitempty"`
	// Files is the folder with the files, and Copied counts them. Copied is nil
	// without a folder.
	Files  string           `json:"files,omitempty"`
	Copied *blob.CopyCounts `json:"filesCopied,omitempty"`
}

const (
	// holdTime is how long a backup prevents the removal of files. The backup renews the hold
	// after each third of this time. If a backup dies, removal is soon possible again.
	holdTime = 10 * time.Minute
	// holdRetry is the pause before a failed renewal is repeated.
	holdRetry = 5 * time.Second
)

// backupAct copies a database and the files of its documents. Each document in
// the copy has its file: removal stops before the snapshot of the database and
// resumes when all files are copied.
func (i *Instance) backupAct(ctx context.Context, in BackupInput) (BackupOutput, error) {
	if in.Files == "" {
		return i.backupDatabase(ctx, in)
	}
	if err := in.checkFolders(); err != nil { // before the folder of the files is made
		return BackupOutput{}, err
	}
	if len(in.Recipients) > 0 && i.config.Server.BlobEncryption == config.Encryption(blob.Never) {
		return BackupOutput{}, errPlainFiles
	}
	to, err := blob.NewLocal(in.Files, blob.LocalOptions{
		Keys: i.keys, Plain: i.config.Server.BlobEncryption == config.Encryption(blob.Never),
	})
	if err != nil {
		return BackupOutput{}, err
	}
	defer to.Close()
	release, err := holdFiles(ctx, i.DB, i.clock)
	if err != nil {
		return BackupOutput{}, fmt.Errorf("the database cannot store that the removal of files waits for the backup: %w; --without-files copies the database alone", err)
	}
	defer func() { _ = release() }() // for early returns, which report an earlier error
	out, err := i.backupDatabase(ctx, in)
	if err != nil {
		return out, err
	}
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

// checkFolders refuses a copy below a folder that does not exist. The disk for it may not
// be mounted: a new folder would be beside the database, and be lost with it.
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

// errPlainFiles is the error for an encrypted backup with files that would not
// be encrypted.
var errPlainFiles = errors.New("the files of documents would be copied without encryption, because --blob-encryption is off: leave them out with --without-files, or turn encryption on")

// backupDatabase copies a database. Its line of the audit log is in the copy too.
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

// holdFiles keeps all replicas from removing files until release. release fails
// if the hold has lapsed in between. Afterwards the hold expires by itself,
// since another backup may rely on it too.
func holdFiles(ctx context.Context, d db.DB, c clock.Clock) (release func() error, err error) {
	var until clock.Micros // the end of the hold stored last
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

// errLapsed is the error for a backup whose files may have been removed before
// they were copied.
var errLapsed = errors.New("for " + holdTime.String() + " the database could not store that files are being copied" +
	", so files of documents that were deleted meanwhile may be missing; make another backup into the same folder, which copies only new files")

// OpenBackup opens a database as it is, and its files. It returns the door to
// the act backup on them, and a function that closes them.
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

// errNoKey is the error if the master key for the files is missing.
var errNoKey = errors.New("the files of documents are encrypted, and there is no master key: name it with --master-key-file, or leave the files out with --without-files")

// openFiles opens the store of files for an instance that does not run.
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

// RestoreFiles copies the files of a backup to the place of the instance's
// files.
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
