// Package textio owns what a reader of a file format is handed: the file as input, and the sink that takes its text.
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

// ReadFunc writes the text of a file to a sink. It runs in the child process,
// under its limits. Its error tells what is wrong with the file. ErrFull means
// that the sink accepts no more.
type ReadFunc func(in *Input, out *Sink) error

// The errors of readers. Every other error counts as a crash.
var (
	ErrEncrypted = errors.New("extract: the file is encrypted")
	ErrBroken    = errors.New("extract: the file is broken")
	ErrInflated  = errors.New("extract: the file unpacks to more than the limit")
	ErrFull      = errors.New("extract: the limit on the text is reached")
	// ErrUnsupported is about a file of a known type, in a form that no reader reads.
	ErrUnsupported = errors.New("extract: no reader for this form of the type")
	// ErrScanned and ErrContained say that the rest was read.
	ErrScanned   = errors.New("extract: some pages are pictures")
	ErrContained = errors.New("extract: files inside of the file are not read")
)

// MaxUnpacked bounds the bytes that are read from one file whose content is
// packed, or occurs more than once.
const MaxUnpacked = 128 << 20

// Input is a file whose text is read: as a stream, or held in memory if the
// format needs random access.
type Input struct {
	io.Reader
	Memory int64  // bytes of data that the process may have
	Cache  string // folder of compiled WebAssembly; "" for none
}

// chunkSize is the size of the pieces in which a file is held. A file of
// 100 MiB takes 100 MiB; a slice that doubles would take twice that.
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

// ReadAt is part of io.ReaderAt.
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
