package extract

import (
	"bufio"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"
)

// errFull ends a reader: more text is not kept.
var errFull = errors.New("extract: the text is long enough")

// sink takes text and writes it tidied: valid UTF-8 without control characters,
// one blank or tab where there were several, one empty line at most. It stops
// at a number of bytes.
type sink struct {
	w    *bufio.Writer
	left int
	// What comes before the next character: lines, else a tab, else a blank.
	lines   int
	tab     bool
	blank   bool
	started bool
	err     error
}

func newSink(w io.Writer, most int) *sink { return &sink{w: bufio.NewWriter(w), left: most} }

// full reports whether no more text is taken.
func (s *sink) full() bool { return s.err != nil }

// text writes characters. Lines of the text stay lines.
func (s *sink) text(t string) error {
	for len(t) > 0 && s.err == nil {
		r, n := utf8.DecodeRuneInString(t)
		s.rune(r, n)
		t = t[n:]
	}
	return s.err
}

func (s *sink) rune(r rune, size int) {
	switch {
	case r == '\n' || r == '\f' || r == '\u2028' || r == '\u2029' || r == '\u0085':
		s.lines++
	case r == '\t':
		s.tab = true
	case unicode.IsSpace(r):
		s.blank = true
	case r == utf8.RuneError && size <= 1, r == '\u00ad', r == '\ufeff', unicode.IsControl(r), r&0xfffe == 0xfffe:
		// Not text: broken bytes, soft hyphens, marks of byte order, NUL.
	default:
		s.put(s.gap(), r)
	}
}

// gap returns what stands between two words.
func (s *sink) gap() (gap string) {
	switch {
	case !s.started:
	case s.lines > 0:
		gap = "\n\n"[:min(s.lines, 2)]
	case s.tab:
		gap = "\t"
	case s.blank:
		gap = " "
	}
	s.started, s.lines, s.tab, s.blank = true, 0, false, false
	return gap
}

// put writes a character and the gap before it, or neither: a text does not end
// with a gap.
func (s *sink) put(gap string, r rune) {
	if s.left -= len(gap) + utf8.RuneLen(r); s.left < 0 {
		s.err = errFull
		return
	}
	if _, s.err = s.w.WriteString(gap); s.err == nil {
		_, s.err = s.w.WriteRune(r)
	}
}

// line begins a new line.
func (s *sink) line() error {
	s.lines = max(s.lines, 1)
	return s.err
}

// paragraph begins a new line after an empty one.
func (s *sink) paragraph() error {
	s.lines = max(s.lines, 2)
	return s.err
}

// close hands over what is written.
func (s *sink) close() error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	if s.err == errFull {
		return nil
	}
	return s.err
}
