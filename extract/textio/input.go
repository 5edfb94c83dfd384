// Package textio owns the input and the sink of readers of file formats, and the decoding of bytes, HTML and XML.
//
// A reader writes text of any kind into a Sink, which makes it valid UTF-8,
// drops control characters, joins blanks and stops at a limit. So no reader has
// to be trusted with that. The package also has what several formats need:
// character encodings, the text of HTML, and a decoder for XML.
package textio

import (
	"errors"
	"io"
)

// ReadFunc writes the text of a file to a sink. It runs in a child process with limits. Its error
// says what is wrong with the file. ErrFull means that the sink accepts no more text.
type ReadFunc func(in *Input, out *Sink) error

// The errors of readers. All other errors count as a crash.
var (
	ErrEncrypted = errors.New("extract: the file is encrypted")
	ErrBroken    = errors.New("extract: the file is broken")
	ErrInflated  = errors.New("extract: the file unpacks to more than the limit")
	ErrFull      = errors.New("extract: the limit on the text is reached")
	// ErrUnsupported means that no reader supports this variant of a known type.
	ErrUnsupported = errors.New("extract: no reader for this form of the type")
	// ErrScanned and ErrContained mean that the rest of the file was read.
	ErrScanned   = errors.New("extract: some pages are pictures")
	ErrContained = errors.New("extract: files inside of the file are not read")
)

// MaxUnpacked is the maximum number of bytes that are read from one file with packed or repeated
// content.
const MaxUnpacked = 128 << 20

// Input is the file that a reader reads. It is a stream. Formats that need random access read it
// into memory with Hold.
type Input struct {
	io.Reader
	Memory int64  // maximum size of the process's data in bytes
	Cache  string // folder of compiled WebAssembly; empty means no folder
}

// chunkSize is the size of the pieces of a file in memory. With pieces, a file of 100 MiB takes 100
// MiB. A slice that doubles would take up to twice as much.
const chunkSize = 1 << 20

// Chunks is a file in memory.
type Chunks struct {
	parts [][]byte
	Size  int64
}

// Hold reads the whole file into memory.
func (in *Input) Hold() (*Chunks, error) {
	c := &Chunks{}
	for {
		part := make([]byte, chunkSize)
		n, err := io.ReadFull(in, part)
		c.parts = append(c.parts, part[:n])
		c.Size += int64(n)
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ReadAt implements io.ReaderAt.
func (c *Chunks) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, ErrBroken
	}
	for n < len(p) {
		if off >= c.Size {
			return n, io.EOF
		}
		m := copy(p[n:], c.parts[off/chunkSize][off%chunkSize:])
		n += m
		off += int64(m)
	}
	return n, nil
}
