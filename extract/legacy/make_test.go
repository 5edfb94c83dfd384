package legacy

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// entry is a stream of a compound file.
type entry struct{ name, content string }

// filed returns a compound file (MS-CFB) with streams whose names are paths.
func filed(entries ...entry) []byte { return filedIn(512, entries...) }

// filedIn is filed with sectors of a size, 512 or 4096 bytes. The program
// extract-msg 0.57 reads its messages too, nested ones included.
func filedIn(sector int, entries ...entry) []byte {
	const free, end, inFAT, inDIFAT = 0xffffffff, 0xfffffffe, 0xfffffffd, 0xfffffffc
	per := sector / 4
	var data []byte
	var fat, small []uint32
	var mini []byte
	chain := func(table *[]uint32, n int) uint32 {
		if n == 0 {
			return end
		}
		start := len(*table)
		for i := range n {
			*table = append(*table, uint32(start+i+1))
		}
		(*table)[start+n-1] = end
		return uint32(start)
	}
	padded := func(b []byte, to int) []byte { return append(b, make([]byte, (to-len(b)%to)%to)...) }
	put := func(b []byte) uint32 {
		b = padded(b, sector)
		data = append(data, b...)
		return chain(&fat, len(b)/sector)
	}
	type node struct {
		name           string
		kind           byte
		start, size    uint32
		sibling, child uint32
	}
	nodes := []node{{name: "Root Entry", kind: 5, sibling: free, child: free}}
	folders := map[string]int{"": 0}
	add := func(folder int, n node) int {
		n.sibling, n.child = nodes[folder].child, free
		nodes = append(nodes, n)
		nodes[folder].child = uint32(len(nodes) - 1)
		return len(nodes) - 1
	}
	for _, e := range entries {
		folder, path := 0, strings.Split(e.name, "/")
		for i := range path[:len(path)-1] {
			at := strings.Join(path[:i+1], "/")
			if _, is := folders[at]; !is {
				folders[at] = add(folder, node{name: path[i], kind: 1})
			}
			folder = folders[at]
		}
		n := node{name: path[len(path)-1], kind: 2, size: uint32(len(e.content))}
		if len(e.content) < 4096 {
			n.start = chain(&small, (len(e.content)+63)/64)
			mini = append(mini, padded([]byte(e.content), 64)...)
		} else {
			n.start = put([]byte(e.content))
		}
		add(folder, n)
	}
	nodes[0].start, nodes[0].size = put(mini), uint32(len(mini))
	le := binary.LittleEndian
	var table []byte
	for _, n := range small {
		table = le.AppendUint32(table, n)
	}
	tableStart := put(table)
	var directory []byte
	for _, n := range nodes {
		b := make([]byte, 128)
		for i, r := range n.name {
			b[2*i] = byte(r)
		}
		b[64], b[66], b[67] = byte(2*len(n.name)+2), n.kind, 1
		for at, v := range map[int]uint32{68: free, 72: n.sibling, 76: n.child, 116: n.start, 120: n.size} {
			le.PutUint32(b[at:], v)
		}
		directory = append(directory, b...)
	}
	directoryStart := put(directory)
	fats, difats := 0, 0
	for len(fat)+fats+difats > fats*per {
		fats++
		difats = (max(0, fats-109) + per - 2) / (per - 1)
	}
	first := len(fat)
	for i := range fats + difats {
		fat = append(fat, map[bool]uint32{true: inFAT, false: inDIFAT}[i < fats])
	}
	for len(fat) < fats*per {
		fat = append(fat, free)
	}
	for _, n := range fat {
		data = le.AppendUint32(data, n)
	}
	names := func(b []byte, i, n int) []byte {
		for ; n > 0; i, n = i+1, n-1 {
			b = le.AppendUint32(b, map[bool]uint32{true: uint32(first + i), false: free}[i < fats])
		}
		return b
	}
	for i := range difats {
		data = names(data, 109+(per-1)*i, per-1)
		data = le.AppendUint32(data, map[bool]uint32{true: uint32(first + fats + i + 1), false: end}[i < difats-1])
	}
	head := make([]byte, 76)
	copy(head, Signature)
	head[24], head[26], head[28], head[29], head[30], head[32] = 0x3e, 3, 0xfe, 0xff, 9, 6
	if sector == 4096 {
		head[26], head[30] = 4, 12
	}
	difat := uint32(end)
	if difats > 0 {
		difat = uint32(first + fats)
	}
	for at, v := range map[int]uint32{44: uint32(fats), 48: directoryStart, 56: 4096, 60: tableStart, 64: uint32((len(table) + sector - 1) / sector), 68: difat, 72: uint32(difats)} {
		le.PutUint32(head[at:], v)
	}
	return append(padded(names(head, 0, 109), sector), data...)
}

// outlookProperties returns the stream of an item's properties of fixed size.
func outlookProperties(head int, values map[uint32]uint64) string {
	b := make([]byte, head)
	for tag, v := range values {
		b = binary.LittleEndian.AppendUint32(b, tag)
		b = binary.LittleEndian.AppendUint32(b, 6)
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return string(b)
}

// wide16 returns text as UTF-16 without a mark of its byte order.
func wide16(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}
