// Package mail owns the reading of messages, as mail programs of the world write them.
package mail

import (
	"bytes"
	"cmp"
	"io"
	netmail "net/mail"
	"path"
	"strings"

	"kartei/extract/legacy"
	"kartei/extract/textio"
)

// Limits for reading a message.
const (
	maxDepth = 20    // of nested parts
	maxParts = 1_000 // of all parts together
)

// Read reads a message (RFC 5322, MIME). It writes the subject, the sender, the recipients, the
// date, the texts and the names of attachments. If a file begins like a mailbox, Read reads all its
// messages.
func Read(in *textio.Input, out *textio.Sink) error {
	m := reader{mime: newMIME(textio.Narrow(in)), out: out, parts: maxParts}
	for {
		if err := m.message(0); err != nil {
			return err
		}
		if !m.mime.more {
			return m.missing
		}
		m.mime.resume()
		m.mime.more = false
		out.Paragraph()
	}
}

type reader struct {
	mime    *mimeReader
	out     *textio.Sink
	parts   int   // parts that may still be read
	missing error // the first reason why the text of a part is missing
}

// message reads the header of a message and its content.
func (m *reader) message(depth int) error {
	h, content := m.mime.header(true)
	if len(h) == 0 || m.mime.oversized {
		return textio.ErrBroken
	}
	m.head(h)
	m.out.Paragraph()
	return m.entity(h, content, depth, "text/plain")
}

// head writes the header fields that a mail program shows.
func (m *reader) head(h mimeHeader) {
	m.out.Line()
	m.out.Text(textio.OneLine(decodedWords(h["subject"])))
	for _, field := range []string{"from", "to", "cc", "bcc"} {
		m.out.Line()
		m.addresses(h[field])
		m.addresses(h[field+" again"])
	}
	m.out.Line()
	m.out.Text(textio.OneLine(h["date"]))
}

// addresses writes the addresses of a header field. If the field cannot be parsed, addresses writes
// its text.
func (m *reader) addresses(field string) {
	if field == "" {
		return
	}
	list, err := (&netmail.AddressParser{WordDecoder: wordDecoder}).ParseList(field)
	if err != nil {
		m.out.Text(textio.OneLine(decodedWords(field)))
	}
	for _, a := range list {
		m.out.Text(textio.OneLine(a.Name) + " " + a.Address + "\t")
	}
}

// entity writes a message or a part after its header. content is the beginning of the content that
// was already read. standard is the content type if the header has none.
func (m *reader) entity(h mimeHeader, content []byte, depth int, standard string) (err error) {
	if m.mime.oversized {
		return textio.ErrBroken
	}
	if m.parts--; m.parts < 0 || depth > maxDepth {
		return textio.ErrInflated
	}
	defer func() {
		if err == nil { // after an error, the rest may never end
			m.mime.skip()
		}
	}()
	kind, params := parameters(cmp.Or(h["content-type"], standard))
	if boundary := strings.TrimSpace(params["boundary"]); strings.HasPrefix(kind, "multipart/") && boundary != "" {
		return m.multipart(h, kind, boundary, depth)
	}
	disposition, more := parameters(h["content-disposition"])
	name := cmp.Or(more["filename"], params["name"])
	if name == "" && disposition == "attachment" {
		name = "attachment"
	}
	if name != "" {
		m.out.Line()
		if err := m.out.Text(textio.OneLine(decodedWords(name)) + "\n"); err != nil {
			return err
		}
	}
	body := m.mime.content(h, content)
	switch {
	case kind == "message/rfc822" || kind == "message/global":
		return m.forwarded(body, depth)
	case disposition == "attachment" && isSealed(kind, params, name):
		m.missing = cmp.Or(m.missing, textio.ErrEncrypted)
	case disposition == "attachment" && hasText(kind, name):
		m.missing = cmp.Or(m.missing, textio.ErrContained)
	case disposition == "attachment":
	case isSealed(kind, params, name):
		m.missing = cmp.Or(m.missing, textio.ErrEncrypted)
	case kind == "application/pkcs7-mime" || kind == "application/x-pkcs7-mime":
		m.missing = cmp.Or(m.missing, textio.ErrUnsupported)
	case kind == "text/html" || kind == "application/xhtml+xml":
		m.out.Paragraph()
		if params["charset"] == "" {
			return textio.CopyHTML(textio.DecodedPage(body), m.out)
		}
		return textio.CopyHTML(inPart(params, body), m.out)
	case kind == "" || !strings.Contains(kind, "/") || strings.HasPrefix(kind, "text/") ||
		strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/"):
		m.out.Paragraph()
		return textio.CopyText(inPart(params, body), m.out)
	case hasText(kind, name):
		m.missing = cmp.Or(m.missing, textio.ErrContained)
	}
	return nil
}

// hasText reports whether an attached file may have a text. Pictures, sounds, videos, fonts and
// signatures have none.
func hasText(kind, name string) bool {
	first, _, _ := strings.Cut(kind, "/")
	switch ending := strings.ToLower(path.Ext(name)); {
	case first == "image" || first == "audio" || first == "video" || first == "font":
		return false
	case strings.HasSuffix(kind, "-signature") || ending == ".p7s" || ending == ".asc":
		return false
	}
	return !legacy.IsPicture(name)
}

// isSealed reports whether a part is an encrypted message of S/MIME or PGP.
func isSealed(kind string, params map[string]string, name string) bool {
	switch kind {
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		return params["smime-type"] == "enveloped-data" || params["smime-type"] == "authenveloped-data" ||
			params["smime-type"] == "" && name == "smime.p7m"
	case "application/pgp-encrypted":
		return true
	}
	return false
}

// inPart returns a reader that decodes the text of a part to UTF-8. The encoding of a part without
// a charset is guessed, although the standard says ASCII.
func inPart(params map[string]string, body io.Reader) io.Reader {
	r, _ := textio.Named(params["charset"], body) // Named guesses the encoding instead of returning an error
	return r
}

// forwarded reads a message inside another message. Its content may be encoded.
func (m *reader) forwarded(body io.Reader, depth int) error {
	m.out.Paragraph()
	outer := m.mime
	m.mime = newMIME(body)
	m.mime.single = true
	err := m.message(depth + 1)
	m.mime = outer
	if err == textio.ErrBroken {
		return nil // the attached message has no header; its name was written
	}
	return err
}

// multipart writes the parts of a multipart entity. Alternatives usually have the same content.
// textio.Choice then writes the content once.
func (m *reader) multipart(h mimeHeader, kind, boundary string, depth int) error {
	own, standard := len(m.mime.boundaries), "text/plain"
	if kind == "multipart/digest" {
		standard = "message/rfc822"
	}
	m.mime.boundaries = append(m.mime.boundaries, boundary)
	preamble := m.mime.content(h, nil)
	before, _ := io.ReadAll(io.LimitReader(preamble, maxPreamble)) // errors are ignored, since a line reader of a part returns only io.EOF
	_, _ = io.Copy(io.Discard, preamble)
	choice := textio.Choice{Out: m.out}
	var err error
	n := 0
	for ; err == nil && m.parts >= 0 && m.mime.stopped && m.mime.level == own && !m.mime.last; n++ {
		m.mime.resume()
		inner, content := m.mime.header(false)
		if kind == "multipart/alternative" {
			choice.Add(func(out *textio.Sink) error { return m.into(out, inner, content, depth+1, standard) })
			continue
		}
		err = m.entity(inner, content, depth+1, standard)
	}
	m.mime.boundaries = m.mime.boundaries[:own]
	switch {
	case m.mime.stopped && m.mime.level == own:
		m.mime.resume() // the text after the last part is ignored
	case n == 0: // no part begins with the boundary of the header
		m.out.Paragraph()
		err = cmp.Or(err, textio.CopyText(textio.Decoded(bytes.NewReader(before)), m.out))
	}
	return cmp.Or(choice.Write(), err)
}

// maxPreamble is the maximum length of the text before the first part that is kept, in bytes.
const maxPreamble = 1 << 20

// into writes a part to the sink out.
func (m *reader) into(out *textio.Sink, h mimeHeader, content []byte, depth int, standard string) error {
	outer := m.out
	m.out = out
	defer func() { m.out = outer }()
	return m.entity(h, content, depth, standard)
}
