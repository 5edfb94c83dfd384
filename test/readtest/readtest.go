// Package readtest owns functions with which tests run readers of file formats in their own process.
package readtest

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"kartei/extract/textio"
)

// Text runs a reader and returns its text and its error. The text has at most limit bytes.
func Text(t testing.TB, read textio.ReadFunc, content []byte, limit int) (string, error) {
	t.Helper()
	var out bytes.Buffer
	s := textio.NewSink(&out, limit)
	err := read(&textio.Input{Reader: bytes.NewReader(content), Memory: 256 << 20}, s)
	if closing := s.Close(); closing != nil {
		t.Fatal(closing)
	}
	return out.String(), err
}

// Fuzz runs readers on arbitrary bytes. It checks that their text is short, valid and tidy.
func Fuzz(f *testing.F, readers ...textio.ReadFunc) {
	f.Helper()
	f.Fuzz(func(t *testing.T, content []byte) {
		for i, read := range readers {
			const limit = 4096
			body, _ := Text(t, read, content, limit)
			switch {
			case len(body) > limit:
				t.Errorf("reader %d: %d bytes", i, len(body))
			case !utf8.ValidString(body):
				t.Errorf("reader %d: not UTF-8: %q", i, body)
			case strings.ContainsFunc(body, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
				t.Errorf("reader %d: control characters: %q", i, body)
			case strings.TrimSpace(body) != body || strings.Contains(body, "\n\n\n") || strings.Contains(body, "  "):
				t.Errorf("reader %d: not tidy: %q", i, body)
			}
			again, _ := Text(t, func(_ *textio.Input, out *textio.Sink) error { return out.Text(body) }, nil, limit)
			if again != body {
				t.Errorf("reader %d: tidied again it is %q, not %q", i, again, body)
			}
		}
	})
}
