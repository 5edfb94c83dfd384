package archive

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestBundle checks that a single file arrives as it is, whatever its length. Several files must
// arrive as an archive.
func TestBundle(t *testing.T) {
	const piece = 100
	for _, files := range [][]string{
		{""}, {"a"}, {strings.Repeat("a", 40)}, {strings.Repeat("ab", 35)}, {strings.Repeat("abc", 33)},
		{strings.Repeat("a", 100)}, {strings.Repeat("abcdefg", 60)},
		{"a", "b"}, {strings.Repeat("a", 300), "", strings.Repeat("b", 250)},
	} {
		sent := map[int64]string{}
		b := NewBundle(piece, func(number int64, content []byte) error {
			if len(content) == 0 || len(content) > piece {
				t.Errorf("a piece of %d bytes", len(content))
			}
			sent[number] = string(content)
			return nil
		})
		for _, content := range files {
			if err := b.Add("März.vcf", strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
		}
		n, err := b.Close()
		if err != nil || int(n) != len(sent) {
			t.Fatalf("%d pieces of %d, %v", n, len(sent), err)
		}
		var all string
		for number := range n {
			all += sent[number]
		}
		if len(files) == 1 {
			if all != files[0] {
				t.Errorf("%q arrived as %q", files[0], all)
			}
			continue
		}
		z, err := zip.NewReader(strings.NewReader(all), int64(len(all)))
		if err != nil || len(z.File) != len(files) {
			t.Fatal(err)
		}
		for i, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if _, err := io.Copy(&got, r); err != nil || got.String() != files[i] || f.Name != "März.vcf" {
				t.Errorf("%q: %q, %v", f.Name, got.String(), err)
			}
		}
	}
}
