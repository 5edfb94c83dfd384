package legacy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"

	"kartei/extract/textio"
)

// Constants of compressed RTF (MS-OXRTFCP): the values of the header, and the dictionary with which
// the window begins.
const (
	rtfCompressed = 0x75465a4c
	rtfStored     = 0x414c454d
	rtfWindow     = 4096 // bytes
	rtfDictionary = "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript " +
		"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par " +
		"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)

// decompressRTF returns a reader of the RTF of a message. It uses only the method of the header,
// and ignores the sizes and the checksum. It returns ErrBroken for an unknown method.
func decompressRTF(r io.Reader) (io.Reader, error) {
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, textio.ErrBroken
	}
	switch binary.LittleEndian.Uint32(head[8:]) {
	case rtfStored:
		return r, nil
	case rtfCompressed:
		u := &rtfDecompressor{r: bufio.NewReader(r), at: len(rtfDictionary), left: textio.MaxUnpacked}
		copy(u.window[:], rtfDictionary)
		return u, nil
	}
	return nil, textio.ErrBroken
}

// rtfDecompressor is a reader that decompresses LZ77 with a window of 4 KiB. Each control byte
// describes the next eight tokens, from its lowest bit on. A token is a literal byte or a
// reference. A reference has an offset in the window (12 bits) and a length minus two (4 bits). A
// reference to the write position ends the text.
type rtfDecompressor struct {
	r      *bufio.Reader
	window [rtfWindow]byte
	at     int // the write position in the window
	ready  bytes.Buffer
	left   int // bytes that may still be unpacked
	err    error
}

func (u *rtfDecompressor) Read(p []byte) (int, error) {
	for u.ready.Len() == 0 && u.err == nil {
		u.err = u.run()
	}
	if u.ready.Len() == 0 {
		return 0, u.err
	}
	return u.ready.Read(p)
}

// run decompresses the tokens of one control byte, at most 136 bytes.
func (u *rtfDecompressor) run() error {
	if u.left < 0 {
		return textio.ErrInflated
	}
	bits, err := u.r.ReadByte()
	if err != nil {
		return err
	}
	for range 8 {
		first, err := u.r.ReadByte()
		if err != nil {
			return err // some programs omit the final reference
		}
		if bits&1 == 0 {
			u.put(first)
		} else if err := u.refer(first); err != nil {
			return err
		}
		bits >>= 1
	}
	return nil
}

func (u *rtfDecompressor) refer(first byte) error {
	second, err := u.r.ReadByte()
	if err != nil {
		return textio.ErrBroken
	}
	from := int(first)<<4 | int(second)>>4
	if from == u.at {
		return io.EOF
	}
	for i := range int(second&0xf) + 2 {
		u.put(u.window[(from+i)%rtfWindow])
	}
	return nil
}

func (u *rtfDecompressor) put(b byte) {
	u.window[u.at] = b
	u.at = (u.at + 1) % rtfWindow
	u.ready.WriteByte(b)
	u.left--
}
