package instance

import (
	"path/filepath"
	"slices"
	"testing"

	"kartei/api/op"
	"kartei/instance/config"
	"kartei/instance/files"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// acted returns the lines of the instance's audit log and their words, the oldest first.
func acted(t *testing.T, i *Instance) (words []string, lines []audit.Line) {
	t.Helper()
	var page op.Entries[audit.Line]
	if err := i.door().Call(t.Context(), "audit.list", auditlog.Input{}, &page); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(page.Data)
	for _, l := range page.Data {
		if words = append(words, l.Word); l.OrganizationID != "" || l.CredentialKind != audit.OperatorKind ||
			l.Door == "" || l.Target == "" || l.Operation == "" || l.Time == 0 {
			t.Errorf("%+v", l)
		}
	}
	return words, page.Data
}

// TestActsOfTheProcessAreAudited checks that each act that changes something appends one line to
// the audit log of the instance, with and without a server. Acts that only read append none.
func TestActsOfTheProcessAreAudited(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := configOf(t.TempDir())
		c.Store.DatabaseURL = config.DatabaseURL(url)
		i := begin(t, c)
		file := filepath.Join(t.TempDir(), "copy")
		for _, call := range []struct {
			act string
			in  any
		}{
			{"address", Nothing{}}, {"pause", Nothing{}}, {"pause", Nothing{}}, {"resume", Nothing{}},
			{"blobs.check", files.CheckInput{Quick: true}},
			{"blobs.check", files.CheckInput{Remove: true}}, {"blobs.rotate", Nothing{}},
			{"backup", BackupInput{File: file, Files: file + ".files"}},
			{"blobs.forget-place", Nothing{}},
		} {
			if err := i.door().Call(t.Context(), call.act, call.in, nil); err != nil {
				t.Fatalf("%s: %v", call.act, err)
			}
		}
		want := []string{
			"instance.pause", "instance.pause", "instance.resume", "files.removeOrphans", "files.rotate",
			"instance.backup", "files.forgetPlace",
		}
		words, lines := acted(t, i)
		if !slices.Equal(words, want) {
			t.Fatalf("%v, want %v", words, want)
		}
		if l := lines[0]; len(l.Changes) != 1 ||
			l.Changes[0] != (audit.Change{Member: "paused", From: false, To: true}) || len(lines[1].Changes) != 0 {
			t.Errorf("%+v", lines[:2])
		}
		if l := lines[5]; l.Target != file || len(l.Changes) != 1 || l.Changes[0].To != file+".files" || l.Door != "admin" {
			t.Errorf("%+v", l)
		}
		end(t, i)

		offline, done, err := OpenDoor(t.Context(), &c.Store)
		if err != nil {
			t.Fatal(err)
		}
		err = offline.Call(t.Context(), "master-key.forget", Nothing{}, nil)
		done()
		if err != nil {
			t.Fatal(err)
		}
		if err := Restored(t.Context(), &c.Store, file); err != nil {
			t.Fatal(err)
		}
		if words, _ := acted(t, begin(t, c)); !slices.Equal(words, append(want, "masterKey.forget", "instance.restore")) {
			t.Errorf("without a server: %v", words)
		}
	})
}

// TestActsWithoutAnAuditLog checks that a backup works if its line cannot be stored. The other acts
// fail and change nothing.
func TestActsWithoutAnAuditLog(t *testing.T) {
	i := begin(t, configOf(t.TempDir()))
	if err := i.DB.Write(t.Context(), func(tx db.Tx) error {
		tx.Queue(`alter table audit_lines rename to audit_lines_away`)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := i.door().Call(t.Context(), "backup", BackupInput{File: filepath.Join(t.TempDir(), "copy")},
		nil); err != nil {
		t.Error(err)
	}
	for _, act := range []string{"pause", "blobs.rotate", "blobs.forget-place", "master-key.forget"} {
		if err := i.door().Call(t.Context(), act, Nothing{}, nil); err == nil {
			t.Errorf("%s is not audited", act)
		}
	}
	if paused, err := isPaused(t.Context(), i.DB); paused || err != nil {
		t.Errorf("paused %v, %v", paused, err)
	}
	if err := i.place().Check(t.Context()); err != nil {
		t.Error(err)
	}
}
