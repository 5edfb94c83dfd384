package filetype

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"kartei/extract/legacy"
	"kartei/test/filetest"
)

// FuzzSniff checks that no content is accepted as two binary types, or as a binary type and several
// text types.
func FuzzSniff(f *testing.F) {
	filetest.Seed(f, "../testdata")
	for _, content := range []string{filetest.Letter, filetest.PNG, gifStart, jpegStart, exe, "", "<svg/>", `{"a":1}`,
		filetest.UTF16("<html>"), string(filetest.Compound("WordDocument", "a", "b", "c", "d")),
		string(filetest.PDF("a")) + string(filetest.Zip(f, entry{"a", "a"}))} {
		f.Add([]byte(content))
	}
	types := Allow()
	f.Fuzz(func(t *testing.T, content []byte) {
		var taken []string
		for _, k := range kinds {
			if v := sniff(t, types, content, k.name); k.standard && v.Refusal == Allowed && !slices.Contains(taken, v.Type) {
				taken = append(taken, v.Type)
			}
		}
		binary := slices.DeleteFunc(slices.Clone(taken), func(name string) bool {
			switch name {
			case "text/plain", "text/csv", "application/xml", "application/json", "message/rfc822":
				return true
			}
			// An encrypted office document fits each of the OOXML types, and each ZIP archive fits
			// application/zip.
			return name == "application/zip" || bytes.HasPrefix(content, []byte(legacy.Signature)) &&
				strings.HasPrefix(name, OOXML)
		})
		if len(binary) > 1 || len(binary) == 1 && len(taken) > 2 {
			t.Errorf("becomes all of %q", taken)
		}
	})
}
