package blob

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"
)

// The bytes of a file are encrypted with AES-GCM-HKDF as defined by Google's Tink
// (https://developers.google.com/tink/streaming-aead/aes_gcm_hkdf_streaming). It is an instance of
// STREAM (Hoang, Reyhanitabar, Rogaway, Vizár: Online Authenticated-Encryption and its Nonce-Reuse
// Misuse-Resistance, CRYPTO 2015). Tink's variant is analysed in Hoang, Shen: Security of Streaming
// Encryption in Google's Tink Library, CCS 2020. A test compares this code with Tink's own.
//
// The plain bytes are split into segments. Each segment is encrypted with AES-256-GCM under the
// nonce
//
//	prefix of the file (7 bytes) | number of the segment (4) | 1 for the last, else 0
//
// A segment that was changed, exchanged, repeated, omitted or added cannot be decrypted. The same
// holds for a truncated file. To read a part, only the segments of this part are decrypted.
const (
	// segmentSize is the size of an encrypted segment in bytes. A reader or writer has one segment
	// in memory. Reading a single byte reads a whole segment.
	segmentSize = 64 << 10
	tagSize     = 16
	prefixSize  = 7
	saltSize    = 32
	// streamHead is the length of the stream's header before the first segment: one byte for the
	// length, the salt and the prefix.
	streamHead = 1 + saltSize + prefixSize
	// streamStart is the offset of the stream in a file, after the envelope. The first segment is
	// shorter by the envelope and the header, so all other segments begin at multiples of
	// segmentSize.
	streamStart  = envelopeSize
	firstSegment = segmentSize - streamStart - streamHead // encrypted size
	firstPlain   = firstSegment - tagSize
	restPlain    = segmentSize - tagSize

	maxSegments = math.MaxUint32
)

// purpose is the associated data of all streams.
const purpose = "kartei blob"

// stream has the key and the nonce prefix of one file.
type stream struct {
	aead   cipher.AEAD
	prefix [prefixSize]byte
}

// newStream returns a stream with a random salt and prefix, and its header. The key of the stream
// is unique because of the salt.
func newStream(key []byte) (*stream, []byte) {
	head := make([]byte, streamHead)
	head[0] = streamHead
	rand.Read(head[1:])
	s, err := openStream(key, head)
	if err != nil {
		panic(err) // impossible, because the header above is valid
	}
	return s, head
}

// openStream returns the stream with this header. It returns ErrDamaged if the header is invalid.
func openStream(key, head []byte) (*stream, error) {
	if len(head) != streamHead || head[0] != streamHead {
		return nil, fmt.Errorf("%w: the header of the stream is not valid", ErrDamaged)
	}
	derived, err := hkdf.Key(sha256.New, key, head[1:1+saltSize], purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	s := &stream{prefix: [prefixSize]byte(head[1+saltSize:])}
	s.aead, err = cipher.NewGCM(block)
	return s, err
}

func (s *stream) nonce(segment int64, last bool) []byte {
	nonce := make([]byte, 12)
	copy(nonce, s.prefix[:])
	binary.BigEndian.PutUint32(nonce[prefixSize:], uint32(segment))
	if last {
		nonce[11] = 1
	}
	return nonce
}

// layout has the size and the number of segments of a file.
type layout struct {
	size     int64 // of the plain bytes
	segments int64 // at least 1
}

// layoutOf returns the layout of an encrypted file by its stored size, with envelope and header. It
// returns false if no file can have this size.
func layoutOf(stored int64) (layout, bool) {
	segments := (stored + segmentSize - 1) / segmentSize
	l := layout{stored - streamStart - streamHead - segments*tagSize, segments}
	if l.size < 0 || segments > maxSegments {
		return layout{}, false
	}
	// Only an empty file has an empty segment.
	if start, _ := l.plain(segments - 1); segments > 1 && l.size <= start {
		return layout{}, false
	}
	return l, true
}

// storedSize returns the stored size of an encrypted file with this number of plain bytes.
func storedSize(size int64) int64 {
	segments := int64(1)
	if size > firstPlain {
		segments += (size - firstPlain + restPlain - 1) / restPlain
	}
	return streamStart + streamHead + size + segments*tagSize
}

// plain returns the range of plain bytes in a segment.
func (l layout) plain(segment int64) (start, end int64) {
	if segment > 0 {
		start = firstPlain + (segment-1)*restPlain
	}
	return start, min(firstPlain+segment*restPlain, l.size)
}

// segment returns the number of the segment with the plain byte at an offset.
func (l layout) segment(offset int64) int64 {
	if offset < firstPlain {
		return 0
	}
	return 1 + (offset-firstPlain)/restPlain
}

// buffers has buffers for one segment each.
var buffers = sync.Pool{New: func() any { return new([segmentSize]byte) }}

// sealer reads plain bytes and returns the header of the stream and the encrypted segments. It
// reads one byte ahead to recognize the last segment.
type sealer struct {
	stream *stream
	from   io.Reader
	plain  *[segmentSize]byte
	have   int // number of bytes in plain that were read ahead: 0 or 1
	out    []byte
	sealed *[segmentSize]byte
	next   int64 // number of the next segment
	err    error
}

// newSealer returns a sealer. The caller must call close, which releases the buffers.
func newSealer(s *stream, head []byte, from io.Reader) *sealer {
	return &sealer{
		stream: s, from: from, out: head,
		plain: buffers.Get().(*[segmentSize]byte), sealed: buffers.Get().(*[segmentSize]byte),
	}
}

func (s *sealer) close() {
	if s.plain == nil {
		return
	}
	clear(s.plain[:])
	buffers.Put(s.plain)
	buffers.Put(s.sealed)
	s.plain, s.sealed, s.out, s.err = nil, nil, nil, io.ErrClosedPipe
}

func (s *sealer) Read(p []byte) (int, error) {
	if len(s.out) == 0 {
		s.fill()
	}
	if len(s.out) == 0 {
		return 0, s.err
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// WriteTo implements io.WriterTo, so io.Copy needs no buffer.
func (s *sealer) WriteTo(w io.Writer) (total int64, err error) {
	for {
		n, err := w.Write(s.out)
		total += int64(n)
		if err != nil {
			return total, err
		}
		if s.out = nil; s.err != nil {
			break
		}
		s.fill()
	}
	if s.err == io.EOF {
		return total, nil
	}
	return total, s.err
}

// fill encrypts the next segment to out. It sets err with or after the last segment.
func (s *sealer) fill() {
	if s.err != nil {
		return
	}
	size := restPlain
	if s.next == 0 {
		size = firstPlain
	}
	n, err := io.ReadFull(s.from, s.plain[s.have:size+1])
	n += s.have
	switch {
	case err == nil: // more bytes follow
		n--
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		s.err = io.EOF
	default:
		s.err = err
		return
	}
	if s.next == maxSegments {
		s.out, s.err = nil, ErrTooLong
		return
	}
	s.out = s.stream.aead.Seal(s.sealed[:0], s.stream.nonce(s.next, s.err == io.EOF), s.plain[:n], nil)
	s.next++
	if s.have = 0; s.err == nil {
		s.plain[0], s.have = s.plain[n], 1
	}
}

// source reads the stored bytes for a plainReader.
type source interface {
	io.ReaderAt
	io.Closer
	// next does the same as ReadAt. It is faster for sequential reads, but not safe for concurrent
	// use.
	next(p []byte, offset int64) (int, error)
}

// file is a source whose next calls ReadAt.
type file struct {
	io.ReaderAt
	io.Closer
}

func (f file) next(p []byte, offset int64) (int, error) { return f.ReadAt(p, offset) }

// plainReader is the Reader of an encrypted file.
type plainReader struct {
	stream *stream
	layout layout
	from   source

	// Only Read and Seek use the fields below. They are not safe for concurrent use.
	at      int64
	buffer  *[segmentSize]byte // of the segment that was read last
	current int64              // its number
	text    []byte             // its plain bytes; nil before the first segment
}

// newPlainReader returns a plainReader. It decrypts the last segment first, to detect a truncated
// file before any byte is returned.
func newPlainReader(s *stream, l layout, from source) (*plainReader, error) {
	o := &plainReader{stream: s, layout: l, from: from, buffer: buffers.Get().(*[segmentSize]byte)}
	last := buffers.Get().(*[segmentSize]byte)
	defer giveBack(last)
	if _, err := o.open(from.ReadAt, last, l.segments-1); err != nil {
		o.release()
		return nil, err
	}
	return o, nil
}

// load decrypts a segment into text, unless text has this segment already.
func (o *plainReader) load(segment int64) (err error) {
	if o.text != nil && o.current == segment {
		return nil
	}
	o.text, err = o.open(o.from.next, o.buffer, segment)
	o.current = segment
	return err
}

// open reads and decrypts a segment in place. The result is not nil unless there is an error.
func (o *plainReader) open(
	read func([]byte, int64) (int, error), into *[segmentSize]byte, segment int64,
) ([]byte, error) {
	start, end := o.layout.plain(segment)
	offset, size := segment*segmentSize, int(end-start)+tagSize
	if segment == 0 {
		offset = streamStart + streamHead
	}
	sealed := into[:size]
	if n, err := read(sealed, offset); n < size {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("%w: segment %d is truncated", ErrDamaged, segment)
		}
		return nil, err
	}
	text, err := o.stream.aead.Open(sealed[:0], o.stream.nonce(segment, segment == o.layout.segments-1), sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: segment %d cannot be decrypted", ErrDamaged, segment)
	}
	return text, nil
}

// Size returns the size of the plain bytes.
func (o *plainReader) Size() int64 { return o.layout.size }

func (o *plainReader) Read(p []byte) (int, error) {
	if o.buffer == nil {
		return 0, errClosed
	}
	if o.at >= o.layout.size {
		return 0, io.EOF
	}
	segment := o.layout.segment(o.at)
	if err := o.load(segment); err != nil {
		return 0, err
	}
	start, _ := o.layout.plain(segment)
	n := copy(p, o.text[o.at-start:])
	o.at += int64(n)
	return n, nil
}

// ReadAt implements io.ReaderAt. It decrypts only the segments of this part.
func (o *plainReader) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, errOffset
	}
	buffer := buffers.Get().(*[segmentSize]byte)
	defer giveBack(buffer)
	for n < len(p) && offset < o.layout.size {
		segment := o.layout.segment(offset)
		text, err := o.open(o.from.ReadAt, buffer, segment)
		if err != nil {
			return n, err
		}
		start, _ := o.layout.plain(segment)
		m := copy(p[n:], text[offset-start:])
		n, offset = n+m, offset+int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (o *plainReader) Seek(offset int64, whence int) (int64, error) {
	at, err := seek(o.at, o.layout.size, offset, whence)
	if err != nil {
		return at, err
	}
	o.at = at
	return at, nil
}

// Close releases the buffer and closes the source.
func (o *plainReader) Close() error {
	if o.buffer == nil {
		return nil
	}
	o.release()
	return o.from.Close()
}

func (o *plainReader) release() {
	giveBack(o.buffer)
	o.buffer, o.text = nil, nil
}

// giveBack clears a buffer and returns it to the pool.
func giveBack(b *[segmentSize]byte) {
	clear(b[:])
	buffers.Put(b)
}

// seek implements io.Seeker for content of a fixed size. at is the current offset.
func seek(at, size, offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += at
	case io.SeekEnd:
		offset += size
	default:
		return 0, fmt.Errorf("blob: there is no way %d to seek", whence)
	}
	if offset < 0 {
		return 0, errOffset
	}
	return offset, nil
}
