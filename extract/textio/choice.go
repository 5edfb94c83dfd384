package textio

import (
	"bytes"
	"cmp"
	"strings"
	"unicode"
)

// Choice chooses among the forms of one content, like the text and the page of a
// message. A form is left out if another one has all of its words. If each has
// words of its own, both are written: 'your program cannot show this page' is no
// form of the page.
type Choice struct {
	Out   *Sink
	forms []form
	held  int
	err   error // the first one
}

// form is the text of one form and its words.
type form struct {
	text  string
	words map[string]bool
}

// maxHeld bounds the bytes of the forms.
const maxHeld = 8 << 20

// Add reads a form. If it cannot be read to its end, what was read counts, and
// Write returns the error.
func (c *Choice) Add(read func(*Sink) error) {
	var b bytes.Buffer
	s := NewSink(&b, min(max(c.Out.Left(), 0)+gapSize, maxHeld-c.held))
	err := read(s)
	_ = s.Close() // a buffer takes everything
	if s.Full() {
		err = nil // Write fills the other sink, too
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

// gapSize is more than the gap before a text: a form that is cut fills the sink
// of the choice.
const gapSize = 8

// Write writes the forms that are needed.
func (c *Choice) Write() error {
	for i, f := range c.forms {
		if !c.covered(i, f) {
			c.Out.Paragraph()
			c.Out.Text(f.text)
		}
	}
	return cmp.Or(c.Out.Err(), c.err)
}

// covered reports whether another form has all words of a form. Of two with the
// same words the first one stays.
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
