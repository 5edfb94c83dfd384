package legacy

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// entry is a stream of a compound file.
type entry struct{ name, content string }

// filed returns a compound file (MS-CFB) with the given streams. The name of a stream is its path.
func filed(entries ...entry) []byte { return filedIn(512, entries...) }

// filedIn returns a compound file with sectors of 512 or 4096 bytes. The program extract-msg 0.57
// reads messages that filedIn made, with nested messages too.
func filedIn(sector int, entries ...entry) []byte {
	c := &compoundWriter{
		sector: sector,
		nodes:  []filedNode{{name: "Root Entry", kind: 5, sibling: noSector, child: noSector}},
	}
	c.add(entries)
	c.nodes[0].start, c.nodes[0].size = c.put(c.mini), uint32(len(c.mini))
	var table []byte
	for _, n := range c.small {
		table = binary.LittleEndian.AppendUint32(table, n)
	}
	tableStart := c.put(table)
	directoryStart := c.put(c.directory())
	return c.finish(directoryStart, tableStart, len(table))
}

// Values of the allocation table that are not the number of the next sector.
const noSector, lastSector, sectorOfFAT, sectorOfDIFAT = 0xffffffff, 0xfffffffe, 0xfffffffd, 0xfffffffc

// compoundWriter builds a compound file.
type compoundWriter struct {
	sector     int
	data, mini []byte // the contents of large and of small streams
	fat, small []uint32
	nodes      []filedNode
}

// filedNode is an entry of the directory: a stream or a folder.
type filedNode struct {
	name           string
	kind           byte
	start, size    uint32
	sibling, child uint32
}

// chain adds a chain of n sectors to a table, and returns the first sector.
func chain(table *[]uint32, n int) uint32 {
	if n == 0 {
		return lastSector
	}
	start := len(*table)
	for i := range n {
		*table = append(*table, uint32(start+i+1))
	}
	(*table)[start+n-1] = lastSector
	return uint32(start)
}

func padded(b []byte, to int) []byte { return append(b, make([]byte, (to-len(b)%to)%to)...) }

// put adds a stream to the large streams, and returns its first sector.
func (c *compoundWriter) put(b []byte) uint32 {
	b = padded(b, c.sector)
	c.data = append(c.data, b...)
	return chain(&c.fat, len(b)/c.sector)
}

// add adds streams and the folders in their paths.
func (c *compoundWriter) add(entries []entry) {
	folders := map[string]int{"": 0}
	for _, e := range entries {
		folder, path := 0, strings.Split(e.name, "/")
		for i := range path[:len(path)-1] {
			at := strings.Join(path[:i+1], "/")
			if _, is := folders[at]; !is {
				folders[at] = c.addNode(folder, filedNode{name: path[i], kind: 1})
			}
			folder = folders[at]
		}
		n := filedNode{name: path[len(path)-1], kind: 2, size: uint32(len(e.content))}
		if len(e.content) < 4096 {
			n.start = chain(&c.small, (len(e.content)+63)/64)
			c.mini = append(c.mini, padded([]byte(e.content), 64)...)
		} else {
			n.start = c.put([]byte(e.content))
		}
		c.addNode(folder, n)
	}
}

func (c *compoundWriter) addNode(folder int, n filedNode) int {
	n.sibling, n.child = c.nodes[folder].child, noSector
	c.nodes = append(c.nodes, n)
	c.nodes[folder].child = uint32(len(c.nodes) - 1)
	return len(c.nodes) - 1
}

func (c *compoundWriter) directory() (directory []byte) {
	for _, n := range c.nodes {
		b := make([]byte, 128)
		for i, r := range n.name {
			b[2*i] = byte(r)
		}
		b[64], b[66], b[67] = byte(2*len(n.name)+2), n.kind, 1
		for at, v := range map[int]uint32{68: noSector, 72: n.sibling, 76: n.child, 116: n.start, 120: n.size} {
			binary.LittleEndian.PutUint32(b[at:], v)
		}
		directory = append(directory, b...)
	}
	return directory
}

// finish adds the allocation table and the list of its sectors, and returns the file with its
// header.
func (c *compoundWriter) finish(directoryStart, tableStart uint32, tableSize int) []byte {
	le, per := binary.LittleEndian, c.sector/4
	fats, difats := 0, 0
	for len(c.fat)+fats+difats > fats*per {
		fats++
		difats = (max(0, fats-109) + per - 2) / (per - 1)
	}
	first := len(c.fat)
	for i := range fats + difats {
		c.fat = append(c.fat, map[bool]uint32{true: sectorOfFAT, false: sectorOfDIFAT}[i < fats])
	}
	for len(c.fat) < fats*per {
		c.fat = append(c.fat, noSector)
	}
	for _, n := range c.fat {
		c.data = le.AppendUint32(c.data, n)
	}
	names := func(b []byte, i, n int) []byte {
		for ; n > 0; i, n = i+1, n-1 {
			b = le.AppendUint32(b, map[bool]uint32{true: uint32(first + i), false: noSector}[i < fats])
		}
		return b
	}
	for i := range difats {
		c.data = names(c.data, 109+(per-1)*i, per-1)
		c.data = le.AppendUint32(c.data, map[bool]uint32{true: uint32(first + fats + i + 1), false: lastSector}[i < difats-1])
	}
	head := make([]byte, 76)
	copy(head, Signature)
	head[24], head[26], head[28], head[29], head[30], head[32] = 0x3e, 3, 0xfe, 0xff, 9, 6
	if c.sector == 4096 {
		head[26], head[30] = 4, 12
	}
	difat := uint32(lastSector)
	if difats > 0 {
		difat = uint32(first + fats)
	}
	for at, v := range map[int]uint32{
		44: uint32(fats), 48: directoryStart, 56: 4096, 60: tableStart,
		64: uint32((tableSize + c.sector - 1) / c.sector), 68: difat, 72: uint32(difats),
	} {
		le.PutUint32(head[at:], v)
	}
	return append(padded(names(head, 0, 109), c.sector), c.data...)
}

// outlookProperties returns the content of the stream with the properties of fixed size. The stream
// begins with a header of head bytes.
func outlookProperties(head int, values map[uint32]uint64) string {
	b := make([]byte, head)
	for tag, v := range values {
		b = binary.LittleEndian.AppendUint32(b, tag)
		b = binary.LittleEndian.AppendUint32(b, 6)
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return string(b)
}

// wide16 returns text as UTF-16 (little endian) without a byte order mark.
func wide16(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}
