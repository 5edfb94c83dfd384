package instance

import (
	"context"
	"iter"
	"path/filepath"
	"sync"
	"testing"

	"kartei/access"
	"kartei/instance/config"
	"kartei/instance/files"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/record/document"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/job"
	"kartei/test/operator"
	"kartei/test/s3test"
	"kartei/test/waittest"
)

// meanwhile is a store of files that calls do before its first List. A backup calls List after it
// has copied the database and before it copies files.
type meanwhile struct {
	blob.Store
	once sync.Once
	do   func()
}

func (m *meanwhile) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	m.once.Do(m.do)
	return m.Store.List(ctx, prefix)
}

// TestBackupDuringDeletion checks that a backup contains a file even if its document is deleted
// after the copy of the database and before the copy of the file.
func TestBackupDuringDeletion(t *testing.T) {
	const name, text = "files/1/doc_a", "Sehr geehrte Frau Morgenstern"
	for place, location := range map[string]func() string{
		"folder": func() string { return "" },
		"bucket": func() string { g := s3test.Shared(t); return g.Location(g.Bucket(t)) },
	} {
		t.Run(place, func(t *testing.T) {
			c := configOf(t.TempDir())
			c.Store.BlobURL = config.BlobURL(location())
			i := begin(t, c)
			officeWithFile(t, i, name, text)
			target := t.TempDir()
			in := BackupInput{File: filepath.Join(target, "copy.db"), Files: filepath.Join(target, "files")}
			store := i.Blobs
			i.Blobs = &meanwhile{Store: store, do: func() {
				deleteDocument(t, i)
				awaitErasure(t, i)
			}}
			out, err := i.backupAct(t.Context(), in)
			i.Blobs = store
			if err != nil || out.Copied.Copied != 1 {
				t.Errorf("%+v, %v", out, err)
			}
			end(t, i)

			again := begin(t, restoredCopy(t, in, filepath.Join(string(c.Store.DataDir), "master.key")))
			defer end(t, again)
			var found files.CheckOutput
			if err := again.door().Call(t.Context(), "blobs.check", files.CheckInput{}, &found); err != nil || found.Wanted != 1 ||
				found.Found != 0 {
				t.Errorf("%+v, %v", found, err)
			}
			if info, err := blob.Read(t.Context(), again.Blobs, name); err != nil || info.Size != int64(len(text)) {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// officeWithFile creates an organization and its document doc_a.
func officeWithFile(t *testing.T, i *Instance, name, text string) {
	t.Helper()
	if _, err := operator.New(i.DB, i.clock,
		i.Directory).CreateOrganization(t.Context(), organization.New{
		Name: "Kanzlei", Module: "on", Secrecy: "declared", Level: access.On,
	}); err != nil {
		t.Fatal(err)
	}
	stored := putFile(t, i, name, text)
	writeRows(t, i, func(tx db.Tx) error {
		tx.Queue(`insert into documents (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, schema_hash, content)
			values (1, 'doc_a', 1, 1, 1, false, '', '', 1, $1)`, `{"size":29,"sha256":"`+stored.SHA256+`"}`)
		return nil
	})
}

func deleteDocument(t *testing.T, i *Instance) {
	t.Helper()
	writeRows(t, i, func(tx db.Tx) error {
		tx.Queue(`update documents set deleted = true where organization = 1 and id = 'doc_a'`)
		return job.Enqueue(t.Context(), tx, 1, clock.Now(clock.System), job.Spec{
			Kind:    document.EraseKind,
			Key:     "doc_a",
			Payload: map[string]string{"document": "doc_a"},
		})
	})
}

// awaitErasure waits until the job has erased the file or was postponed.
func awaitErasure(t *testing.T, i *Instance) {
	t.Helper()
	watch := waittest.New()
	for tried := int64(0); tried == 0; {
		if watch.IsStuck() {
			t.Fatal("no job tries to remove the file")
		}
		if err := i.DB.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select case when count(*) = 0 then 1 else count(case when state = 'waiting' and due_at > $2 then 1 end) end
				from jobs where organization = 1 and kind = $1`, document.EraseKind, clock.Now(clock.System)).Scan(&tried)
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func writeRows(t *testing.T, i *Instance, f func(tx db.Tx) error) {
	t.Helper()
	if err := i.DB.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// restoredCopy restores a backup to a new data folder, first the files and then the database. It
// returns the configuration of the new instance.
func restoredCopy(t *testing.T, of BackupInput, key string) Config {
	t.Helper()
	c := configOf(t.TempDir())
	c.Server.MasterKeyFile = config.File(key)
	if _, err := RestoreFiles(t.Context(), &c.Store, &c.Server, of.Files); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), &c.Store, of.File, false, move.Identities{}); err != nil {
		t.Fatal(err)
	}
	if err := Restored(t.Context(), &c.Store, "copy"); err != nil {
		t.Fatal(err)
	}
	return c
}
