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

// rtfHidden are the destinations whose text is not part of the document. Those
// after \* are hidden too, except the ones in rtfShown. Shprslt and nonshppict
// repeat a drawing for older programs.
var rtfHidden = rtfSet("fonttbl colortbl stylesheet info pict themedata colorschememapping latentstyles datastore listtable " +
	"listoverridetable revtbl rsidtbl generator xmlnstbl fldinst filetbl mmathPr objdata objclass objname objtime shprslt nonshppict " +
	"nonesttables sn sv sp ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn xe tc tcn rxe bkmkstart bkmkend falt panose pgptbl wgrffmtfilter " +
	"pnseclvl upr")

// rtfShown are destinations whose text is part of the document, although they
// stand in one that is not, or after \*.
var rtfShown = rtfSet("shpinst shptxt do dptxbxtext footnote annotation result ud title subject keywords doccomm")

// rtfAside are the destinations that stand beside the text, wherever they are
// in the file. Their text follows at the end, so that a note in the middle of a
// sentence does not cut it.
var rtfAside = rtfSet("header headerl headerr headerf footer footerl footerr footerf footnote annotation shptxt dptxbxtext")

// rtfLines are the destinations whose text is a line of its own.
var rtfLines = rtfSet("title subject keywords doccomm")

func rtfSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// rtfGroup is the state of a group, which is enclosed in braces.
type rtfGroup struct {
	above   bool // a group around it is hidden
	hidden  bool // it is hidden itself
	aside   bool // its text follows at the end
	deleted bool // it was deleted under change tracking
	other   bool // it repeats embedded HTML for readers of RTF
	skip    int  // number of replacement characters after a Unicode one
	font    int
	line    bool // it ends a line
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
	half    []byte          // the first bytes of a character that has several
	asides  strings.Builder // what follows at the end
	passing int             // replacement characters still to skip
	pending []uint16        // the first half of a character beyond the basic plane
	page    bool            // it has embedded HTML (MS-OXRTFEX)
}

const (
	// maxGroups bounds the nesting of groups.
	maxGroups = 10_000
	// maxAsides bounds the text that is kept for the end. What comes then is
	// written where it stands.
	maxAsides = 1 << 20
)

// RTF reads the text of RTF, with its title, headers, footers, notes, comments
// and text boxes, and without what was deleted under change tracking. Hidden
// text is read, as from other Word files. If Outlook has embedded HTML, that is
// read instead. Nothing is read behind the end of the outermost group.
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

// writeAsides writes what was kept for the end.
func (p *rtfReader) writeAsides(out *textio.Sink) {
	out.Paragraph()
	out.Text(p.asides.String())
	out.Paragraph()
	p.asides.Reset()
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

// end ends a group. The end of the outermost group ends the document: anything
// may follow.
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

// byte reads a byte of text. A character may have several.
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

// char writes a character, unless it is the replacement of one that was written.
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

// destination begins a destination in the group. The information about a
// document is hidden except some of its fields. Upr has a text twice, the second
// time in Unicode.
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

// unicode writes a character of a signed 16-bit number. Some programs write
// larger ones.
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
