package legacy_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"kartei/extract"
	"kartei/extract/legacy"
	"kartei/extract/textio"
)

// TestMain makes the test program serve as the child too.
func TestMain(m *testing.M) {
	extract.Child(os.Args)
	os.Exit(m.Run())
}

// inChild reads a file in a child process with 256 MiB of memory and 20 seconds.
func inChild(t *testing.T, content []byte, contentType string) extract.Text {
	t.Helper()
	x, err := extract.New(extract.Options{Limits: extract.Limits{Memory: 256 << 20, Time: 20 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := x.Extract(t.Context(), 1, bytes.NewReader(content), contentType)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestHostileFilesInAChild(t *testing.T) {
	reasons := map[error]extract.Reason{
		nil: extract.Complete, textio.ErrBroken: extract.Broken, textio.ErrInflated: extract.Inflated,
		textio.ErrEncrypted: extract.Encrypted,
	}
	for contentType, files := range legacy.HostileFiles {
		for _, f := range files() {
			t.Run(contentType+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				text := inChild(t, f.Content, contentType)
				if text.Reason != reasons[f.Err] {
					t.Errorf("%q, %.100q; want %v", text.Reason, text.Body, f.Err)
				}
				if f.Text != "" && text.Body != f.Text {
					t.Errorf("%.100q, want %q", text.Body, f.Text)
				}
			})
		}
	}
}

// TestLargeCompoundFile checks that a child with 256 MiB of memory can read a file of 100 MiB. The
// file must be in memory only once.
func TestLargeCompoundFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a file of 100 MiB")
	}
	text := inChild(t, legacy.LargeFile(), "application/vnd.ms-outlook")
	if text.Reason != extract.Complete || !strings.HasPrefix(text.Body, "Betreff\n\nWort Wort") {
		t.Errorf("%q, %.100q", text.Reason, text.Body)
	}
}
