package textio

import (
	"bufio"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sink writes text in a clean form: valid UTF-8 without control characters, except tabs, line
// feeds, and form feeds between pages. It joins blanks, tabs and empty lines. It stops after a
// number of bytes.
type Sink struct {
	// Paged keeps form feeds in the text, for text that another Sink wrote. Without Paged, a form
	// feed ends a line.
	Paged bool

	w    *bufio.Writer
	left int
	// pages, lines, tab and blank describe the gap before the next character. The first that is set
	// counts.
	pages   int
	lines   int
	tab     bool
	blank   bool
	started bool
	err     error
}

// NewSink returns a Sink that writes at most limit bytes to w.
func NewSink(w io.Writer, limit int) *Sink { return &Sink{w: bufio.NewWriter(w), left: limit} }

// Full reports whether the sink accepts no more text.
func (s *Sink) Full() bool { return s.err != nil }

// Err returns the error that stopped the sink: ErrFull or an error of writing.
func (s *Sink) Err() error { return s.err }

// Left returns the number of bytes that the sink still accepts.
func (s *Sink) Left() int { return s.left }

// Text writes a text. Line breaks in it stay.
func (s *Sink) Text(t string) error {
	for len(t) > 0 && s.err == nil {
		r, n := utf8.DecodeRuneInString(t)
		s.rune(r, n)
		t = t[n:]
	}
	return s.err
}

func (s *Sink) rune(r rune, size int) {
	if r == '\f' && s.Paged {
		s.pages++
		return
	}
	if r == utf8.RuneError && size <= 1 { // an invalid byte
		return
	}
	switch r = Kept(r); r {
	case '\n':
		s.lines++
	case '\t':
		s.tab = true
	case ' ':
		s.blank = true
	case dropped:
	default:
		s.put(s.gap(), r)
	}
}

// dropped is the result of Kept for a character that is not text.
const dropped rune = -1

// Kept returns the character that is written for r: r itself, a line feed for a line end, or a tab
// or blank for other white space. It returns a negative number if r is not text, such as a soft
// hyphen, a byte order mark or NUL.
func Kept(r rune) rune {
	switch {
	case r == '\n' || r == '\f' || r == '\u2028' || r == '\u2029' || r == '\u0085':
		return '\n'
	case r == '\t':
		return '\t'
	case unicode.IsSpace(r):
		return ' '
	case r == '\u00ad', r == '\ufeff', unicode.IsControl(r), r&0xfffe == 0xfffe, !utf8.ValidRune(r):
		return dropped
	}
	return r
}

// gap returns the white space before the next character, and resets it.
func (s *Sink) gap() (gap string) {
	switch {
	case s.pages > 0:
		gap = strings.Repeat("\f", s.pages)
	case !s.started:
	case s.lines > 0:
		gap = "\n\n"[:min(s.lines, 2)]
	case s.tab:
		gap = "\t"
	case s.blank:
		gap = " "
	}
	s.started, s.pages, s.lines, s.tab, s.blank = true, 0, 0, false, false
	return gap
}

// put writes a character and the gap before it. If the limit does not allow both, put writes
// neither, so that the text does not end with a gap.
func (s *Sink) put(gap string, r rune) {
	if s.left -= len(gap) + utf8.RuneLen(r); s.left < 0 {
		s.err = ErrFull
		return
	}
	if _, s.err = s.w.WriteString(gap); s.err == nil {
		_, s.err = s.w.WriteRune(r)
	}
}

// Line begins a new line.
func (s *Sink) Line() error {
	s.lines = max(s.lines, 1)
	return s.err
}

// Paragraph begins a new line after an empty line.
func (s *Sink) Paragraph() error {
	s.lines = max(s.lines, 2)
	return s.err
}

// Page begins a new page. A form feed separates it from the previous page.
func (s *Sink) Page() error {
	s.pages++
	return s.err
}

// Join removes the line breaks since the last character. So a cell with one paragraph stays on the
// line of its row.
func (s *Sink) Join() { s.lines = 0 }

// Close flushes the text. ErrFull is not returned as an error.
func (s *Sink) Close() error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	if s.err == ErrFull {
		return nil
	}
	return s.err
}
