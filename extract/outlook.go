package extract

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// Properties of a message (MS-OXPROPS) by their numbers.
const (
	propSubject          = 0x0037
	propSubmitted        = 0x0039
	propSenderFor        = 0x0042 // in whose name it was sent
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

// maxField is how much is read of one field of a head.
const maxField = 64 << 10

// readOutlook reads an item of Outlook (MS-OXMSG) in the order in which
// readMail reads a message: its subject, who wrote to whom, when, its text, the
// names of what is attached, and the messages within it.
func readOutlook(in *input, out *sink) error {
	c, err := openCompound(in)
	if err != nil {
		return err
	}
	m := outlookReader{c: c, out: out, parts: maxParts}
	if c.find(0, propertyStream) == noEntry {
		return errBroken
	}
	return m.message(0, 32, codepages{}, 0)
}

const propertyStream = "__properties_version1.0"

type outlookReader struct {
	c     *compound
	out   *sink
	parts int // that may still come
}

// item is a message, a recipient or an attachment.
type item struct {
	c         *compound
	storage   int
	fixed     map[uint32]uint64 // the properties of 8 bytes at most, by number and type
	codepages codepages
}

// codepages are in what the text of an item is written.
type codepages struct {
	text, page uint64 // 0: nobody says
}

// item reads the properties of a storage, whose stream has a head of so many
// bytes.
func (m *outlookReader) item(storage, head int, inherited codepages) (*item, error) {
	i := &item{c: m.c, storage: storage, fixed: map[uint32]uint64{}, codepages: inherited}
	s, err := m.c.open(storage, propertyStream)
	if s == nil || err != nil {
		return i, err
	}
	b, err := s.part(0, min(s.size, 1<<20)) // 65,536 properties: there are no more numbers
	if err != nil || len(b) < head {
		return nil, errBroken
	}
	for b = b[head:]; len(b) >= 16; b = b[16:] {
		i.fixed[binary.LittleEndian.Uint32(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	if page, is := i.number(propMessageCodepage); is {
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

// text returns a property as UTF-8; nil where it has none, or one of nothing.
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
	return inCodepage(page, s.reader())
}

// field returns the first of the properties that says anything, as one line.
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
			return "", errBroken
		}
		if t := strings.TrimSpace(oneLine(strings.ToValidUTF8(strings.Trim(string(b), "\x00"), ""))); t != "" {
			return t, nil
		}
	}
	return "", nil
}

// inCodepage returns text in a code page of Windows as UTF-8.
func inCodepage(page uint64, r io.Reader) (io.Reader, error) {
	switch {
	case page == 65001:
		return named("utf-8", r)
	case page >= 1250 && page <= 1258:
		return named(fmt.Sprintf("windows-%d", page), r)
	case page >= 28591 && page <= 28606:
		return named(fmt.Sprintf("iso-8859-%d", page-28590), r)
	case codepageNames[page] != "":
		return named(codepageNames[page], r)
	}
	return decoded(r), nil
}

// codepageNames are those whose names do not hold their numbers.
var codepageNames = map[uint64]string{866: "ibm866", 874: "windows-874", 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 10000: "macintosh",
	20866: "koi8-r", 20932: "euc-jp", 21866: "koi8-u", 50220: "iso-2022-jp", 51932: "euc-jp", 51949: "euc-kr", 54936: "gb18030"}

// message writes a message and what is within it.
func (m *outlookReader) message(storage, head int, inherited codepages, depth int) error {
	if m.parts--; m.parts < 0 || depth > maxDepth {
		return errInflated
	}
	i, err := m.item(storage, head, inherited)
	if err != nil {
		return err
	}
	if err := m.head(i); err != nil {
		return err
	}
	m.out.paragraph()
	if err := m.body(i); err != nil {
		return err
	}
	for _, a := range m.c.within(storage, "__attach_version1.0_#") {
		if err := m.attachment(a, i.codepages, depth); err != nil {
			return err
		}
	}
	return m.out.err
}

// head writes the fields that people know.
func (m *outlookReader) head(i *item) error {
	subject, err := i.field(propSubject)
	if err != nil {
		return err
	}
	m.out.line()
	m.out.text(subject)
	m.out.line()
	if err := m.person(i, []uint32{propSenderFor, propSender}, []uint32{propSenderForSMTP, propSenderSMTP, propSenderForAddress, propSenderAddress}); err != nil {
		return err
	}
	recipients := m.c.within(i.storage, "__recip_version1.0_#")
	for _, l := range []struct {
		kind uint64
		all  uint32
	}{{1, propDisplayTo}, {2, propDisplayCc}} {
		m.out.line()
		if err := m.recipients(i, recipients, l.kind, l.all); err != nil {
			return err
		}
	}
	m.out.line()
	for _, p := range []uint32{propSubmitted, propDelivered} {
		if t, is := i.fixed[p<<16|typeTime]; is {
			m.out.text(time.Unix(int64(t/10_000_000)-11_644_473_600, 0).UTC().Format(time.RFC1123Z)) // tenths of microseconds since 1601
			break
		}
	}
	return nil
}

// recipients writes those of a kind; by the line that Outlook shows where the
// item names none.
func (m *outlookReader) recipients(i *item, storages []int, kind uint64, all uint32) error {
	if len(storages) == 0 {
		line, err := i.field(all)
		m.out.text(line)
		return err
	}
	for _, s := range storages {
		if m.out.full() {
			return m.out.err
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

// person writes a name and an address, which are often the same. The address
// within an Exchange server means nothing to anybody.
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
	m.out.text(name + " " + address + "\t")
	return nil
}

// body writes the text of a message. Outlook keeps it in up to three ways,
// which say the same; the first that there is will do.
func (m *outlookReader) body(i *item) error {
	plain, err := i.text(propBody)
	if err != nil {
		return err
	}
	if plain != nil {
		before := m.out.left
		if err := copyText(plain, m.out); err != nil || m.out.left < before {
			return err
		}
	}
	page, err := i.stream(propHTML, typeBinary)
	if err != nil {
		return err
	}
	if page != nil && page.size > 0 {
		r, err := inCodepage(i.codepages.page, page.reader())
		if err != nil {
			return err
		}
		return copyPage(r, m.out)
	}
	if r, err := i.text(propHTML); r != nil || err != nil {
		if err != nil {
			return err
		}
		return copyPage(r, m.out)
	}
	packed, err := i.stream(propCompressedRTF, typeBinary)
	if packed == nil || err != nil || packed.size == 0 {
		return err
	}
	r, err := unpackRTF(packed.reader())
	if err != nil {
		return err
	}
	return readRTF(&input{Reader: r}, m.out)
}

// attachment writes the name of what is attached, or the message that is.
func (m *outlookReader) attachment(storage int, inherited codepages, depth int) error {
	if inner := m.c.find(storage, fmt.Sprintf("__substg1.0_%04x%04x", propContent, typeStorage)); inner != noEntry && m.c.find(inner, propertyStream) != noEntry {
		m.out.paragraph()
		return m.message(inner, 24, inherited, depth+1)
	}
	if m.parts--; m.parts < 0 {
		return errInflated
	}
	i, err := m.item(storage, 8, inherited)
	if err != nil {
		return err
	}
	name, err := i.field(propLongName, propShortName, propDisplayName)
	if err != nil {
		return err
	}
	m.out.line()
	return m.out.text(name + "\n")
}

// The head of compressed RTF, and what its dictionary holds before the first
// byte (MS-OXRTFCP).
const (
	rtfCompressed = 0x75465a4c
	rtfStored     = 0x414c454d
	rtfWindow     = 4096 // bytes
	rtfDictionary = "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript " +
		"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par " +
		"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)

// unpackRTF returns the RTF that Outlook keeps compressed. Of its head only the
// method is believed.
func unpackRTF(r io.Reader) (io.Reader, error) {
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, errBroken
	}
	switch binary.LittleEndian.Uint32(head[8:]) {
	case rtfStored:
		return r, nil
	case rtfCompressed:
		u := &rtfUnpacker{r: bufio.NewReader(r), at: len(rtfDictionary), left: maxInflated}
		copy(u.window[:], rtfDictionary)
		return u, nil
	}
	return nil, errBroken
}

// rtfUnpacker is LZ77 with a window of 4 KiB. A byte of eight bits says of each
// of the eight things that follow, from the lowest, whether it is a byte or a
// reference: 12 bits of where in the window, 4 of how many bytes more than two.
// The reference to where the next byte goes is the end.
type rtfUnpacker struct {
	r      *bufio.Reader
	window [rtfWindow]byte
	at     int // in the window, where the next byte goes
	ready  bytes.Buffer
	left   int // bytes that may still be unpacked
	err    error
}

func (u *rtfUnpacker) Read(p []byte) (int, error) {
	for u.ready.Len() == 0 && u.err == nil {
		u.err = u.run()
	}
	if u.ready.Len() == 0 {
		return 0, u.err
	}
	return u.ready.Read(p)
}

// run unpacks what a byte of bits announces: 136 bytes at most.
func (u *rtfUnpacker) run() error {
	if u.left < 0 {
		return errInflated
	}
	bits, err := u.r.ReadByte()
	if err != nil {
		return err
	}
	for range 8 {
		first, err := u.r.ReadByte()
		if err != nil {
			return err // here some programs end
		}
		if bits&1 == 0 {
			u.put(first)
		} else if err := u.refer(first); err != nil {
			return err
		}
		bits >>= 1
	}
	return nil
}

func (u *rtfUnpacker) refer(first byte) error {
	second, err := u.r.ReadByte()
	if err != nil {
		return errBroken
	}
	from := int(first)<<4 | int(second)>>4
	if from == u.at {
		return io.EOF
	}
	for i := range int(second&0xf) + 2 {
		u.put(u.window[(from+i)%rtfWindow])
	}
	return nil
}

func (u *rtfUnpacker) put(b byte) {
	u.window[u.at] = b
	u.at = (u.at + 1) % rtfWindow
	u.ready.WriteByte(b)
	u.left--
}
