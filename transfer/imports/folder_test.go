package imports_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
)

// TestFolder checks the files of a folder outside the project. It prints which values would be
// accepted, left out and refused: KARTEI_IMPORT_FOLDER=dir go test -run TestFolder -v.
func TestFolder(t *testing.T) {
	folder := os.Getenv("KARTEI_IMPORT_FOLDER")
	if folder == "" {
		t.Skip("KARTEI_IMPORT_FOLDER names no folder")
	}
	dbtest.Each(t, func(t *testing.T, database db.DB) {
		d := sit(apitest.New(t, database, apitest.Replicas(1)), access.Member)
		err := filepath.WalkDir(folder, func(name string, listed fs.DirEntry, err error) error {
			if err != nil || listed.IsDir() {
				return err
			}
			content, err := os.ReadFile(name)
			if err != nil || len(content) == 0 || len(content) > imports.MaxSize {
				return err
			}
			x := d.upload("datei", string(content))
			if x.State == imports.Mapping && slices.ContainsFunc(targets(x),
				func(target string) bool { m := source.MemberOf(target); return m != nil && m.Names }) {
				x = d.check(x, mapping.Skip)
			}
			inNote, leftOut := 0, 0
			for _, l := range d.lines(x) {
				for _, p := range l.Problems {
					switch p.Fate {
					case entry.InNote:
						inNote++
					case entry.LeftOut:
						leftOut++
					}
				}
			}
			t.Logf("%s: %s %s, %s, %d read, %v, %d in notes, %d left out", name, x.State, x.Reason, x.Encoding, x.Lines,
				x.Counts, inNote, leftOut)
			ask[struct{}](d, "imports.discard", op.ByID{ID: x.ID})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
