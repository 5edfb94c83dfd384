package legacy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"kartei/extract/textio"
)

// rtfHidden are the destinations whose text is not part of the document. Destinations after \* are
// hidden too, except those in rtfShown. shprslt and nonshppict repeat a drawing for older programs.
var rtfHidden = rtfSet("fonttbl colortbl stylesheet info pict themedata colorschememapping latentstyles datastore listtable " +
	"listoverridetable revtbl rsidtbl generator xmlnstbl fldinst filetbl mmathPr objdata objclass objname objtime shprslt nonshppict " +
	"nonesttables sn sv sp ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn xe tc tcn rxe bkmkstart bkmkend falt panose pgptbl wgrffmtfilter " +
	"pnseclvl upr")

// rtfShown are destinations whose text is part of the document, even inside of a hidden destination
// or after \*.
var rtfShown = rtfSet("shpinst shptxt do dptxbxtext footnote annotation result ud title subject keywords doccomm")

// rtfAside are the destinations whose text is written after the document, wherever they are in the
// file. Otherwise a footnote would split its sentence.
var rtfAside = rtfSet("header headerl headerr headerf footer footerl footerr footerf footnote annotation shptxt dptxbxtext")

// rtfLines are the destinations whose text is written as a separate line.
var rtfLines = rtfSet("title subject keywords doccomm")

func rtfSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// rtfGroup is the state of a group. A group is enclosed in braces.
type rtfGroup struct {
	above   bool // a group around this group is hidden
	hidden  bool // this group is hidden
	aside   bool // the text is written after the document
	deleted bool // the text was deleted under change tracking
	other   bool // the text repeats embedded HTML for readers of RTF
	skip    int  // number of replacement characters after a Unicode character
	font    int
	line    bool // the end of the group ends a line
	kind    string
	within  string // the kind of the group around it
}

// rtfReader reads Rich Text Format 1.9.
type rtfReader struct {
	r     *bufio.Reader
	text  func(string)
	stack []rtfGroup
	rtfGroup
	fonts   rtfFonts
	half    []byte          // the first bytes of a character of several bytes
	asides  strings.Builder // the text to write after the document
	passing int             // number of replacement characters that are still to be skipped
	pending []uint16        // the first half of a surrogate pair
	page    bool            // the document has embedded HTML (MS-OXRTFEX)
}

const (
	// maxGroups is the maximum number of nested groups.
	maxGroups = 10_000
	// maxAsides is the maximum number of bytes that are kept until the end. When asides gets
	// longer, its text is written at once.
	maxAsides = 1 << 20
)

// RTF reads the text of RTF, with its title, headers, footers, notes, comments and text boxes. It
// omits text that was deleted under change tracking, but reads hidden text, as the readers of other
// Word files do. If Outlook embedded HTML, RTF reads the HTML instead. The end of the outermost
// group ends the document.
func RTF(in *textio.Input, out *textio.Sink) error {
	p := rtfReader{
		r:        bufio.NewReader(in),
		text:     func(t string) { out.Text(t) },
		rtfGroup: rtfGroup{skip: 1, font: noFont},
		fonts:    newRTFFonts(),
	}
	err := p.read(out)
	p.writeAsides(out)
	return err
}

func (p *rtfReader) read(out *textio.Sink) error {
	for !out.Full() {
		switch err := p.step(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case p.page:
			return textio.CopyHTML(&rtfPage{reader: p}, out)
		case p.asides.Len() > maxAsides:
			p.writeAsides(out)
		}
	}
	return textio.ErrFull
}

// writeAsides writes the text that was kept until the end.
func (p *rtfReader) writeAsides(out *textio.Sink) {
	out.Paragraph()
	out.Text(p.asides.String())
	out.Paragraph()
	p.asides.Reset()
}

// rtfPage is a reader of the HTML that is embedded in RTF.
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

// step reads a character, a control word, or the beginning or end of a group.
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
		return p.begin()
	case '}':
		return p.end()
	case '\\':
		if err := p.control(); err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return textio.ErrBroken
		} else if err != nil {
			return err
		}
	case '\r', '\n', 0:
	default:
		p.byte(b)
	}
	return nil
}

// begin begins a group.
func (p *rtfReader) begin() error {
	if len(p.stack) == maxGroups {
		return textio.ErrInflated
	}
	p.half = p.half[:0]
	p.stack = append(p.stack, p.rtfGroup)
	p.above, p.hidden, p.line = p.above || p.hidden, false, false
	p.within, p.kind = p.kind, ""
	return nil
}

// end ends a group. The end of the outermost group ends the document, and the bytes after it are
// not read.
func (p *rtfReader) end() error {
	p.half = p.half[:0]
	p.passing = 0
	if p.line {
		p.write("\n")
	}
	if len(p.stack) > 0 {
		p.rtfGroup = p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		if len(p.stack) == 0 {
			return io.EOF
		}
	}
	return nil
}

// byte reads a byte of text. A character may have several bytes.
func (p *rtfReader) byte(b byte) {
	if p.passing > 0 {
		p.passing--
		return
	}
	if b < utf8.RuneSelf && len(p.half) == 0 {
		p.char(rune(b))
		return
	}
	p.half = append(p.half, b)
	if text, whole := p.fonts.decode(p.font, p.half); whole {
		p.half = p.half[:0]
		p.write(text)
	}
}

// char writes a character unless it is a replacement character to skip.
func (p *rtfReader) char(r rune) {
	p.half = p.half[:0]
	if p.passing > 0 {
		p.passing--
		return
	}
	p.write(string(r))
}

// write writes text, unless it is hidden.
func (p *rtfReader) write(text string) {
	switch {
	case len(p.stack) == 0: // before the document
	case p.above || p.hidden || p.other || p.deleted:
	case p.aside && !p.page:
		p.asides.WriteString(text)
	default:
		p.text(text)
	}
}

// control reads the bytes after a backslash.
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
		p.byte(byte(n))
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
		p.byte(b)
	}
	return nil
}

// word reads a control word, its number and the blank after the number.
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

// rtfChars maps control words to the characters that they stand for.
var rtfChars = map[string]rune{"par": '\n', "line": '\n', "page": '\n', "sect": '\n', "row": '\n', "nestrow": '\n',
	"column": '\n', "softline": '\n',
	"tab": '\t', "cell": '\t', "nestcell": '\t', "emspace": ' ', "enspace": ' ', "qmspace": ' ',
	"emdash": '—', "endash": '–', "lquote": '‘', "rquote": '’', "ldblquote": '“', "rdblquote": '”', "bullet": '•'}

func (p *rtfReader) act(word string, number int, given bool) error {
	switch {
	case word == "fromhtml":
		p.page = true
	case word == "htmltag" && p.page:
		p.hidden = false
	case word == "htmlrtf" && p.page:
		p.other = !given || number != 0
	case rtfShown[word] || rtfAside[word] && !given, rtfHidden[word]:
		p.destination(word)
	case rtfChars[word] != 0:
		p.passing = 0
		p.char(rtfChars[word])
	case word == "deleted":
		p.deleted = !given || number != 0
	case word == "plain":
		p.deleted, p.font = false, noFont
	case word == "uc":
		p.skip = min(max(number, 0), 16)
	case word == "u":
		p.unicode(number)
	case word == "bin":
		_, err := io.CopyN(io.Discard, p.r, int64(max(number, 0)))
		return err
	case word == "f":
		p.font = number
		p.fonts.defining(number)
	default:
		p.fonts.set(word, number)
	}
	return nil
}

// destination begins a destination in the current group. The destination info is hidden, except for
// some of its fields. The destination upr has a text twice, the second time in Unicode.
func (p *rtfReader) destination(word string) {
	switch {
	case word == "ud" && p.within == "upr", rtfLines[word] && p.within == "info":
		p.above, p.hidden, p.line = false, false, rtfLines[word]
	case word == "ud" || rtfLines[word]:
		p.line = rtfLines[word]
	case rtfHidden[word]:
		p.hidden, p.kind = true, word
	default:
		p.hidden = false
	}
	if rtfAside[word] {
		p.aside, p.line = true, true
		p.write("\n")
	}
}

// unicode writes the character of a signed number of 16 bits. Some programs write larger numbers.
func (p *rtfReader) unicode(number int) {
	p.passing = 0
	unit := rune(uint16(number))
	switch {
	case number > 0xffff:
		p.char(rune(min(number, utf8.MaxRune)))
	case unit >= 0xd800 && unit < 0xdc00:
		p.pending = []uint16{uint16(unit)}
	case unit >= 0xdc00 && unit < 0xe000:
		if len(p.pending) == 1 {
			p.char((rune(p.pending[0])-0xd800)<<10 + unit - 0xdc00 + 0x10000)
		}
		p.pending = nil
	default:
		p.char(unit)
	}
	p.passing = p.skip
}
