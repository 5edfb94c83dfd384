package instance

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/config"
	"kartei/document"
	"kartei/kit/clock"
	"kartei/settings"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/test/operator"
	"kartei/test/s3test"
	"kartei/work/job"
)

// meanwhile is a store with a hook between the copy of the database and that of
// the files.
type meanwhile struct {
	blob.Store
	once sync.Once
	do   func()
}

func (m *meanwhile) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	m.once.Do(m.do)
	return m.Store.List(ctx, prefix)
}

// A backup contains a file even if its document is deleted between the copy of
// the database and the copy of the file.
func TestBackupDuringDeletion(t *testing.T) {
	for place, location := range map[string]func() string{
		"folder": func() string { return "" },
		"bucket": func() string { g := s3test.Shared(t); return g.Location(g.Bucket(t)) },
	} {
		t.Run(place, func(t *testing.T) {
			ctx := context.Background()
			c := configOf(t.TempDir())
			c.Store.BlobURL = config.BlobURL(location())
			i := begin(t, c)
			write := func(f func(tx db.Tx) error) {
				t.Helper()
				if err := i.DB.Write(ctx, f); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := operator.New(i.DB, i.clock, i.Directory).CreateOrganization(ctx, settings.NewOrganization{Name: "Kanzlei", Module: "on", Secrecy: "declared", Level: access.On}); err != nil {
				t.Fatal(err)
			}
			const text, name = "Sehr geehrte Frau Morgenstern", "files/1/doc_a"
			stored, err := i.Blobs.Put(ctx, name, strings.NewReader(text), blob.Expected{Size: int64(len(text))})
			if err != nil {
				t.Fatal(err)
			}
			write(func(tx db.Tx) error {
				tx.Queue(`insert into documents (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, schema_hash, content)
					values (1, 'doc_a', 1, 1, 1, false, '', '', 1, $1)`, `{"size":29,"sha256":"`+stored.SHA256+`"}`)
				return nil
			})
			store := i.Blobs
			i.Blobs = &meanwhile{Store: store, do: func() {
				write(func(tx db.Tx) error {
					tx.Queue(`update documents set deleted = true where organization = 1 and id = 'doc_a'`)
					return job.Enqueue(ctx, tx, 1, clock.Now(clock.System), job.Spec{Kind: document.EraseKind, Key: "doc_a", Payload: map[string]string{"document": "doc_a"}})
				})
				end := time.Now().Add(time.Minute)
				for tried := int64(0); tried == 0; { // erased, or put off until later
					if time.Now().After(end) {
						t.Fatal("no job tries to remove the file")
					}
					if err := i.DB.Read(ctx, func(tx db.Tx) error {
						return tx.QueryRow(ctx, `select case when count(*) = 0 then 1 else count(case when state = 'waiting' and due_at > $2 then 1 end) end
							from jobs where organization = 1 and kind = $1`, document.EraseKind, clock.Now(clock.System)).Scan(&tried)
					}); err != nil {
						t.Fatal(err)
					}
				}
			}}
			target := t.TempDir()
			in := BackupInput{File: filepath.Join(target, "copy.db"), Files: filepath.Join(target, "files")}
			out, err := i.backupAct(ctx, in)
			i.Blobs = store
			if err != nil || out.Copied.Copied != 1 {
				t.Errorf("%+v, %v", out, err)
			}
			key := config.File(filepath.Join(string(c.Store.DataDir), "master.key"))
			end(t, i)

			restored := configOf(t.TempDir())
			restored.Server.MasterKeyFile = key
			if _, err := RestoreFiles(ctx, &restored.Store, &restored.Server, in.Files); err != nil {
				t.Fatal(err)
			}
			if _, err := move.Restore(ctx, in.File, restored.Store.Database(), false); err != nil {
				t.Fatal(err)
			}
			if err := Restored(ctx, &restored.Store, "copy"); err != nil {
				t.Fatal(err)
			}
			again := begin(t, restored)
			defer end(t, again)
			var found CheckOutput
			if err := again.door().Call(ctx, "blobs.check", CheckInput{}, &found); err != nil || found.Wanted != 1 || found.Found != 0 {
				t.Errorf("%+v, %v", found, err)
			}
			if info, err := blob.Read(ctx, again.Blobs, name); err != nil || info.Size != int64(len(text)) {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}
