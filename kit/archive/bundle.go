package archive

import (
	"archive/zip"
	"io"
)

// Bundle sends files in pieces of a fixed size. A single file is sent as it is. Several files are
// sent as a ZIP archive. Close knows how many files there are, so Bundle keeps the first piece
// until then.
type Bundle struct {
	piece int
	send  func(number int64, content []byte) error
	zip   *zip.Writer
	// first is piece 0, which Close sends. waiting is the piece that is not yet full. next is the
	// number of that piece.
	waiting, first []byte
	next           int64
	files          int
	// head is the number of bytes in the archive before the content of the first file.
	head int
}

// NewBundle returns a Bundle that calls send for each piece of piece bytes. The last piece, and
// piece 0 of a single file, may be shorter. Close sends piece 0, after the pieces that are full.
func NewBundle(piece int, send func(number int64, content []byte) error) *Bundle {
	b := &Bundle{piece: piece, send: send}
	b.zip = zip.NewWriter((*pieces)(b))
	return b
}

// Add adds a file with the content of from. It does not compress: documents are mostly compressed
// already, and vCards are small.
func (b *Bundle) Add(name string, from io.Reader) error {
	file, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	if b.files++; b.files == 1 {
		if err := b.zip.Flush(); err != nil {
			return err
		}
		b.head = len(b.waiting)
	}
	_, err = io.Copy(file, from)
	return err
}

// Close sends the remaining pieces and returns the number of all pieces.
func (b *Bundle) Close() (int64, error) {
	end := b.zip.Close
	if b.files == 1 { // send no headers of the archive
		end = b.zip.Flush
	}
	if err := end(); err != nil {
		return 0, err
	}
	if b.next == 0 {
		b.first, b.waiting = b.waiting, nil
		b.next = 1
	}
	if b.files == 1 {
		b.first = b.first[b.head:]
	}
	if len(b.first) == 0 {
		return 0, nil
	}
	if err := b.send(0, b.first); err != nil {
		return 0, err
	}
	if len(b.waiting) > 0 {
		if err := b.send(b.next, b.waiting); err != nil {
			return 0, err
		}
		b.next++
	}
	return b.next, nil
}

// pieces is a Bundle as the io.Writer of its ZIP archive.
type pieces Bundle

// Write appends to the current piece and sends each piece that is full.
func (p *pieces) Write(content []byte) (int, error) {
	for rest := content; len(rest) > 0; {
		n := min(len(rest), p.piece-len(p.waiting))
		p.waiting, rest = append(p.waiting, rest[:n]...), rest[n:]
		if len(p.waiting) < p.piece {
			continue
		}
		if p.next == 0 {
			p.first, p.waiting = p.waiting, nil
		} else if err := p.send(p.next, p.waiting); err != nil {
			return 0, err
		}
		p.waiting = p.waiting[:0]
		p.next++
	}
	return len(content), nil
}
