package textio

import (
	"bytes"
	"cmp"
	"strings"
	"unicode"
)

// Choice chooses among several forms of the same content, such as the plain text and the HTML of a
// message. It omits a form if another form has all its words. If each of two forms has words that
// the other lacks, it writes both. For example, a plain text may say only that the mail program
// cannot show HTML.
type Choice struct {
	Out   *Sink
	forms []form
	held  int
	err   error // the first error of a form
}

// form is one of several texts with the same content, such as the HTML of a message. words is the
// set of the words in text.
type form struct {
	text  string
	words map[string]bool
}

// maxHeld is the maximum size of all forms together in bytes.
const maxHeld = 8 << 20

// Add reads a form. If read returns an error, the text up to it counts, and Write returns the
// error.
func (c *Choice) Add(read func(*Sink) error) {
	var b bytes.Buffer
	s := NewSink(&b, min(max(c.Out.Left(), 0)+gapSize, maxHeld-c.held))
	err := read(s)
	_ = s.Close() // a bytes.Buffer returns no errors
	if s.Full() {
		err = nil // the sink of Write will also be full
		if c.held+b.Len() > maxHeld-gapSize {
			err = ErrInflated
		}
	}
	if c.err == nil {
		c.err = err
	}
	c.held += b.Len()
	f := form{text: b.String(), words: map[string]bool{}}
	for word := range strings.FieldsFuncSeq(strings.ToLower(f.text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		f.words[word] = true
	}
	if len(f.words) > 0 {
		c.forms = append(c.forms, f)
	}
}

// gapSize is larger than the gap before a text. So a form that is cut also fills the sink of the
// Choice.
const gapSize = 8

// Write writes the forms that are not omitted. It returns the error of the sink, or else the first
// error of a form.
func (c *Choice) Write() error {
	for i, f := range c.forms {
		if !c.covered(i, f) {
			c.Out.Paragraph()
			c.Out.Text(f.text)
		}
	}
	return cmp.Or(c.Out.Err(), c.err)
}

// covered reports whether another form has all words of form i. If two forms have the same words,
// the first is not covered.
func (c *Choice) covered(i int, f form) bool {
	for j, other := range c.forms {
		if j != i && contains(other.words, f.words) && (j < i || len(other.words) > len(f.words)) {
			return true
		}
	}
	return false
}

func contains(all, some map[string]bool) bool {
	if len(some) > len(all) {
		return false
	}
	for word := range some {
		if !all[word] {
			return false
		}
	}
	return true
}
