package sample

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"

	"golang.org/x/text/encoding/charmap"
)

// portable returns a PDF of one page with a heading and lines below it, and its content type.
func portable(heading string, lines []string) (string, []byte) {
	var page strings.Builder
	fmt.Fprintf(&page, "BT /F1 16 Tf 72 760 Td (%s) Tj /F1 11 Tf 15 TL 0 -30 Td\n", escaped(heading))
	for _, line := range lines {
		fmt.Fprintf(&page, "(%s) Tj T*\n", escaped(line))
	}
	page.WriteString("ET")
	var b bytes.Buffer
	var starts []int
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	for n, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Count 1/Kids[4 0 R]>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents 5 0 R>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", page.Len(), page.String()),
	} {
		starts = append(starts, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n+1, object)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(starts)+1)
	for _, start := range starts {
		fmt.Fprintf(&b, "%010d 00000 n \n", start)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(starts)+1, table)
	return "application/pdf", b.Bytes()
}

// escaped returns a text as a string in the content of a PDF page. Characters that Windows-1252
// does not have become question marks.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		c, known := charmap.Windows1252.EncodeRune(r)
		if !known {
			c = '?'
		}
		if strings.IndexByte(`()\`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

const (
	wordType     = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	contentTypes = xml.Header + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Override PartName="/word/document.xml" ContentType="` + wordType + `.main+xml"/></Types>`
	relationships = xml.Header + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`
)

// wordProcessed returns a Word document (Office Open XML) and its content type.
func wordProcessed(paragraphs ...string) (string, []byte) {
	var body strings.Builder
	for _, p := range paragraphs {
		body.WriteString("<w:p><w:r><w:t>")
		must(xml.EscapeText(&body, []byte(p)))
		body.WriteString("</w:t></w:r></w:p>")
	}
	document := xml.Header + `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` + body.String() + `</w:body></w:document>`
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, part := range [][2]string{
		{"[Content_Types].xml", contentTypes},
		{"_rels/.rels", relationships},
		{"word/document.xml", document},
	} {
		w, err := z.Create(part[0])
		must(err)
		_, err = io.WriteString(w, part[1])
		must(err)
	}
	must(z.Close())
	return wordType, b.Bytes()
}

// mailed returns an email between the client and the office, and its content type.
func mailed(m *matter, from, subject, text string) (string, []byte) {
	to := AdminEmail
	if from == AdminEmail {
		to = m.email()
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\nMIME-Version: 1.0\r\n",
		&mail.Address{Address: from}, &mail.Address{Address: to},
		mime.QEncoding.Encode("utf-8", subject), m.day.Format(time.RFC1123Z))
	b.WriteString("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	w := quotedprintable.NewWriter(&b)
	_, err := io.WriteString(w, strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
	must(err)
	must(w.Close())
	return "message/rfc822", b.Bytes()
}

// must panics on an error. It is used for writes to memory, which return none.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
