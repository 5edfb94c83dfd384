package extract

import (
	"errors"
	"io"
	"mime"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"

	"kartei/extract/textio"
)

// Bounds of reading a message.
const (
	maxDepth = 20    // of parts within parts
	maxParts = 1_000 // of all
)

func init() { message.CharsetReader = textio.Named }

// readMail reads a message (RFC 5322, MIME): subject, sender, recipients, date,
// texts, and the names of attachments.
func readMail(in *textio.Input, out *textio.Sink) error {
	m := mailReader{out: out, parts: maxParts}
	e, err := message.Read(in)
	if e == nil || err != nil && !tolerable(err) {
		return textio.ErrBroken
	}
	m.head(&mail.Header{Header: e.Header})
	out.Paragraph()
	return m.entity(e, 0)
}

// tolerable reports whether a part can be read in spite of an error: its
// encoding is unknown.
func tolerable(err error) bool {
	return message.IsUnknownCharset(err) || message.IsUnknownEncoding(err)
}

type mailReader struct {
	out   *textio.Sink
	parts int // that may still follow
}

// head writes the header fields that a mail program shows.
func (m *mailReader) head(h *mail.Header) {
	subject, err := h.Subject()
	if err != nil {
		subject = h.Get("Subject")
	}
	m.out.Line()
	m.out.Text(textio.OneLine(subject))
	for _, field := range []string{"From", "To", "Cc"} {
		m.out.Line()
		list, err := h.AddressList(field)
		if err != nil {
			m.out.Text(textio.OneLine(h.Get(field)))
		}
		for _, a := range list {
			m.out.Text(textio.OneLine(a.Name) + " " + a.Address + "\t")
		}
	}
	m.out.Line()
	m.out.Text(h.Get("Date"))
}

// entity writes a message or one of its parts.
func (m *mailReader) entity(e *message.Entity, depth int) error {
	if m.parts--; m.parts < 0 || depth > maxDepth {
		return textio.ErrInflated
	}
	if parts := e.MultipartReader(); parts != nil {
		return m.multipart(e, parts, depth)
	}
	kind, params, _ := e.Header.ContentType()
	if name := attachedName(e, params); name != "" {
		m.out.Line()
		if err := m.out.Text(textio.OneLine(name) + "\n"); err != nil {
			return err
		}
		return nil
	}
	m.out.Paragraph()
	switch {
	case kind == "text/html":
		return textio.CopyHTML(utf8Of(e, params), m.out)
	case kind == "" || strings.HasPrefix(kind, "text/"):
		return textio.CopyText(utf8Of(e, params), m.out)
	case kind == "message/rfc822":
		return m.forwarded(e, depth)
	}
	return nil
}

// utf8Of returns a part's text in UTF-8. The standard says ASCII for a part
// without a charset; here its encoding is guessed.
func utf8Of(e *message.Entity, params map[string]string) io.Reader {
	if params["charset"] == "" {
		return textio.Decoded(e.Body)
	}
	return e.Body
}

// attachedName returns the name of an attached file; "" for a part that is
// shown.
func attachedName(e *message.Entity, params map[string]string) string {
	disposition, more, _ := e.Header.ContentDisposition()
	name := more["filename"]
	if name == "" {
		name = params["name"]
	}
	if name == "" && disposition == "attachment" {
		name = "attachment"
	}
	if decoded, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
		name = decoded
	}
	return name
}

func (m *mailReader) forwarded(e *message.Entity, depth int) error {
	inner, err := message.Read(e.Body)
	if inner == nil || err != nil && !tolerable(err) {
		return textio.ErrBroken
	}
	m.head(&mail.Header{Header: inner.Header})
	return m.entity(inner, depth+1)
}

// multipart writes the parts. Alternatives have the same content, so only the
// first with text is written.
func (m *mailReader) multipart(e *message.Entity, parts message.MultipartReader, depth int) error {
	kind, _, _ := e.Header.ContentType()
	written := m.out.Left()
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case part == nil || err != nil && !tolerable(err):
			return textio.ErrBroken
		case kind == "multipart/alternative" && m.out.Left() < written:
			continue
		}
		if err := m.entity(part, depth+1); err != nil {
			return err
		}
	}
}
