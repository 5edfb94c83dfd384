package legacy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"kartei/extract/textio"
)

// The numbers of properties of a message (MS-OXPROPS).
const (
	propSubject          = 0x0037
	propSubmitted        = 0x0039
	propSenderFor        = 0x0042 // the person on whose behalf the message was sent
	propSenderForAddress = 0x0065
	propRecipientKind    = 0x0c15
	propSender           = 0x0c1a
	propSenderAddress    = 0x0c1f
	propDisplayCc        = 0x0e03
	propDisplayTo        = 0x0e04
	propDelivered        = 0x0e06
	propBody             = 0x1000
	propCompressedRTF    = 0x1009
	propHTML             = 0x1013
	propDisplayName      = 0x3001
	propAddress          = 0x3003
	propContent          = 0x3701
	propShortName        = 0x3704
	propLongName         = 0x3707
	propSMTPAddress      = 0x39fe
	propInternetCodepage = 0x3fde
	propMessageLocale    = 0x3ff1
	propMessageCodepage  = 0x3ffd
	propSenderSMTP       = 0x5d01
	propSenderForSMTP    = 0x5d02
)

// Types of properties.
const (
	typeNumber  = 0x0003
	typeStorage = 0x000d
	typeBytes   = 0x001e // text in a code page
	typeUTF16   = 0x001f
	typeTime    = 0x0040
	typeBinary  = 0x0102
)

// Limits for reading a message.
const (
	maxField = 64 << 10 // bytes of a header field
	maxDepth = 20       // of nested messages
	maxParts = 1_000    // number of messages and attachments of a file
)

// Outlook reads an item of Outlook (MS-OXMSG). It writes the subject, the sender, the recipients,
// the date, the text, the names of attachments and nested messages. The order is the same as for
// emails. Outlook returns ErrContained if an attached file may have a text.
func Outlook(in *textio.Input, out *textio.Sink) error {
	c, err := openCompound(in)
	if err != nil {
		return err
	}
	m := outlookReader{c: c, out: out, parts: maxParts}
	if c.find(0, propertyStream) == noEntry {
		return textio.ErrBroken
	}
	if err := m.message(0, 32, codepages{}, 0); err != nil {
		return err
	}
	if m.contains {
		return textio.ErrContained
	}
	return nil
}

const propertyStream = "__properties_version1.0"

type outlookReader struct {
	c     *compound
	out   *textio.Sink
	parts int // number of messages and attachments that may still be read
	// contains says that an attached file may have a text.
	contains bool
}

// item is a message, a recipient or an attachment.
type item struct {
	c         *compound
	storage   int
	fixed     map[uint32]uint64 // properties of up to 8 bytes, by number and type
	codepages codepages
}

// codepages are the code pages of an item. text is the code page of texts, according to the message
// or its language. page is the code page of the HTML. Programs use propInternetCodepage only for
// the body.
type codepages struct {
	text, page uint64 // 0: not set
}

// item reads the properties of a storage. The stream of the properties begins with a header of head
// bytes.
func (m *outlookReader) item(storage, head int, inherited codepages) (*item, error) {
	i := &item{c: m.c, storage: storage, fixed: map[uint32]uint64{}, codepages: inherited}
	s, err := m.c.open(storage, propertyStream)
	if s == nil || err != nil {
		return i, err
	}
	b, err := s.part(0, min(s.size, 1<<20)) // 65,536 properties, the maximum
	if err != nil || len(b) < head {
		return nil, textio.ErrBroken
	}
	for b = b[head:]; len(b) >= 16; b = b[16:] {
		i.fixed[binary.LittleEndian.Uint32(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	if locale, is := i.number(propMessageLocale); is {
		i.codepages.text = codepageOf(locale)
	}
	if page, is := i.number(propMessageCodepage); is && page != utf8Page {
		i.codepages.text = page
	}
	if page, is := i.number(propInternetCodepage); is {
		i.codepages.page = page
	}
	return i, nil
}

func (i *item) number(property uint32) (uint64, bool) {
	v, is := i.fixed[property<<16|typeNumber]
	return v & 0xffffffff, is
}

func (i *item) stream(property, kind uint32) (*stream, error) {
	return i.c.open(i.storage, fmt.Sprintf("__substg1.0_%04x%04x", property, kind))
}

// text returns a property as UTF-8. It returns nil if the property is missing or empty.
func (i *item) text(property uint32) (io.Reader, error) {
	s, err := i.stream(property, typeUTF16)
	switch {
	case err != nil:
		return nil, err
	case s != nil && s.size > 0:
		return utf16le(s.reader()), nil
	}
	s, err = i.stream(property, typeBytes)
	if err != nil || s == nil || s.size == 0 {
		return nil, err
	}
	page := i.codepages.text
	if page == 0 {
		page = i.codepages.page
	}
	return unlessUTF8(page, s.reader())
}

// unlessUTF8 returns a reader that decodes text in a code page to UTF-8. If the text is valid
// UTF-8, it is not decoded, whatever the code page is. Text in another encoding is hardly ever
// valid UTF-8.
func unlessUTF8(page uint64, r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, maxField)
	head, err := buffered.Peek(maxField)
	if text, whole := head, err != nil; !doubleByte(int(page)) && textio.IsUTF8(text, !whole) {
		return textio.Decoded(buffered), nil
	}
	return inCodepage(page, buffered)
}

// field returns the first of the properties that has a text, as one line. It returns an empty
// string if none has.
func (i *item) field(properties ...uint32) (string, error) {
	for _, p := range properties {
		r, err := i.text(p)
		if err != nil {
			return "", err
		}
		if r == nil {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(r, maxField))
		if err != nil {
			return "", textio.ErrBroken
		}
		if t := strings.TrimSpace(textio.OneLine(strings.ToValidUTF8(strings.Trim(string(b), "\x00"), ""))); t != "" {
			return t, nil
		}
	}
	return "", nil
}

// message writes a message with its attachments and nested messages.
func (m *outlookReader) message(storage, head int, inherited codepages, depth int) error {
	if m.parts--; m.parts < 0 || depth > maxDepth {
		return textio.ErrInflated
	}
	i, err := m.item(storage, head, inherited)
	if err != nil {
		return err
	}
	if err := m.head(i); err != nil {
		return err
	}
	m.out.Paragraph()
	if err := m.body(i); err != nil {
		return err
	}
	for _, a := range m.c.within(storage, "__attach_version1.0_#") {
		if err := m.attachment(a, i.codepages, depth); err != nil {
			return err
		}
	}
	return m.out.Err()
}

// head writes the header fields that Outlook shows.
func (m *outlookReader) head(i *item) error {
	subject, err := i.field(propSubject)
	if err != nil {
		return err
	}
	m.out.Line()
	m.out.Text(subject)
	m.out.Line()
	if err := m.person(i, []uint32{
		propSenderFor, propSender,
	}, []uint32{propSenderForSMTP, propSenderSMTP, propSenderForAddress, propSenderAddress}); err != nil {
		return err
	}
	recipients := m.c.within(i.storage, "__recip_version1.0_#")
	for _, l := range []struct {
		kind uint64
		all  uint32
	}{{1, propDisplayTo}, {2, propDisplayCc}} {
		m.out.Line()
		if err := m.recipients(i, recipients, l.kind, l.all); err != nil {
			return err
		}
	}
	m.out.Line()
	for _, p := range []uint32{propSubmitted, propDelivered} {
		if t, is := i.fixed[p<<16|typeTime]; is {
			// FILETIME: units of 100 ns since 1601
			m.out.Text(time.Unix(int64(t/10_000_000)-11_644_473_600, 0).UTC().Format(time.RFC1123Z))
			break
		}
	}
	return nil
}

// recipients writes the recipients of a kind. If the item has no recipients, it writes the property
// all: the line that Outlook shows.
func (m *outlookReader) recipients(i *item, storages []int, kind uint64, all uint32) error {
	if len(storages) == 0 {
		line, err := i.field(all)
		m.out.Text(line)
		return err
	}
	for _, s := range storages {
		if m.out.Full() {
			return m.out.Err()
		}
		r, err := m.item(s, 8, i.codepages)
		if err != nil {
			return err
		}
		if k, is := r.number(propRecipientKind); is && k&0xf != kind || !is && kind != 1 {
			continue
		}
		if err := m.person(r, []uint32{propDisplayName}, []uint32{propSMTPAddress, propAddress}); err != nil {
			return err
		}
	}
	return nil
}

// person writes a name and an address. If both are equal, it writes the address once. It skips
// addresses within an Exchange server.
func (m *outlookReader) person(i *item, names, addresses []uint32) error {
	name, err := i.field(names...)
	if err != nil {
		return err
	}
	address := ""
	for _, p := range addresses {
		if address, err = i.field(p); err != nil {
			return err
		}
		if address != "" && !strings.HasPrefix(strings.ToLower(address), "/o=") {
			break
		}
		address = ""
	}
	if name == address {
		name = ""
	}
	m.out.Text(name + " " + address + "\t")
	return nil
}

// body writes the text of a message. A message has its text as plain text, HTML, RTF or several of
// these. RTF is written only if the others are missing. Plain text and HTML may differ, and
// textio.Choice decides between them.
func (m *outlookReader) body(i *item) error {
	before := m.out.Left()
	choice := textio.Choice{Out: m.out}
	choice.Add(func(out *textio.Sink) error { return m.plain(i, out) })
	choice.Add(func(out *textio.Sink) error { return m.html(i, out) })
	if err := choice.Write(); err != nil || m.out.Left() < before {
		return err
	}
	return m.rtf(i)
}

// plain writes the plain text of a message.
func (m *outlookReader) plain(i *item, out *textio.Sink) error {
	r, err := i.text(propBody)
	if r == nil || err != nil {
		return err
	}
	return textio.CopyText(r, out)
}

// html writes the text of a message's HTML.
func (m *outlookReader) html(i *item, out *textio.Sink) error {
	page, err := i.stream(propHTML, typeBinary)
	if err != nil {
		return err
	}
	if page != nil && page.size > 0 {
		r, err := unlessUTF8(i.codepages.page, page.reader())
		if err != nil {
			return err
		}
		return textio.CopyHTML(r, out)
	}
	r, err := i.text(propHTML)
	if r == nil || err != nil {
		return err
	}
	return textio.CopyHTML(r, out)
}

// rtf writes the text of a message's compressed RTF.
func (m *outlookReader) rtf(i *item) error {
	packed, err := i.stream(propCompressedRTF, typeBinary)
	if packed == nil || err != nil || packed.size == 0 {
		return err
	}
	r, err := decompressRTF(packed.reader())
	if err != nil {
		return err
	}
	return RTF(&textio.Input{Reader: r}, m.out)
}

// attachment writes the name of an attached file, or the content of an attached message.
func (m *outlookReader) attachment(storage int, inherited codepages, depth int) error {
	if inner := m.c.find(storage, fmt.Sprintf("__substg1.0_%04x%04x", propContent, typeStorage)); inner != noEntry &&
		m.c.find(inner, propertyStream) != noEntry {
		m.out.Paragraph()
		return m.message(inner, 24, inherited, depth+1)
	}
	if m.parts--; m.parts < 0 {
		return textio.ErrInflated
	}
	i, err := m.item(storage, 8, inherited)
	if err != nil {
		return err
	}
	name, err := i.field(propLongName, propShortName, propDisplayName)
	if err != nil {
		return err
	}
	m.contains = m.contains || !IsPicture(name)
	m.out.Line()
	return m.out.Text(name + "\n")
}

// IsPicture reports whether a file name has the extension of a picture. Many signatures in emails
// contain pictures.
func IsPicture(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".heic", ".wmf", ".emf", ".svg", ".ico":
		return true
	}
	return false
}
