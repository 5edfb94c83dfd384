package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Encodings of files.
const (
	UTF8    = "utf-8"
	UTF16   = "utf-16"
	Windows = "windows-1252"
	// Mixed is the encoding of a file whose values have several encodings.
	Mixed = "mixed"
)

// begins is the number of bytes that are examined to detect the kind of a file.
const begins = 64 << 10

// plain returns the bytes of a text with newlines as line ends and without NULs. It converts UTF-16
// to UTF-8. Other encodings are decided for each value.
func plain(from io.Reader) (_ *lineEnds, encoding string, err error) {
	b := bufio.NewReaderSize(from, begins)
	begin, err := b.Peek(begins)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	if order, is := sixteen(begin); is {
		decoder := unicode.UTF16(order, unicode.UseBOM).NewDecoder()
		return newLineEnds(transform.NewReader(b, decoder)), UTF16, nil
	}
	if binary(begin) {
		return nil, "", ErrNoTable
	}
	return newLineEnds(b), UTF8, nil
}

// sixteen reports whether a file is UTF-16, also without a byte order mark. Then every other byte
// of Latin letters is zero.
func sixteen(begin []byte) (unicode.Endianness, bool) {
	switch {
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(begin, []byte{0xfe, 0xff}):
		return unicode.BigEndian, true
	}
	begin = begin[:min(len(begin), 4<<10)&^1]
	var zero [2]int
	for i, c := range begin {
		if c == 0 {
			zero[i%2]++
		}
	}
	half := len(begin) / 2
	switch {
	case half > 0 && zero[0]*2 > half && zero[1]*8 < half:
		return unicode.BigEndian, true
	case half > 0 && zero[1]*2 > half && zero[0]*8 < half:
		return unicode.LittleEndian, true
	}
	return unicode.LittleEndian, false
}

// magics are the first bytes of files that are no text, such as archives and office documents.
var magics = []string{
	"PK\x03\x04", "\xd0\xcf\x11\xe0", "%PDF-", "\x89PNG", "\xff\xd8\xff", "GIF8", "\x1f\x8b", "Rar!",
	"7z\xbc\xaf", "{\\rtf",
}

// binary reports whether a file is not a text. A few control characters are allowed, because some
// programs write them.
func binary(begin []byte) bool {
	for _, magic := range magics {
		if bytes.HasPrefix(begin, []byte(magic)) {
			return true
		}
	}
	control := 0
	for _, c := range begin {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v' {
			control++
		}
	}
	return control*10 > len(begin)
}

// lineEnds is a reader that converts all line ends to newlines and removes NULs.
type lineEnds struct {
	from     io.Reader
	returned bool // whether the last byte was a carriage return
	// alone says that a carriage return had no newline after it, as in files of Mac OS before X.
	alone bool
}

func newLineEnds(from io.Reader) *lineEnds { return &lineEnds{from: from} }

// Read implements io.Reader.
func (l *lineEnds) Read(b []byte) (int, error) {
	for {
		n, err := l.from.Read(b)
		out := b[:0]
		for _, c := range b[:n] {
			switch {
			case c == '\n' && l.returned:
				l.returned = false // the carriage return has already become a newline
				continue
			case c == 0:
				continue
			}
			if l.returned {
				l.alone = true
			}
			if l.returned = c == '\r'; l.returned {
				c = '\n'
			}
			out = append(out, c)
		}
		if len(out) > 0 || err != nil || n == 0 {
			return len(out), err
		}
	}
}
