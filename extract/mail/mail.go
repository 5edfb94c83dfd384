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

// Bounds of reading a message.
const (
	maxDepth = 20    // of parts within parts
	maxParts = 1_000 // of all
)

// Read reads a message (RFC 5322, MIME): subject, sender, recipients, date,
// texts, and the names of attachments. If a file begins as a mailbox, it reads
// the messages one after the other.
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
	parts   int   // that may still follow
	missing error // why a part has no text; the first one
}

// message reads a message.
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

// addresses writes the addresses of a field, or its text if it has others.
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

// entity writes a message or one of its parts, after its header. Content is what
// was read of it.
func (m *reader) entity(h mimeHeader, content []byte, depth int, standard string) (err error) {
	if m.mime.oversized {
		return textio.ErrBroken
	}
	if m.parts--; m.parts < 0 || depth > maxDepth {
		return textio.ErrInflated
	}
	defer func() {
		if err == nil { // what follows an error may have no end
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

// hasText reports whether an attached file may have a text: pictures and signatures have
// none.
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

// isSealed reports whether a part is the encrypted content of a message: of
// S/MIME or PGP.
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

// inPart returns a part's text in UTF-8. The standard says ASCII for a part
// without a charset; here its encoding is guessed.
func inPart(params map[string]string, body io.Reader) io.Reader {
	r, _ := textio.Named(params["charset"], body) // never an error
	return r
}

// forwarded reads a message within another one, which may be encoded.
func (m *reader) forwarded(body io.Reader, depth int) error {
	m.out.Paragraph()
	outer := m.mime
	m.mime = newMIME(body)
	m.mime.single = true
	err := m.message(depth + 1)
	m.mime = outer
	if err == textio.ErrBroken {
		return nil // without a header; its name is written
	}
	return err
}

// multipart writes the parts. Alternatives have the same content, so they are
// written once, if they do.
func (m *reader) multipart(h mimeHeader, kind, boundary string, depth int) error {
	own, standard := len(m.mime.boundaries), "text/plain"
	if kind == "multipart/digest" {
		standard = "message/rfc822"
	}
	m.mime.boundaries = append(m.mime.boundaries, boundary)
	preamble := m.mime.content(h, nil)
	before, _ := io.ReadAll(io.LimitReader(preamble, maxPreamble)) // the lines of a part end, and do not fail
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
		m.mime.resume() // what follows is nothing
	case n == 0: // the boundary is another one
		m.out.Paragraph()
		err = cmp.Or(err, textio.CopyText(textio.Decoded(bytes.NewReader(before)), m.out))
	}
	return cmp.Or(choice.Write(), err)
}

// maxPreamble bounds what is kept of the text before the first part.
const maxPreamble = 1 << 20

// into writes a part to another sink.
func (m *reader) into(out *textio.Sink, h mimeHeader, content []byte, depth int, standard string) error {
	outer := m.out
	m.out = out
	defer func() { m.out = outer }()
	return m.entity(h, content, depth, standard)
}
