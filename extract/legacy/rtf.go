package legacy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"kartei/extract/textio"
)

// rtfHidden are the destinations whose text is not part of the document.
var rtfHidden = map[string]bool{"fonttbl": true, "colortbl": true, "stylesheet": true, "info": true, "pict": true, "object": true, "objdata": true,
	"themedata": true, "colorschememapping": true, "latentstyles": true, "datastore": true, "listtable": true, "listoverridetable": true,
	"revtbl": true, "rsidtbl": true, "generator": true, "xmlnstbl": true, "fldinst": true, "filetbl": true, "mmathPr": true}

// rtfGroup is the state of a group, which is enclosed in braces.
type rtfGroup struct {
	hidden bool
	other  bool // it repeats embedded HTML for readers of RTF
	skip   int  // number of replacement characters after a Unicode one
}

// rtfReader reads Rich Text Format 1.9.
type rtfReader struct {
	r     *bufio.Reader
	text  func(string)
	stack []rtfGroup
	rtfGroup
	passing int      // replacement characters still to skip
	pending []uint16 // the first half of a character beyond the basic plane
	page    bool     // it has embedded HTML (MS-OXRTFEX)
}

// maxGroups bounds the nesting of groups.
const maxGroups = 10_000

// RTF reads the text of RTF. Characters beyond ASCII are Windows-1252 or
// Unicode. If Outlook has embedded HTML, that is read instead.
func RTF(in *textio.Input, out *textio.Sink) error {
	p := rtfReader{r: bufio.NewReader(in), text: func(t string) { out.Text(t) }, rtfGroup: rtfGroup{skip: 1}}
	for !out.Full() {
		if err := p.step(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if p.page {
			return textio.CopyHTML(&rtfPage{reader: &p}, out)
		}
	}
	return textio.ErrFull
}

// rtfPage is the HTML within RTF.
type rtfPage struct {
	reader *rtfReader
	ready  bytes.Buffer
	err    error
}

func (p *rtfPage) Read(b []byte) (int, error) {
	p.reader.text = func(t string) { p.ready.WriteString(t) }
	for p.ready.Len() == 0 && p.err == nil {
		p.err = p.reader.step()
	}
	if p.ready.Len() == 0 {
		return 0, p.err
	}
	return p.ready.Read(b)
}

// step reads a character, a control word, or the begin or end of a group.
func (p *rtfReader) step() error {
	b, err := p.r.ReadByte()
	if err == io.EOF || errors.Is(err, textio.ErrInflated) {
		return err
	}
	if err != nil {
		return textio.ErrBroken
	}
	switch b {
	case '{':
		if len(p.stack) == maxGroups {
			return textio.ErrInflated
		}
		p.stack = append(p.stack, p.rtfGroup)
	case '}':
		if len(p.stack) > 0 {
			p.rtfGroup = p.stack[len(p.stack)-1]
			p.stack = p.stack[:len(p.stack)-1]
		}
		p.passing = 0
	case '\\':
		if p.control() != nil {
			return textio.ErrBroken
		}
	case '\r', '\n', 0:
	default:
		p.char(charmap.Windows1252.DecodeByte(b))
	}
	return nil
}

// char writes a character, unless it is hidden or the replacement of one that
// was written.
func (p *rtfReader) char(r rune) {
	if p.passing > 0 {
		p.passing--
		return
	}
	if !p.hidden && !p.other {
		p.text(string(r))
	}
}

// control reads what follows a backslash.
func (p *rtfReader) control() error {
	b, err := p.r.ReadByte()
	if err != nil {
		return err
	}
	switch {
	case b == '\'':
		hex := make([]byte, 2)
		if _, err := io.ReadFull(p.r, hex); err != nil {
			return err
		}
		n, _ := strconv.ParseUint(string(hex), 16, 8)
		p.char(charmap.Windows1252.DecodeByte(byte(n)))
	case b == '*':
		p.hidden = true
	case b == '~':
		p.char(' ')
	case b == '_':
		p.char('-')
	case b == '\n' || b == '\r':
		p.char('\n')
	case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z':
		return p.word(b)
	case b == '\\' || b == '{' || b == '}':
		p.char(rune(b))
	}
	return nil
}

// word reads a control word, its number, and the blank after it.
func (p *rtfReader) word(first byte) error {
	word, digits := []byte{first}, []byte(nil)
	for {
		b, err := p.r.ReadByte()
		switch {
		case err != nil:
			return err
		case len(digits) == 0 && (b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z') && len(word) < 32:
			word = append(word, b)
			continue
		case (b >= '0' && b <= '9' || b == '-' && len(digits) == 0) && len(digits) < 11:
			digits = append(digits, b)
			continue
		case b != ' ':
			if err := p.r.UnreadByte(); err != nil {
				return err
			}
		}
		number, _ := strconv.Atoi(string(digits))
		return p.act(string(word), number, len(digits) > 0)
	}
}

// rtfChars are the control words that stand for characters.
var rtfChars = map[string]rune{"par": '\n', "line": '\n', "page": '\n', "sect": '\n', "row": '\n', "tab": '\t', "cell": '\t',
	"emdash": '—', "endash": '–', "lquote": '‘', "rquote": '’', "ldblquote": '“', "rdblquote": '”', "bullet": '•'}

func (p *rtfReader) act(word string, number int, given bool) error {
	switch {
	case word == "fromhtml":
		p.page = true
	case word == "htmltag" && p.page:
		p.hidden = false
	case word == "htmlrtf" && p.page:
		p.other = !given || number != 0
	case rtfHidden[word] || strings.HasPrefix(word, "header") || strings.HasPrefix(word, "footer"):
		p.hidden = true
	case rtfChars[word] != 0:
		p.passing = 0
		p.char(rtfChars[word])
	case word == "uc":
		p.skip = min(max(number, 0), 16)
	case word == "u":
		p.unicode(uint16(number))
	case word == "bin":
		_, err := io.CopyN(io.Discard, p.r, int64(max(number, 0)))
		return err
	}
	return nil
}

// unicode writes a character of a signed 16-bit number.
func (p *rtfReader) unicode(unit uint16) {
	p.passing = 0
	switch {
	case unit >= 0xd800 && unit < 0xdc00:
		p.pending = []uint16{unit}
	case unit >= 0xdc00 && unit < 0xe000:
		if len(p.pending) == 1 {
			p.char((rune(p.pending[0])-0xd800)<<10 + rune(unit) - 0xdc00 + 0x10000)
		}
		p.pending = nil
	default:
		p.char(rune(unit))
	}
	p.passing = p.skip
}
