package archive

import (
	"archive/zip"
	"io"
)

// Bundle passes files on in pieces: one file as it is, and several as an archive of them.
// Whether there are several is known only at the end of the first, so its first piece waits.
type Bundle struct {
	piece int
	send  func(number int64, content []byte) error
	zip   *zip.Writer
	// waiting is the piece that is not full, first the one that waits, and next the number
	// of the piece after those that are full.
	waiting, first []byte
	next           int64
	files          int
	// head is how many bytes of the archive come before the first file.
	head int
}

// NewBundle returns a bundle that sends pieces of a size. The piece 0 is sent behind others.
func NewBundle(piece int, send func(number int64, content []byte) error) *Bundle {
	b := &Bundle{piece: piece, send: send}
	b.zip = zip.NewWriter((*pieces)(b))
	return b
}

// Add passes on a file. Files that were packed are not worth it again, and cards are small:
// nothing is compressed.
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

// Close sends what waits, and returns the number of pieces.
func (b *Bundle) Close() (int64, error) {
	end := b.zip.Close
	if b.files == 1 { // the file alone, without what an archive has around it
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

// pieces is a bundle as its archive writes into it.
type pieces Bundle

// Write implements io.Writer.
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
